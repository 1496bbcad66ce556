//! Stopping: the wish in the ledger, and the ladder from a polite request to the end of the container.

use super::{LOOK, Worker};
use anyhow::Result;
use mate_engine::{Engine, settings::StopSettings};
use mate_model::{records::Task, task::TaskStateWord};
use mate_runtime::{
    acp::Agent,
    container::{Container, SignalKind},
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, task::JoinHandle, time::Sleep};

/// What somebody wishes of a running task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wish {
    /// That it goes on.
    None,
    /// That it stops.
    Stop,
    /// That it is killed.
    Kill,
}

/// Watches the ledger for wishes.
pub(super) struct Wishes {
    wish: watch::Receiver<Wish>,
    looking: JoinHandle<()>,
}

impl Drop for Wishes {
    fn drop(&mut self) {
        self.looking.abort();
    }
}

impl Wishes {
    pub(super) fn watch(engine: &Arc<Engine>, task: &Task) -> Self {
        let (tell, wish) = watch::channel(Wish::None);
        let engine = Arc::clone(engine);
        let deadline = deadline(&engine, task);
        let task = task.id;
        let looking = tokio::spawn(async move {
            loop {
                if deadline.is_some_and(|at| at <= engine.clock.monotonic())
                    && let Err(error) = engine.stop_overdue(task).await
                {
                    tracing::warn!(%error, "the ledger could not take that the deadline has passed");
                }
                match engine.ledger.admission(task).await {
                    Ok(Some(row)) if row.state == TaskStateWord::StopRequested => {
                        let wished = if row.stop_kill { Wish::Kill } else { Wish::Stop };
                        tell.send_if_modified(|wish| std::mem::replace(wish, wished) != wished);
                    }
                    Ok(_) => {}
                    Err(error) => tracing::warn!(%error, "the ledger could not be asked whether to stop"),
                }
                tokio::time::sleep(LOOK).await;
            }
        });
        Self { wish, looking }
    }

    pub(super) fn now(&self) -> Wish {
        *self.wish.borrow()
    }

    /// The next wish that differs from the last one seen.
    pub(super) async fn changed(&mut self) -> Wish {
        if self.wish.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        *self.wish.borrow_and_update()
    }

    /// Waits for any wish; it is not taken.
    pub(super) async fn any(&mut self) -> Wish {
        match self.wish.wait_for(|wish| *wish != Wish::None).await {
            Ok(wish) => *wish,
            Err(_) => std::future::pending().await,
        }
    }
}

/// When the task's deadline passes, on the clock that nobody sets; microseconds.
fn deadline(engine: &Engine, task: &Task) -> Option<i64> {
    let whole = i64::try_from(task.policy.deadline()?.as_micros()).ok()?;
    let spent = engine.clock.now().since(task.state.run()?.since).max(0);
    Some(engine.clock.monotonic() + whole.saturating_sub(spent))
}

/// From SIGKILL of everything in the container to the end of the container itself. A process that is frozen, or a keeper
/// that cannot reach it, is not waited for.
const BURY_SECONDS: u64 = 5;

/// What came of a step.
pub(super) enum Step {
    /// It was taken; what is told of it.
    Taken(Value),
    /// No step is left but the end of the container.
    Bury,
}

/// A step of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rung {
    Cancel,
    CloseInput,
    Term,
    Kill,
    /// Nothing has ended the runtime's turn: its container is ended from outside.
    Bury,
}

/// How long the keeper may take to hear a wish; a frozen one never does.
const HEARD: Duration = Duration::from_secs(2);

/// Why the keeper did not take the wish, if it did not.
async fn asked<E: std::fmt::Display>(wish: impl Future<Output = Result<(), E>>) -> Option<String> {
    match tokio::time::timeout(HEARD, wish).await {
        Ok(told) => told.err().map(|error| error.to_string()),
        Err(_) => Some(format!("the keeper did not hear it within {} s", HEARD.as_secs())),
    }
}

/// The ladder: cancel, close the input, SIGTERM, SIGKILL of the container, each after its grace period.
pub(super) struct Ladder {
    next: Option<Rung>,
    wait: std::pin::Pin<Box<Sleep>>,
    grace: StopSettings,
    process: u64,
    container: Arc<Container>,
    agent: Agent,
}

impl Worker {
    pub(super) fn ladder(&self, process: u64, container: Arc<Container>, agent: Agent) -> Ladder {
        let wait = Box::pin(tokio::time::sleep(Duration::ZERO));
        Ladder { next: None, wait, grace: self.settings.stop.clone(), process, container, agent }
    }
}

impl Ladder {
    /// Somebody wishes it: the first step is taken at once.
    pub(super) fn wish(&mut self, wish: Wish) {
        let first = match wish {
            Wish::None => return,
            Wish::Stop => Rung::Cancel,
            Wish::Kill => Rung::Kill,
        };
        self.next = Some(first);
        self.wait = Box::pin(tokio::time::sleep(Duration::ZERO));
    }

    /// Waits until the next step's time has come; for ever while there is none. May be dropped: nothing was taken yet.
    pub(super) async fn due(&mut self) {
        if self.next.is_none() {
            std::future::pending::<()>().await;
        }
        self.wait.as_mut().await;
    }

    /// Takes the step that is due, and says which it was. Not to be dropped on the way: a step that was taken is told.
    pub(super) async fn take(&mut self) -> Step {
        let Some(rung) = self.next else { return Step::Bury };
        let (name, next, grace) = match rung {
            Rung::Cancel => ("cancel", Some(Rung::CloseInput), self.grace.cancel_seconds),
            Rung::CloseInput => ("close_input", Some(Rung::Term), self.grace.close_seconds),
            Rung::Term => ("term", Some(Rung::Kill), self.grace.term_seconds),
            Rung::Kill => ("kill", Some(Rung::Bury), BURY_SECONDS),
            Rung::Bury => ("bury", None, 0),
        };
        self.next = next;
        self.wait = Box::pin(tokio::time::sleep(Duration::from_secs(grace)));
        let refused = match rung {
            Rung::Cancel => self.agent.cancel().err().map(|error| error.to_string()),
            Rung::CloseInput => {
                self.agent.close_input();
                None
            }
            Rung::Term => asked(self.container.signal(self.process, SignalKind::Term)).await,
            Rung::Bury => return Step::Bury,
            Rung::Kill => asked(self.container.kill_all()).await,
        };
        Step::Taken(json!({ "step": name, "refused": refused }))
    }
}
