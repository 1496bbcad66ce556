//! What clients send: one struct per request, shared with the command line.
//!
//! Unknown fields are refused. What the interface answers is written by the routes: an object has
//! its `id` and, where it has one, its `state`; a list is `{"items": [...], "next": cursor or null}`.

mod admin;
mod approval;
mod artifact;
mod resolve;
mod secret;
mod task;

pub use admin::{
    AddAccount, AddConnection, AddGrant, AddPolicy, AddProject, AddRuntime, AddToken, AuthorizeConnection,
    CheckPolicy, ConnectionAuthorized, RenewGrant, RotateConnection, SetMember,
};
pub use approval::AnswerApproval;
pub use artifact::{Publish, SetProject};
pub use resolve::{ResolveOperation, ResolveTask};
pub use secret::SecretText;
pub use task::{AddTask, Reject, Resume, Stop};
