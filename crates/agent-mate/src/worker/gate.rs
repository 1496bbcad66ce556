//! The bridge's gate: what the bridge asks, the engine's admission desk decides and records.

use super::{
    artifacts::{Called, Shelf},
    recorder::Recorder,
};
use async_trait::async_trait;
use mate_bridge::{
    Admission as Verdict, Answering, Call, Gate, Named, Outcome as Carried, Receipt, Settled, Ticket,
};
use mate_engine::admit::{self, Admission, Admitted, Ended, Go, Request, Tell};
use mate_guard::{Definition, Redactor};
use mate_model::{
    ConnectionId, OperationId,
    event::EventType,
    operation::Outcome,
    words::{DenyReason, ReportStatus},
};
use mate_store::OperationFacts;
use serde::Deserialize;
use serde_json::{json, value::RawValue};
use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};
use tokio::sync::watch;

/// The longest text of an upstream that is kept of an error, in characters.
const MAX_DETAIL: usize = 500;

pub(super) struct WorkerGate {
    pub(super) desk: Arc<Admission>,
    pub(super) recorder: Recorder,
    pub(super) redactor: Arc<Redactor>,
    pub(super) listed: watch::Sender<bool>,
    pub(super) definitions: Definitions,
    pub(super) shelf: Shelf,
}

/// The definitions that were read already, each for as long as its connection offers it.
#[derive(Default)]
pub(super) struct Definitions(Mutex<HashMap<(String, String), Read>>);

/// A definition as it came, and as it was read.
type Read = (Arc<RawValue>, Arc<Definition>);

/// The most that are remembered: more are read each time.
const MOST_DEFINITIONS: usize = 10_000;

impl Definitions {
    fn of(&self, connection: &str, tool: &str, raw: &Arc<RawValue>) -> Arc<Definition> {
        let key = (connection.to_owned(), tool.to_owned());
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((same, definition)) = known.get(&key)
            && Arc::ptr_eq(same, raw)
        {
            return Arc::clone(definition);
        }
        let definition = Arc::new(Definition::of(raw.get()));
        if known.len() < MOST_DEFINITIONS || known.contains_key(&key) {
            known.insert(key, (Arc::clone(raw), Arc::clone(&definition)));
        }
        definition
    }
}

/// Of a tool that is not known: nothing is pinned like this.
static NOTHING: LazyLock<Arc<Definition>> = LazyLock::new(|| Arc::new(Definition::of("")));

#[derive(Deserialize)]
struct ReportArguments {
    status: ReportStatus,
    #[serde(default)]
    summary: String,
}

impl WorkerGate {
    /// The definition of the tool that is called.
    fn definition(&self, call: &Call, name: &str) -> Arc<Definition> {
        let known = call.definition.as_ref().map(|raw| self.definitions.of(name, &call.tool, raw));
        known.unwrap_or_else(|| Arc::clone(&NOTHING))
    }

    fn request<'a>(call: &'a Call, name: &'a str, definition: &'a Definition) -> Request<'a> {
        Request {
            tell: None,
            connection: call.connection.as_ref().map(|(id, _)| *id),
            connection_name: name,
            tool: &call.tool,
            arguments: call.arguments.get(),
            runtime_call: call.runtime_call_id.as_deref(),
            definition,
            says_read_only: call.definition.as_ref().is_some_and(|definition| says_read_only(definition)),
            continues: call.continues.as_ref().map(|state| state.get()),
            gone: Some(&call.caller_gone),
        }
    }

    fn clean(&self, text: &str) -> String {
        self.redactor.shown(text, MAX_DETAIL).replace('\0', "\u{fffd}")
    }

    fn ended(&self, settled: &Settled) -> Ended {
        let (outcome, result) = match &settled.outcome {
            Carried::Answered { result, is_error } => {
                let error = is_error.then(|| self.clean(&words_of(result)));
                (Outcome::Result { error }, Some(result))
            }
            // An answer to a call that was given up: what it would ask, nobody can answer any more.
            Carried::InputRequired { .. } => {
                (Outcome::Lost { detail: "the upstream asked a question too late".to_owned() }, None)
            }
            Carried::RpcError { error } => (Outcome::Error { detail: self.clean(error.get()) }, None),
            Carried::NotSent { why } => (Outcome::NotSent { detail: self.clean(why) }, None),
            Carried::Unknown { why } => (Outcome::Lost { detail: self.clean(why) }, None),
        };
        let sent = !matches!(settled.outcome, Carried::NotSent { .. });
        let answered = matches!(settled.outcome, Carried::Answered { .. } | Carried::RpcError { .. });
        let facts = OperationFacts {
            sent_at: sent.then_some(settled.started),
            answered_at: answered.then_some(settled.ended),
            duration_us: sent.then_some(settled.took.max(0)),
            result_size: result.and_then(|result| i64::try_from(result.get().len()).ok()),
            result_type: result.map(|result| result_type(result)),
        };
        // A longer one is not kept, and so not copied.
        let short = result.filter(|result| result.get().len() <= admit::KEEP);
        Ended::new(outcome, facts, short.map(|result| result.get().to_owned()))
    }
}

