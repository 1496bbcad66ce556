//! Running one statement on one connection.

use super::failure::translate;
use crate::{
    MAX_ROWS, Row, Statement, StoreError, Value,
    row::{Origin, corrupt},
};
use rusqlite::{
    CachedStatement, Connection, ToSql,
    types::{ToSqlOutput, ValueRef},
};
use std::sync::Arc;

/// Runs a write; answers the rows changed. The guard is judged by the caller.
pub(super) fn write(connection: &Connection, statement: &Statement) -> Result<u64, StoreError> {
    let mut prepared = connection.prepare_cached(statement.sql).map_err(|why| translate(&why))?;
    if prepared.readonly() {
        return Err(StoreError::Misuse(format!("nothing to write in: {}", statement.sql)));
    }
    bind(&mut prepared, statement.sql, &statement.params)?;
    prepared.raw_execute().map(|changed| changed as u64).map_err(|why| translate(&why))
}

/// Runs a read.
pub(super) fn read(
    connection: &Connection,
    sql: &'static str,
    params: &[Value],
) -> Result<Vec<Row>, StoreError> {
    let mut prepared = connection.prepare_cached(sql).map_err(|why| translate(&why))?;
    if !prepared.readonly() {
        return Err(StoreError::Misuse(format!("a fetch would write: {sql}")));
    }
    bind(&mut prepared, sql, params)?;
    let columns: Vec<String> = prepared.column_names().into_iter().map(str::to_owned).collect();
    let origin = Arc::new(Origin { sql, columns });
    let mut answer = Vec::new();
    let mut rows = prepared.raw_query();
    while let Some(row) = rows.next().map_err(|why| translate(&why))? {
        if answer.len() == MAX_ROWS {
            return Err(StoreError::TooManyRows { limit: MAX_ROWS });
        }
        let number = answer.len();
        let values = (0..origin.columns.len()).map(|place| column(row, &origin, number, place));
        let values = values.collect::<Result<_, _>>()?;
        answer.push(Row::new(Arc::clone(&origin), number, values));
    }
    Ok(answer)
}

fn column(
    row: &rusqlite::Row<'_>,
    origin: &Origin,
    number: usize,
    place: usize,
) -> Result<Value, StoreError> {
    let bad = |why: &str| {
        let name = origin.columns.get(place).map_or("?", String::as_str);
        corrupt(origin.sql, format!("#{number}"), name, why.to_owned())
    };
    match row.get_ref(place).map_err(|why| translate(&why))? {
        ValueRef::Null => Ok(Value::Null),
        ValueRef::Integer(n) => Ok(Value::Int(n)),
        ValueRef::Real(_) => Err(bad("a floating point number, which no row of ours has")),
        ValueRef::Text(bytes) => {
            let text = std::str::from_utf8(bytes).map_err(|_| bad("text that is not UTF-8"))?;
            Ok(Value::Text(text.to_owned()))
        }
        ValueRef::Blob(bytes) => Ok(Value::Blob(bytes.to_vec())),
    }
}

/// SQLite takes `$1` as a name and a missing one as NULL, so each is bound by its number and all are counted.
fn bind(prepared: &mut CachedStatement<'_>, sql: &str, params: &[Value]) -> Result<(), StoreError> {
    let count = prepared.parameter_count();
    if count != params.len() {
        return Err(StoreError::Misuse(format!("{count} parameters, {} given, in: {sql}", params.len())));
    }
    for index in 1..=count {
        let number = prepared.parameter_name(index).and_then(|name| name.strip_prefix('$')?.parse().ok());
        let value = number
            .and_then(|number: usize| params.get(number.checked_sub(1)?))
            .ok_or_else(|| StoreError::Misuse(format!("parameters are not $1 to ${count} in: {sql}")))?;
        prepared.raw_bind_parameter(index, Bound(value)).map_err(|why| translate(&why))?;
    }
    Ok(())
}

struct Bound<'a>(&'a Value);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Int(n) => ValueRef::Integer(*n),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
