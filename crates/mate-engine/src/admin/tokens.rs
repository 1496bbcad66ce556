//! Tokens: what a caller shows. The secret is shown once, when it is made.

use super::{InFlight, Listing, Paging, check, in_flight::Taken};
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

/// How many of the tokens that go with another are read at once.
const PAGE: u32 = 500;

/// A token that was revoked.
#[derive(Debug)]
pub struct RevokedToken {
    /// The token.
    pub token: Token,
    /// Those that went with it.
    pub also: Vec<TokenId>,
    /// What was in flight under them.
    pub in_flight: InFlight,
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
            made_with: Some(who.token),
        };
        match self.ledger.add_token(&token).await {
            Ok(()) => Ok(Shown { token, secret: Some(secret) }),
            Err(taken @ LedgerError::Taken(_)) => match self.ledger.token(token.id).await? {
                Some(first) => Ok(Shown { token: first, secret: None }),
                None => Err(taken.into()),
            },
            // What it is made with was revoked while this was asked.
            Err(LedgerError::Conflict(_)) => Err(EngineError::NotAuthenticated),
            Err(error) => Err(error.into()),
        }
    }

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

    /// The end of a new token: not later than that of the token it is made with.
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

    /// Revokes a token: it opens nothing from here on, and tasks submitted with it lose their authority. What was made
    /// with it stands for its own account and stays, unless they are to go `with_children`, then or later. Revoked already,
    /// without that: nothing changes.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] for a token that is not the caller's, unless an administrator asks; a limited token
    /// that would revoke another one than itself; the ledger's.
    pub async fn revoke_token(
        &self,
        who: &Principal,
        id: &str,
        with_children: bool,
    ) -> Result<RevokedToken, EngineError> {
        let id: TokenId = id.parse().map_err(|_| EngineError::NotFound)?;
        let token = self.visible_token(who, id).await?;
        if who.is_limited() && id != who.token {
            return Err(EngineError::NotAllowed { needed: Needs::WholeToken.words() });
        }
        if token.revoked_at.is_some() && !with_children {
            return Ok(RevokedToken { token, also: Vec::new(), in_flight: InFlight::default() });
        }
        let also = if with_children { self.made_from(id).await? } else { Vec::new() };
        if also.iter().any(|child| child.account != who.account) && !who.admin {
            return Err(EngineError::NotAllowed { needed: Needs::Administrator.words() });
        }
        match self.ledger.revoke_token(id, self.cautious_time().await?, with_children).await {
            Ok(()) => {}
            Err(LedgerError::NotFound(_)) => {
                let token = self.visible_token(who, id).await?;
                return Ok(RevokedToken { token, also: Vec::new(), in_flight: InFlight::default() });
            }
            Err(error) => return Err(error.into()),
        }
        let mut in_flight = InFlight::default();
        let itself = Some(&token).filter(|token| token.revoked_at.is_none());
        for gone in also.iter().chain(itself) {
            self.log_change(who, EventType::TokenRevoked, &gone.id.to_string());
            let data = json!({ "by": who.account, "token": gone.id, "account": gone.account });
            self.tell_projects_of(gone.account, gone.project, EventType::TokenRevoked, &data).await;
            let projects = self.projects_told(gone.account, gone.project).await;
            let under = self.in_flight(who, &projects, Taken::Token(gone.id)).await;
            in_flight.calls.extend(under.calls);
            in_flight.elsewhere += under.elsewhere;
        }
        let also = also.into_iter().map(|child| child.id).collect();
        Ok(RevokedToken { token: self.visible_token(who, id).await?, also, in_flight })
    }

    async fn made_from(&self, id: TokenId) -> Result<Vec<Token>, EngineError> {
        let mut all = Vec::new();
        let mut after = None;
        loop {
            let page = self.ledger.tokens_made_from(id, after, PAGE).await?;
            all.extend(page.items);
            after = page.next;
            if after.is_none() {
                return Ok(all);
            }
        }
    }

    async fn visible_token(&self, who: &Principal, id: TokenId) -> Result<Token, EngineError> {
        let token = self.ledger.token(id).await?;
        token.filter(|token| who.admin || token.account == who.account).ok_or(EngineError::NotFound)
    }
}
