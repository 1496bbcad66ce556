//! Who needs a worker: sessions with work and nobody alive, and sessions whose worker died.
//!
//! Whether a worker lives is asked of the kernel (the session's lock), never of a record.

use crate::{Engine, EngineError, SessionLock, Undertaker, recover::was_hosted};
use async_trait::async_trait;
use mate_model::{
    Epoch, SessionId, TaskId,
    records::{Session, Task},
};
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fs::File,
    sync::Arc,
    time::Duration,
};
use tokio::task::{JoinError, JoinSet};

/// How many sessions are looked at in one query.
const PAGE: u32 = 200;
/// How many workers in a row may end without any progress, before the task that they were started for fails.
const TRIES: u32 = 5;
/// How many sessions are looked after at once, so that one that is stuck does not hold the others.
const AT_ONCE: usize = 32;
/// How long a round waits for room, when so many are looked after, before it leaves the rest to the next one.
const ROOM: Duration = Duration::from_millis(500);
/// How long the end of the coordinator waits for what is under way.
const FAREWELL: Duration = Duration::from_secs(5);
/// How long one session may take; it is tried again then.
const BOUND: Duration = Duration::from_secs(90);
/// How long a pause is remembered after its end, in microseconds.
const KEPT: i64 = 300 * 1_000_000;
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
    /// Tasks that go on by themselves.
    pub gone_on: u64,
    /// Sessions that could not be handled this time.
    pub failed: u64,
}

/// Looks after sessions, each in a task of its own. One for each coordinator.
#[derive(Debug, Default)]
pub struct Scheduler {
    pauses: HashMap<SessionId, Pause>,
    looks: JoinSet<Looked>,
    looking: HashSet<SessionId>,
}

/// What a worker is started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aim {
    /// A task that is to be carried on or started.
    Task(TaskId),
    /// Unknown calls that are to be verified.
    Verify,
}

#[derive(Debug)]
struct Pause {
    /// For what a worker was started last; something else is progress.
    aim: Option<Aim>,
    /// How often in a row.
    tries: u32,
    until: i64,
}

/// What came of looking after one session.
#[derive(Debug)]
struct Looked {
    session: SessionId,
    tried: Option<(Aim, u32)>,
    done: Result<(Round, Option<Aim>), EngineError>,
}

impl Scheduler {
    /// Looks at every session that is unfinished, and lets tasks go on that are due to. A session that is stuck holds
    /// nobody: what is not done yet is told by a later round, and a session that fails is tried again later.
    ///
    /// # Errors
    /// The ledger's, when it cannot be asked at all.
    pub async fn round(
        &mut self,
        engine: &Arc<Engine>,
        launcher: &Arc<dyn Launcher>,
        undertaker: &Arc<dyn Undertaker>,
    ) -> Result<Round, EngineError> {
        let mut round = Round::default();
        let (mut unfinished, mut unread) = (BTreeSet::new(), Vec::new());
        let mut after = None;
        'pages: loop {
            let page = engine.ledger.unfinished(engine.clock.now(), after, PAGE).await?;
            for corrupt in &page.corrupt {
                round.failed += 1;
                tracing::error!(%corrupt, "a session cannot be read; the others go on");
                unread.push(corrupt.to_string());
            }
            unfinished.extend(page.items.iter().map(|session| session.id));
            for session in page.items {
                let now = engine.clock.monotonic();
                self.reap(now, &mut round);
                let pause = self.pauses.get(&session.id);
                if self.looking.contains(&session.id) || pause.is_some_and(|pause| now < pause.until) {
                    continue;
                }
                if self.looks.len() >= AT_ONCE && !self.has_room(now, &mut round).await {
                    break 'pages;
                }
                self.look(engine, launcher, undertaker, session);
            }
            match page.next {
                Some(next) => after = Some(next),
                None => {
                    engine.aside.round(&unfinished, unread, engine.clock.now());
                    break;
                }
            }
        }
        round.gone_on = engine.go_on().await?;
        Ok(round)
    }

    /// Waits a moment for what is under way. What is left then is as after a crash: the next coordinator does it.
    pub async fn finish(&mut self) {
        let all = async { while self.looks.join_next().await.is_some() {} };
        if tokio::time::timeout(FAREWELL, all).await.is_err() {
            tracing::warn!("a session was still being looked after; the next coordinator goes on");
        }
    }

    fn look(
        &mut self,
        engine: &Arc<Engine>,
        launcher: &Arc<dyn Launcher>,
        undertaker: &Arc<dyn Undertaker>,
        session: Session,
    ) {
        let tried = self.pauses.get(&session.id).and_then(|pause| Some((pause.aim?, pause.tries)));
        let (engine, launcher, undertaker) = (engine.clone(), launcher.clone(), undertaker.clone());
        self.looking.insert(session.id);
        self.looks.spawn(async move {
            let look = look_after(&engine, &session, launcher.as_ref(), undertaker.as_ref(), tried);
            let late = || EngineError::Unavailable("it took too long".to_owned());
            let done = tokio::time::timeout(BOUND, look).await.unwrap_or_else(|_| Err(late()));
            note_aside(&engine, session.id, &done);
            Looked { session: session.id, tried, done }
        });
    }

    /// Takes what has come of the looks that are over.
    fn reap(&mut self, now: i64, round: &mut Round) {
        while let Some(looked) = self.looks.try_join_next() {
            self.take(looked, now, round);
        }
    }

    /// Waits until one of the looks is over, but not for long.
    async fn has_room(&mut self, now: i64, round: &mut Round) -> bool {
        match tokio::time::timeout(ROOM, self.looks.join_next()).await {
            Ok(Some(looked)) => {
                self.take(looked, now, round);
                true
            }
            Ok(None) => true,
            Err(_) => false,
        }
    }

    fn take(&mut self, looked: Result<Looked, JoinError>, now: i64, round: &mut Round) {
        match looked {
            Ok(Looked { session, tried, done }) => {
                self.looking.remove(&session);
                self.note(session, tried, done, now, round);
            }
            Err(error) => {
                // A defect. Nobody knows whose look it was, so that all are looked at again; locks keep them apart.
                round.failed += 1;
                self.looking.clear();
                tracing::error!(%error, "a session could not be looked after");
            }
        }
    }

    fn note(
        &mut self,
        session: SessionId,
        tried: Option<(Aim, u32)>,
        looked: Result<(Round, Option<Aim>), EngineError>,
        now: i64,
        round: &mut Round,
    ) {
        match looked {
            Ok((done, aim)) => {
                round.recovered += done.recovered;
                round.launched += done.launched;
                if aim.is_some() {
                    self.pause(session, aim, now);
                }
            }
            Err(error) => {
                round.failed += 1;
                self.pause(session, tried.map(|(aim, _)| aim), now);
                tracing::error!(%session, %error, "the session could not be looked after; it is tried again");
            }
        }
        self.pauses.retain(|_, pause| now.saturating_sub(pause.until) < KEPT);
    }

    fn pause(&mut self, session: SessionId, aim: Option<Aim>, now: i64) {
        let pause = self.pauses.entry(session).or_insert(Pause { aim, tries: 0, until: 0 });
        if pause.aim != aim {
            *pause = Pause { aim, tries: 0, until: 0 };
        }
        let wait = Duration::from_millis(250u64 << pause.tries.min(8)).min(LONGEST_PAUSE);
        pause.tries += 1;
        pause.until = now.saturating_add(i64::try_from(wait.as_micros()).unwrap_or(i64::MAX));
    }
}

