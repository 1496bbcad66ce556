//! Questions that an upstream asks while a call goes on, for a runtime that is asked by the answer to its call: the call
//! is answered with the question, goes on at the upstream, and is found again by the runtime's further call. The answer
//! that it carries is a round of the call, judged and written down by itself, and let out once.

use super::{
    Hub,
    call::{Asked, describe},
    catalogue::Exposed,
    client::{Caller, Replied},
    dispatch::dispatch,
    lock,
    passed::{Passed, ours},
    words,
};
use crate::{
    core::{Answer, Fault, raw},
    gate::{Answering, Gate, Receipt, Ticket},
};
use serde_json::{json, value::RawValue};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::sync::{Notify, mpsc, oneshot};

/// Calls that are held at once; the one that was held first gives way.
const HELD: usize = 64;
/// The name of the one question in a result.
const KEY: &str = "question";

/// What comes next of a call that goes on.
pub(crate) enum Event {
    Question {
        /// Names it on record.
        key: String,
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

/// A call that goes on, and what comes of it.
struct Going {
    operation: String,
    call: (Exposed, Asked),
    events: mpsc::Receiver<Event>,
}

/// A call that waits for its runtime.
struct Held {
    going: Going,
    key: String,
    params: Box<RawValue>,
    answer: oneshot::Sender<Answer>,
}

/// All of them, by the state that was given with their question. Such a state may look like an upstream's own: it is ours
/// only for a further call that is equal to the one held.
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
pub(super) async fn ask(
    questions: &mpsc::Sender<Event>,
    key: String,
    params: Box<RawValue>,
    bound: Duration,
) -> Answer {
    let (answer, answered) = oneshot::channel();
    if questions.send(Event::Question { key, params, answer }).await.is_err() {
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
    let going = Going { operation: ticket.operation.clone(), call: (found.clone(), asked.clone()), events };
    let caller = Caller { events: Some(tell.clone()), ..caller.clone() };
    let at = Arc::clone(hub);
    tokio::spawn(async move {
        let sent = dispatch(&at, &caller, found, asked, ticket).await;
        tell.send(Event::Done(sent.replied)).await.ok();
    });
    next(hub, going).await
}

async fn next(hub: &Arc<Hub>, mut going: Going) -> Replied {
    match going.events.recv().await {
        Some(Event::Done(replied)) => replied,
        Some(Event::Question { key, params, answer }) => {
            let state = format!("agent-mate/{}/{}", going.operation, hub.next_id());
            let question = question(&params, &state);
            hub.gate.meanwhile(&going.operation, Some(&question));
            hub.holding.keep(state, Held { going, key, params, answer });
            Replied::plain(Answer::Result(question))
        }
        Some(Event::Made { id, result, looked_at }) => {
            let Going { operation, call, events } = going;
            let answer = ours(result, &id, &operation);
            let receipt = match &answer {
                Answer::Result(told) => unheard(&hub.gate, &operation, told.clone()),
                Answer::Error(_) => Receipt::none(),
            };
            hub.passed.keep(operation, Passed::new(id, call, looked_at, events));
            Replied { answer, receipt }
        }
        None => Replied::plain(Answer::Error(Fault::internal(
            "Agent Mate failed while the call went on; its outcome is uncertain",
        ))),
    }
}

/// Goes with a task that is told of. When that does not arrive, an equal call is told of the task.
fn unheard(gate: &Arc<dyn Gate>, operation: &str, told: Box<RawValue>) -> Receipt {
    struct Unheard(Option<(Arc<dyn Gate>, String, Box<RawValue>)>);
    impl Unheard {
        fn heard(mut self) {
            self.0 = None;
        }
    }
    impl Drop for Unheard {
        fn drop(&mut self) {
            if let Some((gate, operation, told)) = self.0.take() {
                gate.meanwhile(&operation, Some(&told));
            }
        }
    }
    let unheard = Unheard(Some((Arc::clone(gate), operation.to_owned(), told)));
    Receipt::new(move || unheard.heard())
}

fn question(params: &RawValue, state: &str) -> Box<RawValue> {
    raw(&json!({
        "resultType": "input_required",
        "inputRequests": { KEY: { "method": "elicitation/create", "params": params } },
        "requestState": state,
    }))
}

/// Goes on with a call that is held, with the answer to its question. None: the call continues none that is held, and is
/// judged like any other.
pub(super) async fn resume(hub: &Arc<Hub>, caller: &Caller, asked: &Asked) -> Option<Replied> {
    if !caller.is_new() {
        return None;
    }
    let named: String = serde_json::from_str(asked.state()?.get()).ok()?;
    let is_it = |state: &str, held: &Held| {
        let (found, first) = &held.going.call;
        let same = || hub.gate.is_call(&held.going.operation, &describe(hub, caller, asked, Some(found)));
        state == named && first.name() == asked.name() && same()
    };
    let (state, held) = hub.holding.take(is_it)?;
    let Some(answer) =
        asked.params.object("inputResponses").and_then(|all| all.get(KEY).map(ToOwned::to_owned))
    else {
        let question = question(&held.params, &state);
        hub.holding.keep(state, held);
        return Some(Replied::plain(Answer::Result(question)));
    };
    if held.answer.is_closed() {
        // It comes too late, and changes nothing: what the call comes to is told.
        return Some(next(hub, held.going).await);
    }
    let call = describe(hub, caller, asked, Some(&held.going.call.0));
    let keys = [held.key.clone()];
    let refused = match hub.gate.answer(&held.going.operation, &call, &keys).await {
        Answering::NotNow { text } => {
            hub.holding.keep(state, held);
            return Some(Replied::plain(Answer::Error(Fault::internal(&text))));
        }
        Answering::Send { ticket, .. } => {
            // The leave is used up by handing the answer over; nobody else has it.
            drop(ticket);
            hub.gate.meanwhile(&held.going.operation, None);
            if held.answer.send(Answer::Result(answer)).is_err() {
                // Too late after all.
                hub.gate.answer_not_sent(&held.going.operation, &keys).await;
            }
            None
        }
        Answering::Before => None,
        Answering::Refuse { text } => {
            hub.gate.meanwhile(&held.going.operation, None);
            held.answer.send(given_up()).ok();
            Some(text)
        }
    };
    let replied = next(hub, held.going).await;
    Some(match refused {
        None => replied,
        Some(why) => Replied { answer: words::unanswered(replied.answer, &why), ..replied },
    })
}
