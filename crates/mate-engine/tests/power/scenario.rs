//! A session's life, as its worker lives it: submitted, claimed, prompted, calls that are answered, one of them while
//! the journal has no room, the end.

use crate::{
    record::{Mark, say},
    vfs::JOURNAL_IS_FULL,
};
use mate_engine::{
    Engine, Home, Principal, SessionLock, Spill, Stores, Submit,
    admin::{self, NewConnection, NewGrant, NewTerms, Patience},
    admit::{Admission, Admitted, CurrentTurn, Ended, Go, Request},
    surroundings::{SystemClock, SystemEntropy},
};
use mate_guard::{KeyPlace, Redactor, key_file};
use mate_model::{
    ConnectionId, TurnId,
    event::{Draft, EventType},
    operation::Outcome,
    records::{Reach, Task, Turn},
    task::TaskCommand,
    turn::{TurnCommand, TurnEnd, TurnState},
    words::{ApprovalMode, EffectClass, StopReason},
};
use mate_store::{Change, JournalWriter, Ledger, OperationFacts, SqliteDatabase, SqliteOptions};
use serde_json::json;
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, atomic::Ordering},
};

/// Opens an initialised home.
pub(crate) async fn open(root: &Path) -> Result<Arc<Engine>, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let home = Home::at(root.to_owned());
    let ring = key_file::load(&KeyPlace::of(root, None, None)).map_err(|error| said(&error))?;
    let key = ring.first().map(|(_, key)| key.clone()).expect("a key");
    let ledger = SqliteDatabase::open(&home.ledger(), SqliteOptions::LEDGER).await;
    let ledger = Ledger::new(Arc::new(ledger.map_err(|error| said(&error))?));
    ledger.migrate().await.map_err(|error| said(&error))?;
    let stores = Stores::embedded(home.clone());
    let (clock, entropy) = (Arc::new(SystemClock::default()), Arc::new(SystemEntropy));
    Ok(Arc::new(Engine::new(ledger, stores, home, key, clock, entropy)))
}

/// Makes a home with a runtime, a connection and a grant.
pub(crate) async fn prepare(root: &Path) {
    let home = Home::at(root.to_owned());
    admin::create_home(&home, &KeyPlace::of(root, None, None), &SystemEntropy).expect("made");
    let engine = open(root).await.expect("opens");
    let token = engine.initialise().await.expect("set up").token;
    let who = engine.authenticate(token.reveal()).await.expect("known");
    let id = || engine.entropy.uuid();
    engine
        .add_runtime(&who, id(), "agent", json!({ "command": ["agent"] }), Patience::default())
        .await
        .expect("added");
    let connection = NewConnection {
        name: "demo".to_owned(),
        reach: Reach::Http { url: "http://127.0.0.1:9/".to_owned() },
        secret_env: BTreeMap::new(),
        headers: BTreeMap::new(),
        allow_fields: Vec::new(),
        bare: false,
        trust_annotations: false,
        effect: None,
        verify: Vec::new(),
        workspace_root: false,
    };
    engine.add_connection(&who, id(), connection).await.expect("added");
    let grant = NewGrant {
        project: "default".to_owned(),
        connection: "demo".to_owned(),
        tools: vec!["*".to_owned()],
        effect: Some(EffectClass::Effect),
        approve: ApprovalMode::Never,
        expires: None,
        max_calls: None,
        terms: NewTerms::default(),
    };
    engine.add_grant(&who, id(), grant).await.expect("added");
    let log = root.join("ledger.db-wal");
    drop(engine);
    // The store's threads close the file, which takes the log away; two that do so at the same moment leave that to
    // whoever closes it next.
    let closed = async {
        while log.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            let file = root.join("ledger.db");
            let once_more = SqliteDatabase::open(&file, SqliteOptions::LEDGER).await.expect("opens");
            once_more.close().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), closed).await.expect("closed");
}

/// A worker of one session, without a runtime.
struct Worker {
    engine: Arc<Engine>,
    journal: JournalWriter,
    desk: Admission,
    connection: ConnectionId,
    turn: TurnId,
    task: Task,
    _lock: SessionLock,
}

/// Lives the whole life.
pub(crate) async fn live(root: &Path) {
    let engine = open(root).await.expect("opens");
    let token = std::fs::read_to_string(engine.home.token()).expect("a token");
    let who = engine.authenticate(token.trim()).await.expect("known");
    let wish = Submit {
        project: "default".to_owned(),
        instructions: "do it".to_owned(),
        approve: true,
        ..Submit::default()
    };
    let task = engine.submit(&who, wish, None).await.expect("submitted");
    say(Mark::Submitted(task.id));
    let worker = Worker::host(engine, &who, task).await;
    worker.call(1).await;
    let go = worker.admit(2).await;
    JOURNAL_IS_FULL.store(true, Ordering::Release);
    worker.end(2, go).await;
    JOURNAL_IS_FULL.store(false, Ordering::Release);
    worker.desk.recorded().await;
    worker.call(3).await;
    // Sent, and never answered.
    let lost = worker.admit(4).await;
    worker.lose(lost).await;
    worker.finish().await;
}

