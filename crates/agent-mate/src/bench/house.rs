//! A throw-away home on the real stores, with one project, runtime, connection and grant.

use crate::opening::{self, Opened};
use anyhow::{Context, Result};
use mate_engine::{
    Engine, Home, Principal, Submit,
    admin::{self, NewConnection, NewGrant, NewTerms, Patience},
};
use mate_guard::KeyPlace;
use mate_model::{
    SessionId,
    records::{Reach, Task},
    words::{ApprovalMode, EffectClass},
};
use mate_runtime::registration::Registration;
use std::{collections::BTreeMap, sync::Arc};

/// The connection's name, which is before its tools' names.
pub(super) const CONNECTION: &str = "bench";
const PROJECT: &str = "default";

pub(super) struct House {
    pub(super) home: Home,
    pub(super) opened: Opened,
    pub(super) who: Principal,
}

impl House {
    /// Sets the home up as `init` does, with `config` as its settings. Every call through the one grant is an effect.
    pub(super) async fn build(home: Home, config: &str, upstream: &str) -> Result<Self> {
        let entropy = mate_engine::surroundings::SystemEntropy;
        admin::create_home(&home, &KeyPlace::of(home.path(), None, None), &entropy)?;
        std::fs::write(home.config(), config).context("the settings")?;
        let opened = opening::open_any(&home).await?;
        let token = opened.engine.initialise().await?.token;
        let who = opened.engine.authenticate(token.reveal()).await?;
        let house = Self { home, opened, who };
        house.register(upstream).await?;
        Ok(house)
    }

    /// The same home again, with files and connections of its own.
    pub(super) async fn again(home: Home) -> Result<Self> {
        let opened = opening::open(&home).await?;
        let token = std::fs::read_to_string(home.token())?;
        let who = opened.engine.authenticate(token.trim()).await?;
        Ok(Self { home, opened, who })
    }

    pub(super) fn engine(&self) -> &Arc<Engine> {
        &self.opened.engine
    }

    /// Where the benchmarks' runtime tells of its endpoint.
    pub(super) fn door(home: &Home) -> std::path::PathBuf {
        home.path().join("bench.sock")
    }

    async fn register(&self, upstream: &str) -> Result<()> {
        let engine = self.engine();
        let exe = std::env::current_exe().context("this program does not know where it is")?;
        let command = [exe.as_path(), "bench-runtime".as_ref(), &Self::door(&self.home)];
        let command = command.iter().map(|word| word.display().to_string()).collect();
        let registration = serde_json::to_value(Registration::of_command(command))?;
        engine
            .add_runtime(&self.who, engine.entropy.uuid(), "bench", registration, Patience::default())
            .await?;
        let connection = NewConnection {
            name: CONNECTION.to_owned(),
            reach: Reach::Http { url: upstream.to_owned() },
            secret_env: BTreeMap::new(),
            headers: BTreeMap::new(),
            allow_fields: Vec::new(),
            bare: false,
            trust_annotations: false,
            effect: None,
            verify: Vec::new(),
            workspace_root: false,
        };
        engine.add_connection(&self.who, engine.entropy.uuid(), connection).await?;
        let grant = NewGrant {
            project: PROJECT.to_owned(),
            connection: CONNECTION.to_owned(),
            tools: vec!["*".to_owned()],
            effect: Some(EffectClass::Effect),
            approve: ApprovalMode::Never,
            expires: None,
            max_calls: None,
            terms: NewTerms::default(),
        };
        engine.add_grant(&self.who, engine.entropy.uuid(), grant).await?;
        Ok(())
    }

    /// An approved task; in a new session, or behind what waits in a known one.
    pub(super) async fn submit(&self, text: &str, session: Option<SessionId>) -> Result<Task> {
        let wish = Submit {
            project: PROJECT.to_owned(),
            instructions: text.to_owned(),
            session,
            approve: true,
            queue: true,
            ..Submit::default()
        };
        Ok(self.engine().submit(&self.who, wish, None).await?)
    }
}
