//! The permission to send comes from one move alone, and decisions change nothing but by their transition.

use mate_model::{
    Micros, OperationId, Refusal, SessionId,
    operation::{Evidence, OperationCommand, OperationState, OperationStateWord, Outcome, Verdict},
    turn::{TurnCommand, TurnEnd, TurnState, TurnStateWord},
    words::{EffectClass, EvidenceKind, StopReason},
};
use proptest::prelude::*;
use uuid::Uuid;

const NOW: Micros = Micros(1);
const ID: OperationId = OperationId { session: SessionId::new(Uuid::from_u128(3)), number: 4 };

fn command() -> impl Strategy<Value = OperationCommand> {
    let evidence = || Evidence::of(EvidenceKind::Verification, "seen");
    prop_oneof![
        Just(OperationCommand::Await { expires: Micros(5) }),
        Just(OperationCommand::Expire),
        Just(OperationCommand::Withdraw),
        Just(OperationCommand::Admit),
        Just(OperationCommand::Settle(Outcome::Result { error: None })),
        Just(OperationCommand::Settle(Outcome::Error { detail: "no".to_owned() })),
        Just(OperationCommand::Settle(Outcome::NotSent { detail: "refused".to_owned() })),
        Just(OperationCommand::Settle(Outcome::Lost { detail: "cut".to_owned() })),
        Just(OperationCommand::Resolve { verdict: Verdict::Abandoned, evidence: evidence() }),
        Just(OperationCommand::Resolve { verdict: Verdict::Succeeded, evidence: evidence() }),
    ]
}

proptest! {
    #[test]
    fn g04_whatever_is_commanded_an_operation_gets_one_permission_at_most(
        commands in prop::collection::vec(command(), 0..12),
        class in prop::sample::select(EffectClass::ALL),
    ) {
        let mut state = OperationState::Requested;
        let mut permissions = 0;
        for command in commands {
            let was_final = state.word().is_final();
            match state.decide(class, command, NOW) {
                Ok(transition) => {
                    prop_assert!(!was_final);
                    prop_assert_eq!(transition.from(), &state);
                    let permit = transition.committed_intent(ID);
                    let to_flight = transition.to().word() == OperationStateWord::InFlight;
                    prop_assert_eq!(permit.as_ref().map(mate_model::operation::Permit::operation), to_flight.then_some(ID));
                    permissions += u32::from(permit.is_some());
                    state = transition.into_to();
                }
                Err(_) => prop_assert!(was_final || permissions < 2),
            }
        }
        prop_assert!(permissions <= 1);
    }

    #[test]
    fn g04_whatever_is_commanded_a_turn_is_prompted_once_at_most(
        commands in prop::collection::vec(0_u8..5, 0..10),
    ) {
        let mut state = TurnState::Starting;
        let mut prompts = 0;
        for command in commands {
            let end = TurnEnd::Answered { reason: StopReason::EndTurn, empty: false };
            let command = match command {
                0 => TurnCommand::Prompt,
                1 => TurnCommand::Finish { end, in_flight: 1 },
                2 => TurnCommand::Finish { end, in_flight: 0 },
                3 => TurnCommand::Close { in_flight: 0 },
                _ => TurnCommand::Finish { end: TurnEnd::StoppedFirst, in_flight: 0 },
            };
            if let Ok(transition) = state.decide(command, NOW) {
                let prompted = transition.to().word() == TurnStateWord::Prompted;
                prop_assert_eq!(transition.committed_prompt().is_some(), prompted);
                prompts += u32::from(prompted);
                state = transition.into_to();
            }
        }
        prop_assert!(prompts <= 1);
    }
}

#[test]
fn g05_a_lost_read_failed_and_a_lost_effect_is_unknown() {
    for (class, expected) in [
        (EffectClass::Read, OperationStateWord::Failed),
        (EffectClass::Idempotent, OperationStateWord::Unknown),
        (EffectClass::Effect, OperationStateWord::Unknown),
    ] {
        let lost = OperationCommand::Settle(Outcome::Lost { detail: "worker died".to_owned() });
        let state = OperationState::InFlight.decide(class, lost, NOW).unwrap().into_to();
        assert_eq!(state.word(), expected, "{class}");
        if let OperationState::Failed { evidence } = state {
            assert_eq!(evidence.kind, EvidenceKind::ReadOnly);
            assert!(evidence.detail.contains("interrupted"), "{}", evidence.detail);
        }
    }
}

#[test]
fn g05_a_late_answer_is_evidence_and_says_that_it_was_late() {
    for (error, verdict) in [(None, Verdict::Succeeded), (Some("no such file".to_owned()), Verdict::Failed)] {
        let unknown = OperationState::Unknown { detail: "time-out".to_owned() };
        let outcome = Outcome::Result { error };
        let settled =
            unknown.decide(EffectClass::Effect, OperationCommand::Settle(outcome.clone()), NOW).unwrap_err();
        assert!(matches!(settled, Refusal::NotNow { .. }), "evidence goes through the ledger: {settled}");
        let (found, evidence) = outcome.late().unwrap();
        assert_eq!((found, evidence.kind), (verdict, EvidenceKind::LateAnswer));
        let command = OperationCommand::Resolve { verdict, evidence };
        let state = unknown.decide(EffectClass::Effect, command, NOW).unwrap().into_to();
        assert_eq!(state.word(), verdict.state());
    }
    for outcome in [Outcome::Lost { detail: String::new() }, Outcome::NotSent { detail: String::new() }] {
        assert_eq!(outcome.late(), Err(Refusal::NoEvidence), "neither is evidence after the fact");
    }
}