impl Worker {
    async fn host(engine: Arc<Engine>, who: &Principal, mut task: Task) -> Self {
        let folder = engine.home.session(task.session);
        let lock = SessionLock::try_take(&folder).expect("a file").expect("free");
        let epoch = engine.host(task.session, &lock).await.expect("hosted");
        let now = engine.clock.now();
        let (journal, found) = engine.stores.journal_writer(task.session, epoch, now).await.expect("taken");
        let spill =
            Spill::open(&folder, &engine.key, task.session, Arc::clone(&engine.entropy)).expect("opens");
        let redactor = Arc::new(Redactor::new(Vec::<Vec<u8>>::new()).expect("nothing to redact"));
        let desk = Admission::new(
            Arc::clone(&engine),
            task.session,
            task.project,
            journal.clone(),
            spill,
            found.next_operation,
            redactor,
        );
        let turn = TurnId::new(engine.entropy.uuid());
        let claim = task.state.decide(TaskCommand::Claim { turn, epoch }, now).expect("accepted");
        let draft = |kind| Draft { kind, task: Some(task.id), turn: Some(turn), at: now, data: json!({}) };
        engine
            .ledger
            .apply_task(&task, &claim, draft(EventType::TaskStarted), &[], None)
            .await
            .expect("claimed");
        let row = Turn::opened(turn, found.next_turn, task.id, now);
        let started = Change::Event(draft(EventType::TurnStarted));
        journal.write(vec![Change::OpenTurn(row), started]).await.expect("written");
        task.state = claim.into_to();
        let connection = engine.connection(who, "demo").await.expect("there").id;
        let worker = Self { engine, journal, desk, connection, turn, task, _lock: lock };
        worker.move_turn(&TurnState::Starting, TurnCommand::Prompt, EventType::TurnPrompted).await;
        say(Mark::Prompted(turn));
        worker.desk.set_current(Some(CurrentTurn { task: worker.task.id, turn }));
        worker
    }

    async fn move_turn(&self, from: &TurnState, command: TurnCommand, kind: EventType) {
        let at = self.engine.clock.now();
        let transition = from.decide(command, at).expect("legal");
        let event = Draft { kind, task: Some(self.task.id), turn: Some(self.turn), at, data: json!({}) };
        let change = Change::MoveTurn { turn: self.turn, transition, report: None, evidence: None };
        self.journal.write(vec![change, Change::Event(event)]).await.expect("written");
    }

    async fn admit(&self, number: u64) -> Box<Go> {
        let arguments = json!({ "number": number }).to_string();
        let request = Request {
            connection: Some(self.connection),
            connection_name: "demo",
            tool: "act",
            arguments: &arguments,
            runtime_call: None,
            definition: &mate_guard::Definition::of("{}"),
            says_read_only: false,
            tell: None,
            continues: None,
            gone: None,
        };
        let Admitted::Go(go) = self.desk.admit(&request).await else { panic!("call {number} was refused") };
        say(Mark::Sent(go.operation()));
        go
    }

    async fn end(&self, number: u64, go: Box<Go>) {
        let operation = go.operation();
        say(Mark::Answered(operation));
        let now = self.engine.clock.now();
        let facts =
            OperationFacts { sent_at: Some(now), answered_at: Some(now), ..OperationFacts::default() };
        let result = Some(json!({ "content": [], "number": number }).to_string());
        let ended = Ended::new(Outcome::Result { error: None }, facts, result);
        let receipt = self.desk.settle(*go, ended).await.expect("recorded or held");
        say(Mark::Told(operation));
        receipt.handed_over();
    }

    async fn call(&self, number: u64) {
        let go = self.admit(number).await;
        self.end(number, go).await;
    }

    async fn lose(&self, go: Box<Go>) {
        let outcome = Outcome::Lost { detail: "no answer came".to_owned() };
        let ended = Ended::new(outcome, OperationFacts::default(), None);
        drop(self.desk.settle(*go, ended).await.expect("recorded"));
    }

    async fn finish(self) {
        self.desk.close().await;
        let reader = self.journal.reader();
        let turn = reader.turn(self.turn).await.expect("read").expect("there");
        let end = TurnEnd::Answered { reason: StopReason::EndTurn, empty: false };
        self.move_turn(&turn.state, TurnCommand::Finish { end, in_flight: 0 }, EventType::TurnEnded).await;
        let epoch = self.journal.epoch();
        self.engine.conclude(&reader, epoch, self.task.id).await.expect("concluded");
        say(Mark::Ended(self.task.id));
        self.engine.release(self.task.session, epoch).await.expect("released");
    }
}
