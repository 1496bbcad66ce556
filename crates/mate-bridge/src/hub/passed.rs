//! Tasks of the new era that a runtime follows itself, by our name for them: the operation's id. Its questions about one
//! go to the upstream that has it, under the upstream's name, which the runtime never sees. The bridge follows the task as
//! well, so that what becomes of the call is on record whether or not the runtime asks.

use super::{
    Hub,
    call::{Asked, describe},
    catalogue::Exposed,
    client::{Caller, Replied},
    held::Event,
    lock,
};
use crate::{
    core::{Answer, Fault, Object, era, faults, raw},
    gate::Answering,
    upstream::{End, Outgoing, Reply},
};
use mate_model::record::{RecordStatus, hide_task_id};
use serde_json::{json, value::RawValue};
use std::{
    collections::HashSet,
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
    /// As the upstream calls it.
    id: String,
    /// The call that it was made of.
    call: (Exposed, Asked),
    /// Raised when the runtime has seen its end.
    looked_at: Arc<Notify>,
    /// What comes of the call; taken by whoever tells the runtime of its end.
    events: Option<mpsc::Receiver<Event>>,
    /// Questions whose answers may or may not have arrived.
    unsure: HashSet<String>,
}

impl Passed {
    pub(super) fn new(
        id: String,
        call: (Exposed, Asked),
        looked_at: Arc<Notify>,
        events: mpsc::Receiver<Event>,
    ) -> Self {
        Self { id, call, looked_at, events: Some(events), unsure: HashSet::new() }
    }
}

/// All of them, by our name.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<Vec<(String, Passed)>>);

impl Tasks {
    pub(super) fn keep(&self, name: String, passed: Passed) {
        let mut all = lock(&self.0);
        if all.len() >= KNOWN {
            all.remove(0);
        }
        all.push((name, passed));
    }

