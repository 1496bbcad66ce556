//! Calls of several rounds are one operation, and each round is sent once.

use crate::rig::{House, RESULT, Rig};
use mate_engine::admit::{Admitted, Go};
use mate_model::{
    OperationId,
    operation::{OperationState, OperationStateWord, Outcome},
    round::{RoundCommand, RoundState},
    words::EffectClass,
};
use mate_store::Change;

/// A call whose upstream has asked a question.
const QUESTION: &str = r#"{"resultType":"input_required"}"#;

async fn asked(rig: &Rig, text: &str) -> OperationId {
    let go = rig.go(text).await;
    let id = go.operation();
    rig.desk.ask(go, r#""state-1""#, QUESTION).await.unwrap().handed_over();
    assert_eq!(rig.state(id).await, OperationStateWord::InFlight);
    id
}

async fn answered(rig: &Rig, text: &str, state: &str) -> Go {
    match rig.answer(text, state).await {
        Admitted::Go(go) => *go,
        other @ (Admitted::Refused(_)
        | Admitted::Told { .. }
        | Admitted::Stored { .. }
        | Admitted::Asked { .. }) => {
            panic!("not a further round: {other:?}")
        }
    }
}

fn event_types(rig: &Rig) -> impl Future<Output = Vec<String>> {
    let reader = rig.reader.clone();
    async move {
        let events = reader.events(None, 0, 1000).await.unwrap().items;
        let kinds = events.iter().map(|event| event.kind.to_string());
        kinds.filter(|kind| kind.starts_with("operation.")).collect()
    }
}

#[tokio::test]
async fn g04_the_rounds_of_a_call_are_one_operation_and_each_is_sent_once() {
    let rig = House::with(EffectClass::Effect).await.host().await;
    let id = asked(&rig, "a").await;
    for (text, state) in [("b", r#""state-1""#), ("a", r#""state-2""#), ("a", "{")] {
        assert!(matches!(rig.answer(text, state).await, Admitted::Refused(_)), "{text} {state}");
    }
    let second = answered(&rig, "a", r#""state-1""#).await;
    assert_eq!((second.operation(), second.idempotency_key()), (id, id));
    rig.desk.ask(second, "null", QUESTION).await.unwrap().handed_over();
    let third = answered(&rig, "a", "null").await;
    rig.succeed(third, RESULT).await.handed_over();
    assert_eq!(rig.state(id).await, OperationStateWord::Succeeded);
    assert_eq!(rig.reader.open_round(id).await.unwrap(), None);
    let kinds = event_types(&rig).await;
    let count = |kind: &str| kinds.iter().filter(|known| *known == kind).count();
    assert_eq!((count("operation.input_required"), count("operation.continued")), (2, 2));
    assert_eq!((count("operation.admitted"), count("operation.succeeded")), (1, 1));
    rig.go("a").await;
}

#[tokio::test]
async fn g03_a_further_round_is_permitted_by_its_own_committed_intent_alone() {
    let rig = House::with(EffectClass::Effect).await.host().await;
    let id = asked(&rig, "a").await;
    let RoundState::InputRequired { question } = rig.reader.open_round(id).await.unwrap().unwrap().state
    else {
        panic!("a question")
    };
    let go_on = || {
        let from = RoundState::InputRequired { question: question.clone() };
        let transition = from.decide(RoundCommand::Continue, rig.turn_clock()).unwrap();
        rig.journal.write(vec![Change::MoveRound { operation: id, round: 1, transition }])
    };
    assert_eq!(go_on().await.unwrap().permits.len(), 1);
    let open = rig.reader.open_round(id).await.unwrap().unwrap();
    assert_eq!((open.number, open.state), (2, RoundState::InFlight), "the intent of the second round");
    assert!(go_on().await.is_err(), "the store takes it once");
    let unknown = mate_model::operation::OperationCommand::Settle(Outcome::Lost { detail: String::new() });
    let transition = OperationState::InFlight.decide(EffectClass::Effect, unknown, rig.turn_clock()).unwrap();
    let facts = mate_store::OperationFacts::default();
    rig.journal.write(vec![Change::MoveOperation { id, transition, facts }]).await.unwrap();
    let asked = RoundCommand::Ask { question: question.clone() };
    let transition = RoundState::InFlight.decide(asked, rig.turn_clock()).unwrap();
    let late = rig.journal.write(vec![Change::MoveRound { operation: id, round: 2, transition }]).await;
    assert!(late.is_err(), "nothing goes on once the operation has its outcome");
}

#[tokio::test]
async fn g05_a_question_that_nobody_answers_is_unknown_at_the_turns_end() {
    for (class, word) in
        [(EffectClass::Effect, OperationStateWord::Unknown), (EffectClass::Read, OperationStateWord::Failed)]
    {
        let rig = House::with(class).await.host().await;
        let id = asked(&rig, "a").await;
        rig.desk.close().await;
        assert_eq!(rig.state(id).await, word);
        assert_eq!(rig.reader.open_count().await.unwrap(), 0);
        assert_eq!(rig.reader.open_round(id).await.unwrap(), None);
    }
}

#[tokio::test]
async fn g05_a_crash_between_rounds_leaves_the_call_to_be_classified_and_barred() {
    let house = House::with(EffectClass::Effect).await;
    let id = {
        let rig = house.host().await;
        asked(&rig, "a").await
    };
    let rig = house.host().await;
    assert_eq!(rig.reader.open_operations(0, 9).await.unwrap().items.len(), 1, "for recovery to classify");
    assert!(
        matches!(rig.answer("a", r#""state-1""#).await, Admitted::Refused(_)),
        "no round goes on by itself"
    );
    rig.classify_lost(id).await;
    assert!(rig.refused("a").await.contains("may already have happened"));
}

#[tokio::test]
async fn g05_a_further_round_that_was_not_sent_proves_nothing_about_the_first() {
    let rig = House::with(EffectClass::Effect).await.host().await;
    let id = asked(&rig, "a").await;
    let second = answered(&rig, "a", r#""state-1""#).await;
    rig.end(second, Outcome::NotSent { detail: "nobody listens".to_owned() }).await;
    assert_eq!(rig.state(id).await, OperationStateWord::Unknown);
}

#[tokio::test]
async fn g07_what_is_revoked_between_two_rounds_stops_the_second() {
    let house = House::with(EffectClass::Effect).await;
    let rig = house.host().await;
    let id = asked(&rig, "a").await;
    house.revoke(&rig.engine).await;
    assert!(matches!(rig.answer("a", r#""state-1""#).await, Admitted::Refused(_)));
    assert_eq!(rig.state(id).await, OperationStateWord::InFlight, "it waits for the turn's end");
    rig.desk.close().await;
    assert_eq!(rig.state(id).await, OperationStateWord::Unknown);
}

#[tokio::test]
async fn g04_a_call_made_again_while_its_question_is_open_is_asked_again_and_not_sent() {
    let rig = House::with(EffectClass::Effect).await.host().await;
    let id = asked(&rig, "a").await;
    for state in [None, Some("null")] {
        let again = match state {
            None => rig.ask("a", None, None).await,
            Some(state) => rig.answer("a", state).await,
        };
        match again {
            Admitted::Asked { operation, result } => assert_eq!((operation, result.as_str()), (id, QUESTION)),
            other @ (Admitted::Go(_)
            | Admitted::Refused(_)
            | Admitted::Told { .. }
            | Admitted::Stored { .. }) => {
                panic!("not asked again: {other:?}")
            }
        }
    }
    let second = answered(&rig, "a", r#""state-1""#).await;
    rig.succeed(second, RESULT).await.handed_over();
    assert_eq!(rig.state(id).await, OperationStateWord::Succeeded);
}

#[tokio::test]
async fn g04_an_answer_to_no_question_is_a_call_like_any_other_if_it_names_none() {
    let house = House::with(EffectClass::Effect).await;
    let rig = house.host().await;
    let first = answered(&rig, "a", "null").await;
    let id = first.operation();
    rig.end(first, Outcome::Lost { detail: "no answer".to_owned() }).await;
    assert_eq!(rig.state(id).await, OperationStateWord::Unknown);
    assert!(matches!(rig.answer("a", "null").await, Admitted::Refused(_)), "it may have happened");
    assert!(matches!(rig.answer("b", r#""made-up""#).await, Admitted::Refused(_)), "it names one");
}

#[tokio::test]
async fn g04_a_round_made_again_while_it_is_in_flight_joins_it_and_is_given_its_result() {
    let rig = House::with(EffectClass::Effect).await.host().await;
    let id = asked(&rig, "a").await;
    let second = answered(&rig, "a", r#""state-1""#).await;
    let (again, ended) = tokio::join!(rig.answer("a", r#""state-1""#), async {
        tokio::task::yield_now().await;
        // Its answer is lost on the way.
        drop(rig.succeed(second, RESULT).await);
    });
    let () = ended;
    let Admitted::Stored { operation, result, receipt } = again else { panic!("not the result: {again:?}") };
    assert_eq!((operation, result.as_str()), (id, RESULT));
    receipt.handed_over();
    // Once more: the result was given, and no answer goes out either.
    let Admitted::Told { text, .. } = rig.answer("a", r#""state-1""#).await else { panic!("not told") };
    assert!(text.contains("was sent before") && text.contains("succeeded"), "{text}");
    assert!(text.contains("Nothing was sent now") && !text.contains("NOT made"), "{text}");
    let count = event_types(&rig).await.into_iter().filter(|kind| kind == "operation.continued").count();
    assert_eq!(count, 1);
}

#[tokio::test]
async fn g05_a_round_made_again_after_it_was_lost_is_told_that_it_may_have_happened() {
    let rig = House::with(EffectClass::Effect).await.host().await;
    asked(&rig, "a").await;
    let second = answered(&rig, "a", r#""state-1""#).await;
    rig.end(second, Outcome::Lost { detail: "no answer".to_owned() }).await;
    let Admitted::Told { text, .. } = rig.answer("a", r#""state-1""#).await else { panic!("not told") };
    assert!(text.contains("may already have happened") && !text.contains("NOT made"), "{text}");
    assert!(!text.contains("Correct the arguments"), "{text}");
}

#[tokio::test]
async fn g04_a_call_that_waits_for_an_equal_one_is_asked_what_that_one_is_asked() {
    let house = House::with(EffectClass::Effect).await;
    let rig = house.host().await;
    let first = rig.go("a").await;
    let id = first.operation();
    let (again, ()) = tokio::join!(rig.ask("a", None, None), async {
        tokio::task::yield_now().await;
        rig.desk.ask(first, r#""state-1""#, QUESTION).await.unwrap().handed_over();
    });
    assert!(matches!(again, Admitted::Asked { operation, .. } if operation == id), "{again:?}");
    house.revoke(&rig.engine).await;
    let again = rig.ask("a", None, None).await;
    assert!(matches!(again, Admitted::Refused(_)), "what is revoked is not asked either: {again:?}");
}

#[tokio::test]
async fn g03_no_call_is_admitted_before_the_turns_prompt_was_intended() {
    let rig = House::with(EffectClass::Effect).await.host().await;
    rig.desk.prepare(rig.turn);
    let why = rig.refused("a").await;
    assert!(why.contains("has not begun") && why.contains("Call again"), "{why}");
    assert_eq!(rig.reader.open_count().await.unwrap(), 0);
    assert_eq!(event_types(&rig).await, ["operation.denied"], "and that is on record");
    rig.desk.set_current(Some(rig.turn));
    rig.go("a").await;
}
