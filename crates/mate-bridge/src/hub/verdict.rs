//! What an upstream's answer to a call proves: only what is a tool result counts as one.

use crate::{
    core::{Answer, Object},
    gate::Outcome,
};
use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::value::RawValue;

/// Where a result or a question names the task that it is of.
pub(super) const RELATED: &str = "io.modelcontextprotocol/related-task";

/// The members of a result that are interpreted.
#[derive(Deserialize)]
struct Verdict {
    #[serde(rename = "isError", default, deserialize_with = "said")]
    is_error: Option<bool>,
    #[serde(rename = "resultType", default)]
    result_type: Option<Box<RawValue>>,
    #[serde(rename = "requestState", default)]
    state: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "present")]
    content: bool,
    #[serde(rename = "structuredContent", default, deserialize_with = "present")]
    structured: bool,
    #[serde(default, deserialize_with = "present")]
    task: bool,
    #[serde(rename = "_meta", default)]
    meta: Option<Box<RawValue>>,
}

fn said<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    bool::deserialize(deserializer).map(Some)
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}

/// What a result says that it is.
enum Kind {
    Complete,
    InputRequired,
    /// Of the new era: a task was made of the call.
    Task,
    Other,
}

impl Verdict {
    fn read(result: &RawValue) -> Result<Self, String> {
        if !result.get().starts_with('{') {
            return Err("the upstream answered, but not with a tool result".into());
        }
        serde_json::from_str(result.get())
            .map_err(|e| format!("the upstream's answer cannot be read as a tool result: {e}"))
    }

    fn kind(&self) -> Kind {
        match self.result_type.as_deref().map(RawValue::get) {
            None | Some("\"complete\"") => Kind::Complete,
            Some("\"input_required\"") => Kind::InputRequired,
            Some("\"task\"") => Kind::Task,
            Some(_) => Kind::Other,
        }
    }

    const fn holds_a_result(&self) -> bool {
        self.content || self.structured || self.is_error.is_some()
    }

    /// Whether it is of the task `id`, as far as it says.
    fn is_of(&self, id: &str) -> bool {
        let Ok(meta) = Object::parse_or_empty(self.meta.as_deref()) else { return false };
        match meta.get(RELATED) {
            None => true,
            Some(related) => {
                Object::parse(related).is_ok_and(|related| related.text("taskId").as_deref() == Some(id))
            }
        }
    }
}

/// The members that are interpreted, of an answer that may be a tool result.
fn read(answer: Answer) -> Result<(Box<RawValue>, Verdict), Outcome> {
    match answer {
        Answer::Error(fault) => Err(match Object::parse(&fault.0) {
            Ok(_) => Outcome::RpcError { error: fault.0 },
            Err(_) => {
                Outcome::Unknown { why: "the upstream answered with an error that cannot be read".into() }
            }
        }),
        Answer::Result(result) => match Verdict::read(&result) {
            Ok(verdict) => Ok((result, verdict)),
            Err(why) => Err(Outcome::Unknown { why }),
        },
    }
}

fn weigh(result: Box<RawValue>, verdict: Verdict) -> Outcome {
    match verdict.kind() {
        Kind::InputRequired => Outcome::InputRequired {
            result,
            state: verdict.state.unwrap_or_else(|| RawValue::NULL.to_owned()),
        },
        Kind::Other => {
            Outcome::Unknown { why: "the upstream answered with a kind of result that is not known".into() }
        }
        Kind::Task => {
            Outcome::Unknown { why: "the upstream made a task of the call that cannot be followed".into() }
        }
        Kind::Complete if verdict.task && !verdict.holds_a_result() => {
            Outcome::Unknown { why: "the upstream made a task of the call that cannot be followed".into() }
        }
        Kind::Complete => Outcome::Answered { result, is_error: verdict.is_error == Some(true) },
    }
}

/// An answer to a call is an answer; one that cannot be read as a tool result proves nothing. An empty object is a
/// result without content.
pub(super) fn judge(answer: Answer) -> Outcome {
    match read(answer) {
        Ok((result, verdict)) => weigh(result, verdict),
        Err(outcome) => outcome,
    }
}

