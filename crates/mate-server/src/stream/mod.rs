//! Live streams: history and news are told in one loop, so that there is no seam between them.
//!
//! Each log that is followed has one reader, whoever follows it ([`feeds`]); a stream itself is a position in each of its
//! logs ([`live`]) and the leave of who hears it ([`leave`]).

mod feed;
mod feeds;
mod frame;
mod leave;
mod live;
mod log;
mod many;
mod merge;
mod place;
mod task;
mod told;

pub(crate) use feeds::Feeds;
pub(crate) use leave::Shown;
pub(crate) use many::{Wish, follow, page, parse};
pub(crate) use task::open;
