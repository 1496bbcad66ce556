//! What is shown of the service itself.

use crate::wire::shape;
use mate_model::SessionId;
use serde::Serialize;
use utoipa::ToSchema;

/// The process answers.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    /// `ok`.
    pub status: &'static str,
}

/// The ledger answers too.
#[derive(Debug, Serialize, ToSchema)]
pub struct Readiness {
    /// `ready`.
    pub status: &'static str,
    /// How many sessions could not be looked after; the rest goes on.
    pub set_aside: usize,
}

/// A link that signs a browser in, once.
#[derive(Debug, Serialize, ToSchema)]
pub struct BrowserLink {
    /// The whole address, where the service knows its own.
    pub url: Option<String>,
    /// Its path; it holds the secret.
    pub path: String,
    /// When it ends, used or not.
    #[schema(value_type = shape::Time)]
    pub expires_at: String,
}

/// A session that the coordinator could not look after.
#[derive(Debug, Serialize, ToSchema)]
pub struct SetAside {
    /// Which, where its row can be read.
    #[schema(value_type = Option<shape::SessionId>)]
    pub session: Option<SessionId>,
    /// Why, and what to do.
    pub why: String,
    /// Since when.
    #[schema(value_type = shape::Time)]
    pub since: String,
}
