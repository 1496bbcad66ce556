//! What lies in a session's workspace, as Agent Mate itself looks at it. The agent writes there, also at this moment:
//! no path is trusted, no link is followed, and nothing is opened twice.

mod beneath;
mod listing;

pub use beneath::{NotThere, Root};
pub use listing::{Listed, Listing, list_changed};