impl Engine {
    /// Whether a worker has something to do in the session.
    ///
    /// # Errors
    /// The ledger's.
    pub async fn has_work(&self, session: SessionId) -> Result<bool, EngineError> {
        Ok(self.work_of(session).await?.is_some())
    }

    /// The task that a worker of the session has to carry on, or to start next.
    async fn work_of(&self, session: SessionId) -> Result<Option<Task>, EngineError> {
        match self.ledger.running(session).await? {
            Some(task) => Ok(Some(task)),
            None => Ok(self.ledger.next_accepted(session).await?),
        }
    }
}

/// A session that could not be looked after is shown until it can.
fn note_aside<T>(engine: &Engine, session: SessionId, looked: &Result<T, EngineError>) {
    match looked {
        Ok(_) => engine.aside.take(session),
        Err(error) => engine.aside.put(session, error.to_string(), engine.clock.now()),
    }
}

/// Looks after one session; says for what a worker was started, if one was.
async fn look_after(
    engine: &Engine,
    session: &Session,
    launcher: &dyn Launcher,
    undertaker: &dyn Undertaker,
    tried: Option<(Aim, u32)>,
) -> Result<(Round, Option<Aim>), EngineError> {
    let folder = engine.home.session(session.id);
    let broken =
        |error: std::io::Error| EngineError::Unavailable(format!("{}: {error}", folder.lock().display()));
    if !folder.path().exists() {
        // A worker of the lost folder, if one lives, has an older epoch: it can admit and conclude nothing.
        tracing::error!(session = %session.id, "the session's folder is gone; what it held is lost");
        engine.home.create_session(session.id).map_err(broken)?;
    }
    let Some(lock) = SessionLock::try_take(&folder).map_err(broken)? else {
        return Ok((Round::default(), None));
    };
    let mut round = Round::default();
    // Read again under the lock: the worker may have given the session back a moment ago.
    let session = engine.ledger.session(session.id).await?.ok_or(EngineError::NotFound)?;
    if was_hosted(&session) {
        let recovered = engine.recover(&session, &lock, undertaker).await?;
        tracing::info!(session = %session.id, ?recovered, "a session whose worker had ended was recovered");
        round.recovered = 1;
    }
    let aim = match engine.work_of(session.id).await? {
        Some(task) if tried.is_some_and(|(last, tries)| last == Aim::Task(task.id) && tries >= TRIES) => {
            engine.give_up(&session, task, &lock).await?;
            return Ok((round, None));
        }
        Some(task) => Aim::Task(task.id),
        None if engine.has_looks(session.id, &session.state).await? => Aim::Verify,
        None => {
            engine.apply_left(session.id, &lock).await?;
            return Ok((round, None));
        }
    };
    let epoch = engine.host(session.id, &lock).await?;
    launcher.launch(session.id, epoch, lock.into_file()).await.map_err(EngineError::Unavailable)?;
    mate_fault::point_async!("launch.started");
    round.launched = 1;
    Ok((round, Some(aim)))
}
