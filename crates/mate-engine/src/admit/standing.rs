//! What the ledger says of a task's authority, kept until the authorisation version changes.

use super::{class_of, decided::Decided, pins::Pins, request::fields_of};
use crate::{Engine, EngineError};
use mate_guard::{
    Definition, RefusedBy,
    policy::{Call, Effect, PolicySet, Subject, Unusable},
};
use mate_model::{
    ConnectionId, Micros, ProjectId, TaskId,
    records::{Connection, Grant, Task},
    words::{ApprovalMode, DenyReason, Role},
};
use mate_store::{Ledger, ledger::TaskAuthority};
use serde_json::Value;

/// The authority behind a task at one authorisation version.
#[derive(Debug)]
pub(crate) struct Standing {
    /// The version that was in force when it was read.
    pub(super) version: i64,
    /// The task that it is about.
    pub(super) task: TaskId,
    /// Why nothing is allowed, if nothing is, and since when, where that is on record.
    pub(super) lost: Option<(&'static str, Option<Micros>)>,
    /// When the token ends, if it does.
    token_expires: Option<Micros>,
    /// The project's live grants.
    pub(super) grants: Vec<Grant>,
    /// The connections that they name, as far as these still exist.
    connections: Vec<Connection>,
    /// The tools' definitions under these grants.
    pub(super) pins: Pins,
    /// These grants and the administrators' policies, or why they cannot be used: nothing is allowed then.
    policies: Result<PolicySet, Unusable>,
}

/// The most grants that a project may have in force; more are not looked at, and so allow nothing.
const MAX_GRANTS: usize = 1000;
const PAGE: u32 = 500;

/// A project's grants in force, and the connections that they name. A row that cannot be read allows nothing.
pub(crate) async fn granted(
    ledger: &Ledger,
    project: ProjectId,
) -> Result<(Vec<Grant>, Vec<Connection>), EngineError> {
    let mut grants: Vec<Grant> = Vec::new();
    let mut after = None;
    while grants.len() < MAX_GRANTS {
        let page = ledger.live_grants(project, after, PAGE).await?;
        for corrupt in &page.corrupt {
            tracing::error!(%project, %corrupt, "a grant cannot be read; it allows nothing");
        }
        grants.extend(page.items);
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    let mut connections: Vec<Connection> = Vec::new();
    for grant in &grants {
        if connections.iter().all(|known| known.id != grant.connection) {
            connections.extend(ledger.connection(grant.connection).await?);
        }
    }
    Ok((grants, connections))
}

/// The grants and the administrators' policies together. A row that cannot be read may have forbidden anything: then
/// nothing is allowed.
async fn policies(
    ledger: &Ledger,
    subject: Subject,
    grants: &[Grant],
) -> Result<Result<PolicySet, Unusable>, EngineError> {
    let page = ledger.policies(None, mate_store::ledger::MAX_POLICIES + 1).await?;
    if let Some(corrupt) = page.corrupt.first() {
        tracing::error!(%corrupt, "a policy cannot be read; nothing is allowed");
        return Ok(Err(Unusable {
            name: "of an administrator".to_owned(),
            why: "its row cannot be read".to_owned(),
        }));
    }
    let texts = page.items.iter().map(|policy| (policy.name.as_str(), policy.text.as_str()));
    let built = PolicySet::build(subject, grants, texts);
    if let Err(unusable) = &built {
        tracing::error!(%unusable, "nothing is allowed");
    }
    Ok(built)
}

/// Why a task may not act now, if it may not: its account, token, membership or project lost authority.
pub(crate) async fn lost_authority(engine: &Engine, task: &Task) -> Result<Option<String>, EngineError> {
    let authority = engine.ledger.authority_of(task.id).await?.ok_or(EngineError::NotFound)?;
    let expired = authority.token_expires_at.is_some_and(|end| engine.clock.now() >= end);
    let lost = lost(&authority, task.project).map(|(why, _)| why);
    Ok(lost.or(expired.then_some(EXPIRED)).map(str::to_owned))
}

const EXPIRED: &str = "the token that submitted the task has expired";

/// Why, and since when where that is on record.
fn lost(authority: &TaskAuthority, project: ProjectId) -> Option<(&'static str, Option<Micros>)> {
    let role = authority.role.map(|role| authority.token_role.map_or(role, |most| role.min(most)));
    let elsewhere = authority.token_project.is_some_and(|only| only != project);
    if let Some(at) = authority.proposer_disabled_at {
        Some(("the account that submitted the task is disabled", Some(at)))
    } else if let Some(at) = authority.token_revoked_at {
        Some(("the token that submitted the task was revoked", Some(at)))
    } else if let Some(at) = authority.project_archived_at {
        Some(("the project is archived", Some(at)))
    } else if elsewhere || role.is_none_or(|role| role < Role::Operator) {
        Some(("who submitted the task may no longer act in the project", None))
    } else {
        None
    }
}

/// What is asked of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    /// The connection that offers the tool.
    pub(crate) connection: ConnectionId,
    /// The upstream's own name of the tool.
    pub(crate) tool: &'a str,
    /// What the upstream's annotations say of it: that it only reads.
    pub(crate) says_read_only: bool,
    /// The tool's definition, which must be the pinned one; none where it is not at hand, and nothing is sent.
    pub(crate) definition: Option<&'a Definition>,
    /// Whether it uses up a call of the grant.
    pub(crate) counts: bool,
    /// The arguments that may be recorded.
    pub(crate) shown: &'a [(String, Value)],
}

/// A call that the grants and policies allow.
#[derive(Debug)]
pub(crate) struct Allowed<'a> {
    pub(crate) grant: &'a Grant,
    /// Whose leave it needs: the most cautious word of this grant and of those that name the tool more closely, in force
    /// or only used up, expired or not permitted. Only a revoked one demands nothing any more.
    pub(crate) approve: ApprovalMode,
    pub(crate) connection: &'a Connection,
    pub(crate) decided: Decided,
}

