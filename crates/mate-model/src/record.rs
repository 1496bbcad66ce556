//! The upstream's own record of a call that it carries out as a task (MCP 2025-11-25), and what the record proves.

use crate::words::words;

/// The longest id of an upstream's task that is taken, in bytes.
pub const MAX_TASK_ID: usize = 1024;

/// The most of a task's id that is shown, in characters.
const SHOWN: usize = 8;

/// What is shown of an upstream's name for a task: its beginning, and never more than half. The whole name may be all
/// that it takes to fetch the result.
#[must_use]
pub fn shown_task_id(id: &str) -> String {
    let most = SHOWN.min(id.chars().count() / 2);
    let mut shown: String =
        id.chars().take(most).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    shown.push('…');
    shown
}

/// A text in which what is shown of a task's id stands in the place of the id, as it is and as JSON writes it. An id of
/// less than four bytes is only replaced where it stands alone: it is part of too many words.
#[must_use]
pub fn hide_task_id(text: &str, id: &str) -> String {
    let shown = shown_task_id(id);
    let written = serde_json::to_string(id).unwrap_or_default();
    let written = written.get(1..written.len().saturating_sub(1)).unwrap_or_default();
    let hidden = hide(text, id, &shown);
    if written == id { hidden } else { hide(&hidden, written, &shown) }
}

fn hide(text: &str, id: &str, shown: &str) -> String {
    if id.is_empty() {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(id) {
        let (before, found) = rest.split_at(at);
        let after = &found[id.len()..];
        out.push_str(before);
        let alone = !out.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric);
        out.push_str(if id.len() >= 4 || alone { shown } else { id });
        rest = after;
    }
    out.push_str(rest);
    out
}

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
    /// What the record proves. Both a success and a failure need the upstream's own answer to the question for the
    /// result, and that it goes with what the record says.
    #[must_use]
    pub const fn proves(&self) -> Proof {
        match (self.status, &self.recorded) {
            (RecordStatus::Working | RecordStatus::InputRequired, _) => Proof::NotYet,
            (RecordStatus::Completed, Recorded::Result { is_error: false, .. }) => Proof::Succeeded,
            (RecordStatus::Completed, Recorded::Result { is_error: true, .. })
            | (
                RecordStatus::Failed | RecordStatus::Cancelled,
                Recorded::Result { is_error: true, .. } | Recorded::Error { .. },
            ) => Proof::Failed,
            (RecordStatus::Completed, Recorded::Error { .. } | Recorded::Nothing)
            | (
                RecordStatus::Failed | RecordStatus::Cancelled,
                Recorded::Result { is_error: false, .. } | Recorded::Nothing,
            ) => Proof::Nothing,
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
            (S::Failed, [P::Nothing, P::Failed, P::Failed, P::Nothing]),
            (S::Cancelled, [P::Nothing, P::Failed, P::Failed, P::Nothing]),
        ] {
            for (recorded, proof) in all.clone().into_iter().zip(proofs) {
                let record = Record { status, recorded };
                assert_eq!(record.proves(), proof, "{record:?}");
            }
        }
    }

    #[test]
    fn g09_a_tasks_id_is_never_shown_whole() {
        for (id, shown) in
            [("a", "…"), ("t/1", "t…"), ("0123456789", "01234…"), ("0123456789abcdefghij", "01234567…")]
        {
            assert_eq!(shown_task_id(id), shown);
        }
        assert_eq!(hide_task_id("no task 0123456789, 0123456789", "0123456789"), "no task 01234…, 01234…");
        assert_eq!(hide_task_id(r#"{"x":"a\"bcd"}"#, "a\"bcd"), r#"{"x":"a\"…"}"#.replace("a\\\"", "a\""));
        assert_eq!(hide_task_id("code -32602, task 2", "2"), "code -32602, task …");
    }
}
