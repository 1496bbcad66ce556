//! How things are shown: the field names of the contract, `id` and `state` first, times in RFC 3339.

use crate::{
    time::{rfc3339, rfc3339_opt},
    wire::answer,
};
use mate_engine::admin::{
    InFlight, NamedGrant, NamedMember, NamedPolicy, NamedSession, PolicyReport, Rotated,
};
use mate_guard::{Definition, policy::Finding};
use mate_model::{
    Micros,
    records::{Account, Connection, Pin, PinnedField, Policy, Project, Reach, Runtime, Token},
    session::SessionState,
};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(crate) fn account(account: Account) -> Value {
    shown(&answer::Account {
        id: account.id,
        state: if account.disabled_at.is_some() { "disabled" } else { "active" },
        name: account.name,
        admin: account.admin,
        created_at: rfc3339(account.created_at),
        disabled_at: rfc3339_opt(account.disabled_at),
        in_flight: None,
    })
}

pub(crate) fn token(token: &Token, now: Micros) -> Value {
    let state = if token.revoked_at.is_some() {
        "revoked"
    } else if token.expires_at.is_some_and(|end| end <= now) {
        "expired"
    } else {
        "active"
    };
    shown(&answer::Token {
        id: token.id,
        state,
        account: token.account,
        project: token.project,
        role: token.role,
        created_at: rfc3339(token.created_at),
        last_used_at: rfc3339_opt(token.last_used_at),
        expires_at: rfc3339_opt(token.expires_at),
        revoked_at: rfc3339_opt(token.revoked_at),
        made_with: token.made_with,
        also_revoked: None,
        in_flight: None,
    })
}

pub(crate) fn project(project: Project) -> Value {
    shown(&answer::Project {
        id: project.id,
        state: if project.archived_at.is_some() { "archived" } else { "active" },
        name: project.name,
        workspace: project.workspace,
        distinct_approver: project.distinct_approver,
        created_at: rfc3339(project.created_at),
        archived_at: rfc3339_opt(project.archived_at),
    })
}

/// What was revoked, with the calls that were on their way.
pub(crate) fn with_in_flight(mut gone: Value, in_flight: &InFlight) -> Value {
    gone["in_flight"] = shown(in_flight);
    gone
}

pub(crate) fn member(member: NamedMember) -> Value {
    let NamedMember { member, name } = member;
    shown(&answer::Member {
        id: member.account,
        project: member.project,
        account: member.account,
        account_name: name,
        role: member.role,
        added_at: rfc3339(member.added_at),
    })
}

pub(crate) fn runtime(runtime: Runtime) -> Value {
    let part = |name: &str| runtime.registration.get(name).cloned().unwrap_or_default();
    shown(&answer::Runtime {
        id: runtime.id,
        name: runtime.name,
        preset: part("preset"),
        command: part("command"),
        own_tools: part("own_tools"),
        quiet_seconds: runtime.quiet_seconds,
        deadline_seconds: runtime.deadline_seconds,
        limits: part("limits"),
        created_at: rfc3339(runtime.created_at),
        registration: runtime.registration,
        notices: None,
        state: None,
    })
}

pub(crate) fn connection(connection: Connection) -> Value {
    shown(&connection_of(connection))
}

pub(crate) fn rotated(rotated: Rotated) -> Value {
    let Rotated { connection, replaced, added, removed } = rotated;
    shown(&answer::RotatedConnection { connection: connection_of(connection), replaced, added, removed })
}

fn connection_of(connection: Connection) -> answer::Connection {
    let (kind, url, command) = match connection.reach {
        Reach::Stdio { command } => ("stdio", None, Some(command)),
        Reach::Http { url } => ("http", Some(url), None),
    };
    let settings = connection.settings;
    answer::Connection {
        id: connection.id,
        name: connection.name,
        kind,
        url,
        command,
        secret_env: settings.secret_env,
        headers: settings.headers,
        allow_fields: settings.allow_fields,
        bare: settings.bare,
        trust_annotations: settings.trust_annotations,
        effect: settings.effect,
        verify: settings.verify,
        workspace_root: settings.workspace_root,
        created_at: rfc3339(connection.created_at),
        state: None,
        in_flight: None,
    }
}

pub(crate) fn grant(named: NamedGrant, now: Micros) -> Value {
    let NamedGrant { grant, connection_name, project_name, created_by_name, changed_tools } = named;
    let spend = grant.terms.spend.as_ref();
    let spent_up = spend.is_some_and(|spend| spend.max <= spend.used && spend.max.millionths() > 0);
    let state = if grant.revoked_at.is_some() {
        "revoked"
    } else if grant.expires_at.is_some_and(|end| end <= now) {
        "expired"
    } else if grant.max_calls.is_some_and(|most| most <= grant.used_calls) || spent_up {
        "used_up"
    } else if changed_tools > 0 {
        "definition_changed"
    } else {
        "active"
    };
    shown(&answer::Grant {
        id: grant.id,
        state,
        project: grant.project,
        connection: grant.connection,
        connection_name,
        project_name,
        tools: grant.tools,
        effect: grant.effect,
        approve: grant.approve,
        max_calls: grant.max_calls,
        used_calls: grant.used_calls,
        needs_permit: grant.terms.needs_permit,
        rate: grant.terms.rate,
        max_spend: spend.map(|spend| spend.max),
        used_spend: spend.map(|spend| spend.used),
        cost: spend.and_then(|spend| spend.cost),
        spend_fields: spend.map(|spend| spend.fields.clone()).unwrap_or_default(),
        changed_tools,
        created_by: grant.created_by,
        created_by_name,
        created_at: rfc3339(grant.created_at),
        expires_at: rfc3339_opt(grant.expires_at),
        revoked_at: rfc3339_opt(grant.revoked_at),
        in_flight: None,
    })
}

