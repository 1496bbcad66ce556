//! What policies decide at the desk, at both reads.

use crate::rig::{House, RESULT};
use mate_model::{
    PolicyId,
    operation::OperationState,
    records::{Operation, Policy},
    words::{DenyReason, EffectClass},
};

impl House {
    /// A policy as it stands in the ledger, good or not.
    async fn policy(&self, engine: &mate_engine::Engine, text: &str) -> PolicyId {
        let policy = Policy {
            id: PolicyId::new(engine.entropy.uuid()),
            name: "house".to_owned(),
            text: text.to_owned(),
            created_by: self.task.proposer,
            created_at: engine.clock.now(),
            removed_at: None,
        };
        engine.ledger.add_policy(&policy, None).await.unwrap();
        policy.id
    }
}

async fn last(rig: &crate::rig::Rig) -> Operation {
    let page = rig.reader.operations(None, None, 0, 100).await.unwrap();
    page.items.into_iter().last().unwrap()
}

fn reason(operation: &Operation) -> Option<DenyReason> {
    if let OperationState::Denied { reason, .. } = &operation.state { Some(*reason) } else { None }
}

/// As a newer release may have written it.
#[tokio::test]
async fn g13_a_policy_that_this_release_cannot_use_denies_everything() {
    let house = House::with(EffectClass::Effect).await;
    let rig = house.host().await;
    for text in ["permit (principal, action, resource) when { principal.mood };", "mandate (all);", ""] {
        let id = house.policy(&rig.engine, text).await;
        let told = rig.refused("a").await;
        assert!(told.contains("the policy house cannot be used by this release"), "{told}");
        let denied = last(&rig).await;
        assert_eq!(reason(&denied), Some(DenyReason::Forbidden));
        assert_eq!(denied.decision["policies"], serde_json::json!(["policy:house"]));
        rig.engine.ledger.remove_policy(id, rig.engine.clock.now()).await.unwrap();
    }
    let go = rig.go("a").await;
    drop(rig.succeed(go, RESULT).await);
}
