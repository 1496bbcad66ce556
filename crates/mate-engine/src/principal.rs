//! Who asks, and what they may do: judged here and nowhere else.

use crate::{Engine, EngineError};
use mate_guard::ApiToken;
use mate_model::{AccountId, ProjectId, TokenId, words::Role};

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
}

impl Engine {
    /// Who bears this token.
    ///
    /// # Errors
    /// [`EngineError::NotAuthenticated`] when it is unknown, expired or revoked, or its account is disabled.
    pub async fn authenticate(&self, bearer: &str) -> Result<Principal, EngineError> {
        let token = ApiToken::parse(bearer).map_err(|_| EngineError::NotAuthenticated)?;
        let row =
            self.ledger.authority(*token.hash().as_bytes()).await?.ok_or(EngineError::NotAuthenticated)?;
        if !row.holds(self.clock.now()) {
            return Err(EngineError::NotAuthenticated);
        }
        Ok(Principal {
            account: row.account.id,
            token: row.token.id,
            admin: row.account.admin && row.token.project.is_none() && row.token.role.is_none(),
            only_project: row.token.project,
            at_most: row.token.role,
        })
    }

    /// The caller's role in a project, if any.
    ///
    /// # Errors
    /// The ledger's.
    pub async fn role(&self, who: &Principal, project: ProjectId) -> Result<Option<Role>, EngineError> {
        if who.only_project.is_some_and(|only| only != project) {
            return Ok(None);
        }
        let role = self.ledger.role_of(project, who.account).await?;
        Ok(role.map(|role| who.at_most.map_or(role, |most| role.min(most))))
    }

    /// Demands a role in a project. Somebody without any learns nothing, not even that it exists.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] without a role; [`EngineError::NotAllowed`] with a lower one.
    pub async fn demand(&self, who: &Principal, project: ProjectId, needed: Role) -> Result<(), EngineError> {
        match self.role(who, project).await? {
            None => Err(EngineError::NotFound),
            Some(role) if role < needed => Err(EngineError::NotAllowed { needed: needed.as_str() }),
            Some(_) => Ok(()),
        }
    }

    /// Demands an account administrator.
    ///
    /// # Errors
    /// [`EngineError::NotAllowed`].
    pub const fn demand_admin(&self, who: &Principal) -> Result<(), EngineError> {
        if who.admin { Ok(()) } else { Err(EngineError::NotAllowed { needed: "account administrator" }) }
    }
}
