//! `agent-mate session-worker`: one session, from its first task to the last. It needs nobody but the stores.
//!
//! It holds the session's lock as its standard input, takes the journal over with the epoch that was recorded
//! for it, and works off the session's accepted tasks in their order, one at a time.

mod activity;
mod artifacts;
pub(crate) mod bridge;
mod confinement;
mod conversation;
mod files;
mod finish;
mod gate;
mod live;
mod own_tools;
mod prompt;
mod recorder;
pub(crate) mod spawner;
mod stop;
mod turn;
mod verify;

use crate::opening::{self, Opened};
use activity::{OwnTools, Pump};
use anyhow::{Context, Result, anyhow, bail};
use artifacts::Shelf;
use mate_bridge::Bridge;
use mate_engine::{
    Engine, EngineError, Home, HomeId, SessionFolder, SessionLock, Settings, Spill, admit::Admission,
    settings::FenceSettings,
};
use mate_guard::{Redactor, SessionBearer};
use mate_model::{
    ConnectionId, Epoch, SessionId,
    event::EventType,
    records::{Session, Task},
    session::SessionState,
};
use mate_runtime::{
    container::Container,
    registration::{self, Registration},
};
use mate_store::JournalReader;
use recorder::Recorder;
use serde_json::json;
use std::{
    fs::File,
    os::fd::AsFd,
    path::PathBuf,
    sync::{
        Arc, RwLock,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};
use tokio::{sync::watch, task::JoinHandle};

/// How often the ledger is asked for the next task, or whether to stop, when no doorbell says so.
const LOOK: Duration = Duration::from_millis(200);
/// How many looks for unknown calls are taken before a task that waits, and in a row while none does.
const LOOKS_FIRST: u32 = 3;
const LOOKS_IDLE: u32 = 20;

/// How often a store that is not available is asked again.
const AGAIN_PER_SECOND: u32 = 2;

/// One session's worker.
pub(super) struct Worker {
    engine: Arc<Engine>,
    settings: Settings,
    session: Session,
    epoch: Epoch,
    folder: SessionFolder,
    exe: PathBuf,
    registration: Registration,
    recorder: Recorder,
    reader: JournalReader,
    desk: Arc<Admission>,
    redactor: Arc<Redactor>,
    shelf: Shelf,
    bridge: Option<Arc<Bridge>>,
    relay: Option<JoinHandle<()>>,
    /// The bridge's bearer: lives and dies with the worker.
    bearer: String,
    /// What the bridge was made with.
    connections: Vec<ConnectionId>,
    listed: watch::Sender<bool>,
    container: Arc<RwLock<Option<Arc<Container>>>>,
    next_turn: AtomicI64,
    _lock: SessionLock,
}

/// Runs until the session has had no task for a while.
///
/// # Errors
/// That the lock was not handed over, that the epoch is not the recorded one, or what the stores say.
pub(crate) async fn run(
    home: Home,
    home_id: HomeId,
    fence: FenceSettings,
    session: SessionId,
    epoch: Epoch,
) -> Result<()> {
    // A terminal's Ctrl-C is for the coordinator, not for sessions.
    let _ = rustix::process::setsid();
    mate_runtime::confine::shut_to_others().context("this process cannot be closed to others")?;
    home.is_still(home_id)?;
    let folder = home.session(session);
    let lock = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let lock =
        SessionLock::handed(lock, &folder).context("session workers are started by `agent-mate serve`")?;
    mate_fault::point_async!("worker.lock_taken");
    let mut worker = Worker::open(&home, fence, session, epoch, lock).await?;
    // What was opened lies in the folder that was meant.
    home.is_still(home_id)?;
    worker.open_bridge().await?;
    // After a failure the session is not given back: what is open is for recovery to classify.
    worker.work().await?;
    worker.end().await
}

impl Worker {
    async fn open(
        home: &Home,
        fence: FenceSettings,
        id: SessionId,
        epoch: Epoch,
        lock: SessionLock,
    ) -> Result<Self> {
        let Opened { engine, settings } = opening::open(home).await?;
        let FenceSettings { confinement, containment } = fence;
        let settings = Settings { confinement, containment, ..settings };
        let session = engine.ledger.session(id).await?.ok_or_else(|| anyhow!("no such session"))?;
        match session.state {
            SessionState::Hosted { epoch: recorded, .. } if recorded == epoch => {}
            SessionState::Hosted { .. } | SessionState::Idle { .. } | SessionState::Closed { .. } => {
                bail!("the session is not to be hosted with epoch {}", epoch.0)
            }
        }
        let runtime =
            engine.ledger.runtime(session.runtime).await?.ok_or_else(|| anyhow!("no such runtime"))?;
        let registration: Registration = serde_json::from_value(runtime.registration)
            .with_context(|| format!("the registration of runtime {}", runtime.name))?;
        let (journal, found) = engine.stores.journal_writer(id, epoch, engine.clock.now()).await?;
        mate_fault::point_async!("worker.taken_over");
        let spill = Spill::open(&home.session(id), &engine.key, id, Arc::clone(&engine.entropy))?;
        engine.take_in(&spill, &journal).await?;
        let bearer = SessionBearer::mint(engine.entropy.as_ref()).reveal().to_owned();
        let redactor = Arc::new(bridge::redactor(&engine, session.project, &registration, &bearer).await?);
        let shelf = Shelf::new(Arc::clone(&engine), session.project, journal.clone(), Arc::clone(&redactor));
        let recorder = Recorder::new(journal.clone(), Arc::clone(&engine.clock), settings.session.journal());
        let reader = journal.reader();
        let desk = Admission::new(
            Arc::clone(&engine),
            id,
            session.project,
            journal,
            spill,
            found.next_operation,
            Arc::clone(&redactor),
        )
        .waiting_for_people(settings.approval);
        let desk = desk.going_on_from(&engine.earlier_sessions(id).await?).await?;
        recorder
            .event(
                EventType::WorkerStarted,
                json!({ "pid": std::process::id(), "version": env!("CARGO_PKG_VERSION") }),
            )
            .await?;
        mate_fault::point_async!("worker.start_recorded");
        Ok(Self {
            folder: home.session(id),
            exe: std::env::current_exe().context("this program does not know where it is")?,
            settings,
            session,
            epoch,
            registration,
            recorder,
            reader,
            desk: Arc::new(desk),
            redactor,
            shelf,
            bridge: None,
            relay: None,
            bearer,
            connections: Vec::new(),
            listed: watch::Sender::new(false),
            container: Arc::default(),
            next_turn: AtomicI64::new(found.next_turn),
            engine,
            _lock: lock,
        })
    }

    /// Works off the session's tasks; ends after a while without one.
    async fn work(&mut self) -> Result<()> {
        let mut live = None;
        let mut pump = Pump::new(
            self.recorder.clone(),
            Arc::clone(&self.redactor),
            self.own_tools(),
            Arc::clone(&self.desk),
        );
        let mut idle = Duration::ZERO;
        let result = loop {
            match self.patiently(|| self.next_task()).await? {
                Some(task) if task.state.run().is_none() && self.connections_changed().await? => break Ok(()),
                Some(task) => {
                    idle = Duration::ZERO;
                    self.take_looks(&mut live, &mut pump, LOOKS_FIRST).await;
                    if let Err(error) = self.run_task(task, &mut live, &mut pump).await {
                        break Err(error);
                    }
                }
                None if self.take_looks(&mut live, &mut pump, LOOKS_IDLE).await => {
                    if self.connections_changed().await? {
                        break Ok(());
                    }
                }
                None if idle >= self.settings.session.idle() || self.is_to_close().await => break Ok(()),
                None => {
                    let pause = tokio::time::sleep(LOOK);
                    match live.as_mut() {
                        Some(live) => live::Live::during(live, &mut pump, pause).await,
                        None => pause.await,
                    }
                    idle += LOOK;
                    self.apply_resolutions().await;
                }
            }
        };
        if let Some(live) = live.take() {
            let evidence = self.end_container(&live.container).await?;
            mate_fault::point_async!("worker.emptied");
            self.recorder.container_empty(None, &evidence).await?;
        }
        result
    }

    /// Whether somebody wants the session closed. A ledger that cannot say so is asked again.
    async fn is_to_close(&self) -> bool {
        self.engine.ledger.close_asked(self.session.id).await.unwrap_or(false)
    }

    async fn next_task(&self) -> Result<Option<Task>, EngineError> {
        let session = self.session.id;
        let task = match self.engine.ledger.running(session).await? {
            Some(task) => Some(task),
            None => self.engine.ledger.next_accepted(session).await?,
        };
        Ok(task)
    }

    /// Asks a store again for as long as it is not available, within the session's patience.
    async fn patiently<T, E: Into<EngineError>, F: Future<Output = Result<T, E>>>(
        &self,
        ask: impl Fn() -> F,
    ) -> Result<T, EngineError> {
        let mut tries = self.settings.session.journal_seconds * u64::from(AGAIN_PER_SECOND);
        loop {
            match ask().await.map_err(Into::into) {
                Err(EngineError::Unavailable(why)) if tries > 0 => {
                    tries -= 1;
                    tracing::warn!(why, "a store cannot be read; trying again");
                    tokio::time::sleep(Duration::from_secs(1) / AGAIN_PER_SECOND).await;
                }
                done => return done,
            }
        }
    }

    /// Gives the session back.
    async fn end(&mut self) -> Result<()> {
        if let Some(relay) = self.relay.take() {
            relay.abort();
        }
        if let Some(bridge) = self.bridge.take() {
            bridge.shutdown(Duration::from_secs(5)).await;
        }
        self.engine.weigh_repeats(&self.reader).await?;
        self.shelf.settled().await;
        self.engine.settle_artifacts_left(&self.recorder.journal, &self.reader, self.session.project).await?;
        self.desk.apply_resolutions().await?;
        self.recorder.event(EventType::WorkerEnded, json!({ "pid": std::process::id() })).await?;
        mate_fault::point_async!("worker.end_recorded");
        self.anchor().await?;
        self.engine.release(self.session.id, self.epoch).await?;
        mate_fault::point_async!("worker.released");
        Ok(())
    }

    /// Tells the ledger how far the journal is.
    async fn anchor(&self) -> Result<()> {
        if let Some(head) = self.reader.head().await? {
            self.engine.ledger.anchor(self.session.id, head.seq, head.hash).await?;
        }
        Ok(())
    }

    fn own_tools(&self) -> OwnTools {
        match self.registration.own_tools {
            registration::OwnTools::Free => OwnTools::Free,
            registration::OwnTools::Ask => OwnTools::Ask,
            registration::OwnTools::Off => OwnTools::Off,
        }
    }

    fn next_turn_number(&self) -> i64 {
        self.next_turn.fetch_add(1, Ordering::Relaxed)
    }
}
