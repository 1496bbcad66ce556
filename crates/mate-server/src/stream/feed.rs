//! One log, read once for all who follow it.
//!
//! A feed's reader looks for news and keeps the newest of it, within a bound. Who has heard all but the news takes it from
//! there; who is further behind reads the store, page by page, and shares those pages with whoever is at the same place.
//! Followers have a position and no queue.

use super::{
    log::{Log, Part},
    told::Told,
};
use mate_engine::{Engine, EngineError};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use tokio::sync::Notify;

/// The most events that are kept of the news.
const MOST: usize = 1_024;

/// The most pages that are kept of what lies further back, and the most that one of them takes; bytes.
const PAGES: usize = 4;
const PAGE: usize = 256 << 10;

/// A log, and what is known of its end.
#[derive(Debug)]
pub(super) struct Feed {
    pub(super) log: Log,
    end: Mutex<End>,
    pages: tokio::sync::Mutex<VecDeque<Page>>,
}

/// The newest part of a log.
#[derive(Debug, Default)]
struct End {
    events: VecDeque<Arc<Told>>,
    /// What they take; bytes.
    size: usize,
    /// Every event after this number, up to `through`, is kept.
    base: i64,
    through: i64,
    /// The authorisation version, as it was found after the last look.
    version: i64,
    /// The reader has looked, and could the last time.
    reads: bool,
    followers: Vec<Weak<Notify>>,
}

/// A part of the log that was read from the store.
#[derive(Debug)]
struct Page {
    after: i64,
    part: Part,
}

impl Page {
    /// What it has after number `after`, `limit` events at most; none where that is not in it.
    fn beyond(&self, after: i64, limit: u32) -> Option<Part> {
        let last = self.part.events.last()?.seq;
        if after < self.after || after >= last {
            return None;
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let first = self.part.events.partition_point(|told| told.seq <= after);
        let events: Vec<_> = self.part.events.iter().skip(first).take(limit).cloned().collect();
        let through = events.last()?.seq;
        // Only pages with more behind them are kept.
        Some(Part { events, more: true, through })
    }
}

/// What a follower gets, and how new it is.
pub(super) struct Heard {
    pub(super) part: Part,
    /// The authorisation version after it was read; none where the store was read.
    pub(super) version: Option<i64>,
}

impl Feed {
    pub(super) fn new(log: Log) -> Self {
        Self { log, end: Mutex::default(), pages: tokio::sync::Mutex::default() }
    }

    /// Wakes `follower` at news, until it is dropped.
    pub(super) fn follow(&self, follower: &Arc<Notify>) {
        self.end().followers.push(Arc::downgrade(follower));
    }

    /// What comes after number `after`, `limit` events at most, if it is among the news.
    pub(super) fn at_hand(&self, after: i64, limit: u32) -> Option<Heard> {
        let end = self.end();
        (end.reads && after >= end.base).then(|| end.heard(after, limit))
    }

    /// The same from the store, or of what others read there a moment ago. `now`: as it stands at this moment.
    pub(super) async fn stored(
        &self,
        engine: &Engine,
        after: i64,
        limit: u32,
        now: bool,
    ) -> Result<Heard, EngineError> {
        // Up to here the log has said all that it will say.
        let known = self.end().through;
        let mut pages = self.pages.lock().await;
        let kept = pages.iter().find_map(|page| page.beyond(after, limit));
        if let Some(part) = kept.filter(|_| !now) {
            return Ok(Heard { part, version: None });
        }
        let mut part = self.log.read(engine, after, limit).await?;
        // One at the end may be half of what will be there.
        if !part.more {
            part.through = part.through.max(known);
        } else if part.events.iter().map(|told| told.size()).sum::<usize>() <= PAGE {
            pages.push_back(Page { after, part: part.clone() });
            if pages.len() > PAGES {
                pages.pop_front();
            }
        }
        Ok(Heard { part, version: None })
    }

    /// Begins at the log's end.
    pub(super) fn begin(&self, head: i64, version: i64) {
        let mut end = self.end();
        (end.base, end.through, end.version, end.reads) = (head, head, version, true);
    }

    /// Takes news in, keeps `room` bytes of it at most, and wakes the followers where there is something to hear.
    pub(super) fn publish(&self, part: Part, version: i64, room: usize) {
        let mut end = self.end();
        let changed = !part.events.is_empty() || version != end.version || !end.reads;
        (end.through, end.version, end.reads) = (part.through, version, true);
        for told in part.events {
            end.size += told.size();
            end.events.push_back(told);
        }
        while end.events.len() > MOST || end.size > room {
            let Some(oldest) = end.events.pop_front() else { break };
            end.size -= oldest.size();
            end.base = oldest.seq;
        }
        if changed {
            end.wake();
        }
    }

    /// The reader cannot read: followers ask the store themselves, and hear what is wrong.
    pub(super) fn fails(&self) {
        let mut end = self.end();
        end.reads = false;
        end.wake();
    }

    /// Where the reader goes on, and how many follow.
    pub(super) fn stands(&self) -> (i64, usize) {
        let mut end = self.end();
        end.followers.retain(|follower| follower.strong_count() > 0);
        (end.through, end.followers.len())
    }

    fn end(&self) -> MutexGuard<'_, End> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl End {
    fn heard(&self, after: i64, limit: u32) -> Heard {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let first = self.events.partition_point(|told| told.seq <= after);
        let events: Vec<_> = self.events.iter().skip(first).take(limit).cloned().collect();
        let more = self.events.len() > first + events.len();
        let last = events.last().map_or(after, |told| told.seq);
        let through = if more { last } else { self.through.max(after) };
        Heard { part: Part { events, more, through }, version: Some(self.version) }
    }

    fn wake(&mut self) {
        self.followers.retain(|follower| match follower.upgrade() {
            Some(follower) => {
                follower.notify_one();
                true
            }
            None => false,
        });
    }
}