    fn with<T>(&self, name: &str, look: impl FnOnce(&mut Passed) -> T) -> Option<T> {
        let mut all = lock(&self.0);
        all.iter_mut().rfind(|(known, _)| known == name).map(|(_, passed)| look(passed))
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

/// A question of the runtime about one task.
struct About {
    /// Our name for it.
    name: String,
    /// The upstream's.
    id: String,
    call: (Exposed, Asked),
    /// What the runtime said, with the upstream's name.
    params: Object,
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
        Ok(about) => match method {
            "tasks/get" => get(hub, about).await,
            "tasks/cancel" => Replied::plain(ask(hub, &about, "tasks/cancel").await),
            _ => Replied::plain(update(hub, caller, about).await),
        },
    }
}

fn find(hub: &Hub, caller: &Caller, method: &str, params: Option<&RawValue>) -> Result<About, Fault> {
    if !offered(hub) {
        return Err(Fault::no_method(method));
    }
    if !caller.follows_tasks() {
        return Err(faults::missing_extension(era::TASKS));
    }
    let mut params = Object::parse_or_empty(params).map_err(|why| Fault::invalid_params(&why))?;
    let name = params.text("taskId").ok_or_else(|| Fault::invalid_params("`taskId` must be a string"))?;
    let known = hub.passed.with(&name, |passed| (passed.id.clone(), passed.call.clone()));
    let known = known.filter(|(_, (found, _))| hub.gate.connection_granted(&hub.conns[found.conn].name));
    let (id, call) = known.ok_or_else(|| Fault::invalid_params("this session has no task of that name"))?;
    params.set("taskId", raw(&id));
    Ok(About { name, id, call, params })
}

async fn ask(hub: &Arc<Hub>, about: &About, method: &'static str) -> Answer {
    match hub.ask(&hub.conns[about.call.0.conn], method, about.params.to_raw()).await {
        Ok(result) => ours(result, &about.id, &about.name),
        Err(fault) => Answer::Error(without(&fault, &about.id)),
    }
}

/// How a task stands. That it is over is told only when its end is on record, and the record learns that it was told.
async fn get(hub: &Arc<Hub>, about: About) -> Replied {
    let answer = ask(hub, &about, "tasks/get").await;
    let Answer::Result(result) = &answer else { return Replied::plain(answer) };
    let status =
        Object::parse(result).ok().and_then(|task| task.text("status")?.parse::<RecordStatus>().ok());
    let over =
        matches!(status, Some(RecordStatus::Completed | RecordStatus::Failed | RecordStatus::Cancelled));
    let ending = |passed: &mut Passed| Some((Arc::clone(&passed.looked_at), passed.events.take()?));
    let Some((looked_at, mut events)) =
        over.then(|| hub.passed.with(&about.name, ending)).flatten().flatten()
    else {
        return Replied::plain(answer);
    };
    looked_at.notify_one();
    match tokio::time::timeout(RECORDED, events.recv()).await {
        Ok(Some(Event::Done(Replied { receipt, .. }))) => Replied { answer, receipt },
        Ok(Some(Event::Question { .. } | Event::Made { .. }) | None) | Err(_) => Replied::plain(answer),
    }
}

/// Carries answers to a task's questions: a round of the call, admitted by itself and sent at most once. What has been
/// answered before is not sent again.
async fn update(hub: &Arc<Hub>, caller: &Caller, mut about: About) -> Answer {
    let bad = |why: &str| Answer::Error(Fault::invalid_params(why));
    let answers = match about.params.get("inputResponses").map(Object::parse) {
        None => Object::default(),
        Some(Ok(answers)) => answers,
        Some(Err(why)) => return bad(&format!("`inputResponses`: {why}")),
    };
    let keys: Vec<String> = answers.entries().map(|(key, _)| key.to_owned()).collect();
    let (found, asked) = &about.call;
    let call = describe(hub, caller, asked, Some(found));
    let (ticket, keys) = match hub.gate.answer(&about.name, &call, &keys).await {
        Answering::Refuse { text } => return bad(&text),
        Answering::NotNow { text } => return Answer::Error(Fault::internal(&text)),
        Answering::Before => {
            let lost =
                hub.passed.with(&about.name, |passed| keys.iter().any(|key| passed.unsure.contains(key)));
            return if lost == Some(true) { Answer::Error(uncertain()) } else { acknowledged() };
        }
        Answering::Send { ticket, keys } => (ticket, keys),
    };
    let mut fresh = Object::default();
    for (key, answer) in answers.entries().filter(|(key, _)| keys.iter().any(|fresh| fresh == key)) {
        fresh.set(key, answer.to_owned());
    }
    about.params.set("inputResponses", fresh.to_raw());
    // From here until the upstream has answered, nobody knows.
    hub.passed.with(&about.name, |passed| passed.unsure.extend(keys.iter().cloned()));
    let end = send(hub, found.conn, about.params.to_raw()).await;
    drop(ticket);
    match end {
        End::Answer(answer) => {
            let arrived = |passed: &mut Passed| passed.unsure.retain(|key| !keys.contains(key));
            hub.passed.with(&about.name, arrived);
            match answer {
                Answer::Result(result) => ours(result, &about.id, &about.name),
                Answer::Error(fault) => Answer::Error(without(&fault, &about.id)),
            }
        }
        End::NotSent(why) => {
            hub.gate.answer_not_sent(&about.name, &keys).await;
            let why = hub.shown(&hide_task_id(&why, &about.id));
            Answer::Error(Fault::internal(&format!("the answer was not sent ({why}); it may be sent again")))
        }
        End::Unknown(why) => {
            let note = format!("{}: the answer to its task's question was lost: {why}", about.name);
            hub.gate.diagnostic(Some(&hub.conns[found.conn].name), &hide_task_id(&note, &about.id));
            Answer::Error(uncertain())
        }
    }
}

/// Sends answers once, in a task of its own.
async fn send(hub: &Arc<Hub>, conn: usize, params: Box<RawValue>) -> End {
    let (reply, race, end) = Reply::new(None);
    let (id, upstream) = (hub.next_id(), Arc::clone(&hub.conns[conn].upstream));
    let sending = tokio::spawn(async move {
        upstream.send(Outgoing { id, method: "tasks/update", params, mirrored: Vec::new(), reply }).await;
    });
    let bound = hub.limits.read.max(hub.limits.start);
    match tokio::time::timeout(bound, end).await {
        Ok(Ok(end)) => end,
        Ok(Err(_)) => End::Unknown("it was lost on its way".to_owned()),
        Err(_) => {
            let never = race.give_up();
            sending.abort();
            let why = "it took too long".to_owned();
            if never { End::NotSent(why) } else { End::Unknown(why) }
        }
    }
}

fn acknowledged() -> Answer {
    Answer::Result(raw(&json!({ "resultType": "complete" })))
}

fn uncertain() -> Fault {
    Fault::internal(
        "it is not known whether the answer reached the tool's server, and it is not sent again; ask with tasks/get how \
         the task stands",
    )
}

/// What an upstream says of a task, under our name.
pub(super) fn ours(result: Box<RawValue>, id: &str, name: &str) -> Answer {
    let Ok(mut task) = Object::parse(&result) else { return Answer::Result(result) };
    match task.text("taskId") {
        None => return Answer::Result(result),
        Some(said) if said == id => task.set("taskId", raw(&name)),
        Some(_) => {
            let why = "the tool's server answered with another task than it was asked for";
            return Answer::Error(Fault::internal(why));
        }
    }
    if let Some(message) = task.text("statusMessage") {
        task.set("statusMessage", raw(&hide_task_id(&message, id)));
    }
    Answer::Result(task.to_raw())
}

/// An upstream's error that does not name the task.
fn without(fault: &Fault, id: &str) -> Fault {
    let Ok(mut error) = Object::parse(&fault.0) else { return fault.clone() };
    let Some(message) = error.text("message") else { return fault.clone() };
    error.set("message", raw(&hide_task_id(&message, id)));
    if error.get("data").is_some_and(|data| data.get().contains(id)) {
        error.remove("data");
    }
    Fault(error.to_raw())
}
