//! Applying migrations to a SQLite file.

use super::{failure::translate, statement};
use crate::{
    Engine, Migration, Schema, SchemaState, Statement, StoreError,
    migration::{Applied, CREATE_TABLE, INSERT, SELECT},
};
use rusqlite::Connection;

pub(super) fn migrate(connection: &Connection, schema: &Schema) -> Result<SchemaState, StoreError> {
    let mut state = SchemaState { number: 0, applied: 0 };
    loop {
        batch(connection, "BEGIN IMMEDIATE")?;
        let step = step(connection, schema).and_then(|step| {
            mate_fault::point!("migrate.before_commit");
            batch(connection, "COMMIT")?;
            mate_fault::point!("migrate.committed");
            Ok(step)
        });
        let (applied, number) = step.inspect_err(|_| {
            if !connection.is_autocommit()
                && let Err(why) = batch(connection, "ROLLBACK")
            {
                tracing::error!(%why, "a migration could not be rolled back");
            }
        })?;
        state.number = number;
        if !applied {
            return Ok(state);
        }
        state.applied += 1;
    }
}

/// Applies the next migration, if there is one; answers whether, and the number that the store is at.
fn step(connection: &Connection, schema: &Schema) -> Result<(bool, u32), StoreError> {
    batch(connection, CREATE_TABLE)?;
    let rows = statement::read(connection, SELECT, &[schema.name.into()])?;
    let applied = rows.iter().map(Applied::decode).collect::<Result<Vec<_>, _>>()?;
    let Some(next) = schema.next(Engine::Sqlite, &applied)? else {
        return Ok((false, applied.last().map_or(0, |row| row.number)));
    };
    apply(connection, schema, next)?;
    Ok((true, next.number))
}

fn apply(connection: &Connection, schema: &Schema, next: &Migration) -> Result<(), StoreError> {
    batch(connection, next.sqlite)?;
    let record = Statement::one(INSERT, next.record(schema, Engine::Sqlite));
    record.judge(0, statement::write(connection, &record)?).map(drop)
}

fn batch(connection: &Connection, sql: &str) -> Result<(), StoreError> {
    connection.execute_batch(sql).map_err(|why| translate(&why))
}
