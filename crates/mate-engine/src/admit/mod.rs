//! Admission: each call of a session's runtime is judged here, and only here may it be let out.
//!
//! The order is the guarantee. Judge; commit the intent to the journal; read the ledger again, and if the
//! authority changed, judge again; only then is the permit handed on. That second read is the moment of
//! admission: what was revoked before it is never sent.

mod admitted;
mod again;
mod answers;
mod asking;
mod changed;
mod decided;
mod deny;
mod explain;
mod heard;
mod intent;
mod kept;
mod late;
mod limits;
mod lineage;
mod pins;
mod questions;
mod replay;
mod request;
mod rounds;
mod settle;
mod standing;
pub(crate) use standing::{Asked, Standing, granted, lost_authority};
mod try_call;
mod twins;
mod upstream_task;

pub use admitted::{Admitted, Go};
pub use answers::Answering;
pub use asking::{OwnAnswer, OwnCall, OwnVerdict};
pub use explain::{Explanation, Now};
pub use heard::Receipt;
pub(crate) use intent::class_of;
pub use kept::KEEP;
pub(crate) use late::repeat_succeeded;
pub use request::{Request, Tell};
pub use settle::Ended;
pub(crate) use settle::{detail, recorded, settled_event};
pub use try_call::{Trial, Tried};

use crate::{Engine, EngineError, Spill, settings::ApprovalSettings};
use answers::Answerable;
use asking::Asks;
use heard::Heard;
use limits::Rates;
use mate_guard::{Definition, DigestKey, Redactor, Vault};
use mate_model::{
    Micros, OperationId, ProjectId, SessionId, TaskId, TurnId, task::TaskStateWord, words::DenyReason,
};
use mate_store::{JournalReader, JournalWriter};
use pins::Seen;
use questions::Questions;
use std::sync::{
    Arc, RwLock,
    atomic::{AtomicBool, AtomicU64, Ordering},
};
use tokio::sync::watch;
use twins::Twins;

/// The turn that calls belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CurrentTurn {
    /// The task.
    pub task: TaskId,
    /// Its turn.
    pub turn: TurnId,
}

/// One session's admission desk, hosted by its worker.
pub struct Admission {
    engine: Arc<Engine>,
    session: SessionId,
    project: ProjectId,
    journal: JournalWriter,
    reader: JournalReader,
    spill: Arc<Spill>,
    /// How many outcomes are known that the journal does not have yet.
    unrecorded: watch::Sender<usize>,
    /// Journals of the sessions that this one goes on from, the nearest first.
    earlier: Vec<JournalReader>,
    digests: DigestKey,
    vault: Vault,
    heard: Arc<Heard>,
    redactor: Arc<Redactor>,
    next: AtomicU64,
    current: RwLock<Option<CurrentTurn>>,
    /// The turn's prompt was intended: before that nothing is admitted.
    begun: AtomicBool,
    /// Held shared from the last look at the turn to the permit, and alone while the desk closes.
    gate: tokio::sync::RwLock<()>,
    standing: RwLock<Option<Arc<Standing>>>,
    /// The standing that was compared last with what went before, for the record of what was lost.
    told: RwLock<Option<Arc<Standing>>>,
    /// Held while that is compared and written down.
    noting: tokio::sync::Mutex<()>,
    twins: Twins,
    questions: Questions,
    /// Calls in flight that their upstream may ask about.
    answerable: Answerable,
    seen: Seen,
    rates: Rates,
    /// What waits for a person.
    asks: Asks,
    /// How long a person is waited for.
    approval: ApprovalSettings,
    /// Numbers the requests of the runtime's own tools.
    next_own: AtomicU64,
    /// Held while resolutions are copied into the journal.
    resolving: tokio::sync::Mutex<()>,
}

