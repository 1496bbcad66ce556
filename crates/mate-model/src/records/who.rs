//! Who acts, and what work belongs together.

use crate::{AccountId, Micros, ProjectId, TokenId, words::Role};

/// Who acts: a person or a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its id.
    pub id: AccountId,
    /// Its name, unique.
    pub name: String,
    /// May manage accounts, connections, runtimes and policies.
    pub admin: bool,
    /// When it was disabled, if it was.
    pub disabled_at: Option<Micros>,
    /// When it was made.
    pub created_at: Micros,
}

/// A bearer token without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its id; has no part of the secret.
    pub id: TokenId,
    /// Whose it is.
    pub account: AccountId,
    /// SHA-256 of the secret.
    pub hash: [u8; 32],
    /// Only for this project, if set.
    pub project: Option<ProjectId>,
    /// At most this role, if set.
    pub role: Option<Role>,
    /// When it ends, if ever.
    pub expires_at: Option<Micros>,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Micros>,
    /// When it was made.
    pub created_at: Micros,
    /// When it was shown last, to the minute, if it was.
    pub last_used_at: Option<Micros>,
    /// The token that it was made with, over the interface; none where a person made it on the machine.
    pub made_with: Option<TokenId>,
}

/// An account's role in a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The project.
    pub project: ProjectId,
    /// The account.
    pub account: AccountId,
    /// The role.
    pub role: Role,
    /// Since when.
    pub added_at: Micros,
}

/// What work belongs together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Its id.
    pub id: ProjectId,
    /// Its name, unique.
    pub name: String,
    /// The directory that its sessions work in, absolute; none: an empty one per session.
    pub workspace: Option<String>,
    /// When it was archived, if it was.
    pub archived_at: Option<Micros>,
    /// Who submitted a task can neither approve it nor give leave for its calls.
    pub distinct_approver: bool,
    /// When it was made.
    pub created_at: Micros,
}
