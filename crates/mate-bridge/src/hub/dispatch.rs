//! An admitted call on its way: sent once, waited for within bounds, settled before it is answered.

use super::{
    Flight, Hub,
    call::{Asked, describe},
    catalogue::Exposed,
    client::{Caller, Replied},
    follow::{Following, Made},
    lock,
    verdict::judge,
    words,
};
use crate::{
    core::{Answer, Fault, era, message::depth, raw},
    gate::{Gate, Outcome, Settled, Ticket},
    upstream::{End, Outgoing, Race, Reply},
};
use serde_json::{json, value::RawValue};
use std::{pin::Pin, sync::Arc, time::Duration};
use tokio::{sync::oneshot, task::JoinHandle, time::Sleep};
use tokio_util::sync::CancellationToken;

/// How long an upstream is asked to keep a call's record, in milliseconds: long enough to be asked after a night.
const TASK_TTL_MS: u64 = 24 * 60 * 60 * 1000;

/// What a call that was sent came to.
pub(super) struct Sent {
    pub(super) replied: Replied,
    /// The upstream has asked a question instead of answering: its result.
    pub(super) question: Option<Box<RawValue>>,
}

/// Sends the call and answers the runtime. Consumes the permission: there is no second time.
pub(super) async fn dispatch(
    hub: &Arc<Hub>,
    caller: &Caller,
    found: Exposed,
    asked: Asked,
    ticket: Ticket,
) -> Sent {
    let operation = ticket.operation.clone();
    let id = hub.next_id();
    let (started, clock) = (hub.clock.now(), hub.clock.monotonic());
    let token = asked.token.clone();
    // A further round belongs to a call that was made without.
    let as_task = asked.continues().is_none() && hub.carries_out_as_task(&found);
    let asks_meanwhile = !hub.conns[found.conn].upstream.is_new();
    if asks_meanwhile || caller.events.is_some() && caller.follows_tasks() {
        hub.gate.answerable(&ticket);
    }
    let call = asks_meanwhile.then(|| Arc::new(describe(hub, caller, &asked, Some(&found))));
    let mirrored = mirrored(&asked, &found);
    // What a runtime of the old era can, an upstream of the new one hears from us.
    let speaks_for = (!caller.is_new() && hub.conns[found.conn].upstream.is_new()).then_some(caller);
    let params = params(asked, &found, &ticket, (speaks_for, hub.conns[found.conn].roots), id, as_task);
    let flight = Flight {
        conn: found.conn,
        operation: Some(operation.clone()),
        task: None,
        tool: found.tool.name.clone(),
        client: Arc::clone(&caller.client),
        outlet: Arc::clone(&caller.outlet),
        declared: caller.declared.clone(),
        call,
        events: caller.events.clone(),
        token,
        unwanted: CancellationToken::new(),
    };
    let outcome = send(hub, caller, flight, (params, mirrored), id).await;
    mate_fault::point_async!("bridge.answer_read");
    let settled = Settled {
        outcome: outcome.clone(),
        upstream_request: id,
        started,
        ended: hub.clock.now(),
        took: hub.clock.monotonic().saturating_sub(clock),
    };
    match hub.gate.settle(ticket, settled).await {
        Ok(receipt) => {
            let question = match &outcome {
                Outcome::InputRequired { result, .. } => Some(result.clone()),
                Outcome::Answered { .. }
                | Outcome::RpcError { .. }
                | Outcome::NotSent { .. }
                | Outcome::Unknown { .. } => None,
            };
            Sent { replied: Replied { answer: for_runtime(hub, &operation, outcome), receipt }, question }
        }
        Err(why) => {
            let replied = Replied::plain(words::error(&words::unrecorded(&operation, &why)));
            Sent { replied, question: None }
        }
    }
}