#[async_trait]
impl Gate for WorkerGate {
    fn granted(&self, connection: &str, tool: &str, definition: &Arc<RawValue>) -> bool {
        let known = self.definitions.of(connection, tool, definition);
        self.desk.lists(connection, tool, says_read_only(definition), &known)
    }

    async fn offered(&self, (connection, name): (ConnectionId, &str), tools: Vec<(String, Arc<RawValue>)>) {
        let read = |(tool, raw): (String, Arc<RawValue>)| {
            let definition = self.definitions.of(name, &tool, &raw);
            (tool, definition)
        };
        if let Err(error) = self.desk.saw(connection, tools.into_iter().map(read).collect()).await {
            tracing::warn!(connection = name, %error, "what is offered could not be pinned: it is not used");
        }
    }

    fn connection_granted(&self, connection: &str) -> bool {
        self.desk.names(connection)
    }

    async fn may_read(&self, connection: &str) -> bool {
        self.desk.may_read(connection).await
    }

    async fn admit(&self, call: &Call) -> Verdict {
        let name = call.connection.as_ref().map_or("", |(_, name)| name.as_ref());
        let tell = |what: &str| call.progress.say(what);
        let definition = self.definition(call, name);
        let request = Request { tell: Some(Tell(&tell)), ..Self::request(call, name, &definition) };
        match self.desk.admit(&request).await {
            Admitted::Refused(text) => Verdict::Refuse { text, receipt: Receipt::none() },
            Admitted::Told { text, receipt } => Verdict::Refuse { text, receipt: carried(receipt) },
            Admitted::Stored { operation, result, receipt } => match RawValue::from_string(result) {
                Ok(result) => {
                    let (operation, receipt) = (operation.to_string(), carried(receipt));
                    Verdict::Answer { operation, result, receipt }
                }
                Err(_) => Verdict::Refuse { text: unreadable(operation), receipt: Receipt::none() },
            },
            Admitted::Asked { operation, result } => match RawValue::from_string(result) {
                Ok(result) => Verdict::Ask { result },
                Err(_) => Verdict::Refuse { text: unreadable(operation), receipt: Receipt::none() },
            },
            Admitted::Go(go) => {
                let operation = go.operation().to_string();
                Verdict::Send(Ticket {
                    idempotency_key: go.idempotency_key().to_string(),
                    traceparent: format!("00-{}-{}-01", go.trace, &go.trace[..16]),
                    operation,
                    payload: go,
                })
            }
        }
    }

    async fn refused(&self, call: &Call, why: &str) -> Option<String> {
        let why = self.clean(why);
        let Some((_, name)) = &call.connection else {
            let request = Self::request(call, "", &NOTHING);
            self.desk.refused(&request, DenyReason::UnknownTool, &why).await;
            return None;
        };
        let definition = self.definition(call, name);
        let request = Self::request(call, name, &definition);
        if call.definition.as_ref().is_some_and(|definition| self.granted(name, &call.tool, definition)) {
            self.desk.refused(&request, DenyReason::BadArguments, &why).await;
            None
        } else {
            self.desk.refused_unlisted(&request, &why).await
        }
    }

