//! Approvals in the ledger.

use crate::support::{World, at, draft, on_both};
use mate_model::{
    ApprovalId, OperationId,
    approval::{ApprovalCommand, ApprovalState, Decision},
    event::EventType,
    records::{Answer, Approval},
    words::{ApprovalMode, EffectClass},
};
use mate_store::LedgerError;
use serde_json::json;

on_both!(an_approval_is_answered_once);

async fn an_approval_is_answered_once(world: World) {
    let session = world.add_session().await;
    let task = world.running(session.id).await;
    let approval = Approval {
        id: ApprovalId::Call(OperationId { session: session.id, number: 3 }),
        project: world.project,
        task: task.id,
        turn: task.state.run().unwrap().turn,
        mode: ApprovalMode::Once,
        connection: Some(world.connection),
        connection_name: "tracker".to_owned(),
        tool: "issue_create".to_owned(),
        class: EffectClass::Effect,
        digest: "ab".repeat(32),
        shape: json!({"title": "string"}),
        state: ApprovalState::Open { expires: at(90) },
        expires_at: at(90),
        answer: None,
        over: None,
        created_at: at(10),
    };
    let told = |kind| draft(kind, Some(task.id));
    let asked = EventType::ApprovalAsked;
    assert!(world.ledger.add_approval(&approval, told(asked)).await.unwrap());
    assert!(!world.ledger.add_approval(&approval, told(asked)).await.unwrap());
    let own = ApprovalId::OwnTool { session: session.id, epoch: 1, number: 1 };
    let own = Approval { id: own, connection: None, created_at: at(11), ..approval.clone() };
    assert!(world.ledger.add_approval(&own, told(asked)).await.unwrap());
    let page = world.ledger.approvals(world.project, false, None, 1).await.unwrap();
    assert_eq!(page.items, std::slice::from_ref(&approval));
    assert_eq!(page.next.unwrap().to_string().parse(), Ok(page.next.unwrap()));
    let rest = world.ledger.approvals(world.project, false, page.next, 9).await.unwrap();
    assert_eq!((rest.items, rest.next), (vec![own.clone()], None));
    assert_eq!(world.ledger.open_approvals(task.id).await.unwrap(), 2);
    let (by, reason) = (world.account, "no".to_owned());
    let allow = approval.state.decide(ApprovalCommand::Allow { by }, at(20)).unwrap();
    let deny = approval.state.decide(ApprovalCommand::Deny { by, reason: reason.clone() }, at(20)).unwrap();
    let (with, allowed) = (Some(world.token), told(EventType::ApprovalAllowed));
    world.ledger.apply_approval(&approval, &allow, with, true, allowed.clone()).await.unwrap();
    let refused = world.ledger.apply_approval(&approval, &deny, with, false, allowed.clone()).await;
    assert_eq!(refused, Err(LedgerError::Conflict("approval")));
    let stored = world.ledger.approval(approval.id).await.unwrap().unwrap();
    assert_eq!(stored.state, *allow.to());
    let answer = Answer { decision: Decision::Allow, by, with: world.token, at: at(20), reason: None };
    assert_eq!(stored.answer, Some(answer.clone()));
    let open = world.ledger.approvals(world.project, false, None, 9).await.unwrap().items;
    assert_eq!(open, std::slice::from_ref(&own));
    assert_eq!(world.ledger.waiting_approvals(task.id, None).await.unwrap().items.len(), 2);
    let used = stored.state.decide(ApprovalCommand::Use, at(21)).unwrap();
    let use_it = || world.ledger.apply_approval(&stored, &used, None, false, told(EventType::ApprovalUsed));
    use_it().await.unwrap();
    assert!(use_it().await.is_err());
    let stored = world.ledger.approval(approval.id).await.unwrap().unwrap();
    assert_eq!((stored.state, stored.answer), (used.into_to(), Some(answer)));
    world.ledger.apply_approval(&own, &deny, with, false, told(EventType::ApprovalDenied)).await.unwrap();
    let denied = world.ledger.approval(own.id).await.unwrap().unwrap().answer.unwrap();
    assert_eq!((denied.decision, denied.reason), (Decision::Deny, Some(reason)));
    assert_eq!(world.ledger.approvals(world.project, true, None, 9).await.unwrap().items.len(), 2);
    permissions_end(&world, &approval).await;
}

/// Leave for the rest of a task is taken back once, and raises the authorisation version when it is given and taken.
async fn permissions_end(world: &World, approval: &Approval) {
    let (ledger, task) = (&world.ledger, approval.task);
    let find = || ledger.permission(task, world.connection, &approval.tool);
    let given = find().await.unwrap().unwrap();
    assert_eq!((given.id, given.given_by, given.given_at), (approval.id, world.account, at(20)));
    assert_eq!(ledger.permission(task, world.connection, "another").await.unwrap(), None);
    let version = ledger.authorisation_version().await.unwrap();
    let revoke =
        || ledger.revoke_permission(approval, &given, at(30), draft(EventType::ApprovalRevoked, Some(task)));
    assert!(revoke().await.unwrap());
    assert!(!revoke().await.unwrap());
    assert!(ledger.authorisation_version().await.unwrap() > version);
    assert_eq!(find().await.unwrap(), None);
    assert_eq!(ledger.permission_of(approval.id).await.unwrap().unwrap().revoked_at, Some(at(30)));
    assert_eq!(ledger.permissions(task, None, 9).await.unwrap().items.len(), 1);
}
