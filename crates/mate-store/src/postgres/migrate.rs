//! Applying migrations to a PostgreSQL database.

use super::{
    connect,
    failure::{is_made_already, translate, translate_commit},
    query, script,
};
use crate::{
    Engine, Schema, SchemaState, StoreError,
    migration::{Applied, CREATE_TABLE, INSERT, SELECT},
};
use deadpool_postgres::{Object, Pool};

/// How often the table of migrations is tried to be made while others make it as well.
const ATTEMPTS: u32 = 5;

/// A migration may take long, and many may wait for it.
const BEGIN: &str =
    "BEGIN READ WRITE; SET LOCAL statement_timeout = '15min'; SET LOCAL lock_timeout = '5min';
    LOCK TABLE schema_migrations IN SHARE ROW EXCLUSIVE MODE";

pub(super) async fn run(pool: &Pool, schema: &Schema) -> Result<SchemaState, StoreError> {
    let connection = connect::take(pool).await?;
    let done = migrate(&connection, schema).await;
    if done.is_err() {
        script::settle(connection).await;
    }
    done
}

async fn migrate(client: &Object, schema: &Schema) -> Result<SchemaState, StoreError> {
    make_table(client).await?;
    let mut applied = 0;
    loop {
        batch(client, BEGIN).await?;
        let (more, number) = step(client, schema).await?;
        mate_fault::point_async!("migrate.before_commit");
        client.batch_execute("COMMIT").await.map_err(|why| translate_commit(&why))?;
        mate_fault::point_async!("migrate.committed");
        if !more {
            return Ok(SchemaState { number, applied });
        }
        applied += 1;
    }
}

/// Applies the next migration, if there is one; answers whether, and the number that the store is at.
async fn step(client: &Object, schema: &Schema) -> Result<(bool, u32), StoreError> {
    let rows = query::fetch(client, SELECT, &[schema.name.into()]).await?;
    let applied = rows.iter().map(Applied::decode).collect::<Result<Vec<_>, _>>()?;
    let Some(next) = schema.next(Engine::Postgres, &applied)? else {
        return Ok((false, applied.last().map_or(0, |row| row.number)));
    };
    batch(client, next.postgres).await?;
    let params = next.record(schema, Engine::Postgres);
    let record = query::prepare(client, INSERT, &params).await?;
    client.execute_raw(&record, &params).await.map_err(|why| translate(&why))?;
    Ok((true, next.number))
}

async fn make_table(client: &Object) -> Result<(), StoreError> {
    for _ in 0..ATTEMPTS {
        let there = "SELECT to_regclass('schema_migrations') IS NOT NULL AS there";
        let rows = query::fetch(client, there, &[]).await?;
        if rows.first().map(|row| row.flag("there")).transpose()? == Some(true) {
            return Ok(());
        }
        batch(client, "BEGIN READ WRITE").await?;
        match client.batch_execute(CREATE_TABLE).await {
            Ok(()) => match client.batch_execute("COMMIT").await {
                Ok(()) => {
                    mate_fault::point_async!("migrate.table_made");
                    return Ok(());
                }
                Err(why) if is_made_already(&why) => {}
                Err(why) => return Err(translate_commit(&why)),
            },
            Err(why) if is_made_already(&why) => batch(client, "ROLLBACK").await?,
            Err(why) => return Err(translate(&why)),
        }
    }
    Err(StoreError::Busy("others keep making the table of migrations".to_owned()))
}

async fn batch(client: &Object, sql: &str) -> Result<(), StoreError> {
    client.batch_execute(sql).await.map_err(|why| translate(&why))
}
