//! The replay guard, case by case.

use crate::rig::{House, RESULT, Rig};
use mate_engine::admit::{Admitted, KEEP};
use mate_model::{
    OperationId,
    event::{Draft, EventType},
    operation::{Evidence, OperationCommand, OperationStateWord, Outcome, Verdict},
    resolution::{Finding, Resolution},
    words::{EffectClass, EvidenceKind},
};
use mate_store::{Change, OperationFacts};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

async fn resolve(rig: &Rig, id: OperationId, verdict: Verdict) {
    let state = rig.reader.operation(id).await.unwrap().unwrap().state;
    let evidence = Evidence::of(EvidenceKind::Person, "I looked");
    let command = OperationCommand::Resolve { verdict, evidence };
    let transition = state.decide(EffectClass::Effect, command, rig.engine.clock.now()).unwrap();
    let facts = OperationFacts::default();
    rig.journal.write(vec![Change::MoveOperation { id, transition, facts }]).await.unwrap();
}

async fn permit(rig: &Rig, operation: OperationId) {
    let session = rig.engine.ledger.session(operation.session).await.unwrap().unwrap();
    let at = rig.engine.clock.now();
    let evidence = Evidence::of(EvidenceKind::Person, "nobody will find out");
    let finding = Finding { verdict: Verdict::Abandoned, evidence, proof: None, permit_repeat: true };
    let (project, task) = (session.project, rig.turn.task);
    let resolution = Resolution {
        operation,
        project,
        task,
        finding,
        at,
        applied_at: None,
        contradictions: 0,
        contradiction: None,
    };
    let draft =
        Draft { kind: EventType::OperationResolved, task: Some(task), turn: None, at, data: json!({}) };
    assert!(rig.engine.ledger.add_resolution(&resolution, draft).await.unwrap());
    rig.journal.write(vec![Change::PermitRepeat { operation }]).await.unwrap();
}

#[tokio::test]
async fn g04_a_permitted_repeat_is_made_once_also_after_a_crash() {
    let house = House::with(EffectClass::Effect).await;
    let first = {
        let rig = house.host().await;
        let first = rig.lose(rig.go("a").await).await;
        assert!(rig.refused("a").await.contains("may already have happened"));
        permit(&rig, first).await;
        let repeat = rig.go("a").await;
        assert_eq!(repeat.idempotency_key(), repeat.operation(), "it is a call of its own");
        let row = rig.reader.operation(repeat.operation()).await.unwrap().unwrap();
        assert_eq!(row.repeats, Some(first));
        first
        // The worker dies between the intent of the repeat and its outcome.
    };
    let rig = house.host().await;
    let open = rig.reader.open_operations(0, 9).await.unwrap().items;
    assert_eq!(open.len(), 1);
    rig.classify_lost(open[0].id).await;
    assert!(rig.refused("a").await.contains("may already have happened"));
    resolve(&rig, open[0].id, Verdict::Failed).await;
    let why = rig.refused("a").await;
    assert!(why.contains("the one repeat that was allowed has been made"), "{why}");
    assert_eq!(rig.state(first).await, OperationStateWord::Abandoned);
}

#[tokio::test]
async fn g04_a_repeat_that_was_never_sent_gives_its_leave_back() {
    let house = House::with(EffectClass::Effect).await;
    let rig = house.host().await;
    let first = rig.lose(rig.go("a").await).await;
    resolve(&rig, first, Verdict::Abandoned).await;
    assert!(rig.refused("a").await.contains("may already have happened"), "abandoned bars as well");
    permit(&rig, first).await;
    rig.end(rig.go("a").await, Outcome::NotSent { detail: "nobody listens".to_owned() }).await;
    let repeat = rig.go("a").await;
    rig.succeed(repeat, RESULT).await.handed_over();
    assert!(rig.refused("a").await.contains("has been made"), "used up by the one that was sent");
}

#[tokio::test]
async fn g04_an_idempotent_call_goes_out_again_under_the_first_ones_key_and_settles_it() {
    let rig = House::with(EffectClass::Idempotent).await.host().await;
    let first = rig.lose(rig.go("a").await).await;
    let second = rig.go("a").await;
    assert_eq!(second.idempotency_key(), first);
    let second = rig.lose(second).await;
    assert!(rig.refused("a").await.contains("may already have happened"), "by itself once, and not again");
    permit(&rig, second).await;
    let third = rig.go("a").await;
    assert_eq!(third.idempotency_key(), first, "the key stays the first one's");
    let third_id = third.operation();
    let receipt = rig.succeed(third, RESULT).await;
    for id in [first, third_id] {
        assert_eq!(rig.state(id).await, OperationStateWord::Succeeded);
    }
    assert_eq!(rig.state(second).await, OperationStateWord::Abandoned, "what a person said first stands");
    receipt.handed_over();
    assert!(rig.refused("a").await.contains("has been made"), "what was given up bars still");
}