    async fn settle(&self, ticket: Ticket, settled: Settled) -> Result<Receipt, String> {
        let go = ticket.payload.downcast::<Go>().map_err(|_| "a ticket without its permit".to_owned())?;
        let (turn, operation) = (go.turn(), go.operation());
        let mut ended = self.ended(&settled);
        let recorded = match settled.outcome {
            Carried::InputRequired { state, result } => self.desk.ask(*go, state.get(), result.get()).await,
            Carried::Answered { result, .. } => {
                let called = Called { operation, tool: go.tool().to_owned(), turn: (turn.task, turn.turn) };
                let plan = self.shelf.plan(&called, &result);
                (ended.artifacts, ended.left_out) = (plan.artifacts.clone(), plan.left_out);
                let recorded = self.desk.settle(*go, ended).await;
                if recorded.is_ok() {
                    self.shelf.store(turn.turn, plan, result);
                }
                recorded
            }
            Carried::RpcError { .. } | Carried::NotSent { .. } | Carried::Unknown { .. } => {
                self.desk.settle(*go, ended).await
            }
        };
        match recorded {
            Ok(receipt) => Ok(carried(receipt)),
            Err(error) => {
                tracing::error!(operation = ticket.operation, %error, "an outcome could not be recorded");
                Err(format!(
                    "The call ({}) was made, and Agent Mate could not record its outcome: treat it as uncertain, \
                     do NOT repeat it, and say so in your report.",
                    ticket.operation
                ))
            }
        }
    }

    async fn upstream_task(&self, operation: &str, id: &str) -> Result<Named, String> {
        let operation = operation.parse::<OperationId>().map_err(|error| error.to_string())?;
        match self.desk.upstream_task(operation, id).await {
            Ok(true) => Ok(Named::Noted),
            Ok(false) => Ok(Named::AnotherCalls),
            Err(error) => Err(error.to_string()),
        }
    }

    fn answerable(&self, ticket: &Ticket) {
        if let Some(go) = ticket.payload.downcast_ref::<Go>() {
            self.desk.answerable(go);
        }
    }

    fn is_call(&self, operation: &str, call: &Call) -> bool {
        let Ok(id) = operation.parse::<OperationId>() else { return false };
        let name = call.connection.as_ref().map_or("", |(_, name)| &**name);
        self.desk.is_call(id, &Self::request(call, name, &NOTHING))
    }

    fn meanwhile(&self, operation: &str, result: Option<&RawValue>) {
        if let Ok(id) = operation.parse::<OperationId>() {
            self.desk.meanwhile(id, result.map(RawValue::get));
        }
    }

    async fn answer(&self, operation: &str, call: &Call, keys: &[String]) -> Answering {
        let Ok(id) = operation.parse::<OperationId>() else {
            return Answering::Refuse { text: "there is no such task".to_owned() };
        };
        let name = call.connection.as_ref().map_or("", |(_, name)| &**name);
        let definition = self.definition(call, name);
        match self.desk.answer(id, &Self::request(call, name, &definition), keys).await {
            Ok(admit::Answering::Go { permit, keys }) => {
                let (key, operation) = (operation.to_owned(), operation.to_owned());
                let payload = Box::new(permit);
                let ticket = Ticket { operation, idempotency_key: key, traceparent: String::new(), payload };
                Answering::Send { ticket, keys }
            }
            Ok(admit::Answering::Before) => Answering::Before,
            Ok(admit::Answering::Refused(text)) => Answering::Refuse { text },
            Err(error) => {
                tracing::warn!(%error, operation, "an answer to a question could not be recorded");
                let text =
                    format!("the answer could not be recorded ({error}), and was NOT sent; send it again");
                Answering::NotNow { text }
            }
        }
    }

    async fn answer_not_sent(&self, operation: &str, keys: &[String]) {
        if let Ok(id) = operation.parse::<OperationId>() {
            self.desk.answer_not_sent(id, keys).await;
        }
    }

