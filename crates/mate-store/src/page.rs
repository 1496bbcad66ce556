//! A page of a list: a bad row is reported beside the good ones and never hides them.

use crate::{Row, StoreError};

/// The most items in one page.
pub const MAX_PAGE: u32 = 1_000;

/// Part of a list.
#[derive(Clone, Debug)]
pub struct Page<T, C> {
    /// The items that could be read, in the list's order.
    pub items: Vec<T>,
    /// What could not be read, each with table, row and column.
    pub corrupt: Vec<StoreError>,
    /// Where the next page starts; none at the end of the list.
    pub next: Option<C>,
}

impl<T, C> Page<T, C> {
    /// Decodes at most `limit` of `rows` (which may hold one more, as a sign that there is a next page).
    /// `cursor` reads where a page that starts after this row starts.
    pub(crate) fn read(
        rows: &[Row],
        limit: u32,
        decode: impl Fn(&Row) -> Result<T, StoreError>,
        cursor: impl Fn(&Row) -> Result<C, StoreError>,
    ) -> Result<Self, StoreError> {
        let limit = usize::try_from(limit.clamp(1, MAX_PAGE)).unwrap_or(usize::MAX);
        let mut page =
            Self { items: Vec::with_capacity(rows.len().min(limit)), corrupt: Vec::new(), next: None };
        for row in rows.iter().take(limit) {
            match decode(row) {
                Ok(item) => page.items.push(item),
                Err(corrupt @ StoreError::Corrupt { .. }) => page.corrupt.push(corrupt),
                Err(other) => return Err(other),
            }
        }
        if rows.len() > limit {
            page.next = rows.get(limit - 1).map(cursor).transpose()?;
        }
        Ok(page)
    }
}