/// A call that is refused, with what decided.
#[derive(Debug)]
pub(crate) struct Barred {
    pub(crate) reason: DenyReason,
    pub(crate) why: String,
    pub(crate) decided: Box<Decided>,
}

impl Barred {
    fn new(reason: DenyReason, why: impl Into<String>) -> Self {
        Self { reason, why: why.into(), decided: Box::new(Decided::by_admission()) }
    }
}

impl Standing {
    /// Reads it. The version is read first: what changes after that is seen by the second read.
    pub(crate) async fn read(engine: &Engine, project: ProjectId, task: TaskId) -> Result<Self, EngineError> {
        let ledger = &engine.ledger;
        let version = ledger.authorisation_version().await?;
        let authority = ledger.authority_of(task).await?.ok_or(EngineError::NotFound)?;
        let (grants, connections) = granted(ledger, project).await?;
        let lost = lost(&authority, project);
        let subject = Subject {
            task: task.to_string(),
            project: authority.project_name,
            proposer: authority.proposer_name,
            runtime: authority.runtime_name,
        };
        let policies = policies(ledger, subject, &grants).await?;
        let token_expires = authority.token_expires_at;
        let pins = Pins::of(engine.pins_in_force(project).await?);
        Ok(Self { version, task, lost, token_expires, grants, connections, pins, policies })
    }

    /// As a task of this project would find it that `subject` describes, whose account and token have not lost anything.
    pub(super) async fn imagined(
        engine: &Engine,
        project: ProjectId,
        subject: Subject,
    ) -> Result<Self, EngineError> {
        let ledger = &engine.ledger;
        let version = ledger.authorisation_version().await?;
        let (grants, connections) = granted(ledger, project).await?;
        let policies = policies(ledger, subject, &grants).await?;
        let pins = Pins::of(engine.pins_in_force(project).await?);
        let task = TaskId::new(uuid::Uuid::nil());
        Ok(Self { version, task, lost: None, token_expires: None, grants, connections, pins, policies })
    }

    /// The authorisation version that it was read under.
    pub(crate) const fn version(&self) -> i64 {
        self.version
    }

    /// Whether the task may act at all.
    pub(super) fn may_act(&self, now: Micros) -> Result<(), (DenyReason, String)> {
        if let Some((why, _)) = self.lost {
            return Err((DenyReason::NotAuthorised, why.to_owned()));
        }
        if self.token_expires.is_some_and(|end| now >= end) {
            return Err((DenyReason::NotAuthorised, EXPIRED.to_owned()));
        }
        Ok(())
    }

