//! Reads the model's values from rows, strictly.

use crate::{Row, StoreError};
use mate_model::{Epoch, Micros};
use serde::de::DeserializeOwned;

/// The column as a moment.
pub(crate) fn micros(row: &Row, column: &str) -> Result<Micros, StoreError> {
    row.int(column).map(Micros)
}

/// The column as a moment, or none.
pub(crate) fn opt_micros(row: &Row, column: &str) -> Result<Option<Micros>, StoreError> {
    Ok(row.opt_int(column)?.map(Micros))
}

/// The column as a number of seconds, or none.
pub(crate) fn opt_seconds(row: &Row, column: &str) -> Result<Option<u32>, StoreError> {
    let wrong = |_| row.corrupt(column, "it is no number of seconds");
    row.opt_int(column)?.map(|seconds| u32::try_from(seconds).map_err(wrong)).transpose()
}

/// The column as an epoch.
pub(crate) fn epoch(row: &Row, column: &str) -> Result<Epoch, StoreError> {
    row.int(column).map(Epoch)
}

/// The column as 32 bytes.
pub(crate) fn hash(row: &Row, column: &str) -> Result<[u8; 32], StoreError> {
    let bytes = row.blob(column)?;
    bytes.try_into().map_err(|_| row.corrupt(column, format!("{} bytes where 32 must be", bytes.len())))
}

/// The column's JSON.
pub(crate) fn json<T: DeserializeOwned>(row: &Row, column: &str) -> Result<T, StoreError> {
    serde_json::from_str(row.text(column)?).map_err(|why| row.corrupt(column, why.to_string()))
}

/// The column's JSON, or none.
pub(crate) fn opt_json<T: DeserializeOwned>(row: &Row, column: &str) -> Result<Option<T>, StoreError> {
    let text = row.opt_text(column)?;
    text.map(|text| serde_json::from_str(text).map_err(|why| row.corrupt(column, why.to_string())))
        .transpose()
}

/// The first row, decoded; none when there is no row.
pub(crate) fn first<T>(
    rows: &[Row],
    decode: impl Fn(&Row) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    rows.first().map(decode).transpose()
}
