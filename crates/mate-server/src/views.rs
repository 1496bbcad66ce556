//! How things are shown: the field names of the contract, `id` and `state` first, times in RFC 3339.

use crate::time::{rfc3339, rfc3339_opt};
use mate_engine::admin::{NamedGrant, NamedMember, NamedPolicy, NamedSession, PolicyReport};
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
    json!({
        "id": account.id,
        "state": if account.disabled_at.is_some() { "disabled" } else { "active" },
        "name": account.name,
        "admin": account.admin,
        "created_at": rfc3339(account.created_at),
        "disabled_at": rfc3339_opt(account.disabled_at),
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
    json!({
        "id": token.id,
        "state": state,
        "account": token.account,
        "project": token.project,
        "role": token.role,
        "created_at": rfc3339(token.created_at),
        "last_used_at": rfc3339_opt(token.last_used_at),
        "expires_at": rfc3339_opt(token.expires_at),
        "revoked_at": rfc3339_opt(token.revoked_at),
    })
}

pub(crate) fn project(project: Project) -> Value {
    json!({
        "id": project.id,
        "state": if project.archived_at.is_some() { "archived" } else { "active" },
        "name": project.name,
        "workspace": project.workspace,
        "distinct_approver": project.distinct_approver,
        "created_at": rfc3339(project.created_at),
        "archived_at": rfc3339_opt(project.archived_at),
    })
}

pub(crate) fn member(member: NamedMember) -> Value {
    let NamedMember { member, name } = member;
    json!({
        "id": member.account,
        "project": member.project,
        "account": member.account,
        "account_name": name,
        "role": member.role,
        "added_at": rfc3339(member.added_at),
    })
}

pub(crate) fn runtime(runtime: Runtime) -> Value {
    let part = |name: &str| runtime.registration.get(name).cloned().unwrap_or_default();
    json!({
        "id": runtime.id,
        "name": runtime.name,
        "preset": part("preset"),
        "command": part("command"),
        "own_tools": part("own_tools"),
        "quiet_seconds": runtime.quiet_seconds,
        "deadline_seconds": runtime.deadline_seconds,
        "limits": part("limits"),
        "created_at": rfc3339(runtime.created_at),
        "registration": runtime.registration,
    })
}

pub(crate) fn connection(connection: Connection) -> Value {
    let (kind, url, command) = match connection.reach {
        Reach::Stdio { command } => ("stdio", None, Some(command)),
        Reach::Http { url } => ("http", Some(url), None),
    };
    let settings = connection.settings;
    json!({
        "id": connection.id,
        "name": connection.name,
        "kind": kind,
        "url": url,
        "command": command,
        "secret_env": settings.secret_env,
        "headers": settings.headers,
        "allow_fields": settings.allow_fields,
        "bare": settings.bare,
        "trust_annotations": settings.trust_annotations,
        "effect": settings.effect,
        "verify": settings.verify,
        "created_at": rfc3339(connection.created_at),
    })
}

pub(crate) fn grant(named: NamedGrant, now: Micros) -> Value {
    let NamedGrant { grant, connection_name, changed_tools } = named;
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
    json!({
        "id": grant.id,
        "state": state,
        "project": grant.project,
        "connection": grant.connection,
        "connection_name": connection_name,
        "tools": grant.tools,
        "effect": grant.effect,
        "approve": grant.approve,
        "max_calls": grant.max_calls,
        "used_calls": grant.used_calls,
        "needs_permit": grant.terms.needs_permit,
        "rate": grant.terms.rate,
        "max_spend": spend.map(|spend| spend.max),
        "used_spend": spend.map(|spend| spend.used),
        "cost": spend.and_then(|spend| spend.cost),
        "spend_fields": spend.map(|spend| spend.fields.as_slice()).unwrap_or_default(),
        "changed_tools": changed_tools,
        "created_by": grant.created_by,
        "created_at": rfc3339(grant.created_at),
        "expires_at": rfc3339_opt(grant.expires_at),
        "revoked_at": rfc3339_opt(grant.revoked_at),
    })
}

pub(crate) fn pin(pin: &Pin) -> Value {
    let fields = |fields: &BTreeMap<String, PinnedField>| json!(fields);
    let change = pin.change.as_ref().map(|change| {
        let seen = Definition { digest: change.digest.clone(), fields: change.fields.clone() };
        json!({
            "digest": change.digest,
            "fields": fields(&change.fields),
            "changed": seen.changed(&pin.fields),
            "seen_at": rfc3339(change.seen_at),
        })
    });
    json!({
        "tool": mate_guard::text::line(&pin.tool, 200),
        "state": if change.is_some() { "definition_changed" } else { "pinned" },
        "digest": pin.digest,
        "fields": fields(&pin.fields),
        "pinned_at": rfc3339(pin.pinned_at),
        "change": change,
    })
}

pub(crate) fn policy(policy: &Policy) -> Value {
    json!({
        "id": policy.id,
        "state": if policy.removed_at.is_some() { "removed" } else { "active" },
        "name": policy.name,
        "text": policy.text,
        "created_by": policy.created_by,
        "created_at": rfc3339(policy.created_at),
        "removed_at": rfc3339_opt(policy.removed_at),
    })
}

pub(crate) fn named_policy(named: &NamedPolicy) -> Value {
    let mut view = policy(&named.policy);
    view["permits"] = named.report.permits.into();
    view["forbids"] = named.report.forbids.into();
    view["faults"] = findings(&named.report.faults);
    view["warnings"] = findings(&named.report.warnings);
    view
}

pub(crate) fn policy_report(report: &PolicyReport) -> Value {
    json!({
        "good": report.faults.is_empty(),
        "permits": report.permits,
        "forbids": report.forbids,
        "faults": findings(&report.faults),
        "warnings": findings(&report.warnings),
    })
}

fn findings(findings: &[Finding]) -> Value {
    let one = |finding: &Finding| {
        json!({
            "line": finding.line, "column": finding.column, "message": finding.message, "help": finding.help,
        })
    };
    findings.iter().map(one).collect::<Vec<_>>().into()
}

pub(crate) fn session(named: NamedSession) -> Value {
    let NamedSession { session, runtime_name, set_aside } = named;
    let since = match session.state {
        SessionState::Idle { .. } => None,
        SessionState::Hosted { since, .. } => Some(since),
        SessionState::Closed { at, .. } => Some(at),
    };
    json!({
        "id": session.id,
        "state": session.state.word(),
        "since": rfc3339_opt(since),
        "project": session.project,
        "runtime": session.runtime,
        "runtime_name": runtime_name,
        "workspace": session.workspace,
        "epoch": session.state.epoch(),
        "containment": session.containment,
        "set_aside": set_aside,
        "created_at": rfc3339(session.created_at),
    })
}

/// A view of the engine's, with its own moments written out; what it carries for others stays as it is.
pub(crate) fn of(view: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(view).unwrap_or_else(|error| {
        tracing::error!(%error, "a view could not be written as JSON");
        Value::Null
    });
    write_moments(&mut value);
    for part in ["receipt", "permission"] {
        value.get_mut(part).map(write_moments);
    }
    value.get_mut("permissions").and_then(Value::as_array_mut).into_iter().flatten().for_each(write_moments);
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
