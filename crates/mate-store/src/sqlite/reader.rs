//! The threads that read.

use super::{ask, settings, statement};
use crate::{Row, StoreError, Value, sqlite::SqliteOptions};
use std::{
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};
use tokio::sync::{mpsc, oneshot};

/// Reads that may wait for one thread.
const QUEUE: usize = 256;

enum Job {
    Fetch(&'static str, Vec<Value>, oneshot::Sender<Result<Vec<Row>, StoreError>>),
    Close(oneshot::Sender<Result<(), StoreError>>),
}

#[derive(Debug)]
pub(super) struct Readers {
    threads: Vec<mpsc::Sender<Job>>,
    next: AtomicUsize,
}

impl Readers {
    pub(super) fn start(path: &Path, options: SqliteOptions) -> Result<Self, StoreError> {
        let threads = (0..options.readers.max(1)).map(|_| start_one(path, options));
        Ok(Self { threads: threads.collect::<Result<_, _>>()?, next: AtomicUsize::new(0) })
    }

    pub(super) async fn fetch(&self, sql: &'static str, params: Vec<Value>) -> Result<Vec<Row>, StoreError> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.threads.len().max(1);
        let Some(thread) = self.threads.get(turn) else {
            return Err(StoreError::Other("no thread to read with".to_owned()));
        };
        ask(thread, |reply| Job::Fetch(sql, params, reply), false).await
    }

    /// Waits until every connection is closed.
    pub(super) async fn close(mut self) {
        for thread in self.threads.drain(..) {
            // A thread that has ended already is closed as well.
            let _ = ask(&thread, Job::Close, false).await;
        }
    }
}

fn start_one(path: &Path, options: SqliteOptions) -> Result<mpsc::Sender<Job>, StoreError> {
    let connection = settings::open_reader(path, options)?;
    let (jobs, mut queue) = mpsc::channel::<Job>(QUEUE);
    let body = move || {
        // Callers that have gone need no answer.
        while let Some(job) = queue.blocking_recv() {
            match job {
                Job::Fetch(_, _, reply) if reply.is_closed() => {}
                Job::Fetch(sql, params, reply) => {
                    drop(reply.send(statement::read(&connection, sql, &params)))
                }
                Job::Close(reply) => {
                    drop(connection);
                    let _ = reply.send(Ok(()));
                    return;
                }
            }
        }
    };
    super::writer::spawn("store-read", body)?;
    Ok(jobs)
}
