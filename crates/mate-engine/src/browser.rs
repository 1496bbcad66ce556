//! Browsers that are signed in. Each acts by a token, with that token's account, project and role, and is signed out when
//! the token ends.

use crate::{Engine, EngineError, Principal, Verb};
use mate_guard::{ApiToken, BrowserCookie, BrowserLink};
use mate_model::{Micros, TokenId};
use mate_store::{LedgerError, ledger::NewBrowser};

/// How long a link may be used; microseconds.
const LINK: i64 = 60_000_000;
/// How long a browser stays signed in at most; microseconds.
const STAY: i64 = 7 * 24 * 3_600_000_000;

/// A link, just made.
#[derive(Debug)]
pub struct OpenLink {
    /// What opens, once. Kept as a hash.
    pub secret: BrowserLink,
    /// Until when.
    pub expires_at: Micros,
}

/// A browser, just signed in.
#[derive(Debug)]
pub struct SignedIn {
    /// What the browser shows from now on. Kept as a hash.
    pub cookie: BrowserCookie,
    /// Until when.
    pub expires_at: Micros,
    /// How long that is; seconds.
    pub seconds: i64,
}

impl Engine {
    /// Makes a link that signs one browser in, once, within a minute, to act by the caller's token.
    ///
    /// # Errors
    /// The ledger's.
    pub async fn open_browser(&self, who: &Principal) -> Result<OpenLink, EngineError> {
        self.demand_here(who, Verb::BrowserOpen).await?;
        let at = self.writing_time().await?;
        let (secret, expires_at) = (BrowserLink::mint(self.entropy.as_ref()), Micros(at.0 + LINK));
        self.ledger.add_browser_link(*secret.hash().as_bytes(), who.token, at, expires_at).await?;
        Ok(OpenLink { secret, expires_at })
    }

    /// Signs a browser in by a link, which is used up.
    ///
    /// # Errors
    /// [`EngineError::NotAuthenticated`] when the link was used, is over, or its token is not in force any more.
    pub async fn sign_in_by_link(&self, link: &str) -> Result<SignedIn, EngineError> {
        let link = BrowserLink::parse(link).map_err(|_| EngineError::NotAuthenticated)?;
        let hash = *link.hash().as_bytes();
        let token = self.ledger.browser_link(hash, self.clock.now()).await?;
        self.sign_in_by(token.ok_or(EngineError::NotAuthenticated)?, Some(hash)).await
    }

    /// Signs a browser in by a token that somebody typed.
    ///
    /// # Errors
    /// [`EngineError::NotAuthenticated`] when it is no token, or not in force.
    pub async fn sign_in(&self, bearer: &str) -> Result<SignedIn, EngineError> {
        ApiToken::parse(bearer).map_err(|_| EngineError::NotAuthenticated)?;
        let who = self.authenticate(bearer).await?;
        self.sign_in_by(who.token, None).await
    }

    async fn sign_in_by(&self, token: TokenId, link: Option<[u8; 32]>) -> Result<SignedIn, EngineError> {
        let at = self.writing_time().await?;
        let row = self.ledger.token(token).await?.ok_or(EngineError::NotAuthenticated)?;
        let end = at.0 + STAY;
        let expires_at = Micros(row.expires_at.map_or(end, |own| own.0.min(end)));
        let cookie = BrowserCookie::mint(self.entropy.as_ref());
        let browser = NewBrowser { hash: *cookie.hash().as_bytes(), token, at, expires_at };
        match self.ledger.add_browser(&browser, link).await {
            Ok(()) => {}
            Err(LedgerError::NotFound(_)) => return Err(EngineError::NotAuthenticated),
            Err(error) => return Err(error.into()),
        }
        // Whether the token is in force is judged with each request, as with any other.
        self.browser(cookie.reveal()).await?;
        Ok(SignedIn { cookie, expires_at, seconds: (expires_at.0 - at.0) / 1_000_000 })
    }

    /// Who acts through the browser that holds this cookie.
    ///
    /// # Errors
    /// [`EngineError::NotAuthenticated`] when it is signed out, or its token or account is not in force any more.
    pub async fn browser(&self, cookie: &str) -> Result<Principal, EngineError> {
        let cookie = BrowserCookie::parse(cookie).map_err(|_| EngineError::NotAuthenticated)?;
        let found = self.ledger.browser_authority(*cookie.hash().as_bytes(), self.clock.now()).await?;
        self.principal(found)
    }

    /// Signs a browser out. One that is not signed in stays so.
    ///
    /// # Errors
    /// The ledger's.
    pub async fn sign_out(&self, cookie: &str) -> Result<(), EngineError> {
        let Ok(cookie) = BrowserCookie::parse(cookie) else { return Ok(()) };
        Ok(self.ledger.drop_browser(*cookie.hash().as_bytes()).await?)
    }
}
