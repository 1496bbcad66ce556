//! The feeds that somebody follows, and their readers.

use super::{feed::Feed, log::Log};
use mate_engine::{Engine, EngineError};
use mate_store::{Doorbell, ledger::LEDGER_BELL};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

/// What all feeds together may keep of news; bytes.
const ROOM: usize = 16 << 20;
/// What one may; bytes.
const SHARE: usize = 1 << 20;
/// Events that a reader takes at a time.
const STEP: u32 = 100;

/// The longest that an event waits to be seen: in a log that was silent lately, and in one that was not. Journals are
/// written by other processes, whose bells are not heard everywhere.
const QUIET: Duration = Duration::from_millis(250);
const BUSY: Duration = Duration::from_millis(50);
/// How long a log counts as busy after its last event, in looks.
const BUSY_LOOKS: u32 = 100;
/// The longest that news is gathered before many followers are woken.
const GATHER: Duration = Duration::from_millis(50);
/// By how much each follower lengthens it.
const EACH: Duration = Duration::from_micros(50);
/// Failures in a row after which followers are told.
const PATIENCE: u32 = 4;
/// Streams that read the store at the same time, for what is not among the news.
const READS: usize = 4;

/// The feeds, each with its reader for as long as somebody follows it.
#[derive(Debug)]
pub(crate) struct Feeds {
    open: Mutex<HashMap<Log, Weak<Feed>>>,
    count: Arc<AtomicUsize>,
    pub(super) reads: Semaphore,
}

impl Default for Feeds {
    fn default() -> Self {
        Self { open: Mutex::default(), count: Arc::default(), reads: Semaphore::new(READS) }
    }
}

impl Feeds {
    /// The feed of a log, whose news wake `follower`.
    pub(super) fn follow(
        &self,
        log: Log,
        follower: &Arc<Notify>,
        engine: &Arc<Engine>,
        shutdown: &CancellationToken,
    ) -> Arc<Feed> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let feed = open.get(&log).and_then(Weak::upgrade).unwrap_or_else(|| {
            open.retain(|_, feed| feed.strong_count() > 0);
            let feed = Arc::new(Feed::new(log));
            open.insert(log, Arc::downgrade(&feed));
            self.count.store(open.len(), Ordering::Relaxed);
            let reader = Reader {
                feed: Arc::downgrade(&feed),
                engine: Arc::clone(engine),
                count: Arc::clone(&self.count),
                begun: false,
                failures: 0,
                silent: 0,
            };
            let shutdown = shutdown.clone();
            tokio::spawn(async move {
                tokio::select! { () = reader.run() => {}, () = shutdown.cancelled() => {} }
            });
            feed
        });
        feed.follow(follower);
        feed
    }
}

/// Reads one log until nobody follows it any more.
struct Reader {
    feed: Weak<Feed>,
    engine: Arc<Engine>,
    count: Arc<AtomicUsize>,
    begun: bool,
    failures: u32,
    /// Looks without news.
    silent: u32,
}

impl Reader {
    async fn run(mut self) {
        let mut bell = self.engine.ledger.database().listen(LEDGER_BELL).await.ok();
        while let Some(feed) = self.feed.upgrade() {
            let more = match self.look(&feed).await {
                Ok(more) => {
                    self.failures = 0;
                    more
                }
                Err(error) => {
                    self.failures += 1;
                    if self.failures == PATIENCE {
                        tracing::warn!(%error, "a log that is followed cannot be read; trying again");
                    }
                    if self.failures >= PATIENCE {
                        feed.fails();
                    }
                    false
                }
            };
            let followers = feed.stands().1;
            drop(feed);
            if !more {
                self.pause(&mut bell, followers).await;
            }
        }
    }

    /// Takes in what is new; whether there is more.
    async fn look(&mut self, feed: &Feed) -> Result<bool, EngineError> {
        if !self.begun {
            let head = feed.log.head(&self.engine).await?;
            feed.begin(head, self.engine.ledger.authorisation_version().await?);
            self.begun = true;
        }
        let part = feed.log.read(&self.engine, feed.stands().0, STEP).await?;
        // After the events, so that no event is older than it.
        let version = self.engine.ledger.authorisation_version().await?;
        self.silent = if part.events.is_empty() { self.silent.saturating_add(1) } else { 0 };
        let (more, others) = (part.more, self.count.load(Ordering::Relaxed).max(1));
        feed.publish(part, version, (ROOM / others).min(SHARE));
        Ok(more)
    }

    /// Lets some news gather, then waits for more.
    async fn pause(&self, bell: &mut Option<Doorbell>, followers: usize) {
        let gather = EACH.saturating_mul(u32::try_from(followers).unwrap_or(u32::MAX)).min(GATHER);
        tokio::time::sleep(gather).await;
        let wait = if self.silent < BUSY_LOOKS { BUSY } else { QUIET };
        match bell {
            Some(bell) => {
                bell.wait(wait.saturating_sub(gather)).await;
            }
            None => tokio::time::sleep(wait.saturating_sub(gather)).await,
        }
    }
}