fn for_runtime(hub: &Hub, operation: &str, outcome: Outcome) -> Answer {
    let levels = hub.limits.depth;
    match outcome {
        Outcome::Answered { result, is_error } if depth(result.get()) > levels => {
            words::error(&words::too_deep(operation, levels, is_error))
        }
        Outcome::RpcError { error } if depth(error.get()) > levels => {
            words::error(&words::too_deep(operation, levels, true))
        }
        Outcome::InputRequired { result, .. } if depth(result.get()) > levels => {
            words::error(&words::too_deep(operation, levels, false))
        }
        Outcome::Answered { result, .. } | Outcome::InputRequired { result, .. } => Answer::Result(result),
        Outcome::RpcError { error } => Answer::Error(Fault(error)),
        Outcome::NotSent { why } => words::error(&words::not_sent(operation, &hub.shown(&why))),
        Outcome::Unknown { why } => words::error(&words::unknown(operation, &hub.shown(&why))),
    }
}

/// Removes the flight also when the task that carries it is torn down.
struct Aloft<'a> {
    hub: &'a Hub,
    id: u64,
}

impl Drop for Aloft<'_> {
    fn drop(&mut self) {
        lock(&self.hub.flights).remove(&self.id);
    }
}

async fn send(
    hub: &Arc<Hub>,
    caller: &Caller,
    flight: Flight,
    (params, mirrored): (Box<RawValue>, Vec<(String, String)>),
    id: u64,
) -> Outcome {
    let conn = flight.conn;
    let at = &hub.conns[conn];
    let Ok(_slot) = Arc::clone(&at.slots).try_acquire_owned() else {
        let why = format!("{} calls are already in flight at this connection", hub.limits.in_flight);
        return Outcome::NotSent { why };
    };
    let operation = flight.operation.clone().unwrap_or_default();
    let new = at.upstream.is_new();
    let late = late(&hub.gate, &operation, new);
    let unwanted = flight.unwanted.clone();
    lock(&hub.flights).insert(id, flight);
    let _aloft = Aloft { hub, id };
    let (reply, race, end) = Reply::new(Some(late));
    let upstream = Arc::clone(&at.upstream);
    let sending = tokio::spawn(async move {
        mate_fault::point_async!("bridge.before_write");
        upstream.send(Outgoing { id, method: "tools/call", params, mirrored, reply }).await;
    });
    let deadline = tokio::time::sleep(at.call_timeout);
    tokio::pin!(deadline);
    let waiting = Waiting { hub, conn, id, race, unwanted: unwanted.clone() };
    let answer = match waiting.end(caller, end, sending, deadline.as_mut()).await {
        Ok(answer) => answer,
        Err(outcome) => return outcome,
    };
    match Made::read(&answer, new) {
        None => judge(answer),
        Some(Err(why)) => Outcome::Unknown { why },
        Some(Ok(made)) => {
            let following = Following { hub, conn, flight: id, operation: &operation, made, unwanted };
            following.end(caller, deadline).await
        }
    }
}

/// The runtime's parameters with the upstream's tool name and our marks in `_meta`; nothing else changes.
fn params(
    asked: Asked,
    found: &Exposed,
    ticket: &Ticket,
    (speaks_for, roots): (Option<&Caller>, bool),
    id: u64,
    as_task: bool,
) -> Box<RawValue> {
    let Asked { mut params, mut meta, token, .. } = asked;
    if token.is_some() {
        meta.set("progressToken", raw(&id));
    }
    meta.set("agent-mate/operation", raw(&ticket.operation));
    meta.set("agent-mate/idempotencyKey", raw(&ticket.idempotency_key));
    if !ticket.traceparent.is_empty() {
        meta.set("traceparent", raw(&ticket.traceparent));
    }
    if let Some(caller) = speaks_for {
        meta.set(era::CAN, caller.can(roots));
        if let Some(level) = caller.client.level() {
            meta.set(era::LEVEL, raw(&level));
        }
    }
    if let Some(mut can) = meta.object(era::CAN).filter(|can| !roots && can.get("roots").is_some()) {
        // What the runtime has of roots is not for this upstream.
        can.remove("roots");
        meta.set(era::CAN, can.to_raw());
    }
    params.set("name", raw(&found.tool.name));
    // The bridge offers the runtime no tasks, so that a wish for one is not heard.
    params.remove("task");
    if as_task {
        params.set("task", raw(&json!({ "ttl": TASK_TTL_MS })));
    }
    params.set("_meta", meta.to_raw());
    params.to_raw()
}

