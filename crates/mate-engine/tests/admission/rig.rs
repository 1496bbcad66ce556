//! A home with one hosted session, its desk, and a clock that can be set.

use mate_engine::{
    Engine, Home, Principal, SessionLock, Spill, Stores, Submit,
    admin::{self, NewConnection, NewGrant, NewTerms, Patience},
    admit::{Admission, Admitted, Answering, CurrentTurn, Ended, Go, Receipt, Request},
    surroundings::{SystemClock, SystemEntropy},
};
use mate_guard::{KeyPlace, Redactor, key_file};
use mate_model::{
    Clock, ConnectionId, Micros, OperationId, SessionId, TurnId,
    event::{Draft, EventType},
    operation::{OperationCommand, OperationStateWord, Outcome},
    records::{Reach, Task, Turn},
    task::TaskCommand,
    turn::{TurnCommand, TurnState},
    verification::Recipe,
    words::{ApprovalMode, EffectClass},
};
use mate_store::{
    Change, JournalReader, JournalWriter, Ledger, OperationFacts, SqliteDatabase, SqliteOptions,
};
use serde_json::json;
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// What an upstream answers.
pub(crate) const RESULT: &str = r#"{"content":[{"type":"text","text":"done"}]}"#;

/// The system's time, moved.
#[derive(Debug, Default)]
pub(crate) struct Movable {
    system: SystemClock,
    by: AtomicI64,
}

impl Movable {
    /// Moves it further.
    pub(crate) fn move_on(&self, micros: i64) {
        self.by.fetch_add(micros, Ordering::SeqCst);
    }

    pub(crate) fn move_by(&self, micros: i64) {
        self.by.store(micros, Ordering::SeqCst);
    }
}

impl Clock for Movable {
    fn now(&self) -> Micros {
        Micros(self.system.now().0 + self.by.load(Ordering::SeqCst))
    }
    fn monotonic(&self) -> i64 {
        self.system.monotonic()
    }
}

/// What lives only as long as the worker.
pub(crate) struct Rig {
    pub(crate) engine: Arc<Engine>,
    pub(crate) clock: Arc<Movable>,
    pub(crate) desk: Arc<Admission>,
    pub(crate) journal: JournalWriter,
    pub(crate) reader: JournalReader,
    pub(crate) turn: CurrentTurn,
    connection: ConnectionId,
    _lock: SessionLock,
}

/// What outlives it.
pub(crate) struct House {
    folder: Arc<TempDir>,
    pub(crate) task: Task,
    who: Principal,
}

async fn open(home: &Path) -> (Arc<Engine>, Arc<Movable>) {
    let home = Home::at(home.to_owned());
    let key_path = KeyPlace::of(home.path(), None, None);
    let entropy = Arc::new(SystemEntropy);
    admin::create_home(&home, &key_path, entropy.as_ref()).unwrap();
    let ring = key_file::load(&key_path).unwrap();
    let key = ring.first().map(|(_, key)| key.clone()).expect("a key");
    let database = SqliteDatabase::open(&home.ledger(), SqliteOptions::LEDGER).await.unwrap();
    let ledger = Ledger::new(Arc::new(database));
    ledger.migrate().await.unwrap();
    let (stores, clock) = (Stores::embedded(home.clone()), Arc::new(Movable::default()));
    let engine = Engine::new(ledger, stores, home, key, Arc::clone(&clock) as _, entropy);
    (Arc::new(engine), clock)
}

/// Calls of `note` are looked for.
fn recipe() -> Recipe {
    let text = r#"{"tools": ["note"], "ask": "find", "arguments": {"key": "{operation}"},
        "happened": [{"at": "/found", "equals": true}]}"#;
    serde_json::from_str(text).unwrap()
}

async fn submit(engine: &Engine, who: &Principal) -> Task {
    let wish = Submit {
        project: "default".to_owned(),
        instructions: "work".to_owned(),
        approve: true,
        ..Submit::default()
    };
    engine.submit(who, wish, None).await.unwrap()
}

