//! The interface, described by itself: every route says what it takes and answers, and the document is put together
//! from that.

mod document;
mod examples;
mod operation;
mod page;
pub mod problems;
mod route;
mod schemas;

pub use document::document;
pub use page::{STYLE, page};
pub(crate) use route::{Doc, Kind, Shown};
