//! An upstream's record of a call that it carries out as a task: asked for, and read.
//!
//! `tasks/get` and `tasks/result` change nothing, and so may be asked again.

use super::{Conn, Flight, Hub, catalogue::Exposed, lock, verdict::judge_record};
use crate::{
    core::{Answer, Fault, Object, bounded, era, raw},
    gate::Outcome,
};
use mate_model::{
    ConnectionId,
    record::{Record, RecordStatus, Recorded, hide_task_id},
};
use serde_json::{json, value::RawValue};
use std::time::Duration;

/// The code of an upstream that does not know a task (JSON-RPC: invalid parameters).
const INVALID_PARAMS: i64 = -32602;
/// In characters: not cut yet.
const WHOLE: usize = 1 << 16;

/// A record as it was read.
pub(super) struct Seen {
    pub(super) status: RecordStatus,
    /// The result of a task that is over, as far as it could be fetched.
    pub(super) result: Option<Outcome>,
    /// How long the upstream wants to be left alone, in milliseconds.
    pub(super) poll_ms: Option<u64>,
}

/// Why a record could not be read.
pub(super) enum Unread {
    /// The upstream does not know the task, or not any more.
    Forgotten(String),
    /// It did not answer, or not with what can be read.
    Lost(String),
}

impl Seen {
    pub(super) fn record(&self) -> Record {
        let recorded = match &self.result {
            Some(Outcome::Answered { result, is_error }) => {
                Recorded::Result { text: result.get().to_owned(), is_error: *is_error }
            }
            Some(Outcome::RpcError { error }) => Recorded::Error { text: error.get().to_owned() },
            Some(Outcome::InputRequired { .. } | Outcome::NotSent { .. } | Outcome::Unknown { .. })
            | None => Recorded::Nothing,
        };
        Record { status: self.status, recorded }
    }
}

/// What a `Task` says: its status, and when it wants to be asked again.
pub(super) fn read_status(task: &Object, id: &str) -> Result<(RecordStatus, Option<u64>), String> {
    if task.text("taskId").as_deref() != Some(id) {
        return Err("it answered with another task than it was asked for".to_owned());
    }
    let status = task.text("status").unwrap_or_default();
    let status = status
        .parse::<RecordStatus>()
        .map_err(|_| format!("it gave a status that tasks do not have: {}", bounded(&status)))?;
    let poll = task.get("pollIntervalMs").or_else(|| task.get("pollInterval"));
    let poll = poll.and_then(|raw| serde_json::from_str::<f64>(raw.get()).ok());
    // Truncated and clamped by the cast: anything odd becomes a number within the limits.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a wish, clamped by who follows it"
    )]
    Ok((status, poll.map(|ms| ms as u64)))
}

impl Hub {
    /// Notes what the upstream calls the task of a flight; not when that is the task of another one.
    pub(super) fn claim(&self, flight: u64, id: &str) -> bool {
        let mut flights = lock(&self.flights);
        let Some(conn) = flights.get(&flight).map(|own| own.conn) else { return false };
        let taken = |(other, known): (&u64, &Flight)| {
            *other != flight && known.conn == conn && known.task.as_deref() == Some(id)
        };
        if flights.iter().any(taken) {
            return false;
        }
        if let Some(own) = flights.get_mut(&flight) {
            own.task = Some(id.to_owned());
        }
        true
    }

    /// Whether calls of a tool are carried out as tasks.
    pub(super) fn carries_out_as_task(&self, found: &Exposed) -> bool {
        let offer = lock(&self.conns[found.conn].listing).offer.clone();
        found.tool.runs_as_task() && offer.is_some_and(|offer| offer.hello.tasks && !offer.hello.new)
    }

    /// The record of a task, for Agent Mate itself.
    pub(crate) async fn record_of(&self, connection: ConnectionId, id: &str) -> Result<Record, String> {
        let conn = &self.conns[self.place(connection)?];
        match self.record(conn, id).await {
            Ok(seen) => Ok(seen.record()),
            Err(Unread::Forgotten(why) | Unread::Lost(why)) => Err(why),
        }
    }

