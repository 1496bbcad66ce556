//! Idempotency keys: a repeated request gets the first answer.

use super::{Ledger, LedgerError};
use crate::{ConstraintKind, Row, Statement, StoreError, decode, params::params};
use mate_model::{AccountId, Micros};

const ADD: &str =
    "INSERT INTO idempotency (account, route, request_key, body_digest, claimed_at, status, body)
    VALUES ($1, $2, $3, $4, $5, $6, $7)";
const READ: &str = "SELECT request_key, body_digest, claimed_at, status, body FROM idempotency
    WHERE account = $1 AND route = $2 AND request_key = $3";
const FINISH: &str = "UPDATE idempotency SET status = $4, body = $5
    WHERE account = $1 AND route = $2 AND request_key = $3 AND status IS NULL";
const RELEASE: &str = "DELETE FROM idempotency
    WHERE account = $1 AND route = $2 AND request_key = $3 AND status IS NULL";
const FORGET: &str = "DELETE FROM idempotency WHERE claimed_at < $1";

/// What a key belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// Who asks.
    pub account: AccountId,
    /// What is asked: the route with its ids.
    pub route: String,
    /// The caller's key.
    pub key: String,
    /// BLAKE3 of the request's body.
    pub body_digest: [u8; 32],
}

/// A key with its answer, for the script that has the request's effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyRecord {
    /// The key.
    pub key: IdempotencyKey,
    /// The HTTP status of the answer.
    pub status: u16,
    /// What the answer is made from again; never a secret.
    pub body: String,
    /// When.
    pub at: Micros,
}

/// What a key stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Nobody used it; it is the caller's now.
    Fresh,
    /// The first request was answered so.
    Replay {
        /// The HTTP status.
        status: u16,
        /// What the answer is made from again.
        body: String,
    },
    /// The first request had another body.
    Mismatch,
    /// The first request is not answered yet, or its process died before it was.
    InProgress {
        /// When it was claimed; none when it was given back at that moment.
        since: Option<Micros>,
    },
}

pub(super) fn insert(record: &IdempotencyRecord) -> Statement {
    let key = &record.key;
    Statement::one(
        ADD,
        params![
            key.account,
            key.route.as_str(),
            key.key.as_str(),
            key.body_digest,
            record.at,
            i64::from(record.status),
            record.body.as_str(),
        ],
    )
}

impl Ledger {
    /// What a key stands for, without claiming it; none when nobody used it.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn replay(&self, key: &IdempotencyKey) -> Result<Option<Claim>, StoreError> {
        let values = params![key.account, key.route.as_str(), key.key.as_str()];
        decode::first(&self.db.fetch(READ, values).await?, |row| read(row, key))
    }

    /// Claims a key for a request whose effect is not one script; ended by [`Ledger::finish`].
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn claim(&self, key: &IdempotencyKey, at: Micros) -> Result<Claim, LedgerError> {
        let none = Option::<i64>::None;
        let values = params![
            key.account,
            key.route.as_str(),
            key.key.as_str(),
            key.body_digest,
            at,
            none,
            Option::<String>::None,
        ];
        match self.db.execute(Statement::one(ADD, values)).await {
            Ok(_) => Ok(Claim::Fresh),
            Err(error) if error.is_constraint(ConstraintKind::Unique) => {
                // Released between the two: the caller's next try gets it.
                Ok(self.replay(key).await?.unwrap_or(Claim::InProgress { since: None }))
            }
            Err(error) if error.is_constraint(ConstraintKind::ForeignKey) => {
                Err(LedgerError::NotFound("account"))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Keeps the answer to a claimed key; an answer that is there already stays.
    ///
    /// # Errors
    /// The store's.
    pub async fn finish(&self, key: &IdempotencyKey, status: u16, body: &str) -> Result<(), StoreError> {
        let values = params![key.account, key.route.as_str(), key.key.as_str(), i64::from(status), body];
        self.db.execute(Statement::any(FINISH, values)).await.map(|_| ())
    }

    /// Gives a claimed key back: the request was refused and changed nothing.
    ///
    /// # Errors
    /// The store's.
    pub async fn release(&self, key: &IdempotencyKey) -> Result<(), StoreError> {
        let values = params![key.account, key.route.as_str(), key.key.as_str()];
        self.db.execute(Statement::any(RELEASE, values)).await.map(|_| ())
    }

    /// Forgets the keys claimed before `before`; answers how many.
    ///
    /// # Errors
    /// The store's.
    pub async fn forget_keys(&self, before: Micros) -> Result<u64, StoreError> {
        self.db.execute(Statement::any(FORGET, params![before])).await
    }
}

fn read(row: &Row, key: &IdempotencyKey) -> Result<Claim, StoreError> {
    if decode::hash(row, "body_digest")? != key.body_digest {
        return Ok(Claim::Mismatch);
    }
    match (row.opt_int("status")?, row.opt_text("body")?) {
        (Some(_), Some(body)) => Ok(Claim::Replay { status: row.number("status")?, body: body.to_owned() }),
        (None, None) => Ok(Claim::InProgress { since: Some(decode::micros(row, "claimed_at")?) }),
        (Some(_), None) | (None, Some(_)) => Err(row.corrupt("body", "status and body do not agree")),
    }
}
