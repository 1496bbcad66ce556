//! Calls of several rounds for a runtime that is asked while its call goes on: its answers are carried by further rounds,
//! each of which is admitted and sent by itself.

use super::{
    Hub,
    call::{Asked, describe},
    catalogue::Exposed,
    client::{Caller, Replied},
    dispatch::{Sent, dispatch},
    inbound::decline,
    words,
};
use crate::{
    core::{Answer, Object},
    gate::{Admission, Ticket},
};
use serde_json::value::RawValue;
use std::sync::Arc;

/// Rounds of one call that are gone through; then the upstream asks too much.
const ROUNDS: usize = 16;

/// Sends the call, and goes on until it has an answer.
pub(super) async fn send(
    hub: &Arc<Hub>,
    caller: &Caller,
    found: Exposed,
    asked: Asked,
    ticket: Ticket,
) -> Replied {
    let sent = dispatch(hub, caller, found.clone(), asked.clone(), ticket).await;
    through(hub, caller, &found, &asked, sent).await
}

/// Goes on with a question that was asked before, and was not answered.
pub(super) async fn go_on(
    hub: &Arc<Hub>,
    caller: &Caller,
    found: Exposed,
    asked: Asked,
    question: Box<RawValue>,
) -> Replied {
    let replied = Replied::plain(Answer::Result(question.clone()));
    through(hub, caller, &found, &asked, Sent { replied, question: Some(question) }).await
}

async fn through(hub: &Arc<Hub>, caller: &Caller, found: &Exposed, asked: &Asked, mut sent: Sent) -> Replied {
    for _ in 0..ROUNDS {
        let Some(question) = sent.question.take() else { return sent.replied };
        let Ok(question) = Object::parse(&question) else { return sent.replied };
        let answers = answers(hub, caller, found.conn, &question).await;
        let next = asked.answering(question.get("requestState"), &answers);
        let call = describe(hub, caller, &next, Some(found));
        sent = match hub.gate.admit(&call).await {
            Admission::Send(ticket) => dispatch(hub, caller, found.clone(), next, ticket).await,
            Admission::Refuse { text, receipt } => return Replied { answer: words::error(&text), receipt },
            Admission::Answer { operation, result, receipt } => {
                return Replied { answer: words::stored(&operation, result), receipt };
            }
            Admission::Ask { result } => {
                let replied = Replied::plain(Answer::Result(result.clone()));
                Sent { replied, question: Some(result) }
            }
        };
    }
    Replied::plain(words::error(&words::asks_too_much(found.tool.name.as_str())))
}

/// The runtime's answers, where it gives any; what it cannot be asked is declined.
async fn answers(hub: &Arc<Hub>, caller: &Caller, conn: usize, question: &Object) -> Object {
    let mut answers = Object::default();
    let requests = question.object("inputRequests").unwrap_or_default();
    for (key, request) in requests.entries() {
        let Ok(request) = Object::parse(request) else { continue };
        let params = request.get("params").unwrap_or(RawValue::NULL).to_owned();
        let answer = match request.text("method").as_deref() {
            Some("elicitation/create") => {
                let bound = hub.conns[conn].call_timeout;
                let put = hub.put(&caller.client, Some(&caller.outlet), params, bound).await;
                put.unwrap_or_else(|ours| ours)
            }
            Some("roots/list") if hub.conns[conn].roots => hub.roots(),
            // Nobody here lends a model: without an answer the upstream asks again or does without.
            Some(_) | None => continue,
        };
        let answer = match answer {
            Answer::Result(result) => result,
            Answer::Error(_) => match decline() {
                Answer::Result(result) => result,
                Answer::Error(_) => continue,
            },
        };
        answers.set(key, answer);
    }
    answers
}