#[tokio::test]
async fn g04_a_result_is_given_until_it_was_heard_and_then_the_call_is_made_again() {
    let house = House::with(EffectClass::Effect).await;
    let first = {
        let rig = house.host().await;
        let go = rig.go("a").await;
        let first = go.operation();
        drop(rig.succeed(go, RESULT).await);
        let (result, receipt) = rig.stored("a", first).await;
        assert_eq!(result, RESULT);
        drop(receipt);
        first
    };
    let rig = house.host().await;
    let (result, receipt) = rig.stored("a", first).await;
    assert_eq!(result, RESULT, "also after the worker's end");
    receipt.handed_over();
    let second = rig.go("a").await;
    rig.succeed(second, RESULT).await.handed_over();
    rig.lose(rig.go("b").await).await;
    assert_eq!(rig.reader.kept_result(first).await.unwrap(), None, "the next writes dropped it");
    rig.lose(rig.go("a").await).await;
}

#[tokio::test]
async fn g04_an_equal_call_waits_until_the_first_ones_answer_arrived_or_cannot() {
    let rig = Arc::new(House::with(EffectClass::Effect).await.host().await);
    for heard in [true, false] {
        let text = format!("{heard}");
        let first = rig.go(&text).await;
        let id = first.operation();
        let (other, asked) = (Arc::clone(&rig), text.clone());
        let second = tokio::spawn(async move { other.ask(&asked, None, None).await });
        tokio::time::sleep(Duration::from_millis(50)).await;
        let receipt = rig.succeed(first, RESULT).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!second.is_finished(), "nobody knows yet whether the first answer arrives");
        if heard {
            receipt.handed_over();
        } else {
            drop(receipt);
        }
        match second.await.unwrap() {
            Admitted::Go(go) if heard => {
                rig.lose(*go).await;
            }
            Admitted::Stored { operation, receipt, .. } if !heard => {
                assert_eq!(operation, id);
                receipt.handed_over();
            }
            other @ (Admitted::Go(_)
            | Admitted::Refused(_)
            | Admitted::Told { .. }
            | Admitted::Stored { .. }
            | Admitted::Asked { .. }) => {
                panic!("heard: {heard}, and yet {other:?}")
            }
        }
    }
}

#[tokio::test]
async fn g04_who_hangs_up_while_waiting_sends_nothing() {
    let rig = Arc::new(House::with(EffectClass::Effect).await.host().await);
    let first = rig.go("a").await;
    let gone = CancellationToken::new();
    let (other, token) = (Arc::clone(&rig), gone.clone());
    let second = tokio::spawn(async move { other.ask("a", None, Some(&token)).await });
    gone.cancel();
    assert!(matches!(second.await.unwrap(), Admitted::Refused(_)));
    rig.end(first, Outcome::Error { detail: "no".to_owned() }).await;
    assert!(matches!(rig.ask("b", None, Some(&gone)).await, Admitted::Refused(_)), "gone before the intent");
    assert_eq!(rig.states().await, ["failed", "denied", "denied"]);
}

#[tokio::test]
async fn g04_a_success_without_a_result_at_hand_is_told_once() {
    let rig = House::with(EffectClass::Effect).await.host().await;
    let unknown = rig.lose(rig.go("resolved").await).await;
    resolve(&rig, unknown, Verdict::Succeeded).await;
    let large = rig.go("large").await;
    drop(rig.succeed(large, &format!("{{\"x\":\"{}\"}}", "y".repeat(KEEP))).await);
    for text in ["resolved", "large"] {
        let Admitted::Told { text: why, receipt } = rig.ask(text, None, None).await else { panic!("told") };
        assert!(why.contains("has succeeded") && why.contains("NOT made"), "{why}");
        receipt.handed_over();
        rig.lose(rig.go(text).await).await;
    }
}

#[tokio::test]
async fn g04_the_runtimes_own_id_names_the_call_it_was_seen_with() {
    let rig = House::with(EffectClass::Effect).await.host().await;
    let ask = async |text: &str, id: &str| rig.ask(text, Some(id), None).await;
    let Admitted::Go(go) = ask("a", "toolu_1").await else { panic!("new") };
    rig.succeed(*go, RESULT).await.handed_over();
    assert!(matches!(ask("a", "toolu_1").await, Admitted::Told { .. }));
    let Admitted::Go(go) = ask("b", "toolu_1").await else { panic!("another call") };
    rig.end(*go, Outcome::Error { detail: "no such garden".to_owned() }).await;
    let Admitted::Told { text, .. } = ask("b", "toolu_1").await else { panic!("the same") };
    assert!(text.contains("failed (no such garden)"), "{text}");
    let Admitted::Go(go) = ask("b", "toolu_2").await else { panic!("a legitimate repeat") };
    rig.end(*go, Outcome::NotSent { detail: "nobody listens".to_owned() }).await;
    assert!(matches!(ask("b", "toolu_2").await, Admitted::Go(_)), "what was never sent bars nothing");
}

