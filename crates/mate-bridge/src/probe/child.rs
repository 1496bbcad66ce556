//! Watches the start and the end of an upstream's program.

use crate::config::{Child, Spawner, StdioSpec};
use async_trait::async_trait;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::watch;

/// A spawner that remembers why nothing was started, and how it ended.
pub(super) struct Watched {
    spawner: Arc<dyn Spawner>,
    refused: Mutex<Option<String>>,
    ended: watch::Sender<Option<String>>,
    started: Mutex<bool>,
}

impl Watched {
    pub(super) fn over(spawner: Arc<dyn Spawner>) -> Self {
        Self {
            spawner,
            refused: Mutex::default(),
            ended: watch::Sender::new(None),
            started: Mutex::default(),
        }
    }

    /// Why it was not started.
    pub(super) fn refused(&self) -> Option<String> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How it ended by itself, as far as that is known by now.
    pub(super) fn ended(&self) -> Option<String> {
        self.ended.borrow().clone()
    }

    /// Waits, bounded, for the end of a program that was started.
    pub(super) async fn settle(&self, bound: Duration) {
        if *self.started.lock().unwrap_or_else(PoisonError::into_inner) {
            let mut ended = self.ended.subscribe();
            tokio::time::timeout(bound, ended.wait_for(Option::is_some)).await.ok();
        }
    }
}

#[async_trait]
impl Spawner for Watched {
    async fn spawn(&self, connection: &str, spec: &StdioSpec) -> Result<Child, String> {
        let spawned = self.spawner.spawn(connection, spec).await;
        let child = spawned.inspect_err(|why| {
            *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.clone());
        })?;
        *self.started.lock().unwrap_or_else(PoisonError::into_inner) = true;
        let Child { stdin, stdout, stderr, exit, end } = child;
        // Both the link and whoever explains want to know; the link lets go of its own when the output closes.
        let ended = self.ended.clone();
        let mut told = ended.subscribe();
        tokio::spawn(async move {
            let how = exit.await;
            ended.send_replace(Some(how));
        });
        let exit = Box::pin(async move {
            let how = told.wait_for(Option::is_some).await.ok().and_then(|how| how.clone());
            how.unwrap_or_default()
        });
        Ok(Child { stdin, stdout, stderr, exit, end })
    }
}
