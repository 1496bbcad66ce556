//! The upstream's own record of a call that it carries out as a task (MCP 2025-11-25), and what the record proves.

use crate::words::words;

/// The longest id of an upstream's task that is taken, in bytes.
pub const MAX_TASK_ID: usize = 1024;

words!(/// Where an upstream's task stands, in its own word.
RecordStatus, "a status of an upstream's task" {
    /// It is being worked on.
    Working = "working",
    /// It waits for an answer of ours.
    InputRequired = "input_required",
    /// It was carried out, and its result is there.
    Completed = "completed",
    /// It ended without success.
    Failed = "failed",
    /// It was called off before its end.
    Cancelled = "cancelled",
});

/// What an upstream gives as the result of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// A tool result.
    Result {
        /// The `result` member, as it came.
        text: String,
        /// It says `isError`.
        is_error: bool,
    },
    /// A JSON-RPC error: the call's own, or that of asking for its result.
    Error {
        /// The `error` member, as it came.
        text: String,
    },
    /// None that can be used, or it was not asked for.
    Nothing,
}

/// An upstream's record of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where it stands.
    pub status: RecordStatus,
    /// Its result.
    pub recorded: Recorded,
}

words!(/// What a record proves of its call.
Proof, "what a record proves" {
    /// The call succeeded.
    Succeeded = "succeeded",
    /// It ended without success.
    Failed = "failed",
    /// Nothing yet: it is not over.
    NotYet = "not_yet",
    /// Nothing: the record and its result do not go together.
    Nothing = "nothing",
});

impl Record {
    /// What the record proves. A success needs the result; a failure needs that the result does not say otherwise.
    #[must_use]
    pub const fn proves(&self) -> Proof {
        match (self.status, &self.recorded) {
            (RecordStatus::Working | RecordStatus::InputRequired, _) => Proof::NotYet,
            (RecordStatus::Completed, Recorded::Result { is_error: false, .. }) => Proof::Succeeded,
            (RecordStatus::Completed, Recorded::Result { is_error: true, .. })
            | (
                RecordStatus::Failed | RecordStatus::Cancelled,
                Recorded::Result { is_error: true, .. } | Recorded::Error { .. } | Recorded::Nothing,
            ) => Proof::Failed,
            (RecordStatus::Completed, Recorded::Error { .. } | Recorded::Nothing)
            | (RecordStatus::Failed | RecordStatus::Cancelled, Recorded::Result { is_error: false, .. }) => {
                Proof::Nothing
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g05_a_record_proves_only_what_its_result_agrees_with() {
        let result = |is_error| Recorded::Result { text: "{}".to_owned(), is_error };
        let error = || Recorded::Error { text: "{}".to_owned() };
        let all = [result(false), result(true), error(), Recorded::Nothing];
        use {Proof as P, RecordStatus as S};
        for (status, proofs) in [
            (S::Working, [P::NotYet; 4]),
            (S::InputRequired, [P::NotYet; 4]),
            (S::Completed, [P::Succeeded, P::Failed, P::Nothing, P::Nothing]),
            (S::Failed, [P::Nothing, P::Failed, P::Failed, P::Failed]),
            (S::Cancelled, [P::Nothing, P::Failed, P::Failed, P::Failed]),
        ] {
            for (recorded, proof) in all.clone().into_iter().zip(proofs) {
                let record = Record { status, recorded };
                assert_eq!(record.proves(), proof, "{record:?}");
            }
        }
    }
}
