//! Everything a runtime may ask but `tools/call`: lists of what is granted, and reads passed on.

use super::{
    Hub, call,
    catalogue::Shown,
    client::{Caller, Replied},
    passed,
};
use crate::{
    core::{Answer, Fault, Object, Request, era, faults, message::depth, raw},
    upstream::Hello,
};
use serde_json::{Value, json, value::RawValue};
use std::{borrow::Borrow, sync::Arc};

const INSTRUCTIONS: &str = "These tools act through Agent Mate, which checks and records each call. \
A result that says an outcome is unknown means that it may have happened: do not repeat it. \
When you are finished or cannot go on, call agent_mate__report once.";

/// Answers one request of the runtime. To be run in a task of its own.
pub(crate) async fn serve(hub: &Arc<Hub>, caller: &Caller, request: &Request) -> Replied {
    let params = request.params.as_deref();
    if request.method == "tools/call" {
        let replied = call::serve(hub, caller, params).await;
        return Replied { answer: shaped(caller, &request.method, replied.answer), ..replied };
    }
    let answer = match request.method.as_str() {
        // What the new era has given up, and what it has instead.
        "initialize" | "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe"
            if caller.is_new() =>
        {
            Err(Fault::no_method(&request.method))
        }
        "server/discover" if caller.is_new() => discover(hub).await,
        "tasks/get" | "tasks/update" | "tasks/cancel" if caller.is_new() => {
            let replied = passed::serve(hub, caller, &request.method, params).await;
            return Replied { answer: shaped(caller, &request.method, replied.answer), ..replied };
        }
        "initialize" => initialize(hub, caller, params).await,
        "ping" => Ok(raw(&json!({}))),
        "tools/list" => list_tools(hub, caller, params).await,
        "resources/list" => list(hub, params, "resources", |c| &c.resources).await,
        "resources/templates/list" => list(hub, params, "resourceTemplates", |c| &c.templates).await,
        "prompts/list" => list(hub, params, "prompts", |c| &c.prompts).await,
        "resources/read" => by_uri(hub, params, "resources/read").await,
        "resources/subscribe" => watch(hub, params, "resources/subscribe").await,
        "resources/unsubscribe" => watch(hub, params, "resources/unsubscribe").await,
        "prompts/get" => prompt(hub, params).await,
        "completion/complete" => complete(hub, params).await,
        "logging/setLevel" => set_level(hub, caller, params).await,
        other => Err(Fault::no_method(other)),
    };
    let answer = match answer {
        Ok(result) if depth(result.get()) > hub.limits.depth => {
            Answer::Error(Fault::internal("the answer is nested too deeply to be passed on"))
        }
        Ok(result) => Answer::Result(result),
        Err(fault) => Answer::Error(fault),
    };
    Replied::plain(shaped(caller, &request.method, answer))
}

/// An answer in the words of the client's era.
fn shaped(caller: &Caller, method: &str, answer: Answer) -> Answer {
    if !caller.is_new() {
        return answer;
    }
    let can_be_kept = matches!(
        method,
        "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
    );
    match answer {
        Answer::Result(result) => Answer::Result(era::finished(result, can_be_kept)),
        Answer::Error(fault) => Answer::Error(faults::in_new_era(fault)),
    }
}

type Served = Result<Box<RawValue>, Fault>;

async fn initialize(hub: &Arc<Hub>, caller: &Caller, params: Option<&RawValue>) -> Served {
    let version = caller.client.greeted(params).map_err(|e| Fault::invalid_params(&e))?;
    let (can, instructions) = introduction(hub).await;
    Ok(raw(&json!({
        "protocolVersion": version,
        "capabilities": can,
        "serverInfo": era::ourselves(),
        "instructions": instructions,
    })))
}

/// The same in the new era, in which it is asked for and agrees nothing.
async fn discover(hub: &Arc<Hub>) -> Served {
    let (mut can, instructions) = introduction(hub).await;
    if passed::offered(hub) {
        can["extensions"] = json!({ era::TASKS: {} });
    }
    Ok(raw(&json!({
        "supportedVersions": era::SPOKEN,
        "capabilities": can,
        "instructions": instructions,
        "_meta": { era::SERVER: era::ourselves() },
    })))
}