    /// Whether the task may act, a grant covers the tool now, and the policies permit it.
    pub(super) fn judge(&self, asked: &Asked<'_>, now: Micros) -> Result<Allowed<'_>, Barred> {
        self.may_act(now).map_err(|(reason, why)| Barred::new(reason, why))?;
        self.permits(asked, now)
    }

    /// Whether a grant covers the tool now, and the policies permit it.
    pub(crate) fn permits(&self, asked: &Asked<'_>, now: Micros) -> Result<Allowed<'_>, Barred> {
        let ranked = mate_guard::ranked(&self.grants, asked.connection, asked.tool);
        let good = |grant: &&Grant| match mate_guard::refusal(grant, now) {
            None => true,
            Some(RefusedBy::CallsUsedUp(_)) => !asked.counts,
            Some(RefusedBy::NoGrant | RefusedBy::Revoked(_) | RefusedBy::Expired(_)) => false,
        };
        let mut in_force: Vec<&Grant> = ranked.iter().copied().filter(good).collect();
        let closest = in_force.first().copied();
        if let Some(definition) = asked.definition {
            in_force.retain(|grant| self.pins.fits(grant.id, asked.tool, definition) == Some(true));
        } else if asked.counts {
            in_force.retain(|grant| !self.pins.changed(grant.id, asked.tool));
        }
        if let Some(grant) = closest.filter(|_| in_force.is_empty()) {
            return Err(changed(grant));
        }
        if in_force.is_empty() {
            let why = match mate_guard::choose(&ranked, now) {
                mate_guard::Decision::Refuse(why) => why.to_string(),
                mate_guard::Decision::Allow { .. } => String::new(),
            };
            let decided = Box::new(Decided::nothing());
            return Err(Barred { reason: DenyReason::NotGranted, why, decided });
        }
        let known =
            self.connections.iter().find(|known| known.id == asked.connection && known.removed_at.is_none());
        let connection =
            known.ok_or_else(|| Barred::new(DenyReason::NotGranted, "the connection was removed"))?;
        let policies = self.policies.as_ref().map_err(|unusable| Barred {
            reason: DenyReason::Forbidden,
            why: format!("{unusable}; until it is mended or removed, nothing is allowed"),
            decided: Box::new(Decided::unusable(&unusable.name)),
        })?;
        let mut allowed = self.first_permitted(policies, asked, now, &in_force, connection)?;
        let up_to = ranked.iter().position(|grant| grant.id == allowed.grant.id).map_or(0, |at| at + 1);
        let modes = ranked.iter().take(up_to).map(|grant| grant.approve);
        allowed.approve = modes.fold(allowed.approve, ApprovalMode::max);
        Ok(allowed)
    }

    /// The grants that match a tool and are in force, whatever is pinned under them.
    pub(super) fn in_force(&self, connection: ConnectionId, tool: &str, now: Micros) -> Vec<&Grant> {
        let mut ranked = mate_guard::ranked(&self.grants, connection, tool);
        ranked.retain(|grant| mate_guard::refusal(grant, now).is_none());
        ranked
    }

    /// The first grant, by how closely it names the tool, that permits by itself or that a policy permits to be used.
    fn first_permitted<'a>(
        &'a self,
        policies: &PolicySet,
        asked: &Asked<'_>,
        now: Micros,
        in_force: &[&'a Grant],
        connection: &'a Connection,
    ) -> Result<Allowed<'a>, Barred> {
        let mut decided = Decided::nothing();
        for grant in in_force.iter().copied() {
            let call = Call {
                connection: &connection.name,
                tool: asked.tool,
                class: class_of(grant, connection, asked.says_read_only),
                now,
                grants: in_force,
                shown: asked.shown,
            };
            let verdict = policies.decide(&call);
            decided = Decided::of(&verdict, grant);
            match verdict.effect {
                Effect::Permit if !grant.terms.needs_permit || verdict.by_administrator() => {
                    return Ok(Allowed { grant, approve: grant.approve, connection, decided });
                }
                Effect::Permit | Effect::Nothing => {}
                Effect::Forbid => {
                    let why = decided.forbidden();
                    return Err(Barred { reason: DenyReason::Forbidden, why, decided: Box::new(decided) });
                }
            }
        }
        let why = "the grant of this tool needs a policy that permits the call, and none does".to_owned();
        Err(Barred { reason: DenyReason::Forbidden, why, decided: Box::new(decided.without_permit()) })
    }

    /// Whether the tool may be listed: whether a call of it would be permitted now, as far as that can be said without
    /// its arguments.
    pub(super) fn lists(
        &self,
        connection: &str,
        tool: &str,
        says_read_only: bool,
        definition: &Definition,
        now: Micros,
    ) -> bool {
        let named =
            self.connections.iter().find(|known| known.name == connection && known.removed_at.is_none());
        named.is_some_and(|known| {
            let definition = Some(definition);
            let connection = known.id;
            let asked = Asked { connection, tool, says_read_only, definition, counts: true, shown: &[] };
            match self.judge(&asked, now) {
                Ok(_) => true,
                // What a policy says of arguments is only known with the call.
                Err(barred) => barred.reason == DenyReason::Forbidden && self.shows(connection, tool),
            }
        })
    }

    /// The arguments of a connection's calls that may be recorded, as `TOOL.FIELD`.
    pub(super) fn fields(&self, connection: ConnectionId) -> Option<&[String]> {
        let known = self.connections.iter().find(|known| known.id == connection)?;
        Some(&known.settings.allow_fields)
    }

    /// Whether a policy may look at arguments of the tool.
    pub(super) fn shows(&self, connection: ConnectionId, tool: &str) -> bool {
        self.fields(connection).is_some_and(|fields| !fields_of(fields, tool).is_empty())
    }

    /// Whether any live grant names the connection.
    pub(super) fn names(&self, connection: &str, now: Micros) -> bool {
        let named =
            self.connections.iter().find(|known| known.name == connection && known.removed_at.is_none());
        named.is_some_and(|known| {
            self.grants.iter().any(|grant| {
                grant.connection == known.id
                    && grant.revoked_at.is_none()
                    && grant.expires_at.is_none_or(|end| now < end)
            })
        })
    }
}

fn changed(grant: &Grant) -> Barred {
    let why = format!(
        "the tool's definition is another than the one that was pinned under the grant {}, and the project's owner has \
         not accepted the change",
        grant.id
    );
    let decided = Box::new(Decided::by_admission().under(grant));
    Barred { reason: DenyReason::DefinitionChanged, why, decided }
}
