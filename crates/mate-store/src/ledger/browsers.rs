//! Browsers that are signed in, and the links that sign one in. Each acts by a token, and dies with it.

use super::{Authority, Ledger, LedgerError, tokens};
use crate::{Statement, StoreError, decode, params::params};
use mate_model::{Micros, TokenId};

const ADD_LINK: &str = "INSERT INTO browser_links (hash, token, expires_at) VALUES ($1, $2, $3)";
const DROP_OLD_LINKS: &str = "DELETE FROM browser_links WHERE expires_at <= $1";
const LINK: &str = "SELECT token FROM browser_links WHERE hash = $1 AND expires_at > $2";
const USE_LINK: &str = "DELETE FROM browser_links WHERE hash = $1 AND expires_at > $2";
const ADD: &str =
    "INSERT INTO browser_sessions (hash, token, created_at, expires_at) VALUES ($1, $2, $3, $4)";
const DROP_OLD: &str = "DELETE FROM browser_sessions WHERE expires_at <= $1";
const DROP: &str = "DELETE FROM browser_sessions WHERE hash = $1";
const AUTHORITY: &str =
    "SELECT t.id, t.account, t.hash, t.project, t.role, t.expires_at, t.revoked_at, t.created_at,
        t.last_used_at, t.made_with,
        a.name AS account_name, a.admin, a.disabled_at, a.created_at AS account_created_at
    FROM browser_sessions b JOIN tokens t ON t.id = b.token JOIN accounts a ON a.id = t.account
    WHERE b.hash = $1 AND b.expires_at > $2";

/// A browser that signs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewBrowser {
    /// Of what it will show.
    pub hash: [u8; 32],
    /// The token that it acts by.
    pub token: TokenId,
    /// When it signed in.
    pub at: Micros,
    /// When it is signed out, whatever happens.
    pub expires_at: Micros,
}

impl Ledger {
    /// Keeps a link that signs one browser in by `token`, until `expires_at`. Links that are over are dropped.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when there is no such token, and the store's.
    pub async fn add_browser_link(
        &self,
        hash: [u8; 32],
        token: TokenId,
        at: Micros,
        expires_at: Micros,
    ) -> Result<(), LedgerError> {
        let script = vec![
            Statement::any(DROP_OLD_LINKS, params![at]),
            Statement::one(ADD_LINK, params![hash, token, expires_at]),
        ];
        self.write(script).await.map_err(|refused| refused.adding("link", "token"))
    }

    /// The token of a link that is still good.
    ///
    /// # Errors
    /// The store's.
    pub async fn browser_link(&self, hash: [u8; 32], now: Micros) -> Result<Option<TokenId>, StoreError> {
        decode::first(&self.db.fetch(LINK, params![hash, now]).await?, |row| row.parse("token"))
    }

    /// Signs a browser in; with a `link`, by using that up. Those that are over are dropped.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when the link is used or over, or there is no such token; the store's.
    pub async fn add_browser(&self, browser: &NewBrowser, link: Option<[u8; 32]>) -> Result<(), LedgerError> {
        let NewBrowser { hash, token, at, expires_at } = *browser;
        let mut script = vec![Statement::any(DROP_OLD, params![at])];
        script.extend(link.map(|link| Statement::one(USE_LINK, params![link, at])));
        script.push(Statement::one(ADD, params![hash, token, at, expires_at]));
        self.write(script).await.map_err(|refused| refused.changing("link"))
    }

    /// The token by which the browser with this hash acts, and its account.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn browser_authority(
        &self,
        hash: [u8; 32],
        now: Micros,
    ) -> Result<Option<Authority>, StoreError> {
        decode::first(&self.db.fetch(AUTHORITY, params![hash, now]).await?, tokens::decode_authority)
    }

    /// Signs a browser out.
    ///
    /// # Errors
    /// The store's.
    pub async fn drop_browser(&self, hash: [u8; 32]) -> Result<(), StoreError> {
        self.db.execute(Statement::any(DROP, params![hash])).await.map(|_| ())
    }
}
