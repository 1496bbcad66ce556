//! A call that the upstream carries out as a task: its id is written down, then its record is asked for until it is over.

use super::{
    Hub,
    client::Caller,
    held::Event,
    record::{Seen, Unread, read_status},
    verdict::{is_a_new_task, is_a_task},
};
use crate::{
    core::{Answer, Object},
    gate::{Gate, Named, Outcome},
};
use mate_model::record::{MAX_TASK_ID, Proof};
use serde_json::value::RawValue;
use std::{pin::Pin, sync::Arc, time::Duration};
use tokio::{sync::Notify, time::Sleep};
use tokio_util::sync::CancellationToken;

/// How often an upstream is asked at most, at least, and when it does not say.
const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(30);
const USUAL: Duration = Duration::from_secs(1);
/// How often in a row an upstream may fail to say how a task stands.
const FAILURES: u32 = 5;

const ANOTHER_CALLS: &str =
    "the upstream named the task of another call, whose record proves nothing of this one";

/// A task that an upstream has made of a call.
pub(super) struct Made {
    id: String,
    pause: Duration,
    /// Of the new era: the result that tells of it.
    told: Option<Box<RawValue>>,
}

impl Made {
    /// Reads the answer to a call. None: it is the call's own answer, which an upstream may give as well, and which
    /// counts whatever else it says. A task may also be made of a call unasked. The error says why it cannot be followed.
    /// `new`: of an upstream of the new era; only there a result can itself be a task.
    pub(super) fn read(answer: &Answer, new: bool) -> Option<Result<Self, String>> {
        let Answer::Result(result) = answer else { return None };
        let told = (new && is_a_new_task(result)).then(|| result.clone());
        let task = match &told {
            Some(result) => Object::parse(result).ok()?,
            None => Object::parse(result).ok().filter(|_| is_a_task(result))?.object("task")?,
        };
        let id = task.text("taskId").filter(|id| !id.is_empty() && id.len() <= MAX_TASK_ID);
        let Some(id) = id else {
            return Some(Err("the upstream made a task of the call, without an id that can be used".into()));
        };
        // Whatever else it says is asked for again.
        let poll_ms = read_status(&task, &id).ok().and_then(|(_, poll)| poll);
        Some(Ok(Self { id, pause: pause(poll_ms), told }))
    }

    /// Has the id written down. The error says why the task may not be followed.
    pub(super) async fn tell(&self, gate: &dyn Gate, operation: &str) -> Result<(), String> {
        mate_fault::point_async!("bridge.task_made");
        let named = gate.upstream_task(operation, &self.id).await;
        mate_fault::point_async!("bridge.task_noted");
        match named {
            Ok(Named::Noted) => Ok(()),
            Ok(Named::AnotherCalls) => Err(ANOTHER_CALLS.to_owned()),
            Err(why) => {
                let text = format!("{operation}: its upstream's task could not be written down: {why}");
                gate.diagnostic(None, &text);
                Ok(())
            }
        }
    }
}

fn pause(poll_ms: Option<u64>) -> Duration {
    poll_ms.map_or(USUAL, |ms| Duration::from_millis(ms).clamp(SHORTEST, LONGEST))
}

/// A task that is waited for.
pub(super) struct Following<'a> {
    pub(super) hub: &'a Arc<Hub>,
    pub(super) conn: usize,
    /// The call's flight.
    pub(super) flight: u64,
    pub(super) operation: &'a str,
    pub(super) made: Made,
    /// A stop was asked for.
    pub(super) unwanted: CancellationToken,
}

impl Following<'_> {
    /// Waits for the end of the task, at most until `deadline`. Its record stays to be asked for after that.
    pub(super) async fn end(self, caller: &Caller, mut deadline: Pin<&mut Sleep>) -> Outcome {
        let (hub, id) = (self.hub, self.made.id.as_str());
        let conn = &hub.conns[self.conn];
        if !hub.claim(self.flight, id) {
            return lost(ANOTHER_CALLS);
        }
        if let Err(why) = self.made.tell(&*hub.gate, self.operation).await {
            return lost(&why);
        }
        let looked_at = self.tell_runtime(caller).await;
        let (mut pause_now, mut failures, mut told) = (self.made.pause, 0, false);
        loop {
            let looked_at = Arc::clone(&looked_at);
            let asking = async move {
                tokio::select! {
                    () = tokio::time::sleep(pause_now) => {}
                    () = looked_at.notified() => {}
                }
                hub.record(conn, id).await
            };
            tokio::pin!(asking);
            let seen = loop {
                tokio::select! {
                    biased;
                    seen = &mut asking => break seen,
                    () = caller.cancelled.cancelled(), if !told => {
                        told = true;
                        self.cancel();
                    }
                    () = self.unwanted.cancelled(), if !told => {
                        told = true;
                        self.cancel();
                    }
                    () = hub.ending.cancelled() => return lost("the session ended before the upstream's task was over"),
                    () = deadline.as_mut() => {
                        let seconds = conn.call_timeout.as_secs_f32();
                        return lost(&format!("the upstream's task was not over within {seconds} s"));
                    }
                }
            };
            let why = match seen {
                Ok(seen) => match came_to(seen) {
                    Came::To(outcome) => return outcome,
                    Came::NotYet(poll_ms) => {
                        (pause_now, failures) = (pause(poll_ms), 0);
                        continue;
                    }
                    Came::Nothing(why) => why,
                },
                Err(Unread::Forgotten(why)) => return lost(&why),
                Err(Unread::Lost(why)) => why,
            };
            failures += 1;
            if failures >= FAILURES {
                return lost(&format!("what became of the upstream's task cannot be found out: {why}"));
            }
            pause_now = (pause_now * 2).clamp(SHORTEST, LONGEST);
        }
    }

    /// A runtime that follows tasks itself is told of this one at once. What this gives is raised when it has seen how
    /// the task ended.
    async fn tell_runtime(&self, caller: &Caller) -> Arc<Notify> {
        let looked_at = Arc::new(Notify::new());
        if let (Some(events), Some(result)) = (&caller.events, &self.made.told) {
            let made = Event::Made {
                id: self.made.id.clone(),
                result: result.clone(),
                looked_at: Arc::clone(&looked_at),
            };
            events.send(made).await.ok();
        }
        looked_at
    }

    fn cancel(&self) {
        let (hub, conn, id) = (Arc::clone(self.hub), self.conn, self.made.id.clone());
        tokio::spawn(async move { hub.cancel_task(&hub.conns[conn], &id).await });
    }
}

fn lost(why: &str) -> Outcome {
    Outcome::Unknown { why: why.to_owned() }
}

enum Came {
    To(Outcome),
    NotYet(Option<u64>),
    Nothing(String),
}

/// What a record comes to for who waits for the call.
fn came_to(seen: Seen) -> Came {
    let proof = seen.record().proves();
    match (proof, seen.result) {
        (Proof::NotYet, _) => Came::NotYet(seen.poll_ms),
        (
            Proof::Succeeded | Proof::Failed,
            Some(outcome @ (Outcome::Answered { .. } | Outcome::RpcError { .. })),
        ) => Came::To(outcome),
        (Proof::Succeeded | Proof::Failed | Proof::Nothing, _) => {
            Came::Nothing(format!("its record says {}, and its result does not go with that", seen.status))
        }
    }
}
