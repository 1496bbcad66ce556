//! A ledger with a project in it, and journals, on either engine.

use mate_model::{
    AccountId, ConnectionId, Epoch, GrantId, Micros, OperationId, ProjectId, RuntimeId, SessionId, TaskId,
    TokenId, Transition, TurnId,
    event::{Draft, EventType},
    operation::{OperationCommand, OperationState},
    records::{
        Account, Connection, ConnectionSettings, Grant, Operation, Project, Reach, Runtime, Session, Task,
        TaskPolicy, Terms, Token, Turn,
    },
    session::SessionState,
    task::{TaskCommand, TaskState},
    words::{ApprovalMode, EffectClass},
};
use mate_store::{
    Database, JOURNAL_SCHEMA, JournalWriter, Ledger,
    ledger::NewTask,
    postgres::{PostgresDatabase, PostgresOptions},
    sqlite::{SqliteDatabase, SqliteOptions},
};
use mate_testkit::postgres::TestDatabase;
use serde_json::json;
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tempfile::TempDir;
use uuid::Uuid;

/// Where the stores of one test are.
pub(crate) enum Place {
    Folder(TempDir),
    Database(TestDatabase),
}

/// A ledger with one project, and room for journals.
pub(crate) struct World {
    pub(crate) place: Place,
    pub(crate) db: Arc<dyn Database>,
    pub(crate) ledger: Ledger,
    pub(crate) account: AccountId,
    pub(crate) token: TokenId,
    pub(crate) project: ProjectId,
    pub(crate) runtime: RuntimeId,
    pub(crate) connection: ConnectionId,
}

/// A new UUID; they sort by the time of their making.
pub(crate) fn uuid() -> Uuid {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = u128::from(NEXT.fetch_add(1, Ordering::Relaxed));
    Uuid::from_u128((number << 80) | (u128::from(std::process::id()) << 8) | 7)
}

/// A moment; the number is microseconds after some start.
pub(crate) fn at(micros: i64) -> Micros {
    Micros(1_800_000_000_000_000 + micros)
}

pub(crate) fn draft(kind: EventType, task: Option<TaskId>) -> Draft {
    Draft { kind, task, turn: None, at: at(5), data: json!({"said": "x\u{2028}é"}) }
}

impl World {
    pub(crate) async fn sqlite() -> Self {
        Self::fill(Place::Folder(tempfile::tempdir().expect("a folder"))).await
    }

    pub(crate) async fn postgres() -> Self {
        let database = tokio::task::spawn_blocking(TestDatabase::fresh).await.expect("a database");
        Self::fill(Place::Database(database)).await
    }

    async fn fill(place: Place) -> Self {
        let db = place.open("ledger.db").await;
        let ledger = Ledger::new(Arc::clone(&db));
        ledger.migrate().await.expect("the schema");
        let (account, project) = (AccountId::new(uuid()), ProjectId::new(uuid()));
        let (token, runtime, connection) =
            (TokenId::new(uuid()), RuntimeId::new(uuid()), ConnectionId::new(uuid()));
        let world = Self { place, db, ledger, account, token, project, runtime, connection };
        world.add_people().await;
        world.add_things().await;
        world
    }

    async fn add_people(&self) {
        let account = Account {
            id: self.account,
            name: "ada".to_owned(),
            admin: true,
            disabled_at: None,
            created_at: at(0),
        };
        self.ledger.add_account(&account).await.expect("an account");
        let token = Token {
            id: self.token,
            account: self.account,
            hash: [7; 32],
            project: None,
            role: None,
            expires_at: None,
            revoked_at: None,
            created_at: at(0),
            last_used_at: None,
            made_with: None,
        };
        self.ledger.add_token(&token).await.expect("a token");
    }

    /// Another token of who administers: the first one may go.
    pub(crate) async fn add_a_spare_token(&self) {
        let first = self.ledger.token(self.token).await.expect("read").expect("a token");
        let spare = Token { id: TokenId::new(uuid()), hash: [8; 32], ..first };
        self.ledger.add_token(&spare).await.expect("a token");
    }

    /// Somebody else who administers, with a token.
    pub(crate) async fn add_another_administrator(&self) {
        let id = AccountId::new(uuid());
        let account =
            Account { id, name: "eve".to_owned(), admin: true, disabled_at: None, created_at: at(0) };
        self.ledger.add_account(&account).await.expect("an account");
        let token = Token {
            id: TokenId::new(uuid()),
            account: id,
            hash: [6; 32],
            project: None,
            role: None,
            expires_at: None,
            revoked_at: None,
            created_at: at(0),
            last_used_at: None,
            made_with: None,
        };
        self.ledger.add_token(&token).await.expect("a token");
    }