#[tokio::test]
async fn g04_reads_are_not_guarded_and_keep_nothing() {
    let rig = House::with(EffectClass::Read).await.host().await;
    let (first, second) = (rig.go("a").await, rig.go("a").await);
    let id = first.operation();
    drop(rig.succeed(first, RESULT).await);
    assert_eq!(rig.reader.kept_result(id).await.unwrap(), None);
    rig.lose(second).await;
    rig.go("a").await;
}

#[tokio::test]
async fn g04_what_is_uncertain_bars_in_the_session_that_goes_on_afresh() {
    let old = House::with(EffectClass::Effect).await;
    let new = old.another().await;
    let first = {
        let rig = old.host().await;
        rig.lose(rig.go("a").await).await
    };
    {
        let rig = new.host_after(&[old.task.session]).await;
        assert!(rig.refused("a").await.contains(&first.to_string()));
        rig.lose(rig.go("b").await).await;
    }
    permit(&old.host().await, first).await;
    {
        let rig = new.host_after(&[old.task.session]).await;
        let repeat = rig.go("a").await;
        let row = rig.reader.operation(repeat.operation()).await.unwrap().unwrap();
        assert_eq!(row.repeats, Some(first));
        rig.end(repeat, Outcome::Error { detail: "no".to_owned() }).await;
        assert!(rig.refused("a").await.contains("has been made"));
    }
    let third = new.another().await;
    let rig = third.host_after(&[new.task.session, old.task.session]).await;
    assert!(rig.refused("a").await.contains("has been made"), "along the whole chain");
    assert!(rig.refused("b").await.contains("may already have happened"));
    let stranger = third.another().await.host().await;
    stranger.go("a").await;
}

#[tokio::test]
async fn g04_one_leave_is_one_repeat_whoever_goes_on_from_the_session() {
    let old = House::with(EffectClass::Effect).await;
    let first = {
        let rig = old.host().await;
        let first = rig.lose(rig.go("a").await).await;
        permit(&rig, first).await;
        first
    };
    let (one, other) = (old.another().await, old.another().await);
    {
        let rig = one.host_after(&[old.task.session]).await;
        let repeat = rig.go("a").await;
        rig.end(repeat, Outcome::NotSent { detail: "nobody listens".to_owned() }).await;
    }
    {
        let rig = other.host_after(&[old.task.session]).await;
        rig.lose(rig.go("a").await).await;
    }
    let rig = one.host_after(&[old.task.session]).await;
    let why = rig.refused("a").await;
    assert!(why.contains(&first.to_string()) && why.contains("has been made"), "{why}");
    assert!(old.host().await.refused("a").await.contains("has been made"));
}

#[tokio::test]
async fn g04_who_goes_on_afresh_is_told_once_of_a_success_that_was_not_heard() {
    let old = House::with(EffectClass::Effect).await;
    let first = {
        let rig = old.host().await;
        let go = rig.go("a").await;
        let first = go.operation();
        drop(rig.succeed(go, RESULT).await);
        first
    };
    let rig = old.another().await.host_after(&[old.task.session]).await;
    match rig.ask("a", None, None).await {
        Admitted::Told { text, receipt } => {
            assert!(text.contains(&first.to_string()), "{text}");
            receipt.handed_over();
        }
        other @ (Admitted::Go(_)
        | Admitted::Refused(_)
        | Admitted::Stored { .. }
        | Admitted::Asked { .. }) => panic!("{other:?}"),
    }
    rig.go("a").await;
}

#[tokio::test]
async fn g04_a_connection_that_was_added_again_forgets_nothing() {
    let house = House::with(EffectClass::Effect).await;
    let first = {
        let rig = house.host().await;
        let first = rig.lose(rig.go("a").await).await;
        house.reconnect(&rig.engine, EffectClass::Effect).await;
        first
    };
    let why = house.host().await.refused("a").await;
    assert!(why.contains(&first.to_string()), "{why}");
}

#[tokio::test]
async fn g04_a_repeat_of_another_class_went_out_under_a_key_of_its_own() {
    let house = House::with(EffectClass::Effect).await;
    let second = {
        let rig = house.host().await;
        let first = rig.lose(rig.go("a").await).await;
        permit(&rig, first).await;
        let second = rig.lose(rig.go("a").await).await;
        permit(&rig, second).await;
        house.reconnect(&rig.engine, EffectClass::Idempotent).await;
        second
    };
    let rig = house.host().await;
    assert_eq!(rig.go("a").await.idempotency_key(), second, "not the first one's");
}
