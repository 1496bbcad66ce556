//! What would be decided now of a call that nobody has made.

use super::{Asked, Standing, explain::Now, standing::granted};
use crate::{Engine, EngineError, Principal, Verb};
use mate_guard::policy::Subject;
use mate_model::{
    ConnectionId, GrantId, ProjectId,
    records::Connection,
    words::{ApprovalMode, EffectClass, Role},
};
use serde::Serialize;

/// A call to be judged.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// In this project, by name or id.
    pub project: String,
    /// Of this connection, by name or id.
    pub connection: String,
    /// The upstream's own tool name.
    pub tool: String,
    /// By a task that this account submitted, by name or id; the caller if absent.
    pub account: Option<String>,
    /// In a session of this runtime, by name or id; none if absent: policies that name runtimes find no match.
    pub runtime: Option<String>,
    /// The upstream says of the tool that it only reads.
    pub says_read_only: bool,
}

/// What would be decided.
#[derive(Clone, Debug, Serialize)]
pub struct Tried {
    /// The project.
    pub project: ProjectId,
    /// The connection.
    pub connection: ConnectionId,
    /// Its name.
    pub connection_name: String,
    /// The tool.
    pub tool: String,
    /// The name of the account whose task would call.
    pub account_name: String,
    /// The grant that would be used.
    pub grant: Option<GrantId>,
    /// The effect class that the call would have.
    pub effect: Option<EffectClass>,
    /// When a person would be asked.
    pub approve: Option<ApprovalMode>,
    /// Whether a policy may look at arguments of the tool: then it may decide otherwise of a real call.
    pub arguments_matter: bool,
    /// The decision.
    pub now: Now,
}

impl Engine {
    /// Judges a call that nobody has made, as admission would: account, membership, grants, pins and policies. Not asked are
    /// its arguments, limits of rate and spending, and a person.
    ///
    /// # Errors
    /// Not a viewer; a connection, account, runtime or tool that is none.
    pub async fn try_call(&self, who: &Principal, trial: &Trial) -> Result<Tried, EngineError> {
        let project = self.project(who, &trial.project, Verb::PolicyTry).await?;
        let connection = self.connection_to_try(who, project.id, &trial.connection).await?;
        if trial.tool.is_empty() || trial.tool.len() > 256 {
            return Err(EngineError::invalid("tool", "must be the upstream's own name of a tool"));
        }
        let runtime = match &trial.runtime {
            Some(named) => self.runtime_named(named).await?.name,
            None => String::new(),
        };
        let own = who.account.to_string();
        let account = self.find_account(trial.account.as_deref().unwrap_or(&own)).await?;
        // Who is no member is nobody here: whether the account exists is not said.
        let account = match account {
            Some(account) if account.id == who.account => Some((account, who.at_most)),
            Some(account) => self.ledger.role_of(project.id, account.id).await?.map(|_| (account, None)),
            None => None,
        };
        let Some((account, most)) = account else {
            return Err(EngineError::invalid("account", "no member of the project has this name or id"));
        };
        let subject = Subject {
            task: String::new(),
            project: project.name.clone(),
            proposer: account.name.clone(),
            runtime,
        };
        let standing = Standing::imagined(self, project.id, subject).await?;
        let asked = Asked {
            connection: connection.id,
            tool: &trial.tool,
            says_read_only: trial.says_read_only,
            definition: None,
            counts: true,
            shown: &[],
        };
        let role = self.ledger.role_of(project.id, account.id).await?;
        let role = role.map(|role| most.map_or(role, |most| role.min(most)));
        let may_not = if account.disabled_at.is_some() {
            Some("the account is disabled")
        } else if project.archived_at.is_some() {
            Some("the project is archived")
        } else if role.is_none_or(|role| role < Role::Operator) {
            Some("the account submits no tasks here: it is no operator of the project")
        } else {
            None
        };
        let mut tried = Tried {
            project: project.id,
            connection: connection.id,
            connection_name: connection.name,
            tool: trial.tool.clone(),
            account_name: account.name,
            grant: None,
            effect: None,
            approve: None,
            arguments_matter: standing.shows(asked.connection, asked.tool),
            now: Now { permitted: false, why: None, decision: serde_json::Value::Null },
        };
        match standing.permits(&asked, self.clock.now()) {
            Ok(allowed) => {
                tried.grant = Some(allowed.grant.id);
                tried.effect =
                    Some(super::intent::class_of(allowed.grant, allowed.connection, asked.says_read_only));
                tried.approve = Some(allowed.approve);
                tried.now = Now { permitted: true, why: None, decision: allowed.decided.record() };
            }
            Err(barred) => {
                tried.grant = barred.decided.grant();
                tried.now =
                    Now { permitted: false, why: Some(barred.why), decision: barred.decided.record() };
            }
        }
        if let Some(why) = may_not {
            (tried.now.permitted, tried.now.why) = (false, Some(why.to_owned()));
        }
        Ok(tried)
    }

    /// A connection that the caller may see; for who sees none, one whose tools are granted to the project.
    async fn connection_to_try(
        &self,
        who: &Principal,
        project: ProjectId,
        wanted: &str,
    ) -> Result<Connection, EngineError> {
        match self.connection(who, wanted).await {
            Err(EngineError::NotFound | EngineError::NotAllowed { .. }) => {}
            other => return other,
        }
        let (_, mut granted) = granted(&self.ledger, project).await?;
        granted
            .retain(|one| one.removed_at.is_none() && (one.name == wanted || one.id.to_string() == wanted));
        granted.pop().ok_or_else(|| {
            EngineError::invalid("connection", "no connection has this name or id, or not for you to see")
        })
    }
}
