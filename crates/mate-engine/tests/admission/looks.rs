//! Looks whether an unknown call has happened: judged, written down, and judged again.

use crate::rig::{House, Rig};
use async_trait::async_trait;
use mate_engine::Looker;
use mate_model::{
    ConnectionId, OperationId, operation::OperationStateWord, verification::Look, words::EffectClass,
};
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Says yes, and counts how often it was asked. While it is asked for its class, a grant may be revoked.
struct Upstream<'a> {
    rig: &'a Rig,
    house: &'a House,
    revokes: Option<String>,
    asked: AtomicUsize,
}

#[async_trait]
impl Looker for Upstream<'_> {
    async fn says_read_only(&self, _: ConnectionId, _: &str) -> Result<bool, String> {
        if let Some(grant) = &self.revokes {
            self.house.revoke_grant(&self.rig.engine, grant).await;
        }
        Ok(true)
    }

    async fn look(&self, _: ConnectionId, tool: &str, _: &Map<String, Value>) -> Result<Value, String> {
        assert_eq!(tool, "find");
        self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(json!({"structuredContent": {"found": true}}))
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
    let upstream =
        Upstream { rig: &rig, house: &house, revokes: revoked.then_some(grant), asked: AtomicUsize::new(0) };
    let said = rig.engine.verify(&rig.reader, &session, &due[0], &upstream).await.unwrap();
    // The same look is not taken twice: it was read before it was taken.
    assert_eq!(rig.engine.verify(&rig.reader, &session, &due[0], &upstream).await.unwrap(), None);
    let asked = upstream.asked.load(Ordering::SeqCst);
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