/// The same for an answer to the question for the result of the task `id`: it must hold a result, and of no other task.
pub(super) fn judge_record(answer: Answer, id: &str) -> Outcome {
    match read(answer) {
        Ok((_, verdict)) if !verdict.holds_a_result() => {
            Outcome::Unknown { why: "the upstream's record holds no tool result".into() }
        }
        Ok((_, verdict)) if !verdict.is_of(id) => {
            Outcome::Unknown { why: "the upstream answered with the result of another task".into() }
        }
        Ok((result, verdict)) => weigh(result, verdict),
        Err(outcome) => outcome,
    }
}

/// The same in the new era, in which the result is itself the task, and says so. Servers are known that add `content` to
/// whatever they answer a call with.
pub(super) fn is_a_new_task(result: &RawValue) -> bool {
    Verdict::read(result).is_ok_and(|verdict| {
        !verdict.structured && verdict.is_error.is_none() && matches!(verdict.kind(), Kind::Task)
    })
}

/// Whether an answer to a call only says that a task was made of it.
pub(super) fn is_a_task(result: &RawValue) -> bool {
    Verdict::read(result).is_ok_and(|verdict| {
        verdict.task && !verdict.holds_a_result() && matches!(verdict.kind(), Kind::Complete)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> Answer {
        Answer::Result(RawValue::from_string(text.into()).unwrap())
    }

    #[test]
    fn g05_only_a_readable_answer_is_an_answer() {
        let judged = |text: &str| judge(answer(text));
        assert!(matches!(judged("{}"), Outcome::Answered { is_error: false, .. }));
        assert!(matches!(judged(r#"{"isError":true}"#), Outcome::Answered { is_error: true, .. }));
        assert!(matches!(judged(r#"{"content":[],"task":{"taskId":"t"}}"#), Outcome::Answered { .. }));
        assert!(matches!(judged(r#"{"resultType":"complete"}"#), Outcome::Answered { .. }));
        assert!(matches!(judged(r#"{"resultType":"input_required"}"#), Outcome::InputRequired { .. }));
        for bad in [
            "null",
            "7",
            "[]",
            r#"{"isError":"yes"}"#,
            r#"{"isError":false,"isError":true}"#,
            r#"{"resultType":7}"#,
            r#"{"resultType":"task","content":[]}"#,
            r#"{"task":{"taskId":"t"}}"#,
            r#"{"task":7}"#,
        ] {
            assert!(matches!(judged(bad), Outcome::Unknown { .. }), "{bad}");
        }
    }

    #[test]
    fn g05_a_result_that_says_that_it_is_a_task_is_one_and_what_is_more_is_none() {
        let made = |text: &str| is_a_new_task(&RawValue::from_string(text.into()).unwrap());
        assert!(made(r#"{"resultType":"task","taskId":"t"}"#));
        assert!(made(r#"{"content":[],"resultType":"task","taskId":"t"}"#));
        for other in [
            r#"{"taskId":"t","content":[]}"#,
            r#"{"resultType":"task","taskId":"t","isError":false}"#,
            r#"{"resultType":"task","taskId":"t","structuredContent":{}}"#,
            r#"{"resultType":"complete","taskId":"t"}"#,
        ] {
            assert!(!made(other), "{other}");
        }
    }

    #[test]
    fn g05_a_record_without_the_calls_own_result_proves_nothing() {
        let judged = |text: &str| judge_record(answer(text), "t");
        let related = |id: &str| format!(r#"{{"content":[],"_meta":{{"{RELATED}":{{"taskId":{id}}}}}}}"#);
        for good in [r#"{"content":[]}"#, r#"{"structuredContent":{},"_meta":null}"#, r#"{"isError":false}"#]
        {
            assert!(matches!(judged(good), Outcome::Answered { is_error: false, .. }), "{good}");
        }
        assert!(matches!(judged(&related("\"t\"")), Outcome::Answered { .. }));
        for bad in ["{}", r#"{"task":{"taskId":"t"}}"#, r#"{"x":1}"#, &related("\"u\""), &related("7")] {
            assert!(matches!(judged(bad), Outcome::Unknown { .. }), "{bad}");
        }
    }
}
