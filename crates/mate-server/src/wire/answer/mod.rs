//! What the interface answers: one struct for each kind of thing that is shown.
//!
//! An object has its `id` and, where it has one, its `state`; a list is `{"items": [...], "next": cursor or null}`.
//! Every field is always there, `null` where there is nothing to say, except for those in [`SOMETIMES`].

mod admin;
mod approval;
mod artifact;
mod connection;
mod event;
mod grant;
mod in_flight;
mod operation;
mod other;
mod policy;
mod project;
mod report;
mod runtime;
mod session;
mod task;

pub use admin::{Account, MadeToken, Member, RemovedMember, Token};
pub use approval::{Approval, ApprovalOver, Permission, Receipt};
pub use artifact::Artifact;
pub use connection::{AuthorizationAsked, Authorized, Connection, Look, RotatedConnection, Tool};
pub use event::Event;
pub use grant::{Grant, GrantWithPins, Pin, PinChange, PinnedField, Pins};
pub use in_flight::{CallInFlight, InFlight};
pub use operation::{Contradiction, Evidence, Operation};
pub use other::{BrowserLink, Health, Readiness, SetAside};
pub use policy::{Explanation, Finding, JudgedNow, Policy, PolicyReport, PolicyWithReport, TriedCall};
pub use project::{Project, ProjectWithUse};
pub use report::{FileLeft, OperationLine, Report};
pub use runtime::Runtime;
pub use session::Session;
pub use task::{Activity, Task};

/// The fields that are left out where there is nothing to say: the thing, and the field.
pub const SOMETIMES: &[(&str, &str)] = &[
    ("Account", "in_flight"),
    ("Connection", "in_flight"),
    ("Connection", "state"),
    ("Event", "epoch"),
    ("Event", "project"),
    ("Event", "turn"),
    ("Grant", "in_flight"),
    ("GrantWithPins", "in_flight"),
    ("MadeToken", "also_revoked"),
    ("MadeToken", "in_flight"),
    ("MadeToken", "token"),
    ("Problem", "errors"),
    ("RemovedMember", "in_flight"),
    ("RotatedConnection", "in_flight"),
    ("RotatedConnection", "state"),
    ("Runtime", "notices"),
    ("Runtime", "state"),
    ("Task", "approvals_over"),
    ("Task", "note"),
    ("Task", "permissions"),
    ("Token", "also_revoked"),
    ("Token", "in_flight"),
];
