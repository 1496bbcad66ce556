//! Answers to what an upstream asks about a task that it has made of a call: rounds of the call.

use crate::rig::{House, RESULT, Rig};
use mate_engine::admit::{Admitted, Answering};
use mate_model::{operation::OperationStateWord, round::RoundState, words::EffectClass};

async fn answer(rig: &Rig, id: mate_model::OperationId, keys: &[&str]) -> Answering {
    let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
    rig.answer_task(id, "a", &keys).await
}

fn sent(answering: Answering) -> Vec<String> {
    match answering {
        Answering::Go { keys, .. } => keys,
        other @ (Answering::Before | Answering::Refused(_)) => panic!("not let out: {other:?}"),
    }
}

#[tokio::test]
async fn g03_each_answer_has_an_intent_of_its_own_and_is_let_out_once() {
    let rig = House::with(EffectClass::Effect).await.host().await;
    let go = rig.go("a").await;
    let id = go.operation();
    assert!(matches!(answer(&rig, id, &["k"]).await, Answering::Refused(_)), "it is no task");
    rig.desk.answerable(&go);
    assert_eq!(sent(answer(&rig, id, &["k"]).await), ["k"]);
    let open = rig.reader.open_round(id).await.unwrap().unwrap();
    assert_eq!((open.number, open.state), (2, RoundState::InFlight), "the intent");
    assert!(matches!(answer(&rig, id, &["k"]).await, Answering::Before));
    assert_eq!(rig.reader.open_round(id).await.unwrap().unwrap().number, 2, "nothing was intended");
    assert_eq!(sent(answer(&rig, id, &["k", "l"]).await), ["l"], "only what was not answered");
    rig.desk.answer_not_sent(id, &["l".to_owned()]).await;
    assert_eq!(sent(answer(&rig, id, &["l"]).await), ["l"]);
    rig.succeed(go, RESULT).await.handed_over();
    assert_eq!(rig.state(id).await, OperationStateWord::Succeeded);
    assert_eq!(rig.reader.open_round(id).await.unwrap(), None);
    assert!(matches!(answer(&rig, id, &["m"]).await, Answering::Refused(_)), "the task is over");
}

#[tokio::test]
async fn g07_an_answer_is_judged_by_the_authority_that_stands_after_its_intent() {
    let house = House::with(EffectClass::Effect).await;
    let rig = house.host().await;
    let go = rig.go("a").await;
    let id = go.operation();
    rig.desk.answerable(&go);
    house.revoke(&rig.engine).await;
    assert!(matches!(answer(&rig, id, &["k"]).await, Answering::Refused(why) if why.contains("NOT sent")));
    assert_eq!(rig.state(id).await, OperationStateWord::InFlight, "what the task comes to, its record says");
    // The record's answer still counts.
    rig.succeed(go, RESULT).await.handed_over();
    assert_eq!(rig.state(id).await, OperationStateWord::Succeeded);
}

#[tokio::test]
async fn g06_no_answer_is_let_out_after_the_turn() {
    let rig = House::with(EffectClass::Effect).await.host().await;
    let go = rig.go("a").await;
    let id = go.operation();
    rig.desk.answerable(&go);
    rig.desk.close().await;
    assert!(matches!(answer(&rig, id, &["k"]).await, Answering::Refused(_)));
    rig.succeed(go, RESULT).await.handed_over();
}

#[tokio::test]
async fn g04_a_further_call_whose_answer_was_let_out_is_told_what_became_of_the_call() {
    let house = House::with(EffectClass::Effect).await;
    let rig = house.host().await;
    let (go, state) = (rig.go("a").await, r#""agent-mate/1""#);
    let id = go.operation();
    rig.desk.answerable(&go);
    assert_eq!(sent(rig.answer_held(id, "a", state).await), ["q"]);
    assert!(matches!(rig.answer_held(id, "a", state).await, Answering::Before), "let out once");
    rig.succeed(go, RESULT).await.handed_over();
    let again = rig.answer("a", state).await;
    assert!(matches!(&again, Admitted::Told { text, .. } if text.contains("was sent before")), "{again:?}");
    let other = rig.answer("a", r#""agent-mate/2""#).await;
    assert!(matches!(&other, Admitted::Refused(why) if why.contains("belongs to no question")), "{other:?}");
    assert!(matches!(rig.ask("a", None, None).await, Admitted::Go(_)), "made anew it is a new call");
}

#[tokio::test]
async fn g07_a_further_call_whose_answer_was_refused_was_not_let_out() {
    let house = House::with(EffectClass::Effect).await;
    let rig = house.host().await;
    let (go, state) = (rig.go("a").await, r#""agent-mate/1""#);
    let id = go.operation();
    rig.desk.answerable(&go);
    house.revoke(&rig.engine).await;
    assert!(matches!(rig.answer_held(id, "a", state).await, Answering::Refused(_)));
    let events = rig.reader.events(None, 0, 1000).await.unwrap().items;
    let refused = events.iter().filter(|event| event.data["not_sent"].is_string());
    assert_eq!(refused.count(), 1, "the record says so");
    rig.succeed(go, RESULT).await.handed_over();
}

#[tokio::test]
async fn g04_calls_are_equal_by_what_is_recorded_of_them() {
    let rig = House::with(EffectClass::Effect).await.host().await;
    let go = rig.go("a").await;
    let id = go.operation();
    assert!(!rig.is_call(id, r#"{"text":"a"}"#), "nothing is asked about it");
    rig.desk.answerable(&go);
    assert!(rig.is_call(id, r#"{ "text" : "\u0061" }"#));
    for other in [r#"{"text":"b"}"#, r#"{"text":"a","n":0.1}"#, "{", r#"{"text":"a","text":"a"}"#] {
        assert!(!rig.is_call(id, other), "{other}");
    }
    rig.succeed(go, RESULT).await.handed_over();
    assert!(!rig.is_call(id, r#"{"text":"a"}"#), "it is over");
}

#[tokio::test]
async fn g04_an_equal_call_is_given_what_is_told_meanwhile() {
    let rig = House::with(EffectClass::Effect).await.host().await;
    let go = rig.go("a").await;
    let id = go.operation();
    rig.desk.answerable(&go);
    rig.desk.meanwhile(id, Some(r#"{"resultType":"task"}"#));
    let told = rig.ask("a", None, None).await;
    assert!(
        matches!(&told, Admitted::Asked { operation, result } if *operation == id && result.contains("task")),
        "{told:?}"
    );
    rig.succeed(go, RESULT).await.handed_over();
    assert!(matches!(rig.ask("a", None, None).await, Admitted::Go(_)), "it is over");
}

#[tokio::test]
async fn g04_what_is_too_long_to_be_told_again_is_not_waited_for() {
    let rig = House::with(EffectClass::Effect).await.host().await;
    let go = rig.go("a").await;
    let id = go.operation();
    rig.desk.answerable(&go);
    rig.desk.meanwhile(id, Some(&"x".repeat((64 << 10) + 1)));
    let told = rig.ask("a", None, None).await;
    assert!(matches!(&told, Admitted::Refused(why) if why.contains("too long")), "{told:?}");
    rig.succeed(go, RESULT).await.handed_over();
}