/// What the bridge can, and what is said of its tools.
async fn introduction(hub: &Arc<Hub>) -> (Value, String) {
    hub.ready(hub.limits.greet).await;
    let catalogue = hub.catalogue();
    let granted = || {
        let all = catalogue.offers.iter().zip(&hub.conns);
        all.filter(|(_, conn)| hub.gate.connection_granted(&conn.name))
            .filter_map(|(offer, conn)| offer.as_ref().map(|offer| (&offer.hello, conn)))
    };
    let any = |is: fn(&Hello) -> bool| granted().any(|(hello, _)| is(hello));
    let mut can = json!({ "tools": { "listChanged": true } });
    if any(|hello| hello.resources) {
        can["resources"] = json!({ "listChanged": true, "subscribe": any(|hello| hello.subscribe) });
    }
    if any(|hello| hello.prompts) {
        can["prompts"] = json!({ "listChanged": true });
    }
    if any(|hello| hello.completions) {
        can["completions"] = json!({});
    }
    if any(|hello| hello.logging) {
        can["logging"] = json!({});
    }
    let mut instructions = INSTRUCTIONS.to_owned();
    for (hello, conn) in granted() {
        if let Some(text) = hello.instructions.as_deref() {
            let text = hub.gate.shown(text, 4000);
            instructions.push_str(&format!("\n\nThe tools of {:?} say of themselves: {text}", conn.name));
        }
    }
    (can, instructions)
}

/// One page of `items`; the cursor is the place of its first item.
fn page<T: Borrow<RawValue>>(hub: &Hub, params: Option<&RawValue>, member: &str, items: &[T]) -> Served {
    let params = Object::parse_or_empty(params).map_err(|e| Fault::invalid_params(&e))?;
    let from = match params.get("cursor") {
        None => 0,
        Some(_) => params
            .text("cursor")
            .and_then(|c| c.parse::<usize>().ok())
            .filter(|at| *at <= items.len())
            .ok_or_else(|| Fault::invalid_params("`cursor` is not one of ours; list again from the start"))?,
    };
    let to = items.len().min(from.saturating_add(hub.limits.page));
    let listed: Vec<&RawValue> = items[from..to].iter().map(Borrow::borrow).collect();
    let mut object = Object::default();
    object.set(member, raw(&listed));
    if to < items.len() {
        object.set("nextCursor", raw(&to.to_string()));
    }
    Ok(object.to_raw())
}

async fn list_tools(hub: &Arc<Hub>, caller: &Caller, params: Option<&RawValue>) -> Served {
    hub.ready(hub.limits.list).await;
    caller.client.has_listed();
    let page = page(hub, params, "tools", &hub.granted_tools())?;
    hub.gate.listed();
    Ok(page)
}

async fn list(
    hub: &Arc<Hub>,
    params: Option<&RawValue>,
    member: &str,
    of: impl Fn(&super::catalogue::Catalogue) -> &Vec<Shown>,
) -> Served {
    hub.ready(hub.limits.list).await;
    let catalogue = hub.catalogue();
    let granted: Vec<&RawValue> = of(&catalogue)
        .iter()
        .filter(|s| hub.gate.connection_granted(&hub.conns[s.conn].name))
        .map(|s| &*s.raw)
        .collect();
    page(hub, params, member, &granted)
}

fn read(params: Option<&RawValue>) -> Result<Object, Fault> {
    Object::parse(params.ok_or_else(|| Fault::invalid_params("`params` is missing"))?)
        .map_err(|e| Fault::invalid_params(&e))
}

/// The connection that serves a resource: the one that lists it, else the one with the best matching template.
pub(super) fn route(hub: &Hub, uri: &str) -> Option<usize> {
    let catalogue = hub.catalogue();
    let granted = |conn: usize| hub.gate.connection_granted(&hub.conns[conn].name);
    if let Some(listed) = catalogue.resources.iter().find(|r| r.key == uri) {
        return granted(listed.conn).then_some(listed.conn);
    }
    let fixed = |template: &str| template.split('{').next().map_or(0, str::len);
    let matching =
        catalogue.templates.iter().filter(|t| granted(t.conn) && uri.starts_with(&t.key[..fixed(&t.key)]));
    if let Some(best) = matching.max_by_key(|t| fixed(&t.key)) {
        return Some(best.conn);
    }
    // A resource may be linked from a result without being listed: unambiguous if only one connection has any.
    let mut able = catalogue
        .offers
        .iter()
        .enumerate()
        .filter(|(conn, offer)| granted(*conn) && offer.as_ref().is_some_and(|o| o.hello.resources));
    able.next().filter(|_| able.next().is_none()).map(|(conn, _)| conn)
}

