//! Grants: a project's authority to use some tools of a connection, until revoked.

use super::{InFlight, Listing, Paging, check, in_flight::Taken};
use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{
    GrantId, ProjectId,
    event::{Draft, EventType},
    limit::{Amount, Rate, Spend},
    records::{Grant, Project, Terms},
    words::{ApprovalMode, EffectClass},
};
use mate_store::LedgerError;
use serde_json::json;
use uuid::Uuid;

/// What a grant is made of.
#[derive(Clone, Debug)]
pub struct NewGrant {
    /// To which project, by name or id.
    pub project: String,
    /// For which connection, by name or id.
    pub connection: String,
    /// Patterns over the upstream's own tool names.
    pub tools: Vec<String>,
    /// The effect class of these tools, if the grant says.
    pub effect: Option<EffectClass>,
    /// When a person's leave is wanted.
    pub approve: ApprovalMode,
    /// When it ends: a moment, or a time from now.
    pub expires: Option<String>,
    /// How many calls it is good for, if limited.
    pub max_calls: Option<i64>,
    /// Under what else.
    pub terms: NewTerms,
}

/// What else a grant says.
#[derive(Clone, Debug, Default)]
pub struct NewTerms {
    /// It permits nothing by itself: an administrator's policy must permit the call as well.
    pub needs_permit: bool,
    /// How many calls in a time, for each session.
    pub rate: Option<Rate>,
    /// How much may be spent in all.
    pub max_spend: Option<Amount>,
    /// What each call costs, besides what its arguments say.
    pub cost: Option<Amount>,
    /// `TOOL.FIELD`: the argument that says what a call spends.
    pub spend_fields: Vec<String>,
}

impl NewTerms {
    fn checked(self) -> Result<Terms, EngineError> {
        let Self { needs_permit, rate, max_spend, cost, spend_fields: fields } = self;
        for field in &fields {
            if !check::is_tool_field(field) {
                return Err(EngineError::invalid(
                    "spend_fields",
                    "must each be TOOL.FIELD, such as pay.amount, or *.amount for every tool",
                ));
            }
        }
        if fields.len() > MOST_FIELDS {
            return Err(EngineError::invalid("spend_fields", "holds more than 100 fields"));
        }
        let spend = match max_spend {
            Some(_) if cost.is_none() && fields.is_empty() => {
                return Err(EngineError::invalid(
                    "max_spend",
                    "needs to know what a call spends: name the argument with spend_fields, or give a cost",
                ));
            }
            Some(max) => Some(Spend { max, used: Amount::default(), cost, fields }),
            None if cost.is_some() || !fields.is_empty() => {
                return Err(EngineError::invalid("max_spend", "is missing: how much may be spent in all?"));
            }
            None => None,
        };
        Ok(Terms { needs_permit, rate, spend })
    }
}

/// The most arguments that can be named.
const MOST_FIELDS: usize = 100;

/// A grant, with the connection's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedGrant {
    /// The grant.
    pub grant: Grant,
    /// The connection's name, also when it was removed.
    pub connection_name: String,
    /// The project's name.
    pub project_name: String,
    /// The name of who gave it.
    pub created_by_name: String,
    /// How many of its tools were seen with another definition than the pinned one, and are not used until it is
    /// renewed.
    pub changed_tools: i64,
}