impl House {
    /// A home with an accepted task whose tools are of the class.
    pub(crate) async fn with(class: EffectClass) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let (engine, _) = open(&folder.path().join("home")).await;
        let token = engine.initialise().await.unwrap().token;
        let who = engine.authenticate(token.reveal()).await.unwrap();
        let uuid = || engine.entropy.uuid();
        engine
            .add_runtime(&who, uuid(), "none", json!({ "command": ["/bin/false"] }), Patience::default())
            .await
            .unwrap();
        Self::connect(&engine, &who, class).await;
        let task = submit(&engine, &who).await;
        Self { folder, task, who }
    }

    /// A connection of this name, and a grant of all its tools.
    async fn connect(engine: &Engine, who: &Principal, class: EffectClass) {
        let uuid = || engine.entropy.uuid();
        let connection = NewConnection {
            name: "demo".to_owned(),
            reach: Reach::Http { url: "http://127.0.0.1:9/mcp".to_owned() },
            secret_env: BTreeMap::new(),
            headers: BTreeMap::new(),
            allow_fields: Vec::new(),
            bare: false,
            trust_annotations: true,
            effect: None,
            verify: vec![recipe()],
            workspace_root: false,
        };
        engine.add_connection(who, uuid(), connection).await.unwrap();
        let grant = NewGrant {
            project: "default".to_owned(),
            connection: "demo".to_owned(),
            tools: vec!["*".to_owned()],
            effect: Some(class),
            approve: ApprovalMode::Never,
            expires: None,
            max_calls: None,
            terms: NewTerms::default(),
        };
        engine.add_grant(who, uuid(), grant).await.unwrap();
    }

    /// Removes the connection and adds it again under its name.
    pub(crate) async fn reconnect(&self, engine: &Engine, class: EffectClass) {
        engine.remove_connection(&self.who, "demo").await.unwrap();
        Self::connect(engine, &self.who, class).await;
    }

    /// The same home with another task, in a session of its own.
    pub(crate) async fn another(&self) -> Self {
        let (engine, _) = open(&self.folder.path().join("home")).await;
        let task = submit(&engine, &self.who).await;
        Self { folder: Arc::clone(&self.folder), task, who: self.who.clone() }
    }

    /// Takes the tools away.
    pub(crate) async fn revoke(&self, engine: &Engine) {
        let grants = engine.ledger.live_grants(self.task.project, None, 9).await.unwrap().items;
        engine.revoke_grant(&self.who, &grants[0].id.to_string()).await.unwrap();
    }

    /// Grants a tool whose class is for its upstream to say; gives the grant's id.
    pub(crate) async fn grant(&self, engine: &Engine, tool: &str) -> String {
        let grant = NewGrant {
            project: "default".to_owned(),
            connection: "demo".to_owned(),
            tools: vec![tool.to_owned()],
            effect: None,
            approve: ApprovalMode::Never,
            expires: None,
            max_calls: None,
            terms: NewTerms::default(),
        };
        engine.add_grant(&self.who, engine.entropy.uuid(), grant).await.unwrap().grant.id.to_string()
    }

    /// Takes one grant away, if it is there still.
    pub(crate) async fn revoke_grant(&self, engine: &Engine, grant: &str) {
        engine.revoke_grant(&self.who, grant).await.unwrap();
    }

    /// Hosts the session and opens the task's turn, as its worker does; anew each time.
    pub(crate) async fn host(&self) -> Rig {
        self.host_after(&[]).await
    }

    /// The same for a session that goes on from others.
    pub(crate) async fn host_after(&self, earlier: &[SessionId]) -> Rig {
        let (engine, clock) = open(&self.folder.path().join("home")).await;
        let session = self.task.session;
        let lock = SessionLock::try_take(&engine.home.session(session)).unwrap().unwrap();
        let epoch = engine.host(session, &lock).await.unwrap();
        let (journal, found) = engine.stores.journal_writer(session, epoch, clock.now()).await.unwrap();
        let redactor = Arc::new(Redactor::new(Vec::<Vec<u8>>::new()).unwrap());
        let spill =
            Spill::open(&engine.home.session(session), &engine.key, session, Arc::clone(&engine.entropy))
                .unwrap();
        let desk = Admission::new(
            Arc::clone(&engine),
            session,
            self.task.project,
            journal.clone(),
            spill,
            found.next_operation,
            redactor,
        );
        let desk = desk.going_on_from(earlier).await.unwrap();
        let connection = engine.connection(&self.who, "demo").await.unwrap().id;
        let turn = self.begin(&engine, &journal, found.next_turn).await;
        desk.set_current(Some(turn));
        desk.refresh(self.task.id).await.unwrap();
        let reader = journal.reader();
        Rig { engine, clock, desk: Arc::new(desk), journal, reader, turn, connection, _lock: lock }
    }

    /// Claims the task, or claims it again for this epoch; its one turn goes on where a dead worker left it.
    async fn begin(&self, engine: &Engine, journal: &JournalWriter, number: i64) -> CurrentTurn {
        let task = engine.ledger.task(self.task.id).await.unwrap().unwrap();
        let (id, now) = (TurnId::new(engine.entropy.uuid()), engine.clock.now());
        let claim = TaskCommand::Claim { turn: id, epoch: journal.epoch() };
        let transition = task.state.decide(claim, now).unwrap();
        let turn = transition.to().run().unwrap().turn;
        let draft = |kind| Draft { kind, task: Some(task.id), turn: Some(turn), at: now, data: json!({}) };
        engine.ledger.apply_task(&task, &transition, draft(EventType::TaskStarted), &[], None).await.unwrap();
        if journal.reader().turn(turn).await.unwrap().is_none() {
            let opened = Turn::opened(turn, number, task.id, now);
            let prompted = TurnState::Starting.decide(TurnCommand::Prompt, now).unwrap();
            journal
                .write(vec![
                    Change::OpenTurn(opened),
                    Change::MoveTurn { turn, transition: prompted, report: None, evidence: None },
                ])
                .await
                .unwrap();
        }
        CurrentTurn { task: task.id, turn }
    }
}