    /// Asks how a task stands, and for its result when it is over. What is said of it does not hold its id.
    pub(super) async fn record(&self, conn: &Conn, id: &str) -> Result<Seen, Unread> {
        // Secrets are taken out first: afterwards they might not be found any more.
        let hidden = |why: String| hide_task_id(&self.gate.shown(&why, WHOLE), id);
        self.ask_record(conn, id).await.map_err(|unread| match unread {
            Unread::Forgotten(why) => Unread::Forgotten(hidden(why)),
            Unread::Lost(why) => Unread::Lost(hidden(why)),
        })
    }

    /// Of one that waits for an answer of ours the result is
    /// asked for as well: that is where its question comes.
    async fn ask_record(&self, conn: &Conn, id: &str) -> Result<Seen, Unread> {
        let params = || about(id);
        let bound = self.limits.read.max(self.limits.start);
        let answer = self.read(conn, "tasks/get", params(), bound).await.map_err(Unread::Lost)?;
        let task = match answer {
            Answer::Result(result) => Object::parse(&result).map_err(Unread::Lost)?,
            Answer::Error(fault) => return Err(refused(&fault.0)),
        };
        let (status, poll_ms) = read_status(&task, id).map_err(Unread::Lost)?;
        if conn.upstream.is_new() {
            return Ok(Seen { status, result: inlined(&task, status, id), poll_ms });
        }
        let result = match status {
            RecordStatus::Working => None,
            RecordStatus::InputRequired => {
                // What it answers is asked for again when the task says that it is over.
                let _ = self.read(conn, "tasks/result", params(), conn.call_timeout).await;
                None
            }
            RecordStatus::Completed | RecordStatus::Failed | RecordStatus::Cancelled => {
                // Without the upstream's own answer nothing is proved, whatever the status says.
                let answer = self.read(conn, "tasks/result", params(), bound).await.map_err(Unread::Lost)?;
                Some(judge_record(answer, id))
            }
        };
        Ok(Seen { status, result, poll_ms })
    }

    /// Asks an upstream to call a task off. A wish: what becomes of it, its record says.
    pub(super) async fn cancel_task(&self, conn: &Conn, id: &str) {
        let cancels = lock(&conn.listing).offer.as_ref().is_some_and(|offer| offer.hello.cancels_tasks);
        if cancels {
            let _ = self.read(conn, "tasks/cancel", about(id), CANCEL).await;
        }
    }
}

/// The parameters of a question about a task. An upstream of the new era wants to hear that we know of tasks.
fn about(id: &str) -> Box<RawValue> {
    raw(&json!({ "taskId": id, "_meta": { era::CAN: { "extensions": { era::TASKS: {} } } } }))
}

/// The result of a task that is over, in the new era: it stands in the record itself.
fn inlined(task: &Object, status: RecordStatus, id: &str) -> Option<Outcome> {
    let answer = match status {
        RecordStatus::Completed => Answer::Result(task.get("result")?.to_owned()),
        RecordStatus::Failed => Answer::Error(Fault(task.get("error")?.to_owned())),
        RecordStatus::Cancelled | RecordStatus::Working | RecordStatus::InputRequired => return None,
    };
    Some(judge_record(answer, id))
}

/// How long an upstream may take to hear that a task is to be called off.
const CANCEL: Duration = Duration::from_secs(10);

fn refused(error: &RawValue) -> Unread {
    let shown = bounded(error.get());
    let code = Object::parse(error).ok().and_then(|error| error.get("code")?.get().parse::<i64>().ok());
    if code == Some(INVALID_PARAMS) {
        Unread::Forgotten(format!("the upstream does not know the task (any more): {shown}"))
    } else {
        Unread::Lost(format!("the upstream answered with an error: {shown}"))
    }
}
