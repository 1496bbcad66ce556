//! Tokens: what a bearer shows, stored as a hash.

use super::{Ledger, LedgerError, error::Refused};
use crate::{
    Row, Statement, StoreError, decode,
    page::Page,
    params::{one_more, params},
};
use mate_model::{
    AccountId, Micros, TokenId,
    records::{Account, Token},
};

const ADD: &str =
    "INSERT INTO tokens (id, account, hash, project, role, expires_at, revoked_at, created_at, made_with)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
/// Changes nothing, and no row when whoever makes a token has lost its own meanwhile.
const MAKER_HOLDS: &str = "UPDATE tokens SET account = account WHERE id = $1 AND revoked_at IS NULL
    AND EXISTS (SELECT 1 FROM accounts a WHERE a.id = tokens.account AND a.disabled_at IS NULL)";
const BY_HASH: &str =
    "SELECT t.id, t.account, t.hash, t.project, t.role, t.expires_at, t.revoked_at, t.created_at,
        t.last_used_at, t.made_with,
        a.name AS account_name, a.admin, a.disabled_at, a.created_at AS account_created_at
    FROM tokens t JOIN accounts a ON a.id = t.account WHERE t.hash = $1";
const LIST: &str =
    "SELECT id, account, hash, project, role, expires_at, revoked_at, created_at, last_used_at, made_with
    FROM tokens WHERE account = $1 AND id > $2 ORDER BY id LIMIT $3";
const BY_ID: &str =
    "SELECT id, account, hash, project, role, expires_at, revoked_at, created_at, last_used_at, made_with
    FROM tokens WHERE id = $1";
const TOUCH: &str =
    "UPDATE tokens SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)";
const REVOKE: &str = "UPDATE tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL";

/// A token and all that were made with it, with those, and so on.
macro_rules! made_from {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            "(WITH RECURSIVE made (id) AS (SELECT id FROM tokens WHERE id = $1
                UNION SELECT t.id FROM tokens t JOIN made m ON t.made_with = m.id) SELECT id FROM made)",
            $after
        )
    };
}
const CHILDREN: &str = made_from!(
    "SELECT id, account, hash, project, role, expires_at, revoked_at, created_at, last_used_at, made_with FROM tokens
    WHERE revoked_at IS NULL AND id <> $1 AND id > $2 AND id IN ",
    " ORDER BY id LIMIT $3"
);
const REVOKE_CHILDREN: &str =
    made_from!("UPDATE tokens SET revoked_at = $2 WHERE revoked_at IS NULL AND id <> $1 AND id IN ", "");
/// Changes nothing, and no row when an administrator lost the last unlimited token that does not end with what was just
/// revoked.
const A_WAY_IN_IS_LEFT: &str = made_from!(
    "UPDATE tokens SET account = account WHERE id = $1 AND NOT EXISTS (
        SELECT 1 FROM tokens g JOIN accounts a ON a.id = g.account
        WHERE a.admin = 1 AND g.revoked_at = $2 AND g.project IS NULL AND g.role IS NULL AND g.expires_at IS NULL
            AND NOT EXISTS (SELECT 1 FROM tokens o WHERE o.account = g.account AND o.project IS NULL AND o.role IS NULL
                AND o.revoked_at IS NULL AND o.expires_at IS NULL)
            AND g.id IN ",
    ")"
);

/// A token with the account that it speaks for, as they stand now. The caller judges them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authority {
    /// The token.
    pub token: Token,
    /// Its account.
    pub account: Account,
}

impl Authority {
    /// Whether the token is in force at `now`: not revoked, not expired, its account not disabled.
    #[must_use]
    pub fn holds(&self, now: Micros) -> bool {
        self.token.revoked_at.is_none()
            && self.account.disabled_at.is_none()
            && self.token.expires_at.is_none_or(|end| now < end)
    }
}