impl Rig {
    /// Asks for a call.
    pub(crate) async fn ask(
        &self,
        text: &str,
        id: Option<&str>,
        gone: Option<&CancellationToken>,
    ) -> Admitted {
        self.request(text, id, gone, None).await
    }

    /// Answers a question: a further round of the call.
    pub(crate) async fn answer(&self, text: &str, state: &str) -> Admitted {
        self.request(text, None, None, Some(state)).await
    }

    async fn request(
        &self,
        text: &str,
        id: Option<&str>,
        gone: Option<&CancellationToken>,
        continues: Option<&str>,
    ) -> Admitted {
        let arguments = json!({ "text": text }).to_string();
        let definition = mate_guard::Definition::of("{}");
        let call = self.note(&arguments, &definition);
        self.desk.admit(&Request { runtime_call: id, continues, gone, ..call }).await
    }

    fn note<'a>(&self, arguments: &'a str, definition: &'a mate_guard::Definition) -> Request<'a> {
        Request {
            connection: Some(self.connection),
            connection_name: "demo",
            tool: "note",
            arguments,
            runtime_call: None,
            definition,
            says_read_only: false,
            tell: None,
            continues: None,
            gone: None,
        }
    }

    /// Answers questions about the task that was made of a call.
    pub(crate) async fn answer_task(&self, id: OperationId, text: &str, keys: &[String]) -> Answering {
        let arguments = json!({ "text": text }).to_string();
        let definition = mate_guard::Definition::of("{}");
        self.desk.answer(id, &self.note(&arguments, &definition), keys).await.unwrap()
    }

