//! Tokens: what a caller shows. The secret is shown once, when it is made.

use super::{Listing, Paging, check};
use crate::{Engine, EngineError, Needs, Principal, Verb};
use mate_guard::ApiToken;
use mate_model::{AccountId, Micros, TokenId, event::EventType, records::Token, words::Role};
use mate_store::LedgerError;
use serde_json::json;
use uuid::Uuid;

/// What a token is made of.
#[derive(Clone, Debug, Default)]
pub struct NewToken {
    /// Whose it is, by name or id; the caller's own if absent.
    pub account: Option<String>,
    /// Only for this project, by name or id.
    pub project: Option<String>,
    /// At most this role.
    pub role: Option<Role>,
    /// When it ends: a moment, or a time from now.
    pub expires: Option<String>,
}

/// A token, with its secret when it was just made.
#[derive(Debug)]
pub struct Shown {
    /// What is kept of it.
    pub token: Token,
    /// The secret: there once, and never again.
    pub secret: Option<ApiToken>,
}

impl Engine {
    /// Makes a token. Asked again with the same `id`, it answers with the first one, without its secret.
    ///
    /// # Errors
    /// A value that is wrong; a caller whose own token is limited; somebody else's account, unless an administrator
    /// asks; the ledger's.
    pub async fn add_token(&self, who: &Principal, id: Uuid, new: NewToken) -> Result<Shown, EngineError> {
        // Else a limited one could make itself one that is not.
        self.demand_here(who, Verb::TokenAdd).await?;
        let own = who.account.to_string();
        let account = match self.account(who, new.account.as_deref().unwrap_or(&own)).await {
            Err(EngineError::NotFound) => {
                return Err(EngineError::invalid(
                    "account",
                    "no account has this name or id, or not for you to see",
                ));
            }
            other => other?,
        };
        if account.id != who.account {
            self.reaches_no_further(who, account.id, &new).await?;
        }
        if account.disabled_at.is_some() {
            return Err(EngineError::refused("account_disabled", "the account is disabled: use another one"));
        }
        let project = match &new.project {
            Some(project) => Some(self.project(who, project, Verb::ProjectShow).await?.id),
            None => None,
        };
        let at = self.writing_time().await?;
        let expires_at = new.expires.as_deref().map(|text| check::expires(text, at)).transpose()?;
        let expires_at = self.no_later_than_own(who, expires_at).await?;
        let secret = ApiToken::mint(self.entropy.as_ref());
        let token = Token {
            id: TokenId::new(id),
            account: account.id,
            hash: *secret.hash().as_bytes(),
            project,
            role: new.role,
            expires_at,
            revoked_at: None,
            created_at: at,
            last_used_at: None,
        };
        match self.ledger.add_token(&token).await {
            Ok(()) => Ok(Shown { token, secret: Some(secret) }),
            Err(taken @ LedgerError::Taken(_)) => match self.ledger.token(token.id).await? {
                Some(first) => Ok(Shown { token: first, secret: None }),
                None => Err(taken.into()),
            },
            Err(error) => Err(error.into()),
        }
    }

    /// The end of a new token: not later than that of the token it is made with.
    /// Who makes a token can read it, and so could act as its account: refuses where that can do more in some project than
    /// who asks can do there.
    async fn reaches_no_further(
        &self,
        who: &Principal,
        account: AccountId,
        new: &NewToken,
    ) -> Result<(), EngineError> {
        let project = match &new.project {
            Some(project) => Some(self.project(who, project, Verb::ProjectShow).await?.id),
            None => None,
        };
        if self.ledger.reaches_further(account, who.account, project, new.role).await? {
            return Err(EngineError::refused(
                "reaches_further",
                "this account may do more in a project than you: it makes its tokens itself, with one that it has; the first \
                 one is made before it becomes a member",
            ));
        }
        Ok(())
    }

    async fn no_later_than_own(
        &self,
        who: &Principal,
        wanted: Option<Micros>,
    ) -> Result<Option<Micros>, EngineError> {
        let own = self.ledger.token(who.token).await?.and_then(|token| token.expires_at);
        match (own, wanted) {
            (Some(own), Some(wanted)) if own < wanted => Err(EngineError::invalid(
                "expires",
                "is later than the end of the token that you use: leave it out to end with that",
            )),
            (Some(own), None) => Ok(Some(own)),
            (_, wanted) => Ok(wanted),
        }
    }

    /// The caller's tokens, by age; an administrator may name another account.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] for an account that is not the caller's to see; the ledger's.
    pub async fn tokens(
        &self,
        who: &Principal,
        account: Option<&str>,
        page: &Paging,
    ) -> Result<Listing<Token>, EngineError> {
        let account = match account {
            Some(account) => self.account(who, account).await?.id,
            None => who.account,
        };
        Ok(self.ledger.tokens(account, page.position()?, page.limit).await?.into())
    }

    /// Revokes a token: it opens nothing from here on, and tasks submitted with it lose their authority.
    /// Revoked already: nothing changes.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] for a token that is not the caller's, unless an administrator asks; a limited token
    /// that would revoke another one than itself; the ledger's.
    pub async fn revoke_token(&self, who: &Principal, id: &str) -> Result<Token, EngineError> {
        let id: TokenId = id.parse().map_err(|_| EngineError::NotFound)?;
        let token = self.visible_token(who, id).await?;
        if who.is_limited() && id != who.token {
            return Err(EngineError::NotAllowed { needed: Needs::WholeToken.words() });
        }
        if token.revoked_at.is_some() {
            return Ok(token);
        }
        self.keep_a_way_in(&token).await?;
        match self.ledger.revoke_token(id, self.cautious_time().await?).await {
            Ok(()) => {
                self.log_change(who, EventType::TokenRevoked, &id.to_string());
                let data = json!({ "by": who.account, "token": id, "account": token.account });
                let kind = EventType::TokenRevoked;
                self.tell_projects_of(token.account, token.project, kind, &data).await;
            }
            Err(LedgerError::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
        self.visible_token(who, id).await
    }

    /// Refuses to revoke the last unlimited token of an administrator that does not end: nobody could make another. One that
    /// ends is no way in that lasts: it can be revoked, and does not stand in for one that does.
    async fn keep_a_way_in(&self, token: &Token) -> Result<(), EngineError> {
        let account = self.ledger.account(token.account).await?;
        let lasts = token.project.is_none() && token.role.is_none() && token.expires_at.is_none();
        if !lasts || account.is_none_or(|account| !account.admin) {
            return Ok(());
        }
        let all = self.ledger.tokens(token.account, None, 500).await?.items;
        let other = all.iter().any(|other| {
            other.id != token.id
                && other.project.is_none()
                && other.role.is_none()
                && other.revoked_at.is_none()
                && other.expires_at.is_none()
        });
        if other {
            return Ok(());
        }
        Err(EngineError::refused(
            "last_token",
            "this is the administrator's last unlimited token that does not end: make another such first with `agent-mate \
             token add`",
        ))
    }

    async fn visible_token(&self, who: &Principal, id: TokenId) -> Result<Token, EngineError> {
        let token = self.ledger.token(id).await?;
        token.filter(|token| who.admin || token.account == who.account).ok_or(EngineError::NotFound)
    }
}
