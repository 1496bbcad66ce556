//! The few connections that wait for the next request.

use crate::connection::Connection;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// How many wait at most.
const MOST: usize = 8;
/// A connection waits for at most this many ticks, 3 s together: shorter than the patience of common servers, so that a
/// request rarely meets a connection on its way out.
const AGE: u8 = 3;
const TICK: Duration = Duration::from_secs(1);
/// A server that so often closed what waited has no patience: with it, each request gets its own connection.
const SURPRISES: u8 = 3;

#[derive(Default)]
pub(crate) struct Keeper(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    idle: Vec<(Connection, u8)>,
    /// Connections of an earlier generation are not kept.
    generation: u64,
    /// Connections that were found closed when they were wanted.
    surprises: u8,
    ageing: bool,
}

impl Keeper {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The generation of a new connection.
    pub(crate) fn generation(&self) -> u64 {
        self.kept().generation
    }

    /// A connection that is open and free.
    pub(crate) async fn take(&self) -> Option<Connection> {
        loop {
            let (mut connection, _) = self.kept().idle.pop()?;
            if connection.is_ready().await {
                return Some(connection);
            }
            let mut kept = self.kept();
            kept.surprises = kept.surprises.saturating_add(1);
        }
    }

    /// Keeps a connection whose last answer was read to the end.
    pub(crate) fn put(self: &Arc<Self>, connection: Connection) {
        let mut kept = self.kept();
        let impatient = kept.surprises >= SURPRISES;
        if impatient || connection.generation != kept.generation || kept.idle.len() >= MOST {
            return;
        }
        kept.idle.push((connection, 0));
        if !std::mem::replace(&mut kept.ageing, true) {
            tokio::spawn(age(Arc::downgrade(self)));
        }
    }

    /// Closes what is kept, and keeps nothing that was opened until now.
    pub(crate) fn forget(&self) {
        let mut kept = self.kept();
        kept.generation += 1;
        kept.idle.clear();
    }
}

/// Closes connections that have waited for long; ends when none is left.
async fn age(keeper: std::sync::Weak<Keeper>) {
    loop {
        tokio::time::sleep(TICK).await;
        let Some(keeper) = keeper.upgrade() else { return };
        let mut kept = keeper.kept();
        kept.idle.retain_mut(|(_, age)| {
            *age += 1;
            *age < AGE
        });
        if kept.idle.is_empty() {
            kept.ageing = false;
            return;
        }
    }
}
