//! What the runtime says that it does, on its way into the journal: redacted, gathered, bounded.

use super::{
    own_tools::{self, Asked},
    recorder::Recorder,
};
use mate_engine::{
    EngineError,
    admit::{Admission, OwnCall},
};
use mate_guard::{Redactor, Stream};
use mate_model::{TurnId, event::EventType};
use mate_runtime::acp::{
    Activity, Diagnostic, Event, Message, PermissionAnswer, PermissionRequest, PlanEntry, Role, ToolCall,
    Usage,
};
use mate_store::{Change, Pending};
use serde_json::{Value, json};
use std::{collections::HashSet, sync::Arc};

/// Events that may wait before they are written.
const MAX_WAITING: usize = 128;
/// The longest single text of the runtime's that is kept, in characters.
const MAX_TEXT: usize = 4096;
/// Tool calls of the runtime's own that are followed at once.
const MAX_OWN: usize = 1000;

/// How the runtime's own tools are governed where it asks for leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnTools {
    /// Leave is given.
    Free,
    /// A person is asked.
    Ask,
    /// They are switched off: leave is not given.
    Off,
}

/// How long a text is gathered before it is written, in microseconds.
const GATHER: i64 = 400_000;
/// How much text is gathered before it is written, in bytes.
const GATHER_BYTES: usize = 2048;

/// A text that goes on: redacted as it comes, written in pieces.
struct Speech {
    role: Role,
    stream: Stream,
    text: String,
    /// When its unwritten part began, on the clock that never goes back.
    since: i64,
}

/// Takes the runtime's events.
pub(super) struct Pump {
    recorder: Recorder,
    redactor: Arc<Redactor>,
    own_tools: OwnTools,
    desk: Arc<Admission>,
    /// The exposed names of the bridge's tools.
    pub(super) bridge_tools: Vec<String>,
    turn: Option<TurnId>,
    waiting: Vec<Change>,
    /// What was handed to the journal last.
    writing: Option<Pending>,
    speaking: Option<Speech>,
    own: HashSet<String>,
    /// Calls of the bridge's tools, as the runtime shows them.
    bridged: HashSet<String>,
    own_written: usize,
    /// What was told of a conversation's history before its first prompt here.
    pub(super) history: u64,
    /// Nothing was said, called or used in this turn so far.
    pub(super) empty: bool,
}

impl Pump {
    pub(super) fn new(
        recorder: Recorder,
        redactor: Arc<Redactor>,
        own_tools: OwnTools,
        desk: Arc<Admission>,
    ) -> Self {
        Self {
            recorder,
            redactor,
            own_tools,
            desk,
            bridge_tools: Vec::new(),
            turn: None,
            waiting: Vec::new(),
            writing: None,
            speaking: None,
            own: HashSet::new(),
            bridged: HashSet::new(),
            own_written: 0,
            history: 0,
            empty: true,
        }
    }

    /// From here on what the runtime says belongs to this turn.
    pub(super) fn begin(&mut self, turn: TurnId) {
        self.discard();
        self.turn = Some(turn);
        self.empty = true;
    }

    /// What was gathered is history of another turn: it is recorded already.
    pub(super) fn discard(&mut self) {
        self.waiting.clear();
        self.speaking = None;
        self.own.clear();
        self.bridged.clear();
        self.own_written = 0;
        self.turn = None;
    }

    /// Whether a tool of the runtime's own is at work, as it shows it.
    pub(super) fn own_activity(&self) -> bool {
        !self.own.is_empty()
    }

