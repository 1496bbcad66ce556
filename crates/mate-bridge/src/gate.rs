//! The gate: whoever decides about a call and records it. The bridge only carries.

use crate::upstream::Progress;
use async_trait::async_trait;
use mate_model::{ConnectionId, Micros};
use serde_json::value::RawValue;
use std::{any::Any, fmt, sync::Arc};
use tokio_util::sync::CancellationToken;

/// One `tools/call` of the runtime, before it is decided.
#[derive(Debug)]
pub struct Call {
    /// The connection that offers the tool; `None` when no granted tool has the called name.
    pub connection: Option<(ConnectionId, Arc<str>)>,
    /// The upstream's own name of the tool (the called name when there is no connection).
    pub tool: String,
    /// The arguments exactly as the runtime wrote them; `{}` when it wrote none.
    pub arguments: Box<RawValue>,
    /// The runtime's own id of this call, where it passes one. Never to be relied on.
    pub runtime_call_id: Option<String>,
    /// For a further round of a call (2026-07-28): the `requestState` that the upstream wanted to see again, `null` when
    /// it gave none.
    pub continues: Option<Box<RawValue>>,
    /// The tool's definition as the upstream sent it (annotations, schemas); `None` for an unknown tool.
    pub definition: Option<Arc<RawValue>>,
    /// Triggered when nobody waits for the answer any more: the runtime cancelled or hung up.
    pub caller_gone: CancellationToken,
    /// Tells the waiting runtime that it is still being worked on.
    pub progress: Progress,
}

/// What the gate decided. Only [`Admission::Send`] lets a byte go out.
#[derive(Debug)]
pub enum Admission {
    /// The intent is durable and the second read agreed: send it, once.
    Send(Ticket),
    /// Not to be sent; the text tells the agent why, and what to do next.
    Refuse {
        /// Becomes a tool result with `isError`.
        text: String,
        /// To be handed over with it.
        receipt: Receipt,
    },
    /// Already answered; nothing is sent.
    Answer {
        /// The operation whose result this is.
        operation: String,
        /// The stored result, passed on with a mark that it is one.
        result: Box<RawValue>,
        /// To be handed over with it.
        receipt: Receipt,
    },
    /// An equal call waits for the answer to a question of its upstream; nothing is sent.
    Ask {
        /// The question, passed on as it was.
        result: Box<RawValue>,
    },
}

/// What the gate decided of answers to what an upstream asks about a call in flight.
#[derive(Debug)]
pub enum Answering {
    /// The round's intent is durable and the second read agreed: send it, once. Nothing is to be settled.
    Send {
        /// The permission.
        ticket: Ticket,
        /// The questions that it answers; the others that were named have been answered before.
        keys: Vec<String>,
    },
    /// All of them were answered before; nothing is sent.
    Before,
    /// Not to be sent; the text says why.
    Refuse {
        /// For the agent.
        text: String,
    },
    /// It cannot be judged or recorded at the moment; nothing is sent, and it may be tried again.
    NotNow {
        /// For the agent.
        text: String,
    },
}

/// Goes with an answer to the runtime's transport. Dropped on the way, the answer has not reached the runtime.
#[must_use = "hand it over with the answer, or drop it"]
pub struct Receipt(Option<Box<dyn FnOnce() + Send + Sync>>);

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Receipt").field(&self.0.is_some()).finish()
    }
}

impl Receipt {
    /// For an answer whose arrival changes nothing.
    pub const fn none() -> Self {
        Self(None)
    }

    /// `handed_over` is called when the answer has reached the socket or pipe of a caller that is still there, and
    /// dropped without a call when it cannot any more. It must not block.
    pub fn new(handed_over: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(handed_over)))
    }

    /// Whether it goes with something that the runtime has not heard of for sure.
    pub(crate) const fn tells_news(&self) -> bool {
        self.0.is_some()
    }

    /// The answer was handed over.
    pub(crate) fn handed_over(self) {
        let Some(tell) = self.0 else { return };
        match tokio::runtime::Handle::try_current() {
            // The transport's own task must not be held.
            Ok(runtime) if mate_fault::COMPILED_IN => {
                runtime.spawn(async move {
                    mate_fault::point_async!("bridge.told");
                    tell();
                });
            }
            Ok(_) | Err(_) => tell(),
        }
    }
}

/// The permission to send one call once, and what the gate wants to have back with its outcome.
pub struct Ticket {
    /// The operation's id, shown to the agent and to the upstream.
    pub operation: String,
    /// Sent as `_meta["agent-mate/idempotencyKey"]`; usually the operation's id.
    pub idempotency_key: String,
    /// W3C trace context, sent as `_meta.traceparent`.
    pub traceparent: String,
    /// The gate's own; comes back in [`Gate::settle`].
    pub payload: Box<dyn Any + Send>,
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("operation", &self.operation).finish_non_exhaustive()
    }
}

