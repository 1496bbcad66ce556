//! By whose leave a call went out, or why it did not: in words, from its record and the ledger's.

use super::operations::OperationView;
use crate::{Engine, EngineError};
use mate_model::{
    ApprovalId, GrantId, Micros,
    operation::OperationStateWord as State,
    words::{ApprovalMode, DenyReason},
};
use serde_json::Value;
use std::collections::BTreeMap;

/// A person who gave leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leave {
    /// By name.
    pub(super) by: String,
    /// When.
    pub(super) at: Micros,
}

/// What the ledger says of those who gave authority; each is asked for once.
#[derive(Debug, Default)]
pub(super) struct Givers {
    grants: BTreeMap<GrantId, Option<String>>,
    leave: BTreeMap<ApprovalId, Option<Leave>>,
}

/// What is known of an operation's authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Authority {
    /// In words.
    pub(super) words: String,
    /// Whose leave it needed and had.
    pub(super) leave: Option<Leave>,
}

impl Engine {
    /// By whose leave an operation went out, or why it was refused.
    pub(super) async fn authority_of(
        &self,
        row: &OperationView,
        givers: &mut Givers,
    ) -> Result<Authority, EngineError> {
        let granted_by = match row.grant {
            Some(grant) if !givers.grants.contains_key(&grant) => {
                let by = match self.ledger.grant(grant).await? {
                    Some(found) => Some(self.name_of(found.created_by).await?),
                    None => None,
                };
                givers.grants.entry(grant).or_insert(by).clone()
            }
            Some(grant) => givers.grants.get(&grant).cloned().flatten(),
            None => None,
        };
        let asked = asked_with(row);
        let leave = match asked {
            Some((approval, _)) if !givers.leave.contains_key(&approval) => {
                let answer = self.ledger.approval(approval).await?.and_then(|found| found.answer);
                let leave = match answer {
                    Some(answer) => Some(Leave { by: self.name_of(answer.by).await?, at: answer.at }),
                    None => None,
                };
                givers.leave.entry(approval).or_insert(leave).clone()
            }
            Some((approval, _)) => givers.leave.get(&approval).cloned().flatten(),
            None => None,
        };
        let words = words(row, granted_by.as_deref(), leave.as_ref(), asked);
        Ok(Authority { words, leave: leave.filter(|_| went_out(row.state)) })
    }
}

/// The approval that an operation needed, and whether it was given with an earlier call: none where nobody was asked.
fn asked_with(row: &OperationView) -> Option<(ApprovalId, bool)> {
    if let Some(permission) = row.decision.get("permission").and_then(Value::as_str) {
        return permission.parse().ok().map(|id| (id, true));
    }
    let asked = row.decision.get("by").and_then(Value::as_str) == Some("person")
        || row.decision.get("approve").is_some()
        || row.deny_reason == Some(DenyReason::ByPerson);
    asked.then_some((ApprovalId::Call(row.id), false))
}

/// Whether an intent was written.
const fn went_out(state: State) -> bool {
    match state {
        State::InFlight
        | State::Succeeded
        | State::Failed
        | State::NotSent
        | State::Unknown
        | State::Abandoned => true,
        State::Requested | State::Denied | State::AwaitingApproval | State::Expired | State::Withdrawn => {
            false
        }
    }
}

fn words(
    row: &OperationView,
    granted_by: Option<&str>,
    leave: Option<&Leave>,
    asked: Option<(ApprovalId, bool)>,
) -> String {
    let detail = row.detail.as_deref().unwrap_or_default();
    match row.state {
        State::Denied => return refused(row, leave, detail),
        State::Expired => return "refused: nobody gave leave in time, or used it".to_owned(),
        State::Withdrawn => {
            return "refused: the request for leave was withdrawn before it was used".to_owned();
        }
        State::Requested => return "nothing is decided yet".to_owned(),
        State::AwaitingApproval => return "waits for a person's leave".to_owned(),
        State::InFlight
        | State::Succeeded
        | State::Failed
        | State::NotSent
        | State::Unknown
        | State::Abandoned => {}
    }
    let mut parts = Vec::new();
    if let Some(grant) = row.grant {
        let by = granted_by.map(|by| format!(", given by {by}")).unwrap_or_default();
        parts.push(format!("under grant {grant}{by}"));
    }
    let policies = policies(&row.decision);
    if !policies.is_empty() {
        parts.push(format!("permitted by {}", policies.join(", ")));
    }
    parts.push(match (leave, asked) {
        (Some(leave), Some((first, true))) => {
            format!(
                "by leave of {} at {}, for the rest of the task, given with {first}",
                leave.by,
                utc(leave.at)
            )
        }
        (Some(leave), _) => {
            let once =
                row.decision.get("approve").and_then(Value::as_str) == Some(ApprovalMode::Once.as_str());
            let range = if once { "for this tool and task" } else { "for this call" };
            format!("by leave of {} at {}, {range}", leave.by, utc(leave.at))
        }
        (None, Some(_)) => "by a person's leave whose record cannot be found".to_owned(),
        (None, None) => "nobody's leave was needed".to_owned(),
    });
    let words = parts.join("; ");
    if row.state == State::NotSent { format!("not sent ({detail}); before that {words}") } else { words }
}

/// Why a call was refused before its intent.
fn refused(row: &OperationView, leave: Option<&Leave>, detail: &str) -> String {
    let reason = row.deny_reason.map_or("denied", DenyReason::as_str).replace('_', " ");
    let by = match (row.deny_reason, leave) {
        (Some(DenyReason::ByPerson), Some(leave)) => format!(" by {} at {}", leave.by, utc(leave.at)),
        (Some(DenyReason::Forbidden), _) if !policies(&row.decision).is_empty() => {
            format!(" by {}", policies(&row.decision).join(", "))
        }
        _ => String::new(),
    };
    let reason =
        if row.deny_reason == Some(DenyReason::ByPerson) { String::new() } else { format!(" ({reason})") };
    let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
    format!("refused{by}{reason}{detail}")
}

/// The policies that decided, without the grants that stand beside them.
fn policies(decision: &Value) -> Vec<String> {
    let all = decision.get("policies").and_then(Value::as_array).into_iter().flatten();
    let names = all.filter_map(Value::as_str).filter(|name| !name.starts_with("grant:"));
    names.map(|name| name.replacen("policy:", "policy ", 1)).collect()
}

/// A moment to the second, in UTC.
fn utc(at: Micros) -> String {
    jiff::Timestamp::from_microsecond(at.0)
        .map_or_else(|_| format!("{} us", at.0), |moment| moment.strftime("%Y-%m-%d %H:%M:%SZ").to_string())
}
