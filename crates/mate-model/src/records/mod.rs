//! What the stores keep beside states: plain records, decoded strictly.

mod artifact;
mod links;
mod run;
mod who;
mod work;

pub use artifact::{Artifact, ArtifactContent, ArtifactOrigin, ArtifactState, Content};
pub use links::{
    Connection, ConnectionSettings, Grant, Pin, PinChange, PinnedField, Policy, Reach, Runtime, Terms,
};
pub use run::{Answer, Approval, Attention, Operation, Over, Permission, Turn};
pub use who::{Account, Member, Project, Token};
pub use work::{Session, Task, TaskPolicy};
