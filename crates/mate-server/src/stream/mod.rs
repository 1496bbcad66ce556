//! Live streams: history and news are read from the store in one loop, so that there is no seam between them.

mod frame;
mod live;

pub(crate) use live::open;
