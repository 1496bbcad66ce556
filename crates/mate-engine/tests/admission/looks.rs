//! Looks whether an unknown call has happened: judged, written down, and judged again.

use crate::rig::{House, RESULT, Rig};
use async_trait::async_trait;
use mate_engine::Looker;
use mate_model::{
    ConnectionId, OperationId,
    operation::OperationStateWord,
    record::{Record, RecordStatus, Recorded},
    verification::{Look, MAX_TRIES},
    words::{EffectClass, EvidenceKind},
};
use mate_store::{SqliteDatabase, SqliteOptions, Statement};
use serde_json::{Map, Value, json};
use std::sync::Mutex;

/// Answers, and keeps what it was asked. While it is asked for its class, a grant may be revoked.
struct Upstream<'a> {
    rig: &'a Rig,
    house: &'a House,
    revokes: Option<String>,
    answer: &'a str,
    record: Option<Record>,
    asked: Mutex<Vec<Value>>,
}

const YES: &str = r#"{"structuredContent": {"found": true}}"#;

impl<'a> Upstream<'a> {
    fn new(rig: &'a Rig, house: &'a House) -> Self {
        Self { rig, house, revokes: None, answer: YES, record: None, asked: Mutex::default() }
    }

    fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Looker for Upstream<'_> {
    async fn says_read_only(&self, _: ConnectionId, _: &str) -> Result<bool, String> {
        if let Some(grant) = &self.revokes {
            self.house.revoke_grant(&self.rig.engine, grant).await;
        }
        Ok(true)
    }