/// How a call that was admitted ended, as far as the bridge can prove it.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The upstream answered with a result.
    Answered {
        /// The `result` member, byte for byte.
        result: Box<RawValue>,
        /// What the result says of itself (`isError`).
        is_error: bool,
    },
    /// The upstream answered with a question (`input_required`): the call goes on with a further round.
    InputRequired {
        /// The `result` member, byte for byte.
        result: Box<RawValue>,
        /// Its `requestState`, or `null`.
        state: Box<RawValue>,
    },
    /// The upstream answered with a JSON-RPC error.
    RpcError {
        /// The `error` member, byte for byte.
        error: Box<RawValue>,
    },
    /// It is proved that no byte of the call reached the upstream.
    NotSent {
        /// The proof, in words.
        why: String,
    },
    /// The upstream may have received the call, and no usable answer came.
    Unknown {
        /// What happened, in words.
        why: String,
    },
}

/// What became of an upstream's name for the task that it made of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// It is written down.
    Noted,
    /// It is the name of another call's task, and proves nothing of this one: not to be followed.
    AnotherCalls,
}

/// An outcome with its times.
#[derive(Debug, Clone)]
pub struct Settled {
    /// How it ended.
    pub outcome: Outcome,
    /// The JSON-RPC id of the request at the upstream.
    pub upstream_request: u64,
    /// When the call was handed to the upstream's transport.
    pub started: Micros,
    /// When its outcome was known.
    pub ended: Micros,
    /// Microseconds between the two on a monotonic clock.
    pub took: i64,
}

/// Decides and records. Implemented by the session worker with the engine.
///
/// Every method may be called concurrently. For each [`Admission::Send`] the bridge calls
/// [`Gate::settle`] exactly once, before the runtime sees anything of the answer.
#[async_trait]
pub trait Gate: Send + Sync + 'static {
    /// May this tool be listed? (The call itself is judged by [`Gate::admit`].)
    fn granted(&self, connection: &str, tool: &str, definition: &Arc<RawValue>) -> bool;

    /// A connection's tools were listed, and are offered when this returns: with their definitions, by the upstream's own
    /// names.
    async fn offered(&self, _connection: (ConnectionId, &str), _tools: Vec<(String, Arc<RawValue>)>) {}

    /// Is anything of this connection granted? Decides about its resources, prompts and completions.
    fn connection_granted(&self, connection: &str) -> bool;

    /// May something of this connection be read now? Asked anew before each read that goes to an upstream.
    async fn may_read(&self, connection: &str) -> bool {
        self.connection_granted(connection)
    }

    /// Judges a call whose tool is known and whose arguments fit its schema.
    async fn admit(&self, call: &Call) -> Admission;

    /// A call that the bridge itself refused, to be recorded as an operation. Gives what the agent is to be told, where
    /// more is known of it.
    async fn refused(&self, call: &Call, why: &str) -> Option<String>;

    /// Records how an admitted call ended. What it gives goes with the answer to the runtime.
    ///
    /// # Errors
    /// What to tell the agent when it could not be recorded. The agent then does not see the answer.
    async fn settle(&self, ticket: Ticket, settled: Settled) -> Result<Receipt, String>;

    /// The upstream carries an admitted call out as a task, and has named it: to be written down before anything is
    /// asked of the task. May come after the operation had been settled as unknown. The id is untrusted, and bounded.
    ///
    /// # Errors
    /// Why it could not be written down, in words. The result is waited for all the same.
    async fn upstream_task(&self, operation: &str, id: &str) -> Result<Named, String>;

    /// An admitted call is about to be sent whose upstream may ask about it while it is in flight; the runtime answers.
    fn answerable(&self, _ticket: &Ticket) {}

    /// Whether a call is equal to one that is in flight, as calls are compared on record.
    fn is_call(&self, operation: &str, call: &Call) -> bool;

    /// What equal calls are given while the call is in flight: the question that its upstream has asked, or the task that
    /// it became. None: nothing, they wait.
    fn meanwhile(&self, _operation: &str, _result: Option<&RawValue>) {}

    /// Judges answers to what the upstream asks about an admitted call while it is in flight, by the keys of the
    /// questions. `call` is the call as it was made, or the further one that carries the answer. Each question is answered
    /// at most once.
    async fn answer(&self, operation: &str, call: &Call, keys: &[String]) -> Answering;

    /// It is proved that no byte of these answers went out.
    async fn answer_not_sent(&self, _operation: &str, _keys: &[String]) {}

    /// An answer that came after the operation had been settled as unknown.
    async fn late(&self, operation: &str, outcome: Outcome);

    /// The agent reports the end of its task (`agent_mate__report`); the arguments fit the tool's schema.
    ///
    /// # Errors
    /// Why the report was not taken, for the agent.
    async fn report(&self, arguments: &RawValue) -> Result<String, String>;

    /// The runtime listed the tools.
    fn listed(&self);

    /// A text that may hold an upstream's words, as it may be told: without secrets, and only then cut to so many
    /// characters.
    fn shown(&self, text: &str, characters: usize) -> String;

    /// Something worth a line in the worker's log. The text may hold an upstream's words: untrusted, bounded by far more
    /// than is shown, and not redacted.
    fn diagnostic(&self, connection: Option<&str>, text: &str);
}
