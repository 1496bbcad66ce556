//! Tasks and what happened in them. The fields are those of the interface; see its description.

use super::At;
use serde::Deserialize;
use serde_json::Value;

/// A task.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the interface describes them")]
pub struct Task {
    pub id: String,
    pub state: String,
    pub activity: Option<String>,
    pub quiet_since: At,
    pub reason: Option<String>,
    pub result: Option<String>,
    pub report: Option<String>,
    pub then: Option<String>,
    pub uncertain: Option<String>,
    pub unknown_operations: Option<u64>,
    pub set_aside: Option<String>,
    pub project: String,
    pub session: String,
    pub runtime: String,
    pub runtime_name: String,
    pub turn: Option<String>,
    pub proposer: String,
    pub instructions: String,
    pub continues: Option<String>,
    pub continued_by: Option<String>,
    pub context: Option<String>,
    pub permissions: Vec<Permission>,
    pub note: Option<String>,
    pub created_at: At,
    pub started_at: At,
    pub deadline_at: At,
    pub stop_requested_at: At,
    pub stop_requested_by: Option<String>,
    pub ended_at: At,
    #[serde(rename = "final")]
    pub is_final: bool,
}

/// Leave for a tool until the task ends.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the interface describes them")]
pub struct Permission {
    pub id: String,
    pub state: String,
    pub connection_name: String,
    pub tool: String,
    pub given_by: String,
    pub given_at: At,
    pub revoked_at: At,
}

/// An operation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the interface describes them")]
pub struct Operation {
    pub id: String,
    pub state: String,
    pub task: String,
    pub turn: String,
    pub session: String,
    pub connection_name: String,
    pub tool: String,
    pub effect: String,
    pub grant: Option<String>,
    pub decision: Value,
    pub deny_reason: Option<String>,
    pub held: bool,
    pub detail: Option<String>,
    pub evidence: Option<Evidence>,
    pub runtime_call: Option<String>,
    pub trace: String,
    pub digest: String,
    pub arguments: Value,
    pub requested_at: At,
    pub admitted_at: At,
    pub sent_at: At,
    pub answered_at: At,
    pub recorded_at: At,
    pub duration_us: Option<i64>,
    pub result_size: Option<i64>,
    pub result_type: Option<String>,
    pub resolved_at: At,
    pub proof: Option<String>,
    pub permit_repeat: Option<bool>,
    pub contradiction: Option<Contrary>,
    pub contradicted_at: At,
    pub acknowledged_at: At,
    pub upstream_task: Option<String>,
    pub looks: Option<i64>,
    pub last_look: Option<String>,
    pub next_look_at: At,
    pub artifacts: Option<Vec<Artifact>>,
}

/// What proves an outcome.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the interface describes them")]
pub struct Evidence {
    pub kind: String,
    pub by: Option<String>,
    pub detail: String,
}

/// Evidence that says otherwise than what settled an operation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the interface describes them")]
pub struct Contrary {
    #[serde(rename = "as")]
    pub verdict: String,
    pub evidence: Evidence,
    pub acknowledged_by: Option<String>,
    pub acknowledgement: Option<String>,
}

/// A request that waits, or waited, for a person.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the interface describes them")]
pub struct Approval {
    pub id: String,
    pub state: String,
    pub kind: String,
    pub project: String,
    pub task: String,
    pub operation: Option<String>,
    pub proposer: String,
    pub proposer_name: String,
    pub connection_name: String,
    pub tool: String,
    pub effect: String,
    pub approve: String,
    pub arguments: Value,
    pub digest: String,
    pub requested_at: At,
    pub expires_at: At,
    pub used_at: At,
    pub receipt: Option<Receipt>,
    pub permission: Option<Permission>,
}

/// A person's answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the interface describes them")]
pub struct Receipt {
    pub decision: String,
    pub by: String,
    pub at: At,
    pub reason: Option<String>,
}

/// An event.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the interface describes them")]
pub struct Event {
    pub log: String,
    pub seq: i64,
    #[serde(rename = "type")]
    pub kind: String,
    pub at: At,
    pub data: Value,
}

impl Event {
    /// A text of its data.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.data.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

/// An artifact.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the interface describes them")]
pub struct Artifact {
    pub id: String,
    pub state: String,
    pub task: String,
    pub operation: Option<String>,
    pub origin: String,
    pub name: String,
    pub source: Option<String>,
    pub media_type: Option<String>,
    pub size: Option<i64>,
    pub hash: Option<String>,
    pub redacted: bool,
    pub reason: Option<String>,
    pub created_at: At,
}

/// A session.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the interface describes them")]
pub struct Session {
    pub id: String,
    pub state: String,
    pub workspace: Option<String>,
    pub containment: Option<Value>,
}
