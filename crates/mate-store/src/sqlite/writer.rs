//! The thread that writes: scripts that wait together are committed together.

use super::{
    ask,
    failure::{translate, translate_commit},
    migrate, statement,
};
use crate::{Schema, SchemaState, Statement, StoreError};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

/// Scripts that may wait.
const QUEUE: usize = 1024;

/// Scripts that are committed together at most.
const BATCH: usize = 64;

/// Commits between two looks at the size of the log.
const COMMITS_PER_LOOK: u32 = 64;

/// Pages in the log, not yet in the file, from which on they are copied there (4 MiB).
const PAGES_TO_COPY: i64 = 1000;

type Counts = Result<Vec<u64>, StoreError>;

struct Script {
    statements: Vec<Statement>,
    reply: oneshot::Sender<Counts>,
}

enum Job {
    Script(Script),
    Migrate(Schema, oneshot::Sender<Result<SchemaState, StoreError>>),
    Close(oneshot::Sender<Result<(), StoreError>>),
}

#[derive(Debug)]
pub(super) struct Writer {
    jobs: mpsc::Sender<Job>,
}

impl Writer {
    pub(super) fn start(connection: Connection) -> Result<Self, StoreError> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        spawn("store-write", move || serve(connection, queue))?;
        Ok(Self { jobs })
    }

    pub(super) async fn script(&self, statements: Vec<Statement>) -> Counts {
        ask(&self.jobs, |reply| Job::Script(Script { statements, reply }), true).await
    }

    pub(super) async fn migrate(&self, schema: Schema) -> Result<SchemaState, StoreError> {
        ask(&self.jobs, |reply| Job::Migrate(schema, reply), true).await
    }

    pub(super) async fn close(self) {
        // A thread that has ended already is closed as well.
        let _ = ask(&self.jobs, Job::Close, false).await;
    }
}

pub(super) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), StoreError> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(512 * 1024)
        .spawn(body)
        .map(drop)
        .map_err(|why| StoreError::Unavailable { why: format!("no thread: {why}"), maybe_committed: false })
}

fn serve(connection: Connection, mut queue: mpsc::Receiver<Job>) {
    let mut commits = 0;
    let mut held = None;
    while let Some(job) = held.take().or_else(|| queue.blocking_recv()) {
        match job {
            Job::Script(first) => {
                let mut batch = vec![first];
                while batch.len() < BATCH
                    && held.is_none()
                    && let Ok(job) = queue.try_recv()
                {
                    match job {
                        Job::Script(script) => batch.push(script),
                        other @ (Job::Migrate(..) | Job::Close(_)) => held = Some(other),
                    }
                }
                commit(&connection, batch);
                commits += 1;
                if commits >= COMMITS_PER_LOOK {
                    commits = 0;
                    copy_log(&connection);
                }
            }
            // Callers that have gone need no answer.
            Job::Migrate(schema, reply) => drop(reply.send(migrate::migrate(&connection, &schema))),
            Job::Close(reply) => {
                drop(connection);
                let _ = reply.send(Ok(()));
                return;
            }
        }
    }
}

/// Commits a batch and answers each of its scripts, after the commit.
fn commit(connection: &Connection, batch: Vec<Script>) {
    let answers = match batch.as_slice() {
        [only] => vec![alone(connection, &only.statements)],
        several => together(connection, several),
    };
    for (script, answer) in batch.into_iter().zip(answers) {
        // A caller that has gone needs no answer.
        let _ = script.reply.send(answer);
    }
}

/// One script in a transaction of its own.
fn alone(connection: &Connection, statements: &[Statement]) -> Counts {
    control(connection, "BEGIN IMMEDIATE")?;
    let counts = run(connection, statements).inspect_err(|_| roll_back(connection))?;
    finish(connection)?;
    Ok(counts)
}

/// Several scripts in one transaction, each behind a savepoint, so that one that fails spoils no other.
fn together(connection: &Connection, batch: &[Script]) -> Vec<Counts> {
    if let Err(error) = control(connection, "BEGIN IMMEDIATE") {
        return vec![Err(error); batch.len()];
    }
    let mut answers = Vec::with_capacity(batch.len());
    for script in batch {
        match behind_savepoint(connection, &script.statements) {
            Ok(answer) => answers.push(answer),
            // The transaction is gone, with all that was in it.
            Err(_) => return one_by_one(connection, batch),
        }
    }
    match finish(connection) {
        Ok(()) => answers,
        Err(error) if error.maybe_committed() => vec![Err(error); batch.len()],
        Err(_) => one_by_one(connection, batch),
    }
}

/// After a common transaction that certainly was not committed.
fn one_by_one(connection: &Connection, batch: &[Script]) -> Vec<Counts> {
    roll_back(connection);
    batch.iter().map(|script| alone(connection, &script.statements)).collect()
}

/// The outer error means that the whole transaction is lost.
fn behind_savepoint(connection: &Connection, statements: &[Statement]) -> Result<Counts, StoreError> {
    control(connection, "SAVEPOINT script")?;
    let answer = run(connection, statements);
    match &answer {
        Err(error) if connection.is_autocommit() => return Err(error.clone()),
        Err(_) => control(connection, "ROLLBACK TO script")?,
        Ok(_) => {}
    }
    control(connection, "RELEASE script")?;
    Ok(answer)
}

fn run(connection: &Connection, statements: &[Statement]) -> Counts {
    let each = statements.iter().enumerate();
    each.map(|(index, one)| one.judge(index, statement::write(connection, one)?)).collect()
}

fn control(connection: &Connection, sql: &'static str) -> Result<(), StoreError> {
    let mut prepared = connection.prepare_cached(sql).map_err(|why| translate(&why))?;
    prepared.raw_execute().map(drop).map_err(|why| translate(&why))
}

fn finish(connection: &Connection) -> Result<(), StoreError> {
    mate_fault::point!("sqlite.before_commit");
    let mut prepared = connection.prepare_cached("COMMIT").map_err(|why| translate(&why))?;
    let done = prepared.raw_execute().map(drop).map_err(|why| translate_commit(&why));
    drop(prepared);
    mate_fault::point!("sqlite.committed");
    done.inspect_err(|_| roll_back(connection))
}

fn roll_back(connection: &Connection) {
    if !connection.is_autocommit()
        && let Err(why) = control(connection, "ROLLBACK")
    {
        tracing::error!(%why, "a transaction could not be rolled back");
    }
}

/// Copies the log into the file when it is long. Callers have their answers by then.
fn copy_log(connection: &Connection) {
    let ask = |mode: &str| {
        let sql = format!("PRAGMA wal_checkpoint({mode})");
        connection.query_row(&sql, [], |row| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)))
    };
    let copied =
        ask("NOOP").and_then(
            |(pages, copied)| {
                if pages - copied >= PAGES_TO_COPY { ask("PASSIVE").map(drop) } else { Ok(()) }
            },
        );
    if let Err(why) = copied {
        // The log stays and grows; the next look tries again.
        tracing::warn!(%why, "the log could not be copied into the file");
    }
}
