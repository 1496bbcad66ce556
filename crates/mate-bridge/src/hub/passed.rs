//! Tasks of the new era that a runtime follows itself: its questions about one go to the upstream that has it. The bridge
//! follows it as well, so that what becomes of the call is on record whether or not the runtime asks.

use super::{
    Hub,
    client::{Caller, Replied},
    held::Event,
    lock,
};
use crate::core::{Answer, Fault, Object, era, faults};
use mate_model::record::RecordStatus;
use serde_json::value::RawValue;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::sync::{Notify, mpsc};

/// Tasks that are known at once; the one that was made first gives way.
const KNOWN: usize = 256;
/// How long an answer that ends a task waits until the end is on record.
const RECORDED: Duration = Duration::from_secs(10);

/// A task that was passed on.
pub(super) struct Passed {
    pub(super) conn: usize,
    /// Raised when the runtime has seen its end.
    pub(super) looked_at: Arc<Notify>,
    /// What comes of the call; taken by whoever tells the runtime of its end.
    pub(super) events: Option<mpsc::Receiver<Event>>,
}

/// All of them, by the upstream's name.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<Vec<(String, Passed)>>);

impl Tasks {
    pub(super) fn keep(&self, id: String, passed: Passed) {
        let mut all = lock(&self.0);
        if all.len() >= KNOWN {
            all.remove(0);
        }
        all.push((id, passed));
    }

    fn place(&self, id: &str) -> Option<usize> {
        lock(&self.0).iter().rfind(|(known, _)| known == id).map(|(_, passed)| passed.conn)
    }

    fn ending(&self, id: &str) -> Option<(Arc<Notify>, mpsc::Receiver<Event>)> {
        let mut all = lock(&self.0);
        let (_, passed) = all.iter_mut().rfind(|(known, _)| known == id)?;
        Some((Arc::clone(&passed.looked_at), passed.events.take()?))
    }
}

/// Whether any upstream makes tasks of calls in the words of the new era.
pub(super) fn offered(hub: &Hub) -> bool {
    let catalogue = hub.catalogue();
    let mut all = catalogue.offers.iter().zip(&hub.conns);
    all.any(|(offer, conn)| {
        hub.gate.connection_granted(&conn.name)
            && offer.as_ref().is_some_and(|offer| offer.hello.new && offer.hello.tasks)
    })
}

/// Answers `tasks/get`, `tasks/update` and `tasks/cancel`.
pub(super) async fn serve(
    hub: &Arc<Hub>,
    caller: &Caller,
    method: &str,
    params: Option<&RawValue>,
) -> Replied {
    match find(hub, caller, method, params) {
        Err(fault) => Replied::plain(Answer::Error(fault)),
        Ok((conn, id, params)) => match method {
            "tasks/get" => get(hub, conn, &id, params).await,
            "tasks/cancel" => Replied::plain(ask(hub, conn, "tasks/cancel", params).await),
            _ => Replied::plain(Answer::Error(Fault::invalid_params(
                "Agent Mate does not carry answers to a task's questions; cancel the task, and say so in your report",
            ))),
        },
    }
}

fn find(
    hub: &Hub,
    caller: &Caller,
    method: &str,
    params: Option<&RawValue>,
) -> Result<(usize, String, Object), Fault> {
    if !offered(hub) {
        return Err(Fault::no_method(method));
    }
    if !caller.follows_tasks() {
        return Err(faults::missing_extension(era::TASKS));
    }
    let params = Object::parse_or_empty(params).map_err(|why| Fault::invalid_params(&why))?;
    let id = params.text("taskId").ok_or_else(|| Fault::invalid_params("`taskId` must be a string"))?;
    let conn = hub.passed.place(&id).filter(|conn| hub.gate.connection_granted(&hub.conns[*conn].name));
    let conn = conn.ok_or_else(|| Fault::invalid_params("this session has no task of that name"))?;
    Ok((conn, id, params))
}

async fn ask(hub: &Arc<Hub>, conn: usize, method: &'static str, params: Object) -> Answer {
    match hub.ask(&hub.conns[conn], method, params.to_raw()).await {
        Ok(result) => Answer::Result(result),
        Err(fault) => Answer::Error(fault),
    }
}

/// How a task stands. That it is over is told only when its end is on record, and the record learns that it was told.
async fn get(hub: &Arc<Hub>, conn: usize, id: &str, params: Object) -> Replied {
    let answer = ask(hub, conn, "tasks/get", params).await;
    let Answer::Result(result) = &answer else { return Replied::plain(answer) };
    let status =
        Object::parse(result).ok().and_then(|task| task.text("status")?.parse::<RecordStatus>().ok());
    let over =
        matches!(status, Some(RecordStatus::Completed | RecordStatus::Failed | RecordStatus::Cancelled));
    let Some((looked_at, mut events)) = over.then(|| hub.passed.ending(id)).flatten() else {
        return Replied::plain(answer);
    };
    looked_at.notify_one();
    match tokio::time::timeout(RECORDED, events.recv()).await {
        Ok(Some(Event::Done(Replied { receipt, .. }))) => Replied { answer, receipt },
        Ok(Some(Event::Question { .. } | Event::Made { .. }) | None) | Err(_) => Replied::plain(answer),
    }
}
