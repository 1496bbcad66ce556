//! A row of an answer, read strictly: what cannot be is reported as corrupt, never defaulted.

use crate::{StoreError, Value};
use std::{fmt::Display, str::FromStr, sync::Arc};

/// What the rows of one answer share.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) sql: &'static str,
    pub(crate) columns: Vec<String>,
}

/// One row of an answer; columns are read by name.
#[derive(Clone, Debug)]
pub struct Row {
    origin: Arc<Origin>,
    number: usize,
    values: Vec<Value>,
}

impl Row {
    pub(crate) const fn new(origin: Arc<Origin>, number: usize, values: Vec<Value>) -> Self {
        Self { origin, number, values }
    }

    /// The column as it is.
    ///
    /// # Errors
    /// [`StoreError::Misuse`] when the query has no such column.
    pub fn value(&self, column: &str) -> Result<&Value, StoreError> {
        let place = self.origin.columns.iter().position(|name| name == column);
        place.and_then(|place| self.values.get(place)).ok_or_else(|| {
            StoreError::Misuse(format!("no column `{column}` in the answer to: {}", self.origin.sql))
        })
    }

    /// The column as an integer.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it is anything else.
    pub fn int(&self, column: &str) -> Result<i64, StoreError> {
        self.opt_int(column)?.ok_or_else(|| self.corrupt(column, "NULL where an integer must be"))
    }

    /// The column as an integer of a narrower type.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it is anything else or does not fit.
    pub fn number<T: TryFrom<i64>>(&self, column: &str) -> Result<T, StoreError> {
        let wide = self.int(column)?;
        T::try_from(wide).map_err(|_| self.corrupt(column, format!("{wide} is out of range")))
    }

    /// The column as a truth value, stored as 0 or 1.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it is anything else.
    pub fn flag(&self, column: &str) -> Result<bool, StoreError> {
        match self.int(column)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.corrupt(column, format!("{other} where 0 or 1 must be"))),
        }
    }

    /// The column as text.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it is anything else.
    pub fn text(&self, column: &str) -> Result<&str, StoreError> {
        self.opt_text(column)?.ok_or_else(|| self.corrupt(column, "NULL where text must be"))
    }

    /// The column as bytes.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it is anything else.
    pub fn blob(&self, column: &str) -> Result<&[u8], StoreError> {
        self.opt_blob(column)?.ok_or_else(|| self.corrupt(column, "NULL where bytes must be"))
    }

    /// The column as an integer, or none for NULL.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it is anything else.
    pub fn opt_int(&self, column: &str) -> Result<Option<i64>, StoreError> {
        match self.value(column)? {
            Value::Null => Ok(None),
            Value::Int(n) => Ok(Some(*n)),
            other @ (Value::Text(_) | Value::Blob(_)) => Err(self.not(column, other, "an integer")),
        }
    }

    /// The column as text, or none for NULL.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it is anything else.
    pub fn opt_text(&self, column: &str) -> Result<Option<&str>, StoreError> {
        match self.value(column)? {
            Value::Null => Ok(None),
            Value::Text(text) => Ok(Some(text)),
            other @ (Value::Int(_) | Value::Blob(_)) => Err(self.not(column, other, "text")),
        }
    }

    /// The column as bytes, or none for NULL.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it is anything else.
    pub fn opt_blob(&self, column: &str) -> Result<Option<&[u8]>, StoreError> {
        match self.value(column)? {
            Value::Null => Ok(None),
            Value::Blob(bytes) => Ok(Some(bytes)),
            other @ (Value::Int(_) | Value::Text(_)) => Err(self.not(column, other, "bytes")),
        }
    }

    /// The column's text, parsed.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it is not text or does not parse.
    pub fn parse<T: FromStr<Err: Display>>(&self, column: &str) -> Result<T, StoreError> {
        self.text(column)?.parse().map_err(|why: T::Err| self.corrupt(column, why.to_string()))
    }

    /// The column's text, parsed, or none for NULL.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it is not text or does not parse.
    pub fn opt_parse<T: FromStr<Err: Display>>(&self, column: &str) -> Result<Option<T>, StoreError> {
        let text = self.opt_text(column)?;
        text.map(|text| text.parse().map_err(|why: T::Err| self.corrupt(column, why.to_string()))).transpose()
    }

    /// The error for a column whose value cannot be, for decoders that know more than its type.
    pub fn corrupt(&self, column: &str, why: impl Into<String>) -> StoreError {
        let row = self.values.first().map_or_else(|| format!("#{}", self.number), Value::brief);
        corrupt(self.origin.sql, row, column, why.into())
    }

    fn not(&self, column: &str, found: &Value, wanted: &str) -> StoreError {
        self.corrupt(column, format!("{} where {wanted} must be", found.kind()))
    }
}

/// A corrupt column of a row of the answer to `sql`.
pub(crate) fn corrupt(sql: &str, row: String, column: &str, why: String) -> StoreError {
    StoreError::Corrupt { table: table_of(sql).to_owned(), row, column: column.to_owned(), why }
}

/// The first table that a query names: enough to find a bad row by.
fn table_of(sql: &str) -> &str {
    let mut words = sql.split_whitespace();
    words.find(|word| word.eq_ignore_ascii_case("from"));
    words.next().map_or("?", |word| word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: Vec<Value>) -> Row {
        let columns = vec!["id".to_owned(), "n".to_owned()];
        Row::new(Arc::new(Origin { sql: "SELECT id, n FROM turns WHERE id = $1", columns }), 0, values)
    }

    #[test]
    fn a_wrong_type_is_corrupt_with_table_row_and_column() {
        let error = row(vec!["trn_1".into(), "x".into()]).int("n").unwrap_err();
        let StoreError::Corrupt { table, row, column, why } = error else { panic!("{error}") };
        assert_eq!((table.as_str(), row.as_str(), column.as_str()), ("turns", "trn_1", "n"));
        assert_eq!(why, "text where an integer must be");
    }

    #[test]
    fn nothing_is_defaulted() {
        let row = row(vec!["trn_1".into(), Value::Null]);
        assert!(row.int("n").is_err() && row.text("n").is_err() && row.blob("n").is_err());
        assert!(row.parse::<u8>("id").is_err() && row.flag("n").is_err() && row.number::<u8>("n").is_err());
        assert_eq!(row.opt_int("n"), Ok(None));
        assert!(matches!(row.text("nope"), Err(StoreError::Misuse(_))));
    }

    #[test]
    fn a_number_that_does_not_fit_is_corrupt() {
        let row = row(vec!["trn_1".into(), Value::Int(300)]);
        assert!(row.number::<u8>("n").is_err() && row.flag("n").is_err());
        assert_eq!(row.number::<u16>("n"), Ok(300));
    }
}