    async fn add_things(&self) {
        let project = Project {
            id: self.project,
            name: "garden".to_owned(),
            workspace: Some("/srv/garden".to_owned()),
            archived_at: None,
            distinct_approver: false,
            created_at: at(0),
        };
        let opened = draft(EventType::ProjectAdded, None);
        self.ledger.add_project(&project, self.account, opened).await.expect("a project");
        let runtime = Runtime {
            id: self.runtime,
            name: "scripted".to_owned(),
            registration: json!({"command": ["agent"]}),
            quiet_seconds: None,
            deadline_seconds: None,
            created_at: at(0),
            removed_at: None,
        };
        self.ledger.add_runtime(&runtime).await.expect("a runtime");
        let connection = Connection {
            id: self.connection,
            name: "tracker".to_owned(),
            reach: Reach::Stdio { command: vec!["tracker".to_owned()] },
            settings: ConnectionSettings::default(),
            sealed: Some(vec![1, 7, 7, 7, 7, 0, 255]),
            created_at: at(0),
            removed_at: None,
        };
        self.ledger.first_key([7; 4], &[1, 7, 7, 7, 7], at(0)).await.expect("a key");
        self.ledger.add_connection(&connection).await.expect("a connection");
    }

    /// Another handle on the same ledger, as another process would have: it shares nothing in memory.
    pub(crate) async fn other_ledger(&self) -> Ledger {
        Ledger::new(self.place.open("ledger.db").await)
    }

    pub(crate) async fn add_session(&self) -> Session {
        let session = Session {
            id: SessionId::new(uuid()),
            project: self.project,
            runtime: self.runtime,
            workspace: "/srv/garden".to_owned(),
            state: SessionState::Idle { epoch: Epoch(0) },
            created_at: at(1),
            containment: None,
        };
        let added = draft(EventType::SessionAdded, None);
        self.ledger.add_session(&session, added).await.expect("a session");
        session
    }

    pub(crate) fn new_task(&self, session: SessionId) -> NewTask {
        NewTask {
            id: TaskId::new(uuid()),
            project: self.project,
            session,
            new_session: None,
            proposer: self.account,
            token: self.token,
            instructions: "water the plants\n☂".to_owned(),
            policy: TaskPolicy { require_report: true, ..TaskPolicy::default() },
            created_at: at(2),
            continues: None,
            approval: None,
        }
    }

    pub(crate) async fn submit(&self, session: SessionId) -> Task {
        let new = self.new_task(session);
        let submitted = draft(EventType::TaskSubmitted, Some(new.id));
        self.ledger.submit(new, &[submitted], None).await.expect("a task").task
    }

    /// Moves a task by a command; answers the task as the ledger has it afterwards.
    pub(crate) async fn command(&self, task: &Task, command: TaskCommand) -> Task {
        let transition = task.state.decide(command, at(9)).expect("a legal command");
        let moved = draft(kind_of(transition.to()), Some(task.id));
        self.ledger.apply_task(task, &transition, moved, &[], None).await.expect("a move");
        let stored = self.ledger.task(task.id).await.expect("a read").expect("the task");
        assert_eq!(stored.state, *transition.to());
        stored
    }

    pub(crate) async fn accepted(&self, session: SessionId) -> Task {
        let task = self.submit(session).await;
        self.command(&task, TaskCommand::Approve { by: self.account }).await
    }

    pub(crate) async fn running(&self, session: SessionId) -> Task {
        let task = self.accepted(session).await;
        self.command(&task, TaskCommand::Claim { turn: TurnId::new(uuid()), epoch: Epoch(1) }).await
    }

    pub(crate) fn grant(&self, max_calls: Option<i64>) -> Grant {
        Grant {
            id: GrantId::new(uuid()),
            project: self.project,
            connection: self.connection,
            tools: vec!["issue_*".to_owned(), "search".to_owned()],
            effect: Some(EffectClass::Read),
            approve: ApprovalMode::Once,
            expires_at: Some(at(100)),
            max_calls,
            used_calls: 0,
            created_by: self.account,
            created_at: at(3),
            revoked_at: None,
            terms: Terms::default(),
        }
    }

