//! The model's values as parameters.

use crate::Value;
use mate_model::{
    AccountId, ApprovalId, ArtifactId, ConnectionId, Epoch, GrantId, Micros, OperationId, PolicyId,
    ProjectId, RuntimeId, SessionId, TaskId, TokenId, TurnId,
    approval::ApprovalStateWord,
    event::EventType,
    operation::{OperationStateWord, Verdict},
    records::{ArtifactOrigin, ArtifactState},
    round::RoundStateWord,
    session::SessionStateWord,
    task::TaskStateWord,
    turn::TurnStateWord,
    words::{ApprovalMode, Context, DenyReason, EffectClass, ReportStatus, Role, UnknownReason},
};
use serde::Serialize;

/// A statement's parameters, in order.
macro_rules! params {
    ($($value:expr),* $(,)?) => { vec![$($crate::Value::from($value)),*] };
}
pub(crate) use params;

macro_rules! ids {
    ($($id:ident),+) => { $(impl From<$id> for Value {
        fn from(id: $id) -> Self { Self::Text(id.to_string()) }
    })+ };
}

macro_rules! words {
    ($($word:ident),+) => { $(impl From<$word> for Value {
        fn from(word: $word) -> Self { Self::Text(word.as_str().to_owned()) }
    })+ };
}

ids!(
    AccountId,
    ApprovalId,
    ArtifactId,
    ConnectionId,
    GrantId,
    OperationId,
    PolicyId,
    ProjectId,
    RuntimeId,
    SessionId,
    TaskId,
    TokenId,
    TurnId
);

words!(
    ApprovalMode,
    ApprovalStateWord,
    ArtifactOrigin,
    ArtifactState,
    Context,
    DenyReason,
    EffectClass,
    EventType,
    OperationStateWord,
    ReportStatus,
    Role,
    RoundStateWord,
    SessionStateWord,
    TaskStateWord,
    TurnStateWord,
    UnknownReason,
    Verdict
);

impl From<Micros> for Value {
    fn from(at: Micros) -> Self {
        Self::Int(at.0)
    }
}

impl From<Epoch> for Value {
    fn from(epoch: Epoch) -> Self {
        Self::Int(epoch.0)
    }
}

impl From<[u8; 32]> for Value {
    fn from(bytes: [u8; 32]) -> Self {
        Self::Blob(bytes.to_vec())
    }
}

/// A value as JSON text.
pub(crate) fn json<T: Serialize + ?Sized>(value: &T) -> Result<String, crate::StoreError> {
    serde_json::to_string(value).map_err(|e| crate::StoreError::Misuse(format!("not writable as JSON: {e}")))
}

/// How many rows to ask for: one more than wanted tells whether there is a next page.
pub(crate) fn one_more(limit: u32) -> i64 {
    i64::from(limit.clamp(1, crate::page::MAX_PAGE)) + 1
}