/// Whether a read may go out now: what was granted a moment ago may be revoked, and the task stopped.
pub(super) async fn may_read(hub: &Hub, conn: usize) -> Result<(), Fault> {
    if hub.gate.may_read(&hub.conns[conn].name).await {
        return Ok(());
    }
    Err(Fault::invalid_request("it is not granted to the running task (any more); nothing was read"))
}

async fn by_uri(hub: &Arc<Hub>, params: Option<&RawValue>, method: &'static str) -> Served {
    let object = read(params)?;
    let uri = object.text("uri").ok_or_else(|| Fault::invalid_params("`uri` must be a string"))?;
    hub.ready(hub.limits.list).await;
    let conn = route(hub, &uri).ok_or_else(|| faults::no_resource(&uri))?;
    may_read(hub, conn).await?;
    hub.ask(&hub.conns[conn], method, object.to_raw()).await
}

/// The old era's way to be told of changes. An upstream of the new era is listened to, and goes on telling: whoever does
/// not want to hear of a resource any more takes no harm.
async fn watch(hub: &Arc<Hub>, params: Option<&RawValue>, method: &'static str) -> Served {
    let uri = read(params)?.text("uri").ok_or_else(|| Fault::invalid_params("`uri` must be a string"))?;
    hub.ready(hub.limits.list).await;
    let conn = route(hub, &uri).ok_or_else(|| faults::no_resource(&uri))?;
    if !hub.conns[conn].upstream.is_new() {
        return by_uri(hub, params, method).await;
    }
    if method == "resources/subscribe" {
        may_read(hub, conn).await?;
        hub.conns[conn].upstream.watch(&uri).await;
    }
    Ok(raw(&json!({})))
}

async fn prompt(hub: &Arc<Hub>, params: Option<&RawValue>) -> Served {
    let mut object = read(params)?;
    let name = object.text("name").ok_or_else(|| Fault::invalid_params("`name` must be a string"))?;
    hub.ready(hub.limits.list).await;
    let (conn, key) = find_prompt(hub, &name)?;
    object.set("name", raw(&key));
    may_read(hub, conn).await?;
    hub.ask(&hub.conns[conn], "prompts/get", object.to_raw()).await
}

fn find_prompt(hub: &Hub, name: &str) -> Result<(usize, String), Fault> {
    let catalogue = hub.catalogue();
    catalogue
        .prompt(name)
        .filter(|p| hub.gate.connection_granted(&hub.conns[p.conn].name))
        .map(|p| (p.conn, p.key.clone()))
        .ok_or_else(|| Fault::invalid_params("no granted connection has this prompt"))
}

async fn complete(hub: &Arc<Hub>, params: Option<&RawValue>) -> Served {
    let mut object = read(params)?;
    let mut reference =
        object.object("ref").ok_or_else(|| Fault::invalid_params("`ref` must be an object"))?;
    hub.ready(hub.limits.list).await;
    let conn = if let Some(name) = reference.text("name") {
        let (conn, key) = find_prompt(hub, &name)?;
        reference.set("name", raw(&key));
        object.set("ref", reference.to_raw());
        conn
    } else {
        let uri =
            reference.text("uri").ok_or_else(|| Fault::invalid_params("`ref` needs a `name` or a `uri`"))?;
        route(hub, &uri).ok_or_else(|| faults::no_resource(&uri))?
    };
    may_read(hub, conn).await?;
    hub.ask(&hub.conns[conn], "completion/complete", object.to_raw()).await
}

async fn set_level(hub: &Arc<Hub>, caller: &Caller, params: Option<&RawValue>) -> Served {
    let params = read(params)?;
    let level = params.text("level").filter(|level| era::level(level).is_some());
    let level =
        level.ok_or_else(|| Fault::invalid_params(&format!("`level` must be one of {}", era::levels())))?;
    caller.client.wants_level(&level);
    let catalogue = hub.catalogue();
    let able = catalogue.offers.iter().zip(&hub.conns).filter(|(offer, conn)| {
        hub.gate.connection_granted(&conn.name)
            && offer.as_ref().is_some_and(|o| o.hello.logging && !o.hello.new)
    });
    let asks = able.map(|(_, conn)| hub.ask(conn, "logging/setLevel", params.to_raw()));
    for answer in futures_util::future::join_all(asks).await {
        answer?;
    }
    Ok(raw(&json!({})))
}
