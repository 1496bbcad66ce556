//! Who asks, and what they may do: judged here and nowhere else.

use crate::{Engine, EngineError, Needs, Verb, admin::Paging};
use mate_guard::ApiToken;
use mate_model::{AccountId, Micros, ProjectId, TokenId, words::Role};
use mate_store::ledger::Authority;
use std::sync::Arc;
use uuid::Uuid;

/// How exactly it is known when a token was used last; microseconds.
const MINUTE: i64 = 60_000_000;

/// An authenticated caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The account behind the token.
    pub account: AccountId,
    /// The token.
    pub token: TokenId,
    /// Whether the account, through this token, may manage accounts, connections, runtimes and policies.
    pub admin: bool,
    /// The token is good for this project alone, if set.
    pub only_project: Option<ProjectId>,
    /// The token gives at most this role, if set.
    pub at_most: Option<Role>,
    /// When the token ends, if it does.
    pub ends_at: Option<Micros>,
}

impl Principal {
    /// Whether the token is limited to a project or a role.
    #[must_use]
    pub const fn is_limited(&self) -> bool {
        self.only_project.is_some() || self.at_most.is_some()
    }
}

impl Engine {
    /// Who bears this token.
    ///
    /// # Errors
    /// [`EngineError::NotAuthenticated`] when it is unknown, expired or revoked, or its account is disabled.
    pub async fn authenticate(&self, bearer: &str) -> Result<Principal, EngineError> {
        let token = ApiToken::parse(bearer).map_err(|_| EngineError::NotAuthenticated)?;
        let row = self.ledger.authority(*token.hash().as_bytes()).await?;
        self.principal(row)
    }

    /// Who acts by what was found, if it is in force.
    pub(crate) fn principal(&self, found: Option<Authority>) -> Result<Principal, EngineError> {
        let row = found.ok_or(EngineError::NotAuthenticated)?;
        let now = self.clock.now();
        if !row.holds(now) {
            return Err(EngineError::NotAuthenticated);
        }
        if row.token.last_used_at.is_none_or(|last| now.since(last) >= MINUTE) {
            self.note_use(row.token.id, now);
        }
        Ok(Principal {
            account: row.account.id,
            token: row.token.id,
            admin: row.account.admin && row.token.project.is_none() && row.token.role.is_none(),
            only_project: row.token.project,
            at_most: row.token.role,
            ends_at: row.token.expires_at,
        })
    }

    /// Notes the use, beside the request: a store that cannot be written at the moment holds no reader up.
    fn note_use(&self, token: TokenId, now: Micros) {
        let Ok(place) = Arc::clone(&self.noting).try_acquire_owned() else { return };
        let ledger = self.ledger.clone();
        tokio::spawn(async move {
            if let Err(error) = ledger.touch_token(token, now).await {
                tracing::debug!(%error, "a token's use could not be noted");
            }
            drop(place);
        });
    }

    /// The caller's role in a project, if any.
    ///
    /// # Errors
    /// The ledger's.
    pub async fn role(&self, who: &Principal, project: ProjectId) -> Result<Option<Role>, EngineError> {
        // Read also where the answer is known: how long it takes tells nobody whether there is such a project.
        let role = self.ledger.role_of(project, who.account).await?;
        if who.only_project.is_some_and(|only| only != project) {
            return Ok(None);
        }
        Ok(role.map(|role| who.at_most.map_or(role, |most| role.min(most))))
    }

    /// Demands what a verb needs, in a project. Somebody without any role there learns nothing, not even that it
    /// exists.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] without a role; [`EngineError::NotAllowed`] with a lower one.
    pub async fn demand(&self, who: &Principal, project: ProjectId, verb: Verb) -> Result<(), EngineError> {
        let Needs::Role(needed) = verb.needs() else { return self.demand_here(who, verb).await };
        match self.role(who, project).await? {
            None => Err(EngineError::NotFound),
            Some(role) if role < needed => Err(EngineError::NotAllowed { needed: needed.as_str() }),
            Some(_) => Ok(()),
        }
    }

    /// Demands what a verb needs that is not about one project.
    ///
    /// # Errors
    /// [`EngineError::NotAllowed`]; for what others do not even see, [`EngineError::NotFound`]. A verb that is about
    /// a project is refused: which one was not said.
    pub async fn demand_here(&self, who: &Principal, verb: Verb) -> Result<(), EngineError> {
        let refused = Err(EngineError::NotAllowed { needed: verb.needs().words() });
        match verb.needs() {
            Needs::Token => Ok(()),
            Needs::WholeToken if who.is_limited() => refused,
            Needs::WholeToken => Ok(()),
            Needs::Somewhere(role) if self.has_somewhere(who, role).await? => Ok(()),
            Needs::Somewhere(_) => Err(EngineError::NotFound),
            Needs::Administrator if who.admin => Ok(()),
            Needs::Administrator => refused,
            Needs::Role(_) => Err(EngineError::Internal(format!("{verb} was asked without a project"))),
        }
    }

    /// Whether what a verb lists is there for the caller at all.
    pub(crate) async fn sees(&self, who: &Principal, verb: Verb) -> Result<bool, EngineError> {
        match self.demand_here(who, verb).await {
            Ok(()) => Ok(true),
            Err(EngineError::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What is found of something that does not exist: as much is read as for what is somebody else's, so that the
    /// time it takes tells nothing.
    pub(crate) async fn nothing<T>(&self, who: &Principal) -> Result<T, EngineError> {
        self.role(who, ProjectId::new(Uuid::nil())).await?;
        Err(EngineError::NotFound)
    }

    /// Whether the caller administers, or has the role in some project that is not archived.
    async fn has_somewhere(&self, who: &Principal, role: Role) -> Result<bool, EngineError> {
        if who.admin {
            return Ok(true);
        }
        if let Some(only) = who.only_project {
            return Ok(self.role(who, only).await? >= Some(role));
        }
        if who.at_most.is_some_and(|most| most < role) {
            return Ok(false);
        }
        let mut after = None;
        loop {
            let page = self.ledger.projects(Some(who.account), after, Paging::MOST).await?;
            for project in page.items.iter().filter(|project| project.archived_at.is_none()) {
                if self.role(who, project.id).await? >= Some(role) {
                    return Ok(true);
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(false);
            }
        }
    }
}
