//! Scripts: one transaction, its statements sent together, its guards judged before the commit.

use super::{
    PATIENCE, connect,
    failure::{is_conflict, translate, translate_commit},
    pipeline::{Request, in_order},
    query::prepare,
};
use crate::{Expect, Statement, StoreError};
use deadpool_postgres::{Object, Pool};
use std::time::Duration;

/// How often a script is run when others keep getting in its way.
const ATTEMPTS: u32 = 6;
/// The wait after the first conflict; each further one waits twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(5);

/// How one attempt went wrong.
enum Failure {
    /// The server rolled it back because of others: run it again.
    Conflict(StoreError),
    /// Anything else.
    Final(StoreError),
}

pub(super) async fn run(pool: &Pool, statements: &[Statement]) -> Result<Vec<u64>, StoreError> {
    let mut wait = FIRST_WAIT;
    let mut last = StoreError::Busy("others keep getting in the way".to_owned());
    for _ in 0..ATTEMPTS {
        let connection = connect::take(pool).await?;
        let tried = tokio::time::timeout(PATIENCE, attempt(&connection, statements)).await;
        match tried {
            Ok(Ok(counts)) => return Ok(counts),
            Ok(Err(Failure::Final(error))) => {
                settle(connection).await;
                return Err(error);
            }
            Ok(Err(Failure::Conflict(error))) => {
                settle(connection).await;
                last = error;
            }
            Err(_) => {
                // The connection may be in the middle of anything: it ends here.
                drop(Object::take(connection));
                return Err(StoreError::Unavailable {
                    why: "it does not answer".to_owned(),
                    maybe_committed: true,
                });
            }
        }
        tokio::time::sleep(wait).await;
        wait *= 2;
    }
    Err(last)
}

async fn attempt(client: &Object, statements: &[Statement]) -> Result<Vec<u64>, Failure> {
    let mut prepared = Vec::with_capacity(statements.len());
    for one in statements {
        let write = prepare(client, one.sql, &one.params).await.map_err(Failure::Final)?;
        if !write.columns().is_empty() {
            return Err(Failure::Final(StoreError::Misuse(format!(
                "a write that answers rows: {}",
                one.sql
            ))));
        }
        prepared.push(write);
    }
    // Without guards nothing is to be judged, and the commit goes out with the rest: after a failed statement it
    // rolls back by itself.
    let unguarded = statements.iter().all(|one| one.expect == Expect::Any);
    let mut requests: Vec<Request<'_, Result<u64, tokio_postgres::Error>>> = Vec::new();
    requests.push(Box::pin(control(client, "BEGIN READ WRITE")));
    for (one, prepared) in statements.iter().zip(&prepared) {
        requests.push(Box::pin(client.execute_raw(prepared, &one.params)));
    }
    if unguarded {
        requests.push(Box::pin(control(client, "COMMIT")));
    }
    let answers = in_order(requests).await;
    let mut counts = Vec::with_capacity(statements.len());
    for (place, answer) in answers.iter().take(statements.len() + 1).enumerate() {
        let changed = answer.as_ref().map_err(|why| failed(why, unguarded))?;
        if let Some(index) = place.checked_sub(1)
            && let Some(one) = statements.get(index)
        {
            counts.push(one.judge(index, *changed).map_err(Failure::Final)?);
        }
    }
    let committed = match answers.get(statements.len() + 1) {
        Some(Ok(_)) => Ok(()),
        Some(Err(why)) => Err(commit_failed(why)),
        None => {
            mate_fault::point_async!("postgres.before_commit");
            control(client, "COMMIT").await.map(drop).map_err(|why| commit_failed(&why))
        }
    };
    mate_fault::point_async!("postgres.committed");
    committed.map(|()| counts)
}

async fn control(client: &Object, sql: &str) -> Result<u64, tokio_postgres::Error> {
    client.batch_execute(sql).await.map(|()| 0)
}

/// A statement failed. When the commit was sent behind it and the server went silent, it may have been reached.
fn failed(why: &tokio_postgres::Error, commit_sent: bool) -> Failure {
    let mut error = translate(why);
    if is_conflict(why) {
        return Failure::Conflict(error);
    }
    if commit_sent
        && why.as_db_error().is_none()
        && let StoreError::Unavailable { maybe_committed, .. } = &mut error
    {
        *maybe_committed = true;
    }
    Failure::Final(error)
}

fn commit_failed(why: &tokio_postgres::Error) -> Failure {
    let error = translate_commit(why);
    if is_conflict(why) { Failure::Conflict(error) } else { Failure::Final(error) }
}

/// Gives the connection back to the pool outside of any transaction, or ends it.
pub(super) async fn settle(connection: Object) {
    if connection.is_closed() {
        return;
    }
    let rolled_back = tokio::time::timeout(PATIENCE, connection.batch_execute("ROLLBACK")).await;
    if !matches!(rolled_back, Ok(Ok(()))) {
        drop(Object::take(connection));
    }
}
