//! Preparing statements, and reading.

use super::{failure::translate, value::is_known};
use crate::{
    MAX_ROWS, Row, StoreError, Value,
    row::{Origin, corrupt},
};
use deadpool_postgres::Object;
use futures_util::TryStreamExt;
use std::sync::Arc;

/// The prepared statement, from the connection's cache when it has it; checks the number of parameters.
pub(super) async fn prepare(
    client: &Object,
    sql: &str,
    params: &[Value],
) -> Result<tokio_postgres::Statement, StoreError> {
    let prepared = client.prepare_cached(sql).await.map_err(|why| translate(&why))?;
    let count = prepared.params().len();
    if count != params.len() {
        return Err(StoreError::Misuse(format!("{count} parameters, {} given, in: {sql}", params.len())));
    }
    Ok(prepared)
}

pub(super) async fn fetch(
    client: &Object,
    sql: &'static str,
    params: &[Value],
) -> Result<Vec<Row>, StoreError> {
    let prepared = prepare(client, sql, params).await?;
    for column in prepared.columns() {
        if !is_known(column.type_()) {
            let (name, ty) = (column.name(), column.type_());
            return Err(StoreError::Misuse(format!(
                "column `{name}` is {ty}: cast it to BIGINT or TEXT in: {sql}"
            )));
        }
    }
    let columns = prepared.columns().iter().map(|column| column.name().to_owned()).collect();
    let origin = Arc::new(Origin { sql, columns });
    let stream = client.query_raw(&prepared, params).await.map_err(|why| read_failure(&why))?;
    futures_util::pin_mut!(stream);
    let mut answer = Vec::new();
    while let Some(row) = stream.try_next().await.map_err(|why| read_failure(&why))? {
        if answer.len() == MAX_ROWS {
            return Err(StoreError::TooManyRows { limit: MAX_ROWS });
        }
        answer.push(decode(&row, &origin, answer.len())?);
    }
    Ok(answer)
}

fn decode(row: &tokio_postgres::Row, origin: &Arc<Origin>, number: usize) -> Result<Row, StoreError> {
    let values = origin.columns.iter().enumerate().map(|(place, name)| {
        row.try_get::<_, Value>(place)
            .map_err(|why| corrupt(origin.sql, format!("#{number}"), name, why.to_string()))
    });
    Ok(Row::new(Arc::clone(origin), number, values.collect::<Result<_, _>>()?))
}

fn read_failure(error: &tokio_postgres::Error) -> StoreError {
    let error = translate(error);
    if let StoreError::ReadOnly(why) = &error {
        return StoreError::Misuse(format!("a fetch would write: {why}"));
    }
    error
}
