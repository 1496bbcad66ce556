//! The tools that a connection offers, and what is odd about them.

use super::{Code, Finding, Probe, ProbedTool};
use crate::{
    config::{ConnectionSpec, Limits},
    core::{Answer, Object, raw, schema::Schema},
    hub::names::Namer,
    upstream::{End, Hello, Outgoing, Reply, Upstream},
};
use serde_json::{Map, Value, json, value::RawValue};
use std::collections::HashSet;

/// The longest description that is shown, in characters.
const DESCRIPTION: usize = 2_000;
/// How many arguments of a tool are named.
const ARGUMENTS: usize = 50;

/// Lists the tools into `probe`.
pub(super) async fn list(
    upstream: &dyn Upstream,
    hello: &Hello,
    spec: &ConnectionSpec,
    limits: &Limits,
    probe: &mut Probe,
) {
    if !hello.tools {
        probe.notices.push(no_tools("the server says that it has no tools"));
        return;
    }
    let listed = tokio::time::timeout(limits.list, pages(upstream, limits, probe)).await;
    let late = || Err(format!("the list was not whole within {} s", limits.list.as_secs()));
    let items = match listed.unwrap_or_else(|_| late()) {
        Ok(items) => items,
        Err(why) => {
            let next = "look into the server's own logs; without its list nothing of it can be granted";
            probe.problem =
                Some(Finding::new(Code::CannotList, format!("its tools cannot be listed: {why}"), next));
            return;
        }
    };
    if items.is_empty() {
        probe.notices.push(no_tools("the server lists no tool"));
    }
    let mut names = Namer::new(limits.name);
    let mut seen = HashSet::new();
    for item in items {
        match read(&item) {
            Ok((name, _)) if !seen.insert(name.clone()) => probe.notices.push(Finding::new(
                Code::DuplicateTool,
                format!("it lists {name:?} twice; only the first is used"),
                "tell who makes the server",
            )),
            Ok((name, object)) => take(&name, &object, &mut names, spec, probe),
            Err(why) => probe.notices.push(Finding::new(
                Code::UnusableTool,
                format!("an item of its list is left out: {why}"),
                "tell who makes the server",
            )),
        }
    }
}

fn no_tools(detail: &str) -> Finding {
    Finding::new(
        Code::NoTools,
        detail,
        "check whether it wants an argument, a variable or a right to offer some",
    )
}

fn read(item: &RawValue) -> Result<(String, Object), String> {
    let object = Object::parse(item)?;
    match object.text("name") {
        Some(name) if !name.is_empty() && name.len() <= 2048 => Ok((name, object)),
        Some(_) | None => Err("its `name` is no usable text".to_owned()),
    }
}

fn take(name: &str, object: &Object, names: &mut Namer, spec: &ConnectionSpec, probe: &mut Probe) {
    let Some(exposed) = names.name(0, &spec.name, spec.prefixed, name) else { return };
    let plain = if spec.prefixed { format!("{}__{name}", spec.name) } else { name.to_owned() };
    if exposed != plain {
        probe.notices.push(Finding::new(
            Code::RenamedTool,
            format!("{name:?} is exposed as {exposed:?}: clients may refuse its own name"),
            "nothing has to be done; grants use the server's own name",
        ));
    }
    let schema = object.get("inputSchema");
    let usable =
        schema.map_or_else(|| Err("it has none".to_owned()), |schema| Schema::compile(schema).map(drop));
    if let Err(why) = usable {
        probe.notices.push(Finding::new(
            Code::BadSchema,
            format!("{name:?} cannot be called, since its input schema cannot be used: {why}"),
            "tell who makes the server",
        ));
    }
    let properties: Map<String, Value> = schema
        .and_then(|schema| Object::parse(schema).ok())
        .and_then(|schema| serde_json::from_str(schema.get("properties")?.get()).ok())
        .unwrap_or_default();
    let says = object
        .object("annotations")
        .and_then(|annotations| annotations.get("readOnlyHint").map(|value| value.get() == "true"));
    probe.tools.push(ProbedTool {
        name: name.to_owned(),
        exposed,
        description: object.text("description").map(|text| text.chars().take(DESCRIPTION).collect()),
        arguments: properties.keys().take(ARGUMENTS).cloned().collect(),
        says_read_only: says.unwrap_or(false),
    });
}

/// All pages of the list, up to the limits.
async fn pages(
    upstream: &dyn Upstream,
    limits: &Limits,
    probe: &mut Probe,
) -> Result<Vec<Box<RawValue>>, String> {
    let (mut all, mut bytes, mut cursor) = (Vec::new(), 0, None::<String>);
    for page in 0..limits.items {
        let params = cursor.map_or_else(|| raw(&json!({})), |cursor| raw(&json!({ "cursor": cursor })));
        let id = u64::try_from(page).unwrap_or(u64::MAX - 1) + 1;
        let result = ask(upstream, id, params).await?;
        let object = Object::parse(&result)?;
        for item in object.list("tools").ok_or("its answer has no list `tools`")? {
            bytes += item.get().len();
            if all.len() == limits.items || bytes > limits.items_bytes {
                probe.notices.push(too_many(limits));
                return Ok(all);
            }
            all.push(item);
        }
        cursor = object.text("nextCursor");
        if cursor.is_none() {
            return Ok(all);
        }
    }
    probe.notices.push(too_many(limits));
    Ok(all)
}

fn too_many(limits: &Limits) -> Finding {
    Finding::new(
        Code::TooManyTools,
        format!("only the first {} tools or {} bytes are used", limits.items, limits.items_bytes),
        "let the server offer less, where it can be told so",
    )
}

async fn ask(upstream: &dyn Upstream, id: u64, params: Box<RawValue>) -> Result<Box<RawValue>, String> {
    let (reply, _race, end) = Reply::new(None);
    upstream.send(Outgoing { id, method: "tools/list", params, mirrored: Vec::new(), reply }).await;
    match end.await {
        Ok(End::Answer(Answer::Result(result))) => Ok(result),
        Ok(End::Answer(Answer::Error(fault))) => Err(fault.0.get().chars().take(2_000).collect()),
        Ok(End::NotSent(why) | End::Unknown(why)) => Err(why),
        Err(_) => Err("it was dropped".to_owned()),
    }
}