    /// The same, with a further call that continues the one in flight.
    pub(crate) async fn answer_held(&self, id: OperationId, text: &str, state: &str) -> Answering {
        let arguments = json!({ "text": text }).to_string();
        let definition = mate_guard::Definition::of("{}");
        let request = Request { continues: Some(state), ..self.note(&arguments, &definition) };
        self.desk.answer(id, &request, &["q".to_owned()]).await.unwrap()
    }

    /// Whether the call with these arguments is the one in flight.
    pub(crate) fn is_call(&self, id: OperationId, arguments: &str) -> bool {
        self.desk.is_call(id, &self.note(arguments, &mate_guard::Definition::of("{}")))
    }

    /// A call that must be admitted.
    pub(crate) async fn go(&self, text: &str) -> Go {
        match self.ask(text, None, None).await {
            Admitted::Go(go) => *go,
            other @ (Admitted::Refused(_)
            | Admitted::Told { .. }
            | Admitted::Stored { .. }
            | Admitted::Asked { .. }) => {
                panic!("not admitted: {other:?}")
            }
        }
    }

    /// A call that must not be made; what the agent is told.
    pub(crate) async fn refused(&self, text: &str) -> String {
        match self.ask(text, None, None).await {
            Admitted::Refused(why) => why,
            other @ (Admitted::Go(_)
            | Admitted::Told { .. }
            | Admitted::Stored { .. }
            | Admitted::Asked { .. }) => {
                panic!("not refused: {other:?}")
            }
        }
    }

    /// A call that must be answered with the stored result of this operation.
    pub(crate) async fn stored(&self, text: &str, of: OperationId) -> (String, Receipt) {
        match self.ask(text, None, None).await {
            Admitted::Stored { operation, result, receipt } => {
                assert_eq!(operation, of);
                (result, receipt)
            }
            other @ (Admitted::Go(_)
            | Admitted::Told { .. }
            | Admitted::Refused(_)
            | Admitted::Asked { .. }) => {
                panic!("not the stored result: {other:?}")
            }
        }
    }

    pub(crate) async fn succeed(&self, go: Go, result: &str) -> Receipt {
        let (outcome, facts) = (Outcome::Result { error: None }, OperationFacts::default());
        self.desk.settle(go, Ended::new(outcome, facts, Some(result.to_owned()))).await.unwrap()
    }

    pub(crate) async fn end(&self, go: Go, outcome: Outcome) {
        let ended = Ended::new(outcome, OperationFacts::default(), None);
        drop(self.desk.settle(go, ended).await.unwrap());
    }

    /// The call is lost on its way: its outcome is unknown.
    pub(crate) async fn lose(&self, go: Go) -> OperationId {
        let id = go.operation();
        self.end(go, Outcome::Lost { detail: "cut off".to_owned() }).await;
        id
    }

    pub(crate) fn turn_clock(&self) -> Micros {
        self.engine.clock.now()
    }

    /// What recovery writes for a call without an outcome.
    pub(crate) async fn classify_lost(&self, id: OperationId) {
        let row = self.reader.operation(id).await.unwrap().unwrap();
        let lost = OperationCommand::Settle(Outcome::Lost { detail: "a crash".to_owned() });
        let transition = row.state.decide(row.class, lost, self.turn_clock()).unwrap();
        let facts = OperationFacts::default();
        self.journal.write(vec![Change::MoveOperation { id, transition, facts }]).await.unwrap();
    }

    pub(crate) async fn state(&self, id: OperationId) -> OperationStateWord {
        self.reader.operation(id).await.unwrap().unwrap().state.word()
    }

    /// The states of all operations, in request order.
    pub(crate) async fn states(&self) -> Vec<&'static str> {
        let page = self.reader.operations(None, None, 0, 1000).await.unwrap();
        page.items.iter().map(|operation| operation.state.word().as_str()).collect()
    }
}