    async fn look(
        &self,
        _: ConnectionId,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<String, String> {
        assert_eq!(tool, "find");
        self.asked.lock().unwrap().push(arguments.clone().into());
        Ok(self.answer.to_owned())
    }

    async fn record(&self, _: ConnectionId, id: &str) -> Result<Record, String> {
        self.asked.lock().unwrap().push(id.into());
        self.record.clone().ok_or_else(|| "no such task".to_owned())
    }
}

/// A call that is unknown, and one look for it; the operation, what the look came to, how often was asked.
async fn look(revoked: bool) -> (Rig, OperationId, Option<Look>, usize) {
    let house = House::with(EffectClass::Effect).await;
    let rig = house.host().await;
    let grant = house.grant(&rig.engine, "find").await;
    let lost = rig.lose(rig.go("a").await).await;
    let now = rig.engine.clock.now();
    rig.engine.ledger.open_verifications(&house.task, &[lost], now).await.unwrap();
    let session = rig.engine.ledger.session(house.task.session).await.unwrap().unwrap();
    let due = rig.engine.looks_due(session.id, 9).await.unwrap();
    let upstream = Upstream { revokes: revoked.then_some(grant), ..Upstream::new(&rig, &house) };
    let said = rig.engine.verify(&rig.reader, &session, &due[0], &upstream).await.unwrap();
    // The same look is not taken twice: it was read before it was taken.
    assert_eq!(rig.engine.verify(&rig.reader, &session, &due[0], &upstream).await.unwrap(), None);
    let asked = upstream.asked().len();
    (rig, lost, said, asked)
}

#[tokio::test]
async fn g07_a_grant_that_is_revoked_while_a_look_is_judged_stops_it() {
    let (rig, lost, said, asked) = look(true).await;
    assert_eq!((said, asked), (Some(Look::CannotTell), 0), "nothing was asked");
    assert!(rig.engine.ledger.resolution(lost).await.unwrap().is_none());
}

#[tokio::test]
async fn g05_a_look_that_tells_settles_once() {
    let (rig, lost, said, asked) = look(false).await;
    assert_eq!((said, asked), (Some(Look::Happened), 1));
    let resolution = rig.engine.ledger.resolution(lost).await.unwrap().unwrap();
    assert_eq!(resolution.finding.verdict.state(), OperationStateWord::Succeeded);
    assert_eq!(rig.engine.ledger.verification(lost).await.unwrap().unwrap().due_at, None);
}

/// Wants looks for operations of the house's task, and takes all that are due; what each came to.
async fn look_for(upstream: &Upstream<'_>, wanted: &[OperationId]) -> Vec<(OperationId, Option<Look>)> {
    let (rig, task) = (upstream.rig, &upstream.house.task);
    let ledger = &rig.engine.ledger;
    ledger.open_verifications(task, wanted, rig.engine.clock.now()).await.unwrap();
    let session = ledger.session(task.session).await.unwrap().unwrap();
    let mut said = Vec::new();
    for due in rig.engine.looks_due(session.id, 9).await.unwrap() {
        let look = rig.engine.verify(&rig.reader, &session, &due, upstream).await.unwrap();
        said.push((due.operation, look));
    }
    said
}

#[tokio::test]
async fn g05_a_look_that_fails_counts_and_the_others_are_taken() {
    let house = House::with(EffectClass::Effect).await;
    let rig = house.host().await;
    house.grant(&rig.engine, "find").await;
    let (bad, good) = (rig.lose(rig.go("a").await).await, rig.lose(rig.go("b").await).await);
    let path = rig.engine.home.session(house.task.session).journal();
    let journal = SqliteDatabase::open(&path, SqliteOptions::JOURNAL).await.unwrap();
    let spoil = "UPDATE operations SET shape = 'no shape' WHERE number = 1";
    mate_store::Database::execute(&journal, Statement::one(spoil, vec![])).await.unwrap();
    assert!(rig.reader.operation(bad).await.is_err());
    let upstream = Upstream::new(&rig, &house);
    let said = look_for(&upstream, &[bad, good]).await;
    assert_eq!(said, [(bad, Some(Look::CannotTell)), (good, Some(Look::Happened))]);
    let mut pause = 0;
    for tries in 1.. {
        let looks = rig.engine.ledger.verification(bad).await.unwrap().unwrap();
        assert_eq!(looks.tries, tries);
        let Some(due_at) = looks.due_at else { break };
        let left = due_at.since(rig.engine.clock.now());
        assert!(left > pause, "the pause grows: {left} after {pause}");
        assert_eq!(look_for(&upstream, &[]).await, [], "not before its time");
        pause = left;
        rig.clock.move_on(left);
        assert_eq!(look_for(&upstream, &[]).await, [(bad, Some(Look::CannotTell))]);
    }
    assert_eq!(rig.engine.ledger.verification(bad).await.unwrap().unwrap().tries, MAX_TRIES);
    let events = rig.engine.ledger.events(house.task.project, 0, 200).await.unwrap().items;
    let failed = events.iter().filter(|event| {
        event.data["detail"].as_str().is_some_and(|why| why.starts_with("it failed: corrupt row"))
    });
    assert_eq!(failed.count(), 6, "each says why");
    assert_eq!(upstream.asked().len(), 1);
}

#[tokio::test]
async fn g05_a_look_asks_by_the_key_of_the_earlier_sessions_call() {
    let old = House::with(EffectClass::Idempotent).await;
    let new = old.another().await;
    let first = {
        let rig = old.host().await;
        rig.lose(rig.go("a").await).await
    };
    let rig = new.host_after(&[old.task.session]).await;
    new.grant(&rig.engine, "find").await;
    let go = rig.go("a").await;
    assert_eq!(go.idempotency_key(), first);
    let repeat = rig.lose(go).await;
    let upstream = Upstream::new(&rig, &new);
    assert_eq!(look_for(&upstream, &[repeat]).await, [(repeat, Some(Look::Happened))]);
    assert_eq!(upstream.asked(), [json!({"key": first})]);
}

/// A call that is unknown, and whose upstream has named the task that it made of it.
async fn lost_task(rig: &Rig, text: &str) -> OperationId {
    let go = rig.go(text).await;
    rig.desk.upstream_task(go.operation(), &format!("t/{text}")).await.unwrap();
    rig.lose(go).await
}

fn record(status: RecordStatus) -> Option<Record> {
    let recorded = Recorded::Result { text: RESULT.to_owned(), is_error: false };
    Some(Record { status, recorded })
}

#[tokio::test]
async fn g05_a_record_and_a_recipe_take_turns_and_the_record_is_first() {
    let house = House::with(EffectClass::Effect).await;
    let rig = house.host().await;
    house.grant(&rig.engine, "find").await;
    let (first, second) = (lost_task(&rig, "a").await, lost_task(&rig, "b").await);
    let upstream = Upstream { record: record(RecordStatus::Working), ..Upstream::new(&rig, &house) };
    assert_eq!(look_for(&upstream, &[first]).await, [(first, Some(Look::Working))]);
    assert_eq!(upstream.asked(), [json!("t/a")], "as the upstream gave it");
    rig.clock.move_on(6_000_000);
    assert_eq!(look_for(&upstream, &[]).await, [(first, Some(Look::Happened))]);
    assert_eq!(upstream.asked().len(), 2, "then by the recipe");
    let kind = |resolution: mate_model::resolution::Resolution| resolution.finding.evidence.kind;
    let ledger = &rig.engine.ledger;
    assert_eq!(kind(ledger.resolution(first).await.unwrap().unwrap()), EvidenceKind::Verification);
    let done = Upstream { record: record(RecordStatus::Completed), ..Upstream::new(&rig, &house) };
    assert_eq!(look_for(&done, &[second]).await, [(second, Some(Look::Happened))]);
    assert_eq!(kind(ledger.resolution(second).await.unwrap().unwrap()), EvidenceKind::UpstreamRecord);
    assert_eq!(
        ledger.last_look(second).await.unwrap().unwrap(),
        "the upstream's task t…: it says completed, with its result"
    );
}

#[tokio::test]
async fn g09_the_name_of_an_upstreams_task_is_sealed_and_the_first_one_stands() {
    let house = House::with(EffectClass::Effect).await;
    let rig = house.host().await;
    let lost = lost_task(&rig, "a").await;
    rig.desk.upstream_task(lost, "another").await.unwrap();
    let kept = rig.reader.upstream_task(lost).await.unwrap().unwrap();
    assert_eq!(kept.shown, "t…", "never the whole name");
    assert!(!kept.sealed.windows(3).any(|part| part == b"t/a"));
    let upstream = Upstream { record: record(RecordStatus::Completed), ..Upstream::new(&rig, &house) };
    // It came after the call was given up, and is asked for from then on.
    assert_eq!(look_for(&upstream, &[]).await, [(lost, Some(Look::Happened))]);
    assert_eq!(upstream.asked(), [json!("t/a")]);
}

#[tokio::test]
async fn g05_an_answer_that_says_a_member_twice_settles_nothing() {
    let house = House::with(EffectClass::Effect).await;
    let rig = house.host().await;
    house.grant(&rig.engine, "find").await;
    let lost = rig.lose(rig.go("a").await).await;
    let twice = r#"{"structuredContent": {"found": false, "found": true}}"#;
    let upstream = Upstream { answer: twice, ..Upstream::new(&rig, &house) };
    assert_eq!(look_for(&upstream, &[lost]).await, [(lost, Some(Look::CannotTell))]);
    assert_eq!(upstream.asked().len(), 1);
    assert!(rig.engine.ledger.resolution(lost).await.unwrap().is_none());
}

#[tokio::test]
async fn g05_a_name_that_another_call_has_is_not_taken() {
    let house = House::with(EffectClass::Effect).await;
    let rig = house.host().await;
    let (first, second) = (rig.go("a").await, rig.go("b").await);
    let names = async |operation, name| rig.desk.upstream_task(operation, name).await.unwrap();
    assert!(names(first.operation(), "t/1").await);
    assert!(names(first.operation(), "t/1").await, "told twice, it is still its own");
    assert!(!names(second.operation(), "t/1").await);
    let (first, second) = (rig.lose(first).await, rig.lose(second).await);
    assert!(rig.reader.upstream_task(first).await.unwrap().is_some());
    assert!(rig.reader.upstream_task(second).await.unwrap().is_none());
}
