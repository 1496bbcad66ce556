//! What clients send: one struct per request, shared with the command line.
//!
//! Unknown fields are refused. What the interface answers is in [`answer`].

mod admin;
pub mod answer;
mod approval;
mod artifact;
mod parts;
mod resolve;
mod secret;
pub mod shape;
mod task;

pub use admin::{
    AddAccount, AddConnection, AddGrant, AddPolicy, AddProject, AddRuntime, AddToken, AuthorizeConnection,
    CheckPolicy, ConnectionAuthorized, RenewGrant, RevokeToken, RotateConnection, SetConnection, SetMember,
    TryPolicy,
};
pub use approval::AnswerApproval;
pub use artifact::{Publish, SetProject};
pub use parts::{Bounds, Condition, CountBounds, VerificationRecipe, Wishes};
pub use resolve::{ResolveOperation, ResolveTask};
pub use secret::SecretText;
pub use task::{AddTask, Reject, Resume, Stop};
