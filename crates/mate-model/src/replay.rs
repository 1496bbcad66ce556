//! The replay guard's judgement: what becomes of a call when equal ones were made before.
//!
//! Equal are calls of one connection, tool and arguments within a session, and within the sessions that it goes on
//! from. A legitimate repeat is let through; a call that may have happened is not made again.

use crate::{OperationId, operation::OperationStateWord, words::EffectClass};

/// What is on record of the calls equal to one that is asked for; none of them is in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Equals {
    /// The newest that may have happened.
    pub uncertain: Option<Uncertain>,
    /// The newest success that the runtime has not heard of.
    pub unheard: Option<Unheard>,
    /// The newest with an outcome that carried the same id of the runtime's own.
    pub same: Option<(OperationId, OperationStateWord)>,
}

/// An operation whose outcome nobody knows, or will know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uncertain {
    /// Which one.
    pub operation: OperationId,
    /// Whoever resolved it allowed one identical call.
    pub permitted: bool,
    /// It is a repeat itself.
    pub is_repeat: bool,
    /// It has been repeated already.
    pub repeated: bool,
}

/// A success that the runtime has not heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unheard {
    /// Which one.
    pub operation: OperationId,
    /// Its result is at hand.
    pub kept: bool,
}

/// What becomes of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// It is a new operation.
    New,
    /// It is a new operation that uses the one leave to repeat an uncertain one.
    Repeat {
        /// Which one.
        of: OperationId,
        /// It goes out under that one's idempotency key, so that its success is that one's, too.
        same_key: bool,
    },
    /// Nothing is sent: the runtime is given the result of this one.
    StoredResult(OperationId),
    /// Nothing is sent: the runtime is told that this one has succeeded.
    HasSucceeded(OperationId),
    /// Nothing is sent: it is this very operation, and that is what became of it.
    SameCall(OperationId, OperationStateWord),
    /// Nothing is sent: this one may have happened.
    MayHaveHappened {
        /// Which one.
        operation: OperationId,
        /// The one leave to repeat it was used.
        repeated: bool,
    },
}

/// Judges a call of a class.
#[must_use]
pub fn judge(class: EffectClass, equals: &Equals) -> Replay {
    if class == EffectClass::Read {
        return Replay::New;
    }
    if let Some(Unheard { operation, kept }) = equals.unheard {
        return if kept { Replay::StoredResult(operation) } else { Replay::HasSucceeded(operation) };
    }
    if let Some(uncertain) = equals.uncertain {
        let same_key = class == EffectClass::Idempotent;
        let allowed = uncertain.permitted || (same_key && !uncertain.is_repeat);
        return if allowed && !uncertain.repeated {
            Replay::Repeat { of: uncertain.operation, same_key }
        } else {
            Replay::MayHaveHappened { operation: uncertain.operation, repeated: uncertain.repeated }
        };
    }
    match equals.same {
        Some((operation, state)) => Replay::SameCall(operation, state),
        None => Replay::New,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SessionId;

    fn op(number: u64) -> OperationId {
        OperationId { session: SessionId::new(uuid::Uuid::nil()), number }
    }

    fn uncertain(permitted: bool, is_repeat: bool, repeated: bool) -> Equals {
        let uncertain = Uncertain { operation: op(1), permitted, is_repeat, repeated };
        Equals { uncertain: Some(uncertain), ..Equals::default() }
    }

    #[test]
    fn g04_what_may_have_happened_is_repeated_by_leave_alone_and_once() {
        use EffectClass::{Effect, Idempotent};
        let barred = |repeated| Replay::MayHaveHappened { operation: op(1), repeated };
        let repeat = |same_key| Replay::Repeat { of: op(1), same_key };
        for (class, permitted, is_repeat, repeated, expected) in [
            (Effect, false, false, false, barred(false)),
            (Effect, true, false, false, repeat(false)),
            (Effect, true, true, false, repeat(false)),
            (Effect, true, false, true, barred(true)),
            (Idempotent, false, false, false, repeat(true)),
            (Idempotent, false, false, true, barred(true)),
            (Idempotent, false, true, false, barred(false)),
            (Idempotent, true, true, false, repeat(true)),
            (Idempotent, true, true, true, barred(true)),
        ] {
            let judged = judge(class, &uncertain(permitted, is_repeat, repeated));
            assert_eq!(judged, expected, "{class} {permitted} {is_repeat} {repeated}");
        }
    }

    #[test]
    fn g04_an_unheard_success_is_told_before_anything_is_repeated() {
        for (kept, expected) in [(true, Replay::StoredResult(op(2))), (false, Replay::HasSucceeded(op(2)))] {
            let unheard = Some(Unheard { operation: op(2), kept });
            let equals = Equals { unheard, ..uncertain(true, false, false) };
            assert_eq!(judge(EffectClass::Effect, &equals), expected);
        }
    }

    #[test]
    fn g04_an_id_that_was_seen_names_the_operation_and_reads_are_never_guarded() {
        let same = Some((op(3), OperationStateWord::Succeeded));
        let equals = Equals { same, ..Equals::default() };
        assert_eq!(
            judge(EffectClass::Effect, &equals),
            Replay::SameCall(op(3), OperationStateWord::Succeeded)
        );
        assert_eq!(judge(EffectClass::Read, &equals), Replay::New);
        assert_eq!(judge(EffectClass::Read, &uncertain(false, false, false)), Replay::New);
        assert_eq!(judge(EffectClass::Effect, &Equals::default()), Replay::New);
    }
}