impl Admission {
    /// A desk for the session whose journal is held by `journal`, and whose spill file by `spill`.
    #[must_use]
    pub fn new(
        engine: Arc<Engine>,
        session: SessionId,
        project: ProjectId,
        journal: JournalWriter,
        spill: Arc<Spill>,
        next_operation: u64,
        redactor: Arc<Redactor>,
    ) -> Self {
        let key = engine.key.derive("session", session.to_string().as_bytes());
        let next = AtomicU64::new(next_operation);
        let (reader, heard) = (journal.reader(), Heard::new(journal.clone()));
        Self {
            engine,
            session,
            project,
            journal,
            reader,
            spill,
            unrecorded: watch::Sender::new(0),
            earlier: Vec::new(),
            digests: DigestKey::of_session(&key),
            vault: Vault::new(&key),
            heard,
            redactor,
            next,
            current: RwLock::new(None),
            begun: AtomicBool::new(false),
            gate: tokio::sync::RwLock::default(),
            standing: RwLock::new(None),
            told: RwLock::new(None),
            noting: tokio::sync::Mutex::default(),
            twins: Twins::default(),
            questions: Questions::default(),
            answerable: Answerable::default(),
            seen: Seen::default(),
            rates: Rates::default(),
            asks: Asks::default(),
            approval: ApprovalSettings::default(),
            next_own: AtomicU64::new(1),
            resolving: tokio::sync::Mutex::default(),
        }
    }

    /// The same desk, for a session that goes on from others (`--fresh`), the nearest first: what is uncertain there
    /// bars an equal call here. All of them know equal calls by the key of the first one's digests.
    ///
    /// # Errors
    /// That a journal cannot be read.
    pub async fn going_on_from(mut self, earlier: &[SessionId]) -> Result<Self, EngineError> {
        for session in earlier {
            self.earlier.push(self.engine.stores.journal_reader(*session).await?);
        }
        if let Some(first) = earlier.last() {
            let key = self.engine.key.derive("session", first.to_string().as_bytes());
            self.digests = DigestKey::of_session(&key);
        }
        Ok(self)
    }

    /// The same desk, with how long a person is waited for.
    #[must_use]
    pub fn waiting_for_people(mut self, approval: ApprovalSettings) -> Self {
        self.approval = approval;
        self
    }

    /// Says which turn is being made ready. Its calls are refused, and recorded, until [`Self::set_current`] says that
    /// its prompt was intended: a start that is made again has no effect behind it.
    pub fn prepare(&self, turn: CurrentTurn) {
        self.now_is(Some(turn), false);
    }

    /// Says which turn calls belong to from now on; none: every call is refused.
    pub fn set_current(&self, turn: Option<CurrentTurn>) {
        self.now_is(turn, turn.is_some());
    }

    fn now_is(&self, turn: Option<CurrentTurn>, begun: bool) {
        self.begun.store(begun, Ordering::Release);
        if let Ok(mut current) = self.current.write() {
            *current = turn;
        }
    }

    /// Ends admission: when this returns, no further intent is written for the turn, no question is
    /// open, and nothing waits for a person.
    pub async fn close(&self) {
        if let Err(error) = self.note_changes().await {
            tracing::warn!(%error, "it could not be written down what authority the task has lost");
        }
        self.set_current(None);
        drop(self.gate.write().await);
        self.drop_questions().await;
        self.close_asks().await;
    }

