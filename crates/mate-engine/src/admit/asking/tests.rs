//! What waits, by itself: who joins, who takes, who is told.

use super::*;
use mate_model::{
    OperationId, ProjectId, SessionId, TaskId, TurnId,
    approval::ApprovalState,
    words::{ApprovalMode, EffectClass},
};
use uuid::Uuid;

fn key(digest: &str) -> AskKey {
    AskKey::Call(TwinKey {
        connection: "mail".to_owned(),
        tool: "send".to_owned(),
        digest: digest.to_owned(),
    })
}

fn waiting(number: u64) -> Waiting {
    let session = SessionId::new(Uuid::from_u128(1));
    let expires_at = Micros(9);
    let approval = Approval {
        id: ApprovalId::Call(OperationId { session, number }),
        project: ProjectId::new(Uuid::from_u128(2)),
        task: TaskId::new(Uuid::from_u128(3)),
        turn: TurnId::new(Uuid::from_u128(4)),
        mode: ApprovalMode::Always,
        connection: None,
        connection_name: "mail".to_owned(),
        tool: "send".to_owned(),
        class: EffectClass::Effect,
        digest: "d".to_owned(),
        shape: serde_json::Value::Null,
        state: ApprovalState::Open { expires: expires_at },
        expires_at,
        answer: None,
        over: None,
        created_at: Micros(1),
    };
    Waiting { approval, call: None }
}

fn ask(asks: &Asks, key: &AskKey, number: u64) -> watch::Receiver<Phase> {
    match asks.enter(key) {
        Entered::First(place) => place.open(waiting(number)),
        Entered::Joined(_) | Entered::Told(_) | Entered::Full => panic!("nothing waits under this key yet"),
    }
}

fn joins(asks: &Asks, key: &AskKey) -> bool {
    matches!(asks.enter(key), Entered::Joined(_))
}

#[test]
fn g04_leave_is_taken_by_one_and_its_place_is_kept_until_that_one_is_done() {
    let asks = Asks::default();
    let first = ask(&asks, &key("a"), 1);
    let id = waiting(1).approval.id;
    assert!(joins(&asks, &key("a")) && !joins(&asks, &key("b")), "identical calls join, others do not");
    assert!(asks.take(&key("a"), id).is_none(), "nobody has answered");
    asks.allow(&key("a"), waiting(2).approval.id);
    assert!(asks.take(&key("a"), id).is_none(), "that leave was for another one");
    asks.allow(&key("a"), id);
    assert_eq!(*first.borrow(), Phase::Allowed(id));
    let taken = asks.take(&key("a"), id).expect("the first who asks");
    assert!(asks.take(&key("a"), id).is_none(), "and nobody else");
    assert!(joins(&asks, &key("a")), "nobody asks again meanwhile");
    asks.put_back(&key("a"), taken);
    assert!(asks.take(&key("a"), id).is_some(), "what was not let out keeps its leave");
    asks.done(&key("a"));
    assert!(matches!(asks.enter(&key("a")), Entered::First(_)), "a call after that is a new one");
}

#[test]
fn an_end_is_told_to_those_who_wait_or_to_the_next_who_asks() {
    let asks = Asks::default();
    let heard = ask(&asks, &key("a"), 1);
    drop(asks.claim(&key("a"), waiting(1).approval.id).expect("it waits"));
    assert!(asks.claim(&key("a"), waiting(1).approval.id).is_none(), "it is ended once");
    asks.tell(&key("a"), "no".to_owned());
    assert_eq!(*heard.borrow(), Phase::Over("no".to_owned()));
    assert!(!asks.has(&key("a")), "they have heard of it");
    drop(ask(&asks, &key("a"), 2));
    drop(asks.claim(&key("a"), waiting(2).approval.id));
    asks.tell(&key("a"), "never".to_owned());
    assert!(matches!(asks.enter(&key("a")), Entered::Told(words) if words == "never"));
    assert!(matches!(asks.enter(&key("a")), Entered::First(_)), "and once only");
}

#[test]
fn what_is_not_written_down_is_judged_anew_and_too_many_are_refused() {
    let asks = Asks::default();
    let Entered::First(place) = asks.enter(&key("a")) else { panic!("nothing waits") };
    let Entered::Joined(second) = asks.enter(&key("a")) else { panic!("the first one is about to ask") };
    drop(place);
    assert_eq!(*second.borrow(), Phase::Again);
    let kept: Vec<_> = (0..MOST).map(|n| ask(&asks, &key(&n.to_string()), n as u64 + 1)).collect();
    assert!(matches!(asks.enter(&key("more")), Entered::Full));
    drop(kept);
    drop(asks.claim(&key("0"), waiting(1).approval.id));
    asks.tell(&key("0"), "no".to_owned());
    assert!(matches!(asks.enter(&key("more")), Entered::First(_)), "an end that nobody heard makes room");
    assert_eq!(asks.waiting().len(), MOST - 1);
}
