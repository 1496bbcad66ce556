//! Approvals: a person's answers to exact requests, and the permissions that come of them.
//!
//! The ledger leads: what was answered stands there, and whoever waits in a session's worker finds it. A request is in
//! the journal before it is in the inbox, and leave is used up in the ledger before the intent of its call is written.

mod answer;
mod over;
mod revoke;
mod view;

pub use over::OverView;
pub(crate) use over::told;
pub use view::{ApprovalView, PermissionView, ReceiptView};