    /// A store for the journal of `session`: a file of its own, or the one database.
    pub(crate) async fn journal_db(&self, session: SessionId) -> Arc<dyn Database> {
        let db = self.place.open(&format!("{session}.db")).await;
        db.migrate(&JOURNAL_SCHEMA).await.expect("the schema");
        db
    }

    /// A journal with one open turn of a task that nobody else knows.
    pub(crate) async fn journal(&self) -> Journal {
        let session = SessionId::new(uuid());
        let db = self.journal_db(session).await;
        Journal::begin(db, session).await
    }
}

/// The event that tells of a task's state.
pub(crate) fn kind_of(state: &TaskState) -> EventType {
    use mate_model::task::TaskStateWord as W;
    match state.word() {
        W::Proposed => EventType::TaskSubmitted,
        W::Accepted => EventType::TaskApproved,
        W::Running => EventType::TaskStarted,
        W::StopRequested => EventType::TaskStopRequested,
        W::Completed => EventType::TaskCompleted,
        W::Failed => EventType::TaskFailed,
        W::Stopped => EventType::TaskStopped,
        W::Rejected => EventType::TaskRejected,
        W::Unknown => EventType::TaskUnknown,
    }
}

impl Place {
    pub(crate) async fn open(&self, name: &str) -> Arc<dyn Database> {
        match self {
            Self::Folder(folder) => open_file(folder.path().join(name)).await,
            Self::Database(database) => {
                let options = PostgresOptions { connections: 4 };
                Arc::new(PostgresDatabase::open(&database.url, options).await.expect("the server"))
            }
        }
    }
}

pub(crate) async fn open_file(path: PathBuf) -> Arc<dyn Database> {
    Arc::new(SqliteDatabase::open(&path, SqliteOptions::JOURNAL).await.expect("the file"))
}

/// A journal and who writes it.
pub(crate) struct Journal {
    pub(crate) db: Arc<dyn Database>,
    pub(crate) writer: JournalWriter,
    pub(crate) session: SessionId,
    pub(crate) task: TaskId,
    pub(crate) turn: Turn,
}

impl Journal {
    pub(crate) async fn begin(db: Arc<dyn Database>, session: SessionId) -> Self {
        let (writer, found) =
            JournalWriter::take_over(Arc::clone(&db), session, Epoch(1), at(0)).await.expect("the journal");
        assert_eq!((found.previous_epoch, found.seq, found.next_operation), (None, 0, 1));
        let task = TaskId::new(uuid());
        let turn = new_turn(1, task);
        let started = Draft { turn: Some(turn.id), ..draft(EventType::TurnStarted, Some(task)) };
        writer
            .write(vec![mate_store::Change::OpenTurn(turn.clone()), mate_store::Change::Event(started)])
            .await
            .expect("a turn");
        Self { db, writer, session, task, turn }
    }

    /// An operation with this number and the move that it is born with.
    pub(crate) fn born(
        &self,
        number: u64,
        command: OperationCommand,
    ) -> (Operation, Transition<OperationState>) {
        let class = EffectClass::Effect;
        let transition = OperationState::Requested.decide(class, command, at(20)).expect("a legal birth");
        let operation = Operation {
            id: OperationId { session: self.session, number },
            task: self.task,
            turn: self.turn.id,
            connection: Some(ConnectionId::new(Uuid::from_u128(1))),
            connection_name: "tracker".to_owned(),
            tool: "issue_create".to_owned(),
            class,
            grant: None,
            decision: json!({"grant": "any"}),
            runtime_call: Some(format!("call-{number}")),
            trace: "00".repeat(16),
            digest: "ab".repeat(32),
            shape: json!({"title": {"type": "string", "size": 12}}),
            state: transition.to().clone(),
            requested_at: at(19),
            admitted_at: None,
            sent_at: None,
            answered_at: None,
            recorded_at: None,
            duration_us: None,
            result_size: None,
            result_type: None,
            repeats: None,
            repeat_permitted: false,
        };
        (operation, transition)
    }
}

pub(crate) fn new_turn(number: i64, task: TaskId) -> Turn {
    Turn::opened(TurnId::new(uuid()), number, task, at(10))
}

/// Defines each named test for both engines.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::support::World::sqlite().await).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::support::World::postgres().await).await;
            })*
        }
    };
}
pub(crate) use on_both;
