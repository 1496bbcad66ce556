//! The dashboard's pages: pure functions from what is to be shown to HTML. No HTTP, no stores, no clock.
//!
//! Everything that comes from agents and tools is text: escaped by the templates, made visible by [`text`], bounded.
#![forbid(unsafe_code)]

mod approval;
pub mod assets;
mod conversation;
mod frame;
mod home;
mod login;
pub mod manage;
mod operation;
mod parts;
mod plain;
mod search;
mod submit;
mod task;
pub mod text;
mod timeline;
pub mod view;

pub use approval::{Approvals, approval};
pub use conversation::Conversation;
pub use frame::{Context, Here, Live, page};
pub use home::{Home, home};
pub use login::login;
pub use maud::Markup;
pub use operation::{Desk, desk};
pub use parts::form::{Draft, Trouble};
pub use plain::{message, not_found};
pub use search::{Found, search};
pub use submit::{Submission, submit};
pub use task::{TaskPage, task};
pub use timeline::Window;