    async fn late(&self, operation: &str, outcome: Carried) {
        let Ok(id) = operation.parse::<OperationId>() else { return };
        let now = self.recorder.now();
        let settled = Settled { outcome, upstream_request: 0, started: now, ended: now, took: 0 };
        let mut ended = self.ended(&settled);
        ended.facts.sent_at = None;
        ended.facts.duration_us = None;
        if let Err(error) = self.desk.late(id, ended).await {
            tracing::info!(operation, %error, "a late answer changed nothing");
        }
    }

    async fn report(&self, arguments: &RawValue) -> Result<String, String> {
        let report: ReportArguments = serde_json::from_str(arguments.get()).map_err(|error| {
            format!("the report was not understood ({error}); correct it and send it again")
        })?;
        let Some(turn) = self.desk.current() else { return Err("no task is running".to_owned()) };
        let summary: String = self.redactor.redact(&report.summary).chars().take(16_384).collect();
        let data = json!({ "status": report.status, "summary": summary });
        self.recorder
            .report(turn, report.status, EventType::AgentReported, data)
            .await
            .map_err(|error| format!("the report could not be recorded ({error}); send it again"))?;
        Ok("Recorded.".to_owned())
    }

    fn listed(&self) {
        self.listed.send_replace(true);
    }

    fn shown(&self, text: &str, characters: usize) -> String {
        self.redactor.shown(text, characters)
    }

    fn diagnostic(&self, connection: Option<&str>, text: &str) {
        let text = self.clean(text);
        self.recorder.diagnostic("bridge", connection, &text);
    }
}

/// A receipt of the desk's, as the bridge carries it.
fn carried(receipt: admit::Receipt) -> Receipt {
    Receipt::new(move || receipt.handed_over())
}

fn unreadable(operation: OperationId) -> String {
    format!(
        "An identical call ({operation}) has succeeded, and its stored result cannot be read. Nothing was sent now. \
         Go on as after a success."
    )
}

pub(super) fn says_read_only(definition: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Definition {
        #[serde(default)]
        annotations: Option<Annotations>,
    }
    #[derive(Deserialize)]
    struct Annotations {
        #[serde(rename = "readOnlyHint", default)]
        read_only: bool,
    }
    let known: Result<Definition, _> = serde_json::from_str(definition.get());
    known.ok().and_then(|known| known.annotations).is_some_and(|annotations| annotations.read_only)
}

/// The text of a result that says `isError`: an error is told in words, as that of a protocol error is.
pub(super) fn words_of(result: &RawValue) -> String {
    #[derive(Deserialize)]
    struct Shape {
        #[serde(default)]
        content: Vec<Block>,
    }
    #[derive(Deserialize)]
    struct Block {
        #[serde(default)]
        text: Option<String>,
    }
    let shape = serde_json::from_str::<Shape>(result.get());
    let texts = shape.into_iter().flat_map(|shape| shape.content).filter_map(|block| block.text);
    texts.collect::<Vec<_>>().join(" ")
}

/// What a result is made of, in a few words: `text`, `text,image`, `structured`.
pub(super) fn result_type(result: &RawValue) -> String {
    #[derive(Deserialize)]
    struct Shape {
        #[serde(default)]
        content: Vec<Block>,
        #[serde(rename = "structuredContent", default)]
        structured: Option<serde::de::IgnoredAny>,
    }
    #[derive(Deserialize)]
    struct Block {
        #[serde(rename = "type", default)]
        kind: String,
    }
    let Ok(shape) = serde_json::from_str::<Shape>(result.get()) else { return "other".to_owned() };
    let mut kinds: Vec<&str> = Vec::new();
    for block in &shape.content {
        let kind = match block.kind.as_str() {
            known @ ("text" | "image" | "audio" | "resource" | "resource_link") => known,
            _ => "other",
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    if shape.structured.is_some() {
        kinds.push("structured");
    }
    if kinds.is_empty() { "empty".to_owned() } else { kinds.join(",") }
}
