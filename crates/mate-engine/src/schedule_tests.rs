use crate::{
    Engine, Home, Launcher, Scheduler, SessionLock, Stores, Submit, Undertaker,
    admin::create_home,
    surroundings::{SystemClock, SystemEntropy},
};
use async_trait::async_trait;
use mate_guard::{KeyPlace, key_file};
use mate_model::{
    Epoch, RuntimeId, SessionId,
    records::{Runtime, Session},
    task::StopEvidence,
};
use mate_store::{Ledger, SqliteDatabase, SqliteOptions};
use serde_json::json;
use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

/// One session's processes never end; nobody is told anything of the others'.
struct Stuck(PathBuf);

#[async_trait]
impl Undertaker for Stuck {
    async fn end(&self, folder: &Path) -> Result<StopEvidence, String> {
        if folder == self.0 {
            std::future::pending::<()>().await;
        }
        Ok(StopEvidence::NeverStarted)
    }
}

/// Remembers for whom a worker was wanted.
#[derive(Default)]
struct Remembers(Mutex<Vec<SessionId>>);

#[async_trait]
impl Launcher for Remembers {
    async fn launch(&self, session: SessionId, _: Epoch, _: File) -> Result<(), String> {
        self.0.lock().map_err(|error| error.to_string())?.push(session);
        Ok(())
    }
}

async fn engine(folder: &Path) -> Engine {
    let home = Home::at(folder.join("home"));
    let entropy = Arc::new(SystemEntropy);
    let key_path = KeyPlace::of(home.path(), None, None);
    create_home(&home, &key_path, entropy.as_ref()).expect("a home");
    let ring = key_file::load(&key_path).expect("a key");
    let key = ring.first().map(|(_, key)| key.clone()).expect("a key");
    let database = SqliteDatabase::open(&home.ledger(), SqliteOptions::LEDGER).await.expect("a ledger");
    let ledger = Ledger::new(Arc::new(database));
    ledger.migrate().await.expect("a schema");
    let stores = Stores::embedded(home.clone());
    Engine::new(ledger, stores, home, key, Arc::new(SystemClock::default()), entropy)
}

/// A session with an accepted task.
async fn with_work(engine: &Engine, who: &crate::Principal) -> Session {
    let wish = Submit {
        project: "default".to_owned(),
        instructions: "work".to_owned(),
        approve: true,
        queue: true,
        ..Submit::default()
    };
    let task = engine.submit(who, wish, None).await.expect("a task");
    engine.ledger.session(task.session).await.expect("read").expect("a session")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g11_a_session_that_is_stuck_does_not_hold_the_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = Arc::new(engine(folder.path()).await);
    let first = engine.initialise().await.expect("initialised");
    let runtime = Runtime {
        id: RuntimeId::new(uuid::Uuid::from_u128(1)),
        name: "r".to_owned(),
        registration: json!({}),
        quiet_seconds: None,
        deadline_seconds: None,
        created_at: engine.clock.now(),
        removed_at: None,
    };
    engine.ledger.add_runtime(&runtime).await.expect("a runtime");
    let who = engine.authenticate(first.token.reveal()).await.expect("a caller");
    // The worker of the stuck one was recorded, and its lock is free: it has to be recovered first.
    let stuck = with_work(&engine, &who).await;
    let place = engine.home.session(stuck.id);
    let lock = SessionLock::try_take(&place).expect("a lock").expect("it is free");
    engine.host(stuck.id, &lock).await.expect("hosted");
    drop(lock);

    let launched = Arc::new(Remembers::default());
    let launcher: Arc<dyn Launcher> = launched.clone();
    let undertaker: Arc<dyn Undertaker> = Arc::new(Stuck(place.path().to_owned()));
    let mut scheduler = Scheduler::default();
    // The second one comes when the first is looked after already.
    for _ in 0..2 {
        let other = with_work(&engine, &who).await;
        let served = async {
            loop {
                scheduler.round(&engine, &launcher, &undertaker).await.expect("a round");
                if launched.0.lock().expect("whole").contains(&other.id) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), served).await.expect("it is not held");
    }
    assert!(
        !launched.0.lock().expect("whole").contains(&stuck.id),
        "nothing is started beside what may live"
    );
}