/// The arguments that the tool wants in headers as well.
fn mirrored(asked: &Asked, found: &Exposed) -> Vec<(String, String)> {
    let Ok(mirrors) = found.tool.mirrors() else { return Vec::new() };
    let Some(arguments) = asked.arguments().filter(|_| !mirrors.is_empty()) else { return Vec::new() };
    mirrors.iter().filter_map(|mirror| Some((mirror.header(), mirror.shown(arguments)?))).collect()
}

/// What becomes of an answer that comes after the operation was settled.
fn late(gate: &Arc<dyn Gate>, operation: &str, new: bool) -> Box<dyn FnOnce(End) + Send> {
    let (gate, operation) = (Arc::clone(gate), operation.to_owned());
    Box::new(move |end| {
        let End::Answer(answer) = end else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                match Made::read(&answer, new) {
                    None => gate.late(&operation, judge(answer)).await,
                    // What becomes of it is asked later.
                    Some(Ok(made)) => {
                        if let Err(why) = made.tell(&*gate, &operation).await {
                            gate.diagnostic(None, &format!("{operation}: {why}"));
                        }
                    }
                    Some(Err(why)) => gate.diagnostic(None, &format!("{operation}: {why}")),
                }
            });
        }
    })
}

struct Waiting<'a> {
    hub: &'a Arc<Hub>,
    conn: usize,
    id: u64,
    race: Race,
    unwanted: CancellationToken,
}

impl Waiting<'_> {
    /// The upstream's answer to the request, or what the call came to without one.
    async fn end(
        self,
        caller: &Caller,
        mut end: oneshot::Receiver<End>,
        sending: JoinHandle<()>,
        mut deadline: Pin<&mut Sleep>,
    ) -> Result<Answer, Outcome> {
        let limit = self.hub.conns[self.conn].call_timeout;
        let mut told = false;
        loop {
            tokio::select! {
                biased;
                end = &mut end => return match end {
                    Ok(End::Answer(answer)) => Ok(answer),
                    Ok(End::NotSent(why)) => Err(Outcome::NotSent { why }),
                    Ok(End::Unknown(why)) => Err(Outcome::Unknown { why }),
                    Err(_) => Err(Outcome::Unknown { why: "the call was lost on its way".into() }),
                },
                () = caller.cancelled.cancelled(), if !told => {
                    told = true;
                    if self.race.give_up() {
                        return Err(Outcome::NotSent { why: "it was cancelled before it was sent".into() });
                    }
                    // A wish, not an end: the outcome is still waited for.
                    self.tell_upstream("the caller cancelled");
                }
                () = self.unwanted.cancelled(), if !told => {
                    told = true;
                    if self.race.give_up() {
                        return Err(Outcome::NotSent { why: "a stop came before it was sent".into() });
                    }
                    self.tell_upstream("the task was asked to stop");
                }
                () = deadline.as_mut() => {
                    let seconds = limit.as_secs_f32();
                    reap(sending, limit);
                    if self.race.give_up() {
                        let why = format!("the upstream was not ready within {seconds} s");
                        return Err(Outcome::NotSent { why });
                    }
                    self.tell_upstream("it took too long");
                    return Err(Outcome::Unknown { why: format!("no answer came within {seconds} s") });
                }
            }
        }
    }

    fn tell_upstream(&self, why: &str) {
        let upstream = Arc::clone(&self.hub.conns[self.conn].upstream);
        let params = raw(&json!({ "requestId": self.id, "reason": why }));
        tokio::spawn(async move { upstream.notify("notifications/cancelled", params).await });
    }
}

/// Leaves a late answer as much time again, then lets go of it.
fn reap(mut sending: JoinHandle<()>, limit: Duration) {
    tokio::spawn(async move {
        if tokio::time::timeout(limit, &mut sending).await.is_err() {
            sending.abort();
        }
    });
}
