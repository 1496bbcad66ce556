//! Why a use case did not do what it was asked: one kind per thing that the caller can do next.

use mate_model::Refusal;
use mate_store::{JournalError, LedgerError, StoreError};

/// A use case's refusal or failure. Nothing was half-done.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// It does not exist, or not for this caller: the two are not told apart.
    #[error("not found, or not yours to see")]
    NotFound,
    /// The caller may see it, and may not do this with it.
    #[error("your role does not allow this: it needs {needed}")]
    NotAllowed {
        /// The role, or the right, that is needed.
        needed: &'static str,
    },
    /// The bearer token is missing, unknown, expired or revoked.
    #[error("no valid token: set AGENT_MATE_TOKEN, or run the command where the home's `token` file is")]
    NotAuthenticated,
    /// A field of the request is wrong.
    #[error("{field}: {why}")]
    Invalid {
        /// The field's name, as the interface calls it.
        field: &'static str,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// The request does not fit the present state.
    #[error("{detail}")]
    Refused {
        /// A stable code: `session_busy`, `task_final`, ...
        code: &'static str,
        /// What to do next.
        detail: String,
    },
    /// The same idempotency key came with another body.
    #[error("this idempotency key was used for another request: take a new key")]
    KeyReused,
    /// The stores cannot take it now; nothing was written.
    #[error("{0}")]
    Unavailable(String),
    /// The clock stands before what the ledger has seen: what is new is refused, and what only ends or narrows is not.
    #[error("{0}")]
    ClockBehind(String),
    /// A store's file is damaged.
    #[error("{0}")]
    Damaged(String),
    /// A defect of this program or of its files.
    #[error("{0}")]
    Internal(String),
}

impl EngineError {
    /// A field that is wrong.
    pub fn invalid(field: &'static str, why: impl Into<String>) -> Self {
        Self::Invalid { field, why: why.into() }
    }

    /// A request that does not fit the present state.
    pub fn refused(code: &'static str, detail: impl Into<String>) -> Self {
        Self::Refused { code, detail: detail.into() }
    }
}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy(_)
            | StoreError::Full(_)
            | StoreError::ReadOnly(_)
            | StoreError::Unavailable { .. } => Self::Unavailable(error.to_string()),
            StoreError::Guard { .. } => Self::Refused {
                code: "changed_meanwhile",
                detail: "somebody else changed it at the same moment: look again, then repeat".to_owned(),
            },
            StoreError::Damaged(_) => Self::Damaged(error.to_string()),
            StoreError::Constraint { .. }
            | StoreError::Corrupt { .. }
            | StoreError::SchemaTooNew { .. }
            | StoreError::SchemaChanged { .. }
            | StoreError::NulInText { .. }
            | StoreError::TooManyRows { .. }
            | StoreError::Misuse(_)
            | StoreError::Other(_) => Self::Internal(error.to_string()),
        }
    }
}

impl From<Refusal> for EngineError {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal {
            Refusal::Final { .. } => "final",
            Refusal::Already { .. } => "already",
            Refusal::NotNow { .. } => "not_now",
            Refusal::Stale { .. } => "stale",
            Refusal::NoEvidence => "no_evidence",
        };
        Self::Refused { code, detail: refusal.to_string() }
    }
}

impl From<LedgerError> for EngineError {
    fn from(error: LedgerError) -> Self {
        let detail = error.to_string();
        match error {
            LedgerError::NotFound(_) => Self::NotFound,
            LedgerError::Taken(_) => Self::Refused { code: "name_taken", detail },
            LedgerError::Conflict(_) => Self::Refused { code: "changed_meanwhile", detail },
            LedgerError::KeyUsed => Self::KeyReused,
            LedgerError::LastAdministrator => Self::Refused { code: "last_administrator", detail },
            LedgerError::LastToken => Self::Refused { code: "last_token", detail },
            LedgerError::Archived => Self::Refused { code: "project_archived", detail },
            LedgerError::SessionClosed => Self::Refused { code: "session_closed", detail },
            LedgerError::ClockBehind { .. } => Self::ClockBehind(detail),
            LedgerError::Contended => Self::Unavailable(detail),
            LedgerError::TooMany { .. } => Self::Internal(detail),
            LedgerError::Store(error) => error.into(),
        }
    }
}

impl From<JournalError> for EngineError {
    fn from(error: JournalError) -> Self {
        let detail = error.to_string();
        match error {
            JournalError::Stale { .. } => Self::Refused { code: "stale", detail },
            JournalError::Conflict(_) => Self::Refused { code: "changed_meanwhile", detail },
            JournalError::TooMany { .. } => Self::Internal(detail),
            JournalError::Closed => Self::Unavailable(detail),
            JournalError::Store(error) => error.into(),
        }
    }
}
