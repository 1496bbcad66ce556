//! A task is continued at most once, and those that are due to go on by themselves are found.

use crate::support::{World, draft, on_both, uuid};
use mate_model::{
    Epoch, TurnId,
    event::EventType,
    records::{Task, TaskPolicy},
    task::{End, TaskCommand, TaskState},
    words::{FailReason, OnInterruption, UnknownReason},
};
use mate_store::{Continued, LedgerError, NewTask};

on_both!(
    g12_a_task_is_continued_once_however_many_ask,
    a_rejected_continuation_leaves_room_for_another,
    only_an_interrupted_task_whose_policy_says_so_is_due,
    g11_a_due_task_is_taken_back_by_its_continuation_or_its_hold,
);

fn going_on() -> TaskPolicy {
    TaskPolicy { on_interruption: OnInterruption::Resume, ..TaskPolicy::default() }
}

async fn submitted(world: &World, policy: TaskPolicy) -> Task {
    let session = world.add_session().await;
    let new = NewTask { policy, ..world.new_task(session.id) };
    let event = draft(EventType::TaskSubmitted, Some(new.id));
    let task = world.ledger.submit(new, &[event], None).await.expect("a task").task;
    world.command(&task, TaskCommand::Approve { by: world.account }).await
}

async fn ended(
    world: &World,
    policy: TaskPolicy,
    reason: FailReason,
    uncertain: Option<UnknownReason>,
) -> Task {
    let task = submitted(world, policy).await;
    let epoch = Epoch(1);
    let turn = TurnId::new(uuid());
    let task = world.command(&task, TaskCommand::Claim { turn, epoch }).await;
    let end = End::Failed { reason, detail: "gone".to_owned() };
    world.command(&task, TaskCommand::Conclude { epoch, end, uncertain }).await
}

fn continuing(world: &World, old: &Task, by_itself: bool) -> NewTask {
    let continued = Continued { task: old.id, by_itself, resumes: old.resumes + i64::from(by_itself) };
    NewTask { continues: Some(continued), ..world.new_task(old.session) }
}

async fn g12_a_task_is_continued_once_however_many_ask(world: World) {
    let old = ended(&world, TaskPolicy::default(), FailReason::RuntimeLost, None).await;
    let asked = (0..8).map(|_| world.ledger.submit(continuing(&world, &old, false), &[], None));
    let answers = futures_util::future::join_all(asked).await;
    let (made, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!((made.len(), refused.len()), (1, 7));
    for refusal in refused {
        assert_eq!(refusal.unwrap_err(), LedgerError::Conflict("task that is to be continued"));
    }
    let new = made.into_iter().next().unwrap().unwrap().task;
    assert_eq!((new.continues, new.resumes), (Some(old.id), 0));
    assert_eq!(world.ledger.task(old.id).await.unwrap().unwrap().continued_by, Some(new.id));
    // One that is live cannot be continued, nor one of another project.
    let refused = world.ledger.submit(continuing(&world, &new, false), &[], None).await.unwrap_err();
    assert_eq!(refused, LedgerError::Conflict("task that is to be continued"));
}

async fn a_rejected_continuation_leaves_room_for_another(world: World) {
    let old = ended(&world, TaskPolicy::default(), FailReason::RuntimeLost, None).await;
    let first = world.ledger.submit(continuing(&world, &old, false), &[], None).await.unwrap().task;
    world.command(&first, TaskCommand::Reject { by: world.account, reason: "no".to_owned() }).await;
    assert_eq!(world.ledger.task(old.id).await.unwrap().unwrap().continued_by, None);
    world.ledger.submit(continuing(&world, &old, false), &[], None).await.unwrap();
}

async fn only_an_interrupted_task_whose_policy_says_so_is_due(world: World) {
    ended(&world, TaskPolicy::default(), FailReason::RuntimeLost, None).await;
    ended(&world, going_on(), FailReason::RuntimeError, None).await;
    ended(&world, going_on(), FailReason::ContextLost, None).await;
    let uncertain = Some(UnknownReason::Operations);
    let unknown = ended(&world, going_on(), FailReason::RuntimeLost, uncertain).await;
    assert_eq!(world.ledger.resumes_due(None, 9).await.unwrap().items, []);
    let settled = world.command(&unknown, TaskCommand::Settle).await;
    assert!(matches!(settled.state, TaskState::Ended { .. }));
    let lost = ended(&world, going_on(), FailReason::RuntimeLost, None).await;
    let mut due = [settled.id, lost.id];
    due.sort();
    let page = world.ledger.resumes_due(None, 1).await.unwrap();
    assert_eq!((page.items.len(), page.items[0].id, page.next), (1, due[0], Some(due[0])));
    assert_eq!(world.ledger.resumes_due(page.next, 9).await.unwrap().items[0].id, due[1]);
}

async fn g11_a_due_task_is_taken_back_by_its_continuation_or_its_hold(world: World) {
    let due = async || world.ledger.resumes_due(None, 9).await.unwrap().items.len();
    let old = ended(&world, going_on(), FailReason::RuntimeLost, None).await;
    let new = world.ledger.submit(continuing(&world, &old, true), &[], None).await.unwrap().task;
    assert_eq!((new.resumes, due().await), (1, 0));

    let old = ended(&world, going_on(), FailReason::RuntimeLost, None).await;
    let held = || draft(EventType::TaskHeld, Some(old.id));
    world.ledger.hold(&old, held()).await.unwrap();
    assert_eq!(due().await, 0);
    assert_eq!(world.ledger.hold(&old, held()).await, Err(LedgerError::Conflict("task")));
    let refused = world.ledger.submit(continuing(&world, &old, true), &[], None).await.unwrap_err();
    assert_eq!(refused, LedgerError::Conflict("task that is to be continued"), "it was held meanwhile");
    world.ledger.submit(continuing(&world, &old, false), &[], None).await.unwrap();
}
