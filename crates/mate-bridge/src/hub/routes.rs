//! Everything a runtime may ask but `tools/call`: lists of what is granted, and reads passed on.

use super::{
    Hub, call,
    catalogue::Shown,
    client::{Caller, Replied},
};
use crate::core::{Answer, Fault, Object, Request, message::depth, raw};
use serde_json::{json, value::RawValue};
use std::{borrow::Borrow, sync::Arc};

const INSTRUCTIONS: &str = "These tools act through Agent Mate, which checks and records each call. \
A result that says an outcome is unknown means that it may have happened: do not repeat it. \
When you are finished or cannot go on, call agent_mate__report once.";

/// Answers one request of the runtime. To be run in a task of its own.
pub(crate) async fn serve(hub: &Arc<Hub>, caller: &Caller, request: &Request) -> Replied {
    let params = request.params.as_deref();
    let answer = match request.method.as_str() {
        "tools/call" => return call::serve(hub, caller, params).await,
        "initialize" => initialize(hub, caller, params).await,
        "ping" => Ok(raw(&json!({}))),
        "tools/list" => list_tools(hub, caller, params).await,
        "resources/list" => list(hub, params, "resources", |c| &c.resources).await,
        "resources/templates/list" => list(hub, params, "resourceTemplates", |c| &c.templates).await,
        "prompts/list" => list(hub, params, "prompts", |c| &c.prompts).await,
        "resources/read" => by_uri(hub, params, "resources/read").await,
        "resources/subscribe" => by_uri(hub, params, "resources/subscribe").await,
        "resources/unsubscribe" => by_uri(hub, params, "resources/unsubscribe").await,
        "prompts/get" => prompt(hub, params).await,
        "completion/complete" => complete(hub, params).await,
        "logging/setLevel" => set_level(hub, params).await,
        other => Err(Fault::no_method(other)),
    };
    Replied::plain(match answer {
        Ok(result) if depth(result.get()) > hub.limits.depth => {
            Answer::Error(Fault::internal("the answer is nested too deeply to be passed on"))
        }
        Ok(result) => Answer::Result(result),
        Err(fault) => Answer::Error(fault),
    })
}

type Served = Result<Box<RawValue>, Fault>;

async fn initialize(hub: &Arc<Hub>, caller: &Caller, params: Option<&RawValue>) -> Served {
    let version = caller.client.greeted(params).map_err(|e| Fault::invalid_params(&e))?;
    hub.ready(hub.limits.greet).await;
    let catalogue = hub.catalogue();
    let granted =
        catalogue.offers.iter().zip(&hub.conns).filter(|(_, c)| hub.gate.connection_granted(&c.name));
    let hellos: Vec<_> =
        granted.filter_map(|(offer, _)| offer.as_ref().map(|o| Arc::clone(&o.hello))).collect();
    let mut can = json!({ "tools": { "listChanged": true } });
    if hellos.iter().any(|h| h.resources) {
        can["resources"] = json!({ "listChanged": true, "subscribe": hellos.iter().any(|h| h.subscribe) });
    }
    if hellos.iter().any(|h| h.prompts) {
        can["prompts"] = json!({ "listChanged": true });
    }
    if hellos.iter().any(|h| h.completions) {
        can["completions"] = json!({});
    }
    if hellos.iter().any(|h| h.logging) {
        can["logging"] = json!({});
    }
    let mut instructions = INSTRUCTIONS.to_owned();
    for (offer, conn) in
        catalogue.offers.iter().zip(&hub.conns).filter(|(_, c)| hub.gate.connection_granted(&c.name))
    {
        if let Some(text) = offer.as_ref().and_then(|o| o.hello.instructions.as_deref()) {
            let text = hub.gate.shown(text, 4000);
            instructions.push_str(&format!("\n\nThe tools of {:?} say of themselves: {text}", conn.name));
        }
    }
    Ok(raw(&json!({
        "protocolVersion": version,
        "capabilities": can,
        "serverInfo": { "name": "agent-mate", "title": "Agent Mate", "version": env!("CARGO_PKG_VERSION") },
        "instructions": instructions,
    })))
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
fn route(hub: &Hub, uri: &str) -> Option<usize> {
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

async fn by_uri(hub: &Arc<Hub>, params: Option<&RawValue>, method: &'static str) -> Served {
    let object = read(params)?;
    let uri = object.text("uri").ok_or_else(|| Fault::invalid_params("`uri` must be a string"))?;
    hub.ready(hub.limits.list).await;
    let conn =
        route(hub, &uri).ok_or_else(|| Fault::invalid_params("no granted connection has this resource"))?;
    hub.ask(&hub.conns[conn], method, object.to_raw()).await
}

async fn prompt(hub: &Arc<Hub>, params: Option<&RawValue>) -> Served {
    let mut object = read(params)?;
    let name = object.text("name").ok_or_else(|| Fault::invalid_params("`name` must be a string"))?;
    hub.ready(hub.limits.list).await;
    let (conn, key) = find_prompt(hub, &name)?;
    object.set("name", raw(&key));
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
        route(hub, &uri).ok_or_else(|| Fault::invalid_params("no granted connection has this resource"))?
    };
    hub.ask(&hub.conns[conn], "completion/complete", object.to_raw()).await
}

async fn set_level(hub: &Arc<Hub>, params: Option<&RawValue>) -> Served {
    let params = read(params)?;
    const LEVELS: [&str; 8] =
        ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
    if !params.text("level").is_some_and(|l| LEVELS.contains(&l.as_str())) {
        return Err(Fault::invalid_params(
            "`level` must be one of debug, info, notice, warning, error, critical, alert, emergency",
        ));
    }
    let catalogue = hub.catalogue();
    let able = catalogue.offers.iter().zip(&hub.conns).filter(|(offer, conn)| {
        hub.gate.connection_granted(&conn.name) && offer.as_ref().is_some_and(|o| o.hello.logging)
    });
    let asks = able.map(|(_, conn)| hub.ask(conn, "logging/setLevel", params.to_raw()));
    for answer in futures_util::future::join_all(asks).await {
        answer?;
    }
    Ok(raw(&json!({})))
}
