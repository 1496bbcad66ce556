//! Who needs a worker: sessions with work and nobody alive, and sessions whose worker died.
//!
//! Whether a worker lives is asked of the kernel (the session's lock), never of a record.

use crate::{Engine, EngineError, SessionLock, Undertaker, recover::was_hosted};
use async_trait::async_trait;
use mate_model::{Epoch, SessionId, records::Session};
use std::{collections::HashMap, fs::File, time::Duration};

/// How many sessions are looked at in one query.
const PAGE: u32 = 200;
/// The longest pause before a worker that keeps failing is started again.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Starts session workers.
#[async_trait]
pub trait Launcher: Send + Sync {
    /// Starts a detached worker and hands it the session's lock.
    ///
    /// # Errors
    /// Why it could not be started, in words.
    async fn launch(&self, session: SessionId, epoch: Epoch, lock: File) -> Result<(), String>;
}

/// What a round of looking did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Sessions recovered.
    pub recovered: u64,
    /// Workers started.
    pub launched: u64,
    /// Sessions that could not be handled this time.
    pub failed: u64,
}

/// Looks after sessions. One for each coordinator.
#[derive(Debug, Default)]
pub struct Scheduler {
    pauses: HashMap<SessionId, Pause>,
}

#[derive(Debug)]
struct Pause {
    failures: u32,
    until: i64,
}

impl Scheduler {
    /// Looks once at every session that is unfinished; each is handled by itself, and one that fails is reported
    /// and tried again later.
    ///
    /// # Errors
    /// The ledger's, when it cannot be asked at all.
    pub async fn round(
        &mut self,
        engine: &Engine,
        launcher: &dyn Launcher,
        undertaker: &dyn Undertaker,
    ) -> Result<Round, EngineError> {
        let mut round = Round::default();
        let mut after = None;
        loop {
            let page = engine.ledger.unfinished(after, PAGE).await?;
            for corrupt in &page.corrupt {
                round.failed += 1;
                tracing::error!(%corrupt, "a session cannot be read; the others go on");
            }
            for session in &page.items {
                self.one(engine, session, launcher, undertaker, &mut round).await;
            }
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        Ok(round)
    }

    async fn one(
        &mut self,
        engine: &Engine,
        session: &Session,
        launcher: &dyn Launcher,
        undertaker: &dyn Undertaker,
        round: &mut Round,
    ) {
        let now = engine.clock.monotonic();
        if self.pauses.get(&session.id).is_some_and(|pause| now < pause.until) {
            return;
        }
        match look_after(engine, session, launcher, undertaker).await {
            Ok(done) => {
                round.recovered += done.recovered;
                round.launched += done.launched;
                // A worker that was just started proves nothing yet; one found alive does.
                if done == Round::default() {
                    self.pauses.remove(&session.id);
                } else if done.launched > 0 {
                    self.pause(session.id, now);
                }
            }
            Err(error) => {
                round.failed += 1;
                self.pause(session.id, now);
                tracing::error!(session = %session.id, %error, "the session could not be looked after; it is tried again");
            }
        }
    }

    fn pause(&mut self, session: SessionId, now: i64) {
        let pause = self.pauses.entry(session).or_insert(Pause { failures: 0, until: 0 });
        let wait = Duration::from_millis(250u64 << pause.failures.min(8)).min(LONGEST_PAUSE);
        pause.failures += 1;
        pause.until = now.saturating_add(i64::try_from(wait.as_micros()).unwrap_or(i64::MAX));
    }
}

impl Engine {
    /// Whether a worker has something to do in the session.
    ///
    /// # Errors
    /// The ledger's.
    pub async fn has_work(&self, session: SessionId) -> Result<bool, EngineError> {
        Ok(self.ledger.running(session).await?.is_some()
            || self.ledger.next_accepted(session).await?.is_some())
    }
}

async fn look_after(
    engine: &Engine,
    session: &Session,
    launcher: &dyn Launcher,
    undertaker: &dyn Undertaker,
) -> Result<Round, EngineError> {
    let folder = engine.home.session(session.id);
    let broken =
        |error: std::io::Error| EngineError::Unavailable(format!("{}: {error}", folder.lock().display()));
    if !folder.path().exists() {
        // A worker of the lost folder, if one lives, has an older epoch: it can admit and conclude nothing.
        tracing::error!(session = %session.id, "the session's folder is gone; what it held is lost");
        engine.home.create_session(session.id).map_err(broken)?;
    }
    let Some(lock) = SessionLock::try_take(&folder).map_err(broken)? else { return Ok(Round::default()) };
    let mut round = Round::default();
    // Read again under the lock: the worker may have given the session back a moment ago.
    let session = engine.ledger.session(session.id).await?.ok_or(EngineError::NotFound)?;
    if was_hosted(&session) {
        let recovered = engine.recover(&session, &lock, undertaker).await?;
        tracing::info!(session = %session.id, ?recovered, "a session whose worker had ended was recovered");
        round.recovered = 1;
    }
    if engine.has_work(session.id).await? {
        let epoch = engine.host(session.id, &lock).await?;
        launcher.launch(session.id, epoch, lock.into_file()).await.map_err(EngineError::Unavailable)?;
        round.launched = 1;
    }
    Ok(round)
}