pub(crate) fn pin(pin: &Pin) -> answer::Pin {
    let change = pin.change.as_ref().map(|change| {
        let seen = Definition { digest: change.digest.clone(), fields: change.fields.clone() };
        answer::PinChange {
            digest: change.digest.clone(),
            fields: pinned(&change.fields),
            changed: seen.changed(&pin.fields).into_iter().map(str::to_owned).collect(),
            seen_at: rfc3339(change.seen_at),
        }
    });
    answer::Pin {
        tool: mate_guard::text::line(&pin.tool, 200),
        state: if change.is_some() { "definition_changed" } else { "pinned" },
        digest: pin.digest.clone(),
        fields: pinned(&pin.fields),
        pinned_at: rfc3339(pin.pinned_at),
        change,
    }
}

fn pinned(fields: &BTreeMap<String, PinnedField>) -> BTreeMap<String, answer::PinnedField> {
    let one = |field: &PinnedField| answer::PinnedField { size: field.size, digest: field.digest.clone() };
    fields.iter().map(|(name, field)| (name.clone(), one(field))).collect()
}

pub(crate) fn policy(policy: &Policy) -> Value {
    shown(&policy_of(policy))
}

fn policy_of(policy: &Policy) -> answer::Policy {
    answer::Policy {
        id: policy.id,
        state: if policy.removed_at.is_some() { "removed" } else { "active" },
        name: policy.name.clone(),
        text: policy.text.clone(),
        created_by: policy.created_by,
        created_at: rfc3339(policy.created_at),
        removed_at: rfc3339_opt(policy.removed_at),
    }
}

pub(crate) fn named_policy(named: &NamedPolicy) -> Value {
    let PolicyReport { faults, warnings, permits, forbids } = &named.report;
    shown(&answer::PolicyWithReport {
        policy: policy_of(&named.policy),
        permits: *permits,
        forbids: *forbids,
        faults: findings(faults),
        warnings: findings(warnings),
    })
}

pub(crate) fn policy_report(report: &PolicyReport) -> Value {
    shown(&answer::PolicyReport {
        good: report.faults.is_empty(),
        permits: report.permits,
        forbids: report.forbids,
        faults: findings(&report.faults),
        warnings: findings(&report.warnings),
    })
}

fn findings(findings: &[Finding]) -> Vec<answer::Finding> {
    let one = |finding: &Finding| {
        let Finding { line, column, message, help } = finding.clone();
        answer::Finding { line, column, message, help }
    };
    findings.iter().map(one).collect()
}

pub(crate) fn session(named: NamedSession) -> Value {
    let NamedSession { session, runtime_name, own_tools, set_aside } = named;
    let since = match session.state {
        SessionState::Idle { .. } => None,
        SessionState::Hosted { since, .. } => Some(since),
        SessionState::Closed { at, .. } => Some(at),
    };
    shown(&answer::Session {
        id: session.id,
        state: session.state.word(),
        since: rfc3339_opt(since),
        project: session.project,
        runtime: session.runtime,
        runtime_name,
        own_tools,
        workspace: session.workspace,
        epoch: session.state.epoch(),
        containment: json!(session.containment),
        set_aside,
        created_at: rfc3339(session.created_at),
    })
}

/// An answer as JSON.
pub(crate) fn shown(answer: &impl Serialize) -> Value {
    serde_json::to_value(answer).unwrap_or_else(|error| {
        tracing::error!(%error, "an answer could not be written as JSON");
        Value::Null
    })
}

/// A view of the engine's, with its own moments written out; what it carries for others stays as it is.
pub(crate) fn of(view: &impl Serialize) -> Value {
    let mut value = shown(view);
    write_moments(&mut value);
    for part in ["receipt", "permission"] {
        value.get_mut(part).map(write_moments);
    }
    for parts in ["permissions", "approvals_over", "operations", "unknown", "contradicted", "artifacts"] {
        value.get_mut(parts).and_then(Value::as_array_mut).into_iter().flatten().for_each(write_moments);
    }
    value
}

/// Writes the moments of an object out that it has as microseconds.
fn write_moments(value: &mut Value) {
    let Value::Object(fields) = value else { return };
    for (name, field) in fields.iter_mut() {
        if (name == "at" || name.ends_with("_at") || name.ends_with("_since"))
            && let Some(at) = field.as_i64()
        {
            *field = rfc3339(Micros(at)).into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_what_a_view_carries_are_written_out_too() {
        let view = serde_json::json!({
            "id": "op_1", "requested_at": 0, "duration_us": 5,
            "artifacts": [{ "recorded_at": 1_796_097_428_789_062_i64, "removed_at": null, "size": 7 }],
            "permissions": [{ "given_at": 1 }],
            "data": { "at": 3 },
        });
        let shown = of(&view);
        assert_eq!(shown["artifacts"][0]["recorded_at"], "2026-12-01T03:57:08.789062Z");
        assert_eq!(shown["artifacts"][0]["removed_at"], Value::Null);
        assert_eq!(shown["permissions"][0]["given_at"], "1970-01-01T00:00:00.000001Z");
        assert_eq!((&shown["duration_us"], &shown["data"]["at"]), (&5.into(), &3.into()), "an agent's own");
    }
}
