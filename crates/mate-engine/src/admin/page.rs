//! Lists, page by page.

use crate::EngineError;
use mate_store::Page;
use std::{fmt::Display, str::FromStr};

/// Which page is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paging {
    /// The position after which it starts, as an earlier page said; none: the beginning.
    pub after: Option<String>,
    /// The most items.
    pub limit: u32,
}

impl Paging {
    /// The most items that may be asked for.
    pub const MOST: u32 = 500;

    /// The most items when nothing is said.
    pub const USUAL: u32 = 100;

    /// The position, read as the list's own kind of position.
    ///
    /// # Errors
    /// [`EngineError::Invalid`] for `cursor`.
    pub fn position<C: FromStr>(&self) -> Result<Option<C>, EngineError> {
        let read = self.after.as_deref().map(str::parse).transpose();
        read.map_err(|_| EngineError::invalid("cursor", "not a cursor of this list"))
    }
}

impl Default for Paging {
    fn default() -> Self {
        Self { after: None, limit: Self::USUAL }
    }
}

/// Part of a list.
#[derive(Clone, Debug)]
pub struct Listing<T> {
    /// The items.
    pub items: Vec<T>,
    /// Rows that could not be read, in words; they do not hide the others.
    pub unreadable: Vec<String>,
    /// The position after which the next page starts; none at the end.
    pub next: Option<String>,
}

impl<T> Listing<T> {
    /// A list of nothing.
    #[must_use]
    pub const fn empty() -> Self {
        Self { items: Vec::new(), unreadable: Vec::new(), next: None }
    }

    /// The same list with other items.
    pub fn map<U>(self, change: impl FnMut(T) -> U) -> Listing<U> {
        Listing {
            items: self.items.into_iter().map(change).collect(),
            unreadable: self.unreadable,
            next: self.next,
        }
    }
}

impl<T, C: Display> From<Page<T, C>> for Listing<T> {
    fn from(page: Page<T, C>) -> Self {
        let unreadable: Vec<_> = page.corrupt.iter().map(ToString::to_string).collect();
        for row in &unreadable {
            tracing::error!(%row, "a row could not be read");
        }
        Self { items: page.items, unreadable, next: page.next.map(|next| next.to_string()) }
    }
}