impl Engine {
    /// Adds a grant. Asked again with the same `id`, it answers with the first one.
    ///
    /// # Errors
    /// A value that is wrong; not an owner; an archived project; the ledger's.
    pub async fn add_grant(
        &self,
        who: &Principal,
        id: Uuid,
        new: NewGrant,
    ) -> Result<NamedGrant, EngineError> {
        let project = self.live_project(who, &new.project, Verb::GrantAdd).await?;
        let connection = match self.connection(who, &new.connection).await {
            Err(EngineError::NotFound) => {
                return Err(EngineError::invalid("connection", "no connection has this name or id"));
            }
            other => other?,
        };
        check::globs(&new.tools)?;
        if new.max_calls.is_some_and(|most| most < 1) {
            return Err(EngineError::invalid("max_calls", "must be 1 or more: leave it out for no limit"));
        }
        let at = self.writing_time().await?;
        let expires_at = new.expires.as_deref().map(|text| check::expires(text, at)).transpose()?;
        let grant = Grant {
            id: GrantId::new(id),
            project: project.id,
            connection: connection.id,
            tools: new.tools,
            effect: new.effect,
            approve: new.approve,
            expires_at,
            max_calls: new.max_calls,
            used_calls: 0,
            created_by: who.account,
            created_at: at,
            revoked_at: None,
            terms: new.terms.checked()?,
        };
        let data = json!({
            "by": who.account, "grant": grant.id, "connection": connection.id, "connection_name": connection.name,
            "tools": grant.tools, "effect": grant.effect, "approve": grant.approve,
            "expires_at_us": grant.expires_at, "max_calls": grant.max_calls,
            "needs_permit": grant.terms.needs_permit, "rate": grant.terms.rate,
            "max_spend": grant.terms.spend.as_ref().map(|spend| spend.max),
        });
        let draft = Draft { kind: EventType::GrantAdded, task: None, turn: None, at, data };
        match self.ledger.add_grant(&grant, draft).await {
            Ok(()) => self.named(grant).await,
            Err(taken @ LedgerError::Taken(_)) => {
                let first = self.ledger.grant(grant.id).await?;
                match first.filter(|first| first.project == project.id) {
                    Some(first) => self.named(first).await,
                    None => Err(taken.into()),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A project's grants, by age, or those of all the caller's projects; `all` shows the revoked ones too.
    ///
    /// # Errors
    /// Not a viewer; the ledger's.
    pub async fn grants(
        &self,
        who: &Principal,
        project: Option<&str>,
        all: bool,
        page: &Paging,
    ) -> Result<Listing<NamedGrant>, EngineError> {
        match project {
            Some(project) => {
                let project = self.project(who, project, Verb::GrantList).await?;
                self.grants_of(project.id, all, page).await
            }
            None => {
                let fetch =
                    |project: Project, page| async move { self.grants_of(project.id, all, &page).await };
                self.across(who, page, fetch).await
            }
        }
    }

    async fn grants_of(
        &self,
        project: ProjectId,
        all: bool,
        page: &Paging,
    ) -> Result<Listing<NamedGrant>, EngineError> {
        let after = page.position()?;
        let list = if all {
            self.ledger.grants(project, after, page.limit).await?
        } else {
            self.ledger.live_grants(project, after, page.limit).await?
        };
        let list: Listing<Grant> = list.into();
        let mut items = Vec::with_capacity(list.items.len());
        for grant in list.items {
            items.push(self.named(grant).await?);
        }
        Ok(Listing { items, unreadable: list.unreadable, next: list.next })
    }

    async fn named(&self, grant: Grant) -> Result<NamedGrant, EngineError> {
        let connection = self.ledger.connection(grant.connection).await?;
        let connection_name = connection.map_or_else(|| grant.connection.to_string(), |known| known.name);
        let project = self.ledger.project(grant.project).await?;
        let project_name = project.map_or_else(|| grant.project.to_string(), |known| known.name);
        let created_by_name = self.name_of(grant.created_by).await?;
        let changed_tools = self.ledger.changed_tools(grant.id).await?;
        Ok(NamedGrant { grant, connection_name, project_name, created_by_name, changed_tools })
    }

    /// A grant of a project that the caller may see.
    ///
    /// # Errors
    /// [`EngineError::NotFound`].
    pub async fn grant(&self, who: &Principal, id: &str) -> Result<NamedGrant, EngineError> {
        let id = id.parse().map_err(|_| EngineError::NotFound)?;
        let Some(grant) = self.ledger.grant(id).await? else { return self.nothing(who).await };
        self.demand(who, grant.project, Verb::GrantShow).await?;
        self.named(grant).await
    }

    /// Revokes a grant: no call is admitted under it from here on. Says what was in flight under it. Revoked already: nothing changes.
    ///
    /// # Errors
    /// Not an owner; [`EngineError::NotFound`]; the ledger's.
    pub async fn revoke_grant(
        &self,
        who: &Principal,
        id: &str,
    ) -> Result<(NamedGrant, InFlight), EngineError> {
        let named = self.grant(who, id).await?;
        let grant = &named.grant;
        self.demand(who, grant.project, Verb::GrantRevoke).await?;
        if grant.revoked_at.is_some() {
            return Ok((named, InFlight::default()));
        }
        let at = self.cautious_time().await?;
        let running = self.at_work(grant.project).await?;
        let data = json!({ "by": who.account, "grant": grant.id, "running_tasks": running });
        let draft = Draft { kind: EventType::GrantRevoked, task: None, turn: None, at, data };
        match self.ledger.revoke_grant(grant.project, grant.id, at, draft).await {
            Ok(()) | Err(LedgerError::NotFound(_)) => {
                let in_flight = self.in_flight(who, &[grant.project], Taken::Grant(grant.id)).await;
                Ok((self.grant(who, id).await?, in_flight))
            }
            Err(error) => Err(error.into()),
        }
    }
}
