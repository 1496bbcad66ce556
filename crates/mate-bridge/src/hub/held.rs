//! Questions that an upstream asks while a call goes on, for a runtime that is asked by the answer to its call: the call
//! is answered with the question, goes on at the upstream, and is found again by the runtime's further call.

use super::{
    Hub,
    call::Asked,
    catalogue::Exposed,
    client::{Caller, Replied},
    dispatch::dispatch,
    lock,
    passed::{Passed, ours},
};
use crate::{
    core::{Answer, Fault, Object, raw},
    gate::Ticket,
};
use serde_json::{Value, json, value::RawValue};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::sync::{Notify, mpsc, oneshot};

/// Calls that are held at once; the one that was held first gives way.
const HELD: usize = 64;
/// The name of the one question in a result.
const KEY: &str = "question";
/// What begins the state that is given with it.
const MARK: &str = "agent-mate/";

/// What comes next of a call that goes on.
pub(crate) enum Event {
    Question {
        params: Box<RawValue>,
        answer: oneshot::Sender<Answer>,
    },
    /// A task was made of it, which the runtime follows itself.
    Made {
        /// As the upstream calls it.
        id: String,
        result: Box<RawValue>,
        looked_at: Arc<Notify>,
    },
    Done(Replied),
}

/// Which call it is: what a further one must be the same in.
#[derive(Clone, PartialEq)]
struct About {
    name: String,
    arguments: Value,
}

impl About {
    fn of(asked: &Asked) -> Self {
        let arguments = asked.arguments().and_then(|raw| serde_json::from_str(raw.get()).ok());
        Self { name: asked.name().to_owned(), arguments: arguments.unwrap_or_default() }
    }
}

/// A call that waits for its runtime.
struct Held {
    about: About,
    operation: String,
    params: Box<RawValue>,
    answer: oneshot::Sender<Answer>,
    events: mpsc::Receiver<Event>,
}

/// All of them, by the state that was given with their question.
#[derive(Default)]
pub(crate) struct Holding(Mutex<Vec<(String, Held)>>);

impl Holding {
    fn keep(&self, state: String, held: Held) {
        let mut all = lock(&self.0);
        if all.len() >= HELD {
            all.remove(0);
        }
        all.push((state, held));
    }

    fn take(&self, fits: impl Fn(&str, &Held) -> bool) -> Option<(String, Held)> {
        let mut all = lock(&self.0);
        let at = all.iter().position(|(state, held)| fits(state, held))?;
        Some(all.remove(at))
    }
}

/// Asks whoever made the call, and waits for the answer.
pub(super) async fn ask(questions: &mpsc::Sender<Event>, params: Box<RawValue>, bound: Duration) -> Answer {
    let (answer, answered) = oneshot::channel();
    if questions.send(Event::Question { params, answer }).await.is_err() {
        return given_up();
    }
    match tokio::time::timeout(bound, answered).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) | Err(_) => given_up(),
    }
}

/// Nobody has answered.
pub(super) fn given_up() -> Answer {
    Answer::Result(raw(&json!({ "action": "cancel" })))
}

/// Sends the call in a task of its own; answers with what comes first, its end or a question.
pub(super) async fn send(
    hub: &Arc<Hub>,
    caller: &Caller,
    found: Exposed,
    asked: Asked,
    ticket: Ticket,
) -> Replied {
    let (tell, events) = mpsc::channel(4);
    let about = About::of(&asked);
    let operation = ticket.operation.clone();
    let call = (found.clone(), asked.clone());
    let caller = Caller { events: Some(tell.clone()), ..caller.clone() };
    let at = Arc::clone(hub);
    tokio::spawn(async move {
        let sent = dispatch(&at, &caller, found, asked, ticket).await;
        tell.send(Event::Done(sent.replied)).await.ok();
    });
    next(hub, about, operation, events, Some(call)).await
}

/// `call`: as it was made, for one that may become a task.
async fn next(
    hub: &Hub,
    about: About,
    operation: String,
    mut events: mpsc::Receiver<Event>,
    call: Option<(Exposed, Asked)>,
) -> Replied {
    match events.recv().await {
        Some(Event::Done(replied)) => replied,
        Some(Event::Question { params, answer }) => {
            let state = format!("{MARK}{operation}/{}", hub.next_id());
            let question = question(&params, &state);
            hub.holding.keep(state, Held { about, operation, params, answer, events });
            Replied::plain(Answer::Result(question))
        }
        Some(Event::Made { id, result, looked_at }) => {
            let told = ours(result, &id, &operation);
            if let Some(call) = call {
                hub.passed.keep(operation, Passed::new(id, call, looked_at, events));
            }
            Replied::plain(told)
        }
        None => Replied::plain(Answer::Error(Fault::internal(
            "Agent Mate failed while the call went on; its outcome is uncertain",
        ))),
    }
}

fn question(params: &RawValue, state: &str) -> Box<RawValue> {
    raw(&json!({
        "resultType": "input_required",
        "inputRequests": { KEY: { "method": "elicitation/create", "params": params } },
        "requestState": state,
    }))
}

/// Goes on with a call that is held: with the answer to its question, or, if the call was only made again, with the same
/// question. None: it is none of those.
pub(super) async fn resume(hub: &Arc<Hub>, caller: &Caller, asked: &Asked) -> Option<Replied> {
    if !caller.is_new() {
        return None;
    }
    let about = About::of(asked);
    let named: Option<String> = asked.state().and_then(|state| serde_json::from_str(state.get()).ok());
    let Some(named) = named else {
        if asked.continues().is_some() {
            return None;
        }
        let (state, held) = hub.holding.take(|_, held| held.about == about && !held.answer.is_closed())?;
        let question = question(&held.params, &state);
        hub.holding.keep(state, held);
        return Some(Replied::plain(Answer::Result(question)));
    };
    if !named.starts_with(MARK) {
        return None;
    }
    let Some((state, held)) = hub.holding.take(|state, held| state == named && held.about == about) else {
        let why = "this `requestState` belongs to no question that is open here; nothing was done";
        return Some(Replied::plain(Answer::Error(Fault::invalid_params(why))));
    };
    let Some(answer) = asked.answers().and_then(|answers| answers.get(KEY).map(ToOwned::to_owned)) else {
        let question = question(&held.params, &state);
        hub.holding.keep(state, held);
        return Some(Replied::plain(Answer::Result(question)));
    };
    let Held { answer: to, about, operation, events, .. } = held;
    // An answer that comes too late changes nothing: what the call came to is told.
    to.send(Answer::Result(answer)).ok();
    Some(next(hub, about, operation, events, None).await)
}

impl Asked {
    fn answers(&self) -> Option<Object> {
        self.params.object("inputResponses")
    }
}
