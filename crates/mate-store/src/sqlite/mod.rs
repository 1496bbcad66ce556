//! The SQLite driver: one file, one writer thread with group commit, and reader threads.

mod failure;
mod file;
mod glance;
mod migrate;
mod reader;
mod settings;
mod statement;
mod writer;

pub use settings::SqliteOptions;

use crate::{
    Database, Doorbell, Engine, Row, Schema, SchemaState, Statement, StoreError, Value,
    bell::{Bells, check_channel},
    port::{check_script, only_count},
    value::check_params,
};
use async_trait::async_trait;
use glance::Glance;
use reader::Readers;
use std::{path::Path, time::Duration};
use tokio::sync::{mpsc, oneshot};
use writer::Writer;

/// How long a call waits for its turn and its answer: longer than the busy timeout of the work itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// The version of the SQLite library that is built in.
///
/// # Errors
/// [`StoreError::Other`] when it is one that can lose commits.
pub fn library() -> Result<&'static str, StoreError> {
    settings::check_library().map(|()| rusqlite::version())
}

/// A SQLite file. Dropping it ends its threads when their queues are empty.
#[derive(Debug)]
pub struct SqliteDatabase {
    writer: Option<Writer>,
    readers: Readers,
    glance: Glance,
    bells: Bells,
}

impl SqliteDatabase {
    /// Opens the file at `path`, made with mode 0600 if it is not there, for reading and writing.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the file or its folder cannot be used, [`StoreError::Damaged`] when it is
    /// not a database, [`StoreError::Other`] when the SQLite library is too old to be trusted.
    pub async fn open(path: &Path, options: SqliteOptions) -> Result<Self, StoreError> {
        let path = path.to_owned();
        blocking(move || {
            file::prepare(&path)?;
            let writer = Writer::start(settings::open_writer(&path, options)?)?;
            let readers = Readers::start(&path, options)?;
            let glance = Glance::open(&path, options)?;
            Ok(Self { writer: Some(writer), readers, glance, bells: Bells::default() })
        })
        .await
    }

    /// Opens the file at `path`, which must be there and have its tables, for reading only: another process writes it.
    ///
    /// # Errors
    /// As [`SqliteDatabase::open`]; [`StoreError::Unavailable`] as well while its writer is still making its tables.
    pub async fn open_to_read(path: &Path, options: SqliteOptions) -> Result<Self, StoreError> {
        let path = path.to_owned();
        blocking(move || {
            settings::check_library()?;
            file::check_file_system(&path)?;
            let glance = Glance::open(&path, options)?;
            glance.check_made(&path)?;
            let readers = Readers::start(&path, options)?;
            Ok(Self { writer: None, readers, glance, bells: Bells::default() })
        })
        .await
    }

    /// Ends the threads, after what is queued, and waits until the file is closed.
    pub async fn close(self) {
        if let Some(writer) = self.writer {
            writer.close().await;
        }
        self.readers.close().await;
        drop(self.glance);
    }

    fn writer(&self) -> Result<&Writer, StoreError> {
        self.writer.as_ref().ok_or_else(|| StoreError::ReadOnly("it was opened to be read".to_owned()))
    }
}

#[async_trait]
impl Database for SqliteDatabase {
    fn engine(&self) -> Engine {
        Engine::Sqlite
    }

    async fn execute(&self, statement: Statement) -> Result<u64, StoreError> {
        only_count(&self.script(vec![statement]).await?)
    }

    async fn fetch(&self, sql: &'static str, params: Vec<Value>) -> Result<Vec<Row>, StoreError> {
        check_params(&params)?;
        self.readers.fetch(sql, params).await
    }

    async fn glance(&self, sql: &'static str, params: Vec<Value>) -> Result<Vec<Row>, StoreError> {
        check_params(&params)?;
        match self.glance.at(sql, &params) {
            Some(answer) => answer,
            None => self.readers.fetch(sql, params).await,
        }
    }

    async fn script(&self, statements: Vec<Statement>) -> Result<Vec<u64>, StoreError> {
        check_script(&statements)?;
        self.writer()?.script(statements).await
    }

    async fn migrate(&self, schema: &Schema) -> Result<SchemaState, StoreError> {
        schema.check()?;
        self.writer()?.migrate(*schema).await
    }

    async fn listen(&self, channel: &str) -> Result<Doorbell, StoreError> {
        check_channel(channel)?;
        Ok(self.bells.listen(channel).0)
    }

    async fn ring(&self, channel: &str) -> Result<(), StoreError> {
        check_channel(channel)?;
        self.bells.ring(channel);
        Ok(())
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|why| Err(StoreError::Other(format!("opening ended early: {why}"))))
}

/// Queues a job and waits for its answer. `writes`: an answer that does not come leaves a write in doubt.
async fn ask<J, T>(
    jobs: &mpsc::Sender<J>,
    job: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> J,
    writes: bool,
) -> Result<T, StoreError> {
    let (reply, answer) = oneshot::channel();
    match tokio::time::timeout(PATIENCE, jobs.send(job(reply))).await {
        Ok(Ok(())) => {}
        Ok(Err(_)) => {
            return Err(StoreError::Unavailable { why: "it is closed".to_owned(), maybe_committed: false });
        }
        Err(_) => return Err(StoreError::Busy("its queue stays full".to_owned())),
    }
    let lost = |why: &str| StoreError::Unavailable { why: why.to_owned(), maybe_committed: writes };
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(lost("its thread ended")),
        Err(_) => Err(lost("it does not answer")),
    }
}
