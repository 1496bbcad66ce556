//! Exit codes, and why a command was not done.

use serde_json::{Value, json};

/// What a command ends with; the numbers are a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// Something broke inside.
    Internal = 1,
    /// The command or its input is wrong.
    Usage = 2,
    /// It does not exist, or not for this caller.
    NotFound = 3,
    /// Not in this state.
    Refused = 4,
    /// The task failed.
    TaskFailed = 5,
    /// Something of the task is uncertain.
    TaskUnknown = 6,
    /// The task was stopped or rejected.
    TaskStopped = 7,
    /// Waited for as long as `--timeout` says.
    TimedOut = 8,
    /// No coordinator answers.
    Unreachable = 9,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl Exit {
    /// How a command that waited for a task ends; `None` while the task goes on.
    pub(crate) fn of_task(state: &str) -> Option<Self> {
        match state {
            "completed" => Some(Self::Done),
            "failed" => Some(Self::TaskFailed),
            "unknown" => Some(Self::TaskUnknown),
            "stopped" | "rejected" => Some(Self::TaskStopped),
            _ => None,
        }
    }
}

/// Why a command was not done. Holds text of others as it came: it is escaped when shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) exit: Exit,
    /// A stable word.
    pub(crate) code: String,
    /// What is wrong, and what to do next.
    pub(crate) detail: String,
    /// Fields that are wrong, and why.
    pub(crate) errors: Vec<(String, String)>,
}

impl Failure {
    /// A failure of this program's own.
    pub(crate) fn new(exit: Exit, code: &str, detail: impl Into<String>) -> Self {
        Self { exit, code: code.to_owned(), detail: detail.into(), errors: Vec::new() }
    }

    /// Wrong input.
    pub(crate) fn usage(detail: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "usage", detail)
    }

    /// Something that should not happen.
    pub(crate) fn internal(detail: impl Into<String>) -> Self {
        Self::new(Exit::Internal, "internal", detail)
    }

    /// What a problem document says that came within a stream: it carries its status itself.
    pub(crate) fn of_told(body: &[u8]) -> Self {
        let problem: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
        let status =
            problem.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
        Self::of_problem(status.unwrap_or(500), body)
    }

    /// What a problem document (RFC 9457) says.
    pub(crate) fn of_problem(status: u16, body: &[u8]) -> Self {
        let problem: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
        let text = |name: &str| problem.get(name).and_then(Value::as_str).map(str::to_owned);
        let detail = text("detail").or_else(|| text("title"));
        let fields = problem.get("errors").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let part =
            |entry: &Value, name| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self {
            exit: exit_of(status),
            code: text("code").unwrap_or_else(|| format!("http_{status}")),
            detail: detail.unwrap_or_else(|| format!("the coordinator answered {status} without saying why")),
            errors: fields.iter().map(|entry| (part(entry, "field"), part(entry, "why"))).collect(),
        }
    }

    /// The document that `--json` prints.
    pub(crate) fn document(&self) -> Value {
        let errors: Vec<_> =
            self.errors.iter().map(|(field, why)| json!({"field": field, "why": why})).collect();
        json!({"error": {"code": self.code, "detail": self.detail, "errors": errors, "exit": self.exit as u8}})
    }
}

const fn exit_of(status: u16) -> Exit {
    match status {
        401 | 403 | 404 => Exit::NotFound,
        409 | 412 | 423 | 429 | 503 | 507 => Exit::Refused,
        400..=499 => Exit::Usage,
        _ => Exit::Internal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_map_to_exit_codes() {
        let body = br#"{"type":"about:blank","title":"A field is wrong","status":422,"code":"invalid",
            "detail":"name: too long","errors":[{"field":"name","why":"too long"}]}"#;
        let failure = Failure::of_problem(422, body);
        assert_eq!((failure.exit, failure.code.as_str()), (Exit::Usage, "invalid"));
        assert_eq!(failure.errors, [("name".to_owned(), "too long".to_owned())]);
        for (status, exit) in
            [(404, 3), (403, 3), (401, 3), (409, 4), (503, 4), (400, 2), (413, 2), (500, 1), (302, 1)]
        {
            assert_eq!(Failure::of_problem(status, b"<html>").exit as u8, exit, "{status}");
        }
    }

    #[test]
    fn states_map_to_exit_codes() {
        let code = |state| Exit::of_task(state).map(|exit| exit as u8);
        assert_eq!(code("completed"), Some(0));
        assert_eq!(code("failed"), Some(5));
        assert_eq!(code("unknown"), Some(6));
        assert_eq!(code("stopped"), Some(7));
        assert_eq!(code("rejected"), Some(7));
        for state in ["proposed", "accepted", "running", "stop_requested"] {
            assert_eq!(code(state), None);
        }
    }
}
