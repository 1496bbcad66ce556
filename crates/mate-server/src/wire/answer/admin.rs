//! Accounts, their tokens, and members.

use super::InFlight;
use crate::wire::shape;
use mate_model::{AccountId, ProjectId, TokenId, words::Role};
use serde::Serialize;
use utoipa::ToSchema;

/// An account: who owns and acts.
#[derive(Debug, Serialize, ToSchema)]
pub struct Account {
    /// Its id.
    #[schema(value_type = shape::AccountId)]
    pub id: AccountId,
    /// `active` or `disabled`.
    pub state: &'static str,
    /// Its name.
    pub name: String,
    /// May manage accounts, connections, runtimes and policies.
    pub admin: bool,
    /// When it was made.
    #[schema(value_type = shape::Time)]
    pub created_at: String,
    /// When it was disabled.
    #[schema(value_type = Option<shape::Time>)]
    pub disabled_at: Option<String>,
    /// Where it was taken away just now: what was on its way, and may have happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<InFlight>,
}

/// A token; the secret itself is shown once, when it is made.
#[derive(Debug, Serialize, ToSchema)]
pub struct Token {
    /// Its id.
    #[schema(value_type = shape::TokenId)]
    pub id: TokenId,
    /// `active`, `expired` or `revoked`.
    pub state: &'static str,
    /// Whose it is.
    #[schema(value_type = shape::AccountId)]
    pub account: AccountId,
    /// Good for this project only.
    #[schema(value_type = Option<shape::ProjectId>)]
    pub project: Option<ProjectId>,
    /// At most this role.
    #[schema(value_type = Option<shape::Role>)]
    pub role: Option<Role>,
    /// When it was made.
    #[schema(value_type = shape::Time)]
    pub created_at: String,
    /// When it was used last, to the minute.
    #[schema(value_type = Option<shape::Time>)]
    pub last_used_at: Option<String>,
    /// When it ends.
    #[schema(value_type = Option<shape::Time>)]
    pub expires_at: Option<String>,
    /// When it was revoked.
    #[schema(value_type = Option<shape::Time>)]
    pub revoked_at: Option<String>,
    /// The token that it was made with; none where it was made on the machine.
    #[schema(value_type = Option<shape::TokenId>)]
    pub made_with: Option<TokenId>,
    /// The tokens that were revoked with it just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<shape::TokenId>>)]
    pub also_revoked: Option<Vec<TokenId>>,
    /// Where it was taken away just now: what was on its way, and may have happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<InFlight>,
}

/// A new token, with its secret.
#[derive(Debug, Serialize, ToSchema)]
pub struct MadeToken {
    /// As it is shown everywhere.
    #[serde(flatten)]
    pub made: Token,
    /// The secret, shown this once; a repeated request with the same idempotency key does not show it again.
    pub token: String,
}

/// A member of a project.
#[derive(Debug, Serialize, ToSchema)]
pub struct Member {
    /// The account's id: within a project it names the member.
    #[schema(value_type = shape::AccountId)]
    pub id: AccountId,
    /// The project.
    #[schema(value_type = shape::ProjectId)]
    pub project: ProjectId,
    /// The account.
    #[schema(value_type = shape::AccountId)]
    pub account: AccountId,
    /// The account's name.
    pub account_name: String,
    /// What it may do.
    #[schema(value_type = shape::Role)]
    pub role: Role,
    /// Since when.
    #[schema(value_type = shape::Time)]
    pub added_at: String,
}

/// Who is no member any more.
#[derive(Debug, Serialize, ToSchema)]
pub struct RemovedMember {
    /// The account's id.
    #[schema(value_type = shape::AccountId)]
    pub id: AccountId,
    /// The account's name.
    pub account_name: String,
    /// `removed`.
    pub state: &'static str,
    /// Where it was taken away just now: what was on its way, and may have happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<InFlight>,
}
