//! What decided of an operation's call, and what would be decided of it now.

use super::{Asked, Standing};
use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{
    OperationId, TaskId,
    operation::OperationStateWord,
    words::{DenyReason, EffectClass},
};
use serde::Serialize;
use serde_json::Value;

/// An operation's decision, explained.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// Which operation.
    pub id: OperationId,
    /// Its task.
    pub task: TaskId,
    /// The connection's name at that time.
    pub connection_name: String,
    /// The upstream's own tool name.
    pub tool: String,
    /// Its state.
    pub state: OperationStateWord,
    /// What decided, as it was recorded.
    pub recorded: Value,
    /// Why it was denied, if it was.
    pub deny_reason: Option<DenyReason>,
    /// What there is to say of its state.
    pub detail: Option<String>,
    /// The same call, judged now.
    pub now: Now,
}

/// What would be decided now of the same call, as far as its record shows its arguments. Only grants and policies are
/// asked: not the turn, not limits of rate and spending, not a person.
#[derive(Clone, Debug, Serialize)]
pub struct Now {
    /// Whether grants and policies permit it.
    pub permitted: bool,
    /// Why they do not.
    pub why: Option<String>,
    /// What decides.
    pub decision: Value,
}

impl Engine {
    /// Explains the decision about an operation.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] also for what the caller may not see; the stores'.
    pub async fn explain(&self, who: &Principal, operation: OperationId) -> Result<Explanation, EngineError> {
        let session = self.session_of(who, operation.session, Verb::PolicyExplain).await?;
        let seen = self.operation(who, operation).await?;
        let standing = Standing::read(self, session.project, seen.task).await?;
        let shown = recorded_arguments(&seen.arguments);
        let now = match seen.connection {
            None => Now {
                permitted: false,
                why: Some("no tool of this name was granted to the session".to_owned()),
                decision: Value::Null,
            },
            Some(connection) => {
                let says_read_only = seen.effect == EffectClass::Read;
                let asked = Asked {
                    connection,
                    tool: &seen.tool,
                    says_read_only,
                    definition: None,
                    counts: true,
                    shown: &shown,
                };
                match standing.judge(&asked, self.clock.now()) {
                    Ok(allowed) => Now { permitted: true, why: None, decision: allowed.decided.record() },
                    Err(barred) => Now {
                        permitted: false,
                        why: Some(barred.why.clone()),
                        decision: barred.decided.record(),
                    },
                }
            }
        };
        Ok(Explanation {
            id: operation,
            task: seen.task,
            connection_name: seen.connection_name,
            tool: seen.tool,
            state: seen.state,
            recorded: seen.decision,
            deny_reason: seen.deny_reason,
            detail: seen.detail,
            now,
        })
    }
}

/// The recorded arguments, by dotted path; cut and redacted as they are.
pub(super) fn recorded_arguments(shape: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), shape)];
    while let Some((path, shape)) = open.pop() {
        if let Some(value) = shape.get("value") {
            let number = shape.get("type").and_then(Value::as_str) == Some("number");
            let whole = value.as_str().and_then(|text| text.parse::<i64>().ok()).filter(|_| number);
            found.push((path.clone(), whole.map_or_else(|| value.clone(), Value::from)));
        }
        for field in shape.get("fields").and_then(Value::as_array).into_iter().flatten() {
            if let Some(name) = field.get("name").and_then(Value::as_str) {
                let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                open.push((path, field));
            }
        }
    }
    found
}