    /// Whether so much waits that it must be written before more is taken.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= MAX_WAITING
    }

    /// Takes one event. What it says is written with the next [`Pump::flush`].
    pub(super) fn take(&mut self, event: Event) {
        match event {
            Event::Activity(activity) if self.turn.is_some() => self.activity(activity),
            // Before the first prompt everything is the history of a loaded session.
            Event::Activity(activity) => self.history += u64::from(is_history(&activity)),
            Event::Permission(request) => self.permission(request),
            Event::Diagnostic(Diagnostic::Garbage { lines, sample }) => {
                let sample = self.clean(&sample);
                let text =
                    format!("{lines} lines on standard output were no messages; the latest begins: {sample}");
                self.recorder.diagnostic("runtime_stdout", None, &text);
            }
            Event::Diagnostic(Diagnostic::Refused { method }) => {
                let text =
                    format!("the runtime asked for {}, which is not offered to it", self.clean(&method));
                self.recorder.diagnostic("runtime", None, &text);
            }
        }
    }

    /// Hands what waits to the journal, once it has what it was handed before. Does not wait for it: a stop must be
    /// heard also while the journal cannot be written.
    pub(super) async fn flush(&mut self) -> Result<(), EngineError> {
        if let Some(writing) = &mut self.writing
            && writing.look().map_err(EngineError::from)?.is_none()
        {
            return Ok(());
        }
        self.writing = None;
        let now = self.recorder.clock.monotonic();
        let ripe = |speech: &Speech| now - speech.since >= GATHER || speech.text.len() >= GATHER_BYTES;
        if self.speaking.as_ref().is_some_and(ripe) {
            self.say();
        }
        if self.own.len() != self.own_written
            && let Some(turn) = self.turn
        {
            self.own_written = self.own.len();
            self.waiting.push(Change::SetOwnActivity { turn, count: self.own.len() as i64 });
        }
        if self.waiting.is_empty() {
            return Ok(());
        }
        self.writing = Some(self.recorder.post(std::mem::take(&mut self.waiting)).await?);
        Ok(())
    }

    /// Writes everything, also what the redactor held back; durable when this returns.
    pub(super) async fn finish(&mut self) -> Result<(), EngineError> {
        self.end_speech();
        self.landed().await?;
        self.flush().await?;
        self.landed().await
    }

    async fn landed(&mut self) -> Result<(), EngineError> {
        match self.writing.take() {
            Some(writing) => self.recorder.landed(writing).await,
            None => Ok(()),
        }
    }

    fn activity(&mut self, activity: Activity) {
        match activity {
            Activity::Message(message) => self.message(&message),
            Activity::ToolCall(call) => self.tool(EventType::ToolCall, &call),
            Activity::ToolUpdate(call) => self.tool(EventType::ToolUpdate, &call),
            Activity::Plan { entries } => self.plan(&entries),
            Activity::Usage(usage) => self.usage(&usage),
            Activity::Mode { id } => {
                let data = json!({ "source": "runtime", "about": "mode", "text": self.clean(&id) });
                self.push(EventType::Diagnostic, data);
            }
            Activity::Commands { .. } => {}
            Activity::Other { kind, size } => {
                let text = format!("an update of an unknown kind, {} ({size} bytes)", self.clean(&kind));
                self.push(
                    EventType::Diagnostic,
                    json!({ "source": "runtime", "about": "update", "text": text }),
                );
            }
        }
    }

    fn message(&mut self, message: &Message) {
        if message.role != Role::User && !message.text.trim().is_empty() {
            self.empty = false;
        }
        if self.speaking.as_ref().is_some_and(|speech| speech.role != message.role) {
            self.end_speech();
        }
        let (redactor, now) = (&self.redactor, self.recorder.clock.monotonic());
        let speech = self.speaking.get_or_insert_with(|| Speech {
            role: message.role,
            stream: redactor.stream(),
            text: String::new(),
            since: now,
        });
        if speech.text.is_empty() {
            speech.since = now;
        }
        let text = speech.stream.push(&message.text);
        speech.text.push_str(&text);
    }

    fn end_speech(&mut self) {
        if let Some(mut speech) = self.speaking.take() {
            let rest = speech.stream.finish();
            speech.text.push_str(&rest);
            self.push_text(speech.role, &speech.text);
        }
    }

    /// Writes what was gathered of a text that goes on.
    fn say(&mut self) {
        if let Some(speech) = &mut self.speaking {
            let (role, text) = (speech.role, std::mem::take(&mut speech.text));
            self.push_text(role, &text);
        }
    }

    fn push_text(&mut self, role: Role, text: &str) {
        if text.is_empty() {
            return;
        }
        let kind = match role {
            Role::Agent => EventType::AgentMessage,
            Role::Thought => EventType::AgentThought,
            Role::User => EventType::UserMessage,
        };
        self.push(kind, json!({ "text": text }));
    }

    fn tool(&mut self, kind: EventType, call: &ToolCall) {
        self.empty = false;
        self.end_speech();
        let bridged = self.bridged.contains(&call.id) || self.is_bridged(call);
        if bridged && self.bridged.len() < MAX_OWN {
            self.bridged.insert(call.id.clone());
        }
        match call.status.as_deref() {
            Some("completed" | "failed" | "cancelled") => {
                self.own.remove(&call.id);
            }
            Some(_) | None if bridged => {}
            // An update that says nothing of the state of a call.
            None if kind == EventType::ToolUpdate => {}
            Some(_) | None if self.own.len() < MAX_OWN => {
                self.own.insert(call.id.clone());
            }
            Some(_) | None => {}
        }
        let clean = |text: &Option<String>| text.as_deref().map(|text| self.clean(text));
        let data = json!({
            "call": self.clean(&call.id),
            "title": clean(&call.title),
            "kind": clean(&call.kind),
            "status": clean(&call.status),
            "bridge": bridged,
            "locations": call.locations.iter().take(20).map(|place| self.clean(place)).collect::<Vec<_>>(),
        });
        self.push(kind, data);
    }

    fn plan(&mut self, entries: &[PlanEntry]) {
        let entries: Vec<Value> = entries
            .iter()
            .take(100)
            .map(|entry| {
                json!({
                    "content": self.clean(&entry.content),
                    "status": self.clean(&entry.status),
                    "priority": self.clean(&entry.priority),
                })
            })
            .collect();
        self.push(EventType::AgentPlan, json!({ "entries": entries }));
    }

    pub(super) fn usage(&mut self, usage: &Usage) {
        if usage.output_tokens.is_some_and(|tokens| tokens > 0)
            || usage.total_tokens.is_some_and(|tokens| tokens > 0)
        {
            self.empty = false;
        }
        self.push(EventType::Usage, json!(usage));
    }

    fn permission(&mut self, request: PermissionRequest) {
        // Some name the call in what they showed of it before, and only its id here.
        let nameless = request.tool.title.is_none() && request.tool.name.is_none();
        let bridged = self.is_bridged(&request.tool) || nameless && self.bridged.contains(&request.tool.id);
        let allow = bridged || self.own_tools == OwnTools::Free;
        let title = request.tool.title.as_deref().or(request.tool.name.as_deref()).unwrap_or_default();
        let title = self.clean(title);
        self.push(
            EventType::PermissionAsked,
            json!({ "request": request.id, "title": title, "bridge": bridged }),
        );
        if !allow && self.own_tools == OwnTools::Ask {
            return self.ask_a_person(request, title);
        }
        let by = if bridged {
            "the bridge judges the call itself"
        } else if allow {
            "the runtime's own tools are free in this registration"
        } else {
            "the runtime's own tools are switched off in this registration"
        };
        let answer = request.option(allow).map(|option| option.id.clone());
        let answer = answer.map_or(PermissionAnswer::Cancelled, PermissionAnswer::Selected);
        // A runtime that no longer waits has withdrawn the request itself.
        let heard = request.answer.send(answer).is_ok();
        let data = json!({ "request": request.id, "allowed": allow && heard, "detail": by });
        self.push(EventType::PermissionAnswered, data);
    }

    fn ask_a_person(&self, request: PermissionRequest, title: String) {
        let option = |allow| request.option(allow).cloned();
        let (allow, reject) = (option(true), option(false));
        let kind = request.tool.kind.as_deref().map(|kind| self.clean(kind));
        let call = OwnCall { title, kind, request: request.exact.to_string() };
        let asked = Asked { request: request.id, call, allow, reject, answer: request.answer };
        own_tools::ask(&self.desk, &self.recorder, asked);
    }

    /// Whether a call is one of the bridge's tools under the name that the runtime gives it. Only a whole name
    /// counts, so that a command line that mentions a tool is not taken for it; and a title counts only for a call
    /// that the runtime does not show as work of its own kinds (a shell shows its command as the title).
    fn is_bridged(&self, call: &ToolCall) -> bool {
        let foreign = matches!(call.kind.as_deref(), None | Some("other"));
        let title = call.title.as_deref().filter(|_| foreign);
        let named = call.name.as_deref().or(title).unwrap_or_default();
        self.bridge_tools.iter().any(|tool| {
            let Some(before) = named.strip_suffix(tool.as_str()) else { return false };
            before.is_empty()
                || (before.ends_with(['_', '-'])
                    && before.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)))
        })
    }

    fn push(&mut self, kind: EventType, data: Value) {
        self.waiting.push(Change::Event(self.recorder.draft(kind, data)));
    }

    fn clean(&self, text: &str) -> String {
        self.redactor.shown(text, MAX_TEXT)
    }
}

/// Whether it is something that was said or done, and no news of the runtime's own state.
const fn is_history(activity: &Activity) -> bool {
    match activity {
        Activity::Message(_) | Activity::ToolCall(_) | Activity::ToolUpdate(_) | Activity::Plan { .. } => {
            true
        }
        Activity::Usage(_) | Activity::Mode { .. } | Activity::Commands { .. } | Activity::Other { .. } => {
            false
        }
    }
}
