//! A `tools/call` of the runtime: read, found, checked, admitted; then dispatched.

use super::{
    Hub,
    catalogue::Exposed,
    client::{Caller, Replied},
    dispatch, held, report, rounds,
    verdict::is_a_new_task,
    words,
};
use crate::{
    core::{Answer, Fault, Object, message::depth},
    gate::{Admission, Call, Ticket},
    upstream::Progress,
};
use serde_json::{Value, value::RawValue};
use std::sync::Arc;

/// What `params` of a call holds.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) params: Object,
    pub(super) meta: Object,
    pub(super) token: Option<Arc<RawValue>>,
    name: String,
    arguments: Option<Box<RawValue>>,
}

impl Asked {
    fn read(params: Option<&RawValue>) -> Result<Self, String> {
        let params = Object::parse(params.ok_or("`params` is missing")?)?;
        let name = params.text("name").ok_or("`name` must be a string")?;
        let meta = Object::parse_or_empty(params.get("_meta")).map_err(|e| format!("`_meta`: {e}"))?;
        let token = meta.get("progressToken").map(|t| Arc::from(t.to_owned()));
        let arguments = params.get("arguments").map(ToOwned::to_owned);
        Ok(Self { params, meta, token, name, arguments })
    }

    /// What the call continues, if it is a further round of one.
    pub(super) fn continues(&self) -> Option<Box<RawValue>> {
        let state = self.params.get("requestState").map(ToOwned::to_owned);
        let answers = self.params.get("inputResponses").is_some();
        state.or_else(|| answers.then(|| RawValue::NULL.to_owned()))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The same call with the answers to a question of its upstream.
    pub(super) fn answering(&self, state: Option<&RawValue>, answers: &Object) -> Self {
        let mut next = self.clone();
        next.params.set("inputResponses", answers.to_raw());
        match state {
            Some(state) => next.params.set("requestState", state.to_owned()),
            None => next.params.remove("requestState"),
        }
        next
    }

    pub(super) fn arguments(&self) -> Option<&RawValue> {
        self.arguments.as_deref()
    }

    /// Whether it gives back what an upstream wanted to see again.
    fn names_a_question(&self) -> bool {
        self.state().is_some()
    }

    pub(super) fn state(&self) -> Option<&RawValue> {
        self.params.get("requestState").filter(|state| state.get() != "null")
    }

    fn runtime_call_id(&self) -> Option<String> {
        let id = self.meta.text("claudecode/toolUseId").or_else(|| self.meta.text("callId"))?;
        (id.len() <= 256).then_some(id)
    }
}

/// The longest name of a tool that is told back, in characters.
const NAME: usize = 100;

/// Serves one call. To be run in a task that no dropped client can cancel.
pub(crate) async fn serve(hub: &Arc<Hub>, caller: &Caller, params: Option<&RawValue>) -> Replied {
    let asked = match Asked::read(params) {
        Ok(asked) => asked,
        Err(why) => return Replied::plain(Answer::Error(Fault::invalid_params(&why))),
    };
    if asked.name == report::NAME {
        let arguments = asked.arguments.as_deref().unwrap_or(RawValue::NULL);
        return report::report(hub, arguments).await;
    }
    if let Some(replied) = held::resume(hub, caller, &asked).await {
        return replied;
    }
    let found = find(hub, &asked.name).await;
    let call = describe(hub, caller, &asked, found.as_ref());
    let checked = match &found {
        None => Err(words::unknown_tool(&hub.gate.shown(&asked.name, NAME))),
        Some(found) => check(hub, found, &asked),
    };
    let found = match (checked, found) {
        (Ok(()), Some(found)) => found,
        (Err(why), _) => return refuse(hub, &call, &why).await,
        (Ok(()), None) => {
            return refuse(hub, &call, &words::unknown_tool(&hub.gate.shown(&asked.name, NAME))).await;
        }
    };
    match hub.gate.admit(&call).await {
        // A state that nobody here has given is not to be taken for an answer. One that was answered before is news.
        Admission::Refuse { text, receipt }
            if caller.is_new() && asked.names_a_question() && !receipt.tells_news() =>
        {
            Replied::plain(Answer::Error(Fault::invalid_params(&text)))
        }
        Admission::Refuse { text, receipt } => Replied { answer: words::error(&text), receipt },
        Admission::Ask { result } if is_a_new_task(&result) && !caller.follows_tasks() => {
            Replied::plain(words::error(&words::is_a_task(&asked.name)))
        }
        Admission::Ask { result } if caller.is_new() => Replied::plain(Answer::Result(result)),
        Admission::Ask { result } => rounds::go_on(hub, caller, found, asked, result).await,
        Admission::Answer { operation, result, receipt } => {
            Replied { answer: words::stored(&operation, result), receipt }
        }
        Admission::Send(ticket) => send(hub, caller, found, asked, ticket).await,
    }
}

/// Sends the call. Questions that come meanwhile are put in the words of the runtime's era.
async fn send(hub: &Arc<Hub>, caller: &Caller, found: Exposed, asked: Asked, ticket: Ticket) -> Replied {
    let upstream_is_new = hub.conns[found.conn].upstream.is_new();
    if caller.is_new() && upstream_is_new && caller.follows_tasks() {
        return held::send(hub, caller, found, asked, ticket).await;
    }
    if caller.is_new() == upstream_is_new {
        return dispatch::dispatch(hub, caller, found, asked, ticket).await.replied;
    }
    if !caller.is_new() {
        return rounds::send(hub, caller, found, asked, ticket).await;
    }
    if caller.can_elicit() {
        return held::send(hub, caller, found, asked, ticket).await;
    }
    dispatch::dispatch(hub, caller, found, asked, ticket).await.replied
}

/// The tool of that name; waits once for connections that have not been listed yet.
async fn find(hub: &Arc<Hub>, name: &str) -> Option<Exposed> {
    if let Some(found) = hub.catalogue().tool(name) {
        return Some(found);
    }
    hub.ready(hub.limits.list).await;
    hub.catalogue().tool(name)
}

pub(super) fn describe(hub: &Hub, caller: &Caller, asked: &Asked, found: Option<&Exposed>) -> Call {
    let conn = found.map(|f| &hub.conns[f.conn]);
    let progress = asked.token.as_ref().map_or_else(Progress::default, |token| {
        Progress::new((**token).to_owned(), Arc::clone(&caller.outlet))
    });
    Call {
        connection: conn.map(|c| (c.id, Arc::clone(&c.name))),
        tool: found.map_or_else(|| asked.name.clone(), |f| f.tool.name.clone()),
        arguments: asked.arguments.clone().unwrap_or_else(empty),
        runtime_call_id: asked.runtime_call_id(),
        continues: asked.continues(),
        definition: found.map(|f| Arc::clone(&f.tool.definition)),
        caller_gone: caller.gone.clone(),
        progress,
    }
}

fn empty() -> Box<RawValue> {
    crate::core::raw(&serde_json::Map::<String, Value>::new())
}

/// Grant and arguments; the error is for the agent.
fn check(hub: &Hub, found: &Exposed, asked: &Asked) -> Result<(), String> {
    let conn = &hub.conns[found.conn];
    if !hub.gate.granted(&conn.name, &found.tool.name, &found.tool.definition) {
        return Err(words::not_granted(&hub.gate.shown(&asked.name, NAME)));
    }
    let value: Value = match &asked.arguments {
        None => Value::Object(serde_json::Map::new()),
        Some(arguments) => {
            if depth(arguments.get()) > 100 {
                return Err(words::bad_arguments("they are nested deeper than 100 levels"));
            }
            // Members that occur twice would be read differently by different readers.
            no_duplicates(arguments).map_err(|e| words::bad_arguments(&e))?;
            serde_json::from_str(arguments.get()).map_err(|e| words::bad_arguments(&e.to_string()))?
        }
    };
    if !value.is_object() {
        return Err(words::bad_arguments("`arguments` must be an object"));
    }
    match found.tool.schema() {
        Ok(schema) => schema.check(&value).map_err(|e| words::bad_arguments(&hub.shown(&e))),
        Err(why) => {
            let note = format!(
                "the arguments of {:?} were not checked, its schema cannot be used: {why}",
                found.tool.name
            );
            hub.gate.diagnostic(Some(&conn.name), &note);
            Ok(())
        }
    }
}

/// Refuses a member that occurs twice, at any depth.
fn no_duplicates(raw: &RawValue) -> Result<(), String> {
    match raw.get().as_bytes().first() {
        Some(b'{') => Object::parse(raw)?.values().try_for_each(no_duplicates),
        Some(b'[') => {
            let items: Vec<Box<RawValue>> = serde_json::from_str(raw.get()).map_err(|e| e.to_string())?;
            items.iter().try_for_each(|item| no_duplicates(item))
        }
        Some(_) | None => Ok(()),
    }
}

async fn refuse(hub: &Hub, call: &Call, why: &str) -> Replied {
    let told = hub.gate.refused(call, why).await;
    Replied::plain(words::error(told.as_deref().unwrap_or(why)))
}
