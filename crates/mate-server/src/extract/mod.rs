//! What handlers take: read strictly, and refused as problem documents.

mod ask;
mod body;
mod caller;
mod page;
mod path;
mod query;

pub(crate) use ask::{Ask, id_for};
pub(crate) use body::Body;
pub(crate) use caller::Caller;
pub(crate) use page::{PageQuery, limit, paging, word};
pub(crate) use path::Segments;
pub(crate) use query::Query;
