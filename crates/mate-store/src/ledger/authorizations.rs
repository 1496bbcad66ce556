//! What connections were authorised for with OAuth: sealed tokens, and who gets new ones.

use super::{Ledger, LedgerError};
use crate::{Row, Statement, StoreError, decode, params::params};
use mate_model::{ConnectionId, Micros};

const ONE: &str = "SELECT connection, version, state, pending, sealed, expires_at, claimed_until, why
    FROM authorizations WHERE connection = $1";
const ASK: &str = "INSERT INTO authorizations (connection, version, state, pending)
    SELECT id, 0, 'asked', $2 FROM connections WHERE id = $1 AND removed_at IS NULL
    ON CONFLICT (connection) DO UPDATE SET pending = excluded.pending";
const GIVE: &str =
    "UPDATE authorizations SET version = version + 1, state = 'authorized', pending = NULL, sealed = $3,
    expires_at = $4, claimed_until = NULL, why = NULL WHERE connection = $1 AND pending = $2";
const CLAIM: &str = "UPDATE authorizations SET claimed_until = $3 WHERE connection = $1 AND version = $2
    AND state = 'authorized' AND (claimed_until IS NULL OR claimed_until <= $4)";
const KEEP: &str =
    "UPDATE authorizations SET version = version + 1, sealed = $3, expires_at = $4, claimed_until = NULL
    WHERE connection = $1 AND version = $2 AND state = 'authorized'";
const LEAVE: &str = "UPDATE authorizations SET claimed_until = NULL WHERE connection = $1 AND version = $2";
const LOSE: &str =
    "UPDATE authorizations SET version = version + 1, state = 'lost', why = $3, claimed_until = NULL
    WHERE connection = $1 AND version = $2 AND state = 'authorized'";

/// How an authorisation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthorizationState {
    /// A person was asked, and has not answered yet.
    Asked,
    /// There are tokens.
    Authorized,
    /// The tokens are good for nothing any more.
    Lost,
}

/// A connection's authorisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorization {
    /// Whose.
    pub connection: ConnectionId,
    /// Grows with each change of the tokens.
    pub version: i64,
    /// How it stands.
    pub state: AuthorizationState,
    /// What was asked last and is not answered yet, sealed.
    pub pending: Option<Vec<u8>>,
    /// The tokens, sealed.
    pub sealed: Option<Vec<u8>>,
    /// When the first token ends, if that is known.
    pub expires_at: Option<Micros>,
    /// Until when somebody is getting new ones.
    pub claimed_until: Option<Micros>,
    /// Why it was lost.
    pub why: Option<String>,
}

fn decode(row: &Row) -> Result<Authorization, StoreError> {
    let state = match row.text("state")? {
        "asked" => AuthorizationState::Asked,
        "authorized" => AuthorizationState::Authorized,
        "lost" => AuthorizationState::Lost,
        _ => return Err(row.corrupt("state", "no state of an authorisation")),
    };
    Ok(Authorization {
        connection: row.parse("connection")?,
        version: row.int("version")?,
        state,
        pending: row.opt_blob("pending")?.map(<[u8]>::to_vec),
        sealed: row.opt_blob("sealed")?.map(<[u8]>::to_vec),
        expires_at: decode::opt_micros(row, "expires_at")?,
        claimed_until: decode::opt_micros(row, "claimed_until")?,
        why: row.opt_text("why")?.map(str::to_owned),
    })
}

impl Ledger {
    /// A connection's authorisation, if it has or had one.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn authorization(&self, connection: ConnectionId) -> Result<Option<Authorization>, StoreError> {
        decode::first(&self.db.fetch(ONE, params![connection]).await?, decode)
    }

    /// A person is asked. Tokens that are there stay.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when the connection is gone, and the store's.
    pub async fn ask_authorization(
        &self,
        connection: ConnectionId,
        pending: &[u8],
    ) -> Result<(), LedgerError> {
        let asked = self.write(vec![Statement::one(ASK, params![connection, pending.to_vec()])]).await;
        asked.map_err(|refused| refused.changing("connection"))
    }

    /// The person has said yes to what is `pending`, once.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when that is not what was asked last, or was answered already; the store's.
    pub async fn give_authorization(
        &self,
        connection: ConnectionId,
        pending: &[u8],
        sealed: &[u8],
        expires_at: Option<Micros>,
    ) -> Result<(), LedgerError> {
        let values = params![connection, pending.to_vec(), sealed.to_vec(), expires_at];
        let given = self.authorise(vec![Statement::one(GIVE, values)]).await;
        given.map_err(|refused| refused.changing("authorisation"))
    }

    /// Claims the right to get new tokens until `until`, for one caller of all processes. Answers whether this one has it.
    ///
    /// # Errors
    /// The store's.
    pub async fn claim_refresh(
        &self,
        connection: ConnectionId,
        version: i64,
        until: Micros,
        now: Micros,
    ) -> Result<bool, StoreError> {
        let claim = Statement::any(CLAIM, params![connection, version, until, now]);
        Ok(self.db.execute(claim).await? == 1)
    }

    /// Keeps new tokens. Answers false when the authorisation was replaced meanwhile.
    ///
    /// # Errors
    /// The store's.
    pub async fn keep_refreshed(
        &self,
        connection: ConnectionId,
        version: i64,
        sealed: &[u8],
        expires_at: Option<Micros>,
    ) -> Result<bool, StoreError> {
        let keep = Statement::any(KEEP, params![connection, version, sealed.to_vec(), expires_at]);
        Ok(self.db.execute(keep).await? == 1)
    }

    /// Gives the claim back: nothing was got.
    ///
    /// # Errors
    /// The store's.
    pub async fn leave_refresh(&self, connection: ConnectionId, version: i64) -> Result<(), StoreError> {
        self.db.execute(Statement::any(LEAVE, params![connection, version])).await.map(drop)
    }

    /// The tokens are good for nothing any more.
    ///
    /// # Errors
    /// The store's.
    pub async fn lose_authorization(
        &self,
        connection: ConnectionId,
        version: i64,
        why: &str,
    ) -> Result<(), StoreError> {
        self.db.execute(Statement::any(LOSE, params![connection, version, why])).await.map(drop)
    }
}