    /// How many operations were numbered so far: more than before means that calls came.
    #[must_use]
    pub fn numbered(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// The turn that calls belong to.
    #[must_use]
    pub fn current(&self) -> Option<CurrentTurn> {
        self.current.read().ok().and_then(|current| *current)
    }

    /// Whether the turn's prompt was intended.
    fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    /// Whether a tool may be listed, by the standing read last.
    #[must_use]
    pub fn lists(&self, connection: &str, tool: &str, says_read_only: bool, definition: &Definition) -> bool {
        let now = self.engine.clock.now();
        self.known_standing()
            .is_some_and(|standing| standing.lists(connection, tool, says_read_only, definition, now))
            && self.is_nameable(tool)
    }

    /// Whether anything of the connection is granted, by the standing read last.
    #[must_use]
    pub fn names(&self, connection: &str) -> bool {
        let now = self.engine.clock.now();
        self.known_standing().is_some_and(|standing| standing.names(connection, now))
    }

    /// Whether something may be read from a connection now (a resource, a prompt): a fresh look, as for calls. What the
    /// ledger does not answer is not allowed.
    pub async fn may_read(&self, connection: &str) -> bool {
        let Some(turn) = self.current() else { return false };
        match self.look(turn).await {
            Ok(Ok(standing)) => {
                let now = self.now();
                standing.may_act(now).is_ok() && standing.names(connection, now)
            }
            Ok(Err(_)) => false,
            Err(error) => {
                tracing::warn!(%error, connection, "it could not be judged whether something may be read");
                false
            }
        }
    }

    /// Reads the task's authority again if the authorisation version changed; says whether it did.
    ///
    /// # Errors
    /// The ledger's.
    pub async fn refresh(&self, task: TaskId) -> Result<bool, EngineError> {
        let version = self.engine.ledger.authorisation_version().await?;
        let known = self.known_standing().filter(|known| known.task == task && known.version == version);
        if known.is_some() {
            return Ok(false);
        }
        self.read_standing(task).await?;
        Ok(true)
    }

    /// Why the task may not act any more, if it may not: its account, token, membership or project lost authority.
    ///
    /// # Errors
    /// The ledger's.
    pub async fn lost_authority(&self, task: TaskId) -> Result<Option<String>, EngineError> {
        let standing = self.read_standing(task).await?;
        Ok(standing.may_act(self.now()).err().map(|(_, why)| why))
    }

    fn known_standing(&self) -> Option<Arc<Standing>> {
        self.standing.read().ok().and_then(|standing| standing.clone())
    }

    async fn read_standing(&self, task: TaskId) -> Result<Arc<Standing>, EngineError> {
        let standing = Arc::new(Standing::read(&self.engine, self.project, task).await?);
        self.pin_all(&standing).await?;
        if let Ok(mut slot) = self.standing.write() {
            *slot = Some(Arc::clone(&standing));
        }
        Ok(standing)
    }

    /// One look at the ledger: may the task act, and under which authority?
    async fn look(
        &self,
        turn: CurrentTurn,
    ) -> Result<Result<Arc<Standing>, (DenyReason, String)>, EngineError> {
        let row = self.engine.ledger.admission(turn.task).await?.ok_or(EngineError::NotFound)?;
        if row.unapplied {
            self.apply_resolutions().await?;
        }
        match row.state {
            TaskStateWord::Running => {}
            TaskStateWord::StopRequested => {
                return Ok(Err((DenyReason::AfterStop, "the task was asked to stop".to_owned())));
            }
            TaskStateWord::Proposed
            | TaskStateWord::Accepted
            | TaskStateWord::Completed
            | TaskStateWord::Failed
            | TaskStateWord::Stopped
            | TaskStateWord::Rejected
            | TaskStateWord::Unknown => {
                return Ok(Err((DenyReason::NoTurn, "the task is not running".to_owned())));
            }
        }
        if row.turn != Some(turn.turn) || row.epoch != Some(self.journal.epoch()) {
            return Ok(Err((DenyReason::NoTurn, "another worker holds the session".to_owned())));
        }
        let known = self
            .known_standing()
            .filter(|known| known.task == turn.task && known.version == row.authorisation_version);
        match known {
            Some(known) => Ok(Ok(known)),
            None => Ok(Ok(self.read_standing(turn.task).await?)),
        }
    }

    /// Copies resolutions into the journal that it does not have yet; answers how many there were.
    ///
    /// # Errors
    /// The stores'.
    pub async fn apply_resolutions(&self) -> Result<u64, EngineError> {
        let _alone = self.resolving.lock().await;
        self.engine.apply_resolutions(&self.journal, None).await
    }

    /// Records a call of a tool that is known and not listed (any more), with the reason that the ledger gives now. Gives
    /// the words for the agent, where grants or policies refuse it.
    pub async fn refused_unlisted(&self, request: &Request<'_>, why: &str) -> Option<String> {
        let (turn, connection) = (self.current()?, request.connection?);
        if let Some(why) = self.unnameable(request) {
            let reason = DenyReason::UnknownTool;
            self.refused(request, reason, why).await;
            return Some(format!("{why}. The call was NOT made. {}", deny::next_step(reason)));
        }
        let reason = match self.look(turn).await {
            Ok(Err((reason, _))) => reason,
            Ok(Ok(standing)) => match self.judge(&standing, request, connection) {
                Err(barred) => return self.refused_as(request, turn, barred).await,
                // Granted a moment ago; this call was refused all the same.
                Ok(_) => DenyReason::NotGranted,
            },
            Err(_) => DenyReason::NotRecordable,
        };
        self.refused(request, reason, why).await;
        None
    }

    fn next_id(&self) -> OperationId {
        OperationId { session: self.session, number: self.next.fetch_add(1, Ordering::Relaxed) }
    }

    fn now(&self) -> Micros {
        self.engine.clock.now()
    }
}
