//! Opening what a home has: settings, key, stores.

use anyhow::{Context, Result, bail};
use mate_engine::{
    Engine, Home, Keys, Settings, Stores,
    surroundings::{SystemClock, SystemEntropy},
};
use mate_guard::{CREDENTIALS_VARIABLE, KEY_FILE_VARIABLE, KeyPlace};
use mate_store::{
    Database, JOURNAL_SCHEMA, Ledger, PostgresDatabase, SqliteDatabase, SqliteOptions,
    postgres::PostgresOptions,
};
use std::{env, fmt, sync::Arc};

/// Something that cannot be done as things stand; the words say what to do first.
#[derive(Debug)]
pub(crate) struct NotNow(pub(crate) String);

impl fmt::Display for NotNow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotNow {}

/// An opened home.
pub(crate) struct Opened {
    pub(crate) engine: Arc<Engine>,
    pub(crate) settings: Settings,
}

/// Opens an initialised home.
///
/// # Errors
/// That it is not initialised, or what is wrong with its settings, its key or its stores.
pub(crate) async fn open(home: &Home) -> Result<Opened> {
    if !home.token().exists() && !home.ledger().exists() {
        bail!(NotNow(format!("{} is not set up yet: run `agent-mate init` first", home.path().display())));
    }
    open_any(home).await
}

/// Opens a home that exists; its stores are made where they are missing.
pub(crate) async fn open_any(home: &Home) -> Result<Opened> {
    let settings = Settings::read(&home.config())?;
    let keys = Keys::read(key_place(home)).context("the key that seals secrets")?;
    let clock = Arc::new(SystemClock::default());
    let entropy = Arc::new(SystemEntropy);
    let (database, stores): (Arc<dyn Database>, Stores) = match &settings.store.database {
        None => {
            let database = SqliteDatabase::open(&home.ledger(), SqliteOptions::LEDGER).await?;
            (Arc::new(database), Stores::embedded(home.clone()))
        }
        Some(url) => {
            let database: Arc<dyn Database> =
                Arc::new(PostgresDatabase::open(url, PostgresOptions::default()).await?);
            database.migrate(&JOURNAL_SCHEMA).await?;
            (Arc::clone(&database), Stores::shared(home.clone(), database))
        }
    };
    let ledger = Ledger::new(database);
    ledger.migrate().await?;
    let secret = keys.home_secret(&ledger, entropy.as_ref(), clock.as_ref()).await?;
    let engine = Engine::new(ledger, stores, home.clone(), secret, clock, entropy).sealing_with(keys);
    Ok(Opened { engine: Arc::new(engine), settings })
}

/// Where the key of the home is, in this process's environment.
pub(crate) fn key_place(home: &Home) -> KeyPlace {
    KeyPlace::of(home.path(), env::var_os(KEY_FILE_VARIABLE), env::var_os(CREDENTIALS_VARIABLE))
}