fn decode(row: &Row) -> Result<Token, StoreError> {
    Ok(Token {
        id: row.parse("id")?,
        account: row.parse("account")?,
        hash: decode::hash(row, "hash")?,
        project: row.opt_parse("project")?,
        role: row.opt_parse("role")?,
        expires_at: decode::opt_micros(row, "expires_at")?,
        revoked_at: decode::opt_micros(row, "revoked_at")?,
        created_at: decode::micros(row, "created_at")?,
        last_used_at: decode::opt_micros(row, "last_used_at")?,
        made_with: row.opt_parse("made_with")?,
    })
}

pub(super) fn decode_authority(row: &Row) -> Result<Authority, StoreError> {
    let account = Account {
        id: row.parse("account")?,
        name: row.text("account_name")?.to_owned(),
        admin: row.flag("admin")?,
        disabled_at: decode::opt_micros(row, "disabled_at")?,
        created_at: decode::micros(row, "account_created_at")?,
    };
    Ok(Authority { token: decode(row)?, account })
}

impl Ledger {
    /// Adds a token, while the one that it is made with is in force.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`] when that is revoked or its account disabled, [`LedgerError::NotFound`] when its account or project does not exist, and the store's.
    pub async fn add_token(&self, token: &Token) -> Result<(), LedgerError> {
        let values = params![
            token.id,
            token.account,
            token.hash,
            token.project,
            token.role,
            token.expires_at,
            token.revoked_at,
            token.created_at,
            token.made_with,
        ];
        let maker = token.made_with.map(|maker| Statement::one(MAKER_HOLDS, params![maker]));
        let script = maker.into_iter().chain([Statement::one(ADD, values)]).collect();
        let added = self.authorise(script).await;
        added.map_err(|refused| refused.adding("token", "account or project"))
    }

    /// The token with this hash, and its account.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn authority(&self, hash: [u8; 32]) -> Result<Option<Authority>, StoreError> {
        decode::first(&self.db.fetch(BY_HASH, params![hash]).await?, decode_authority)
    }

    /// The token with this id.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn token(&self, id: TokenId) -> Result<Option<Token>, StoreError> {
        decode::first(&self.db.fetch(BY_ID, params![id]).await?, decode)
    }

    /// An account's tokens by age, revoked ones too.
    ///
    /// # Errors
    /// The store's.
    pub async fn tokens(
        &self,
        account: AccountId,
        after: Option<TokenId>,
        limit: u32,
    ) -> Result<Page<Token, TokenId>, StoreError> {
        let after = after.map_or_else(String::new, |id| id.to_string());
        let rows = self.db.fetch(LIST, params![account, after, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.parse("id"))
    }

    /// Notes when a token was shown last.
    ///
    /// # Errors
    /// The store's.
    pub async fn touch_token(&self, id: TokenId, at: Micros) -> Result<(), StoreError> {
        self.db.execute(Statement::any(TOUCH, params![id, at])).await.map(|_| ())
    }

    /// The tokens in force that were made with this one, with those, and so on, by age.
    ///
    /// # Errors
    /// The store's.
    pub async fn tokens_made_from(
        &self,
        id: TokenId,
        after: Option<TokenId>,
        limit: u32,
    ) -> Result<Page<Token, TokenId>, StoreError> {
        let after = after.map_or_else(String::new, |id| id.to_string());
        let rows = self.db.fetch(CHILDREN, params![id, after, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.parse("id"))
    }

    /// Revokes a token; `with_children`: also all that were made with it, with those, and so on, whether or not it is in
    /// force itself.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when there is none in force and its children are not asked for, [`LedgerError::LastToken`] when an administrator would have
    /// no unlimited token left that does not end, and the store's.
    pub async fn revoke_token(
        &self,
        id: TokenId,
        at: Micros,
        with_children: bool,
    ) -> Result<(), LedgerError> {
        let values = || params![id, at];
        let mut script = if with_children {
            vec![Statement::any(REVOKE, values()), Statement::any(REVOKE_CHILDREN, values())]
        } else {
            vec![Statement::one(REVOKE, values())]
        };
        let last = script.len();
        script.push(Statement::one(A_WAY_IN_IS_LEFT, values()));
        self.authorise(script).await.map_err(|refused| {
            if matches!(refused, Refused::Guard(statement) if statement == last) {
                LedgerError::LastToken
            } else {
                refused.changing("token")
            }
        })
    }
}
