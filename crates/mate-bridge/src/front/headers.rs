//! What the headers of a request of the new era must say: the same as its body.

use crate::{
    core::{
        Fault, Message, Object, Request,
        era::{self, CAN, NEW, VERSION as VERSION_KEY},
        faults,
        mirrored::{self, Mirror},
    },
    hub::Hub,
};
use http::{HeaderMap, HeaderName, header::HeaderValue};
use serde_json::value::RawValue;

pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// The versions that are spoken with a handshake, whoever still names one.
const OLD: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Whether a message is of the new era, by its headers or by its body.
pub(super) fn is_new(headers: &HeaderMap, message: &Message) -> bool {
    let named = match headers.get(&VERSION) {
        Some(version) => !version.to_str().is_ok_and(|version| OLD.contains(&version)),
        None => false,
    };
    let says_so = || match message {
        Message::Request(request) => {
            era::meta(request.params.as_deref()).is_some_and(|meta| meta.get(VERSION_KEY).is_some())
        }
        Message::Notification(_) | Message::Response(_) => false,
    };
    named || says_so()
}

/// Checks the headers of a request of the new era against its body.
pub(super) fn check(headers: &HeaderMap, request: &Request) -> Result<(), Fault> {
    let params = request.params.as_deref();
    let meta = era::meta(params);
    let said = meta.as_ref().and_then(|meta| meta.text(VERSION_KEY));
    let version = text(headers, &VERSION)?
        .ok_or_else(|| faults::header_mismatch("the header MCP-Protocol-Version is missing"))?;
    let Some(said) = said else {
        return Err(Fault::invalid_params(&format!("`_meta` must have `{VERSION_KEY}` and `{CAN}`")));
    };
    if version != said {
        return Err(faults::header_mismatch(
            "the header MCP-Protocol-Version names another version than the body's `_meta`",
        ));
    }
    if version != NEW {
        return Err(faults::unsupported_version(&version, &era::SPOKEN));
    }
    match text(headers, &METHOD)? {
        Some(method) if method == request.method => {}
        Some(_) => {
            return Err(faults::header_mismatch("the header Mcp-Method names another method than the body"));
        }
        None => return Err(faults::header_mismatch("the header Mcp-Method is missing")),
    }
    check_name(headers, request)
}

/// `Mcp-Name`: what the request is about.
fn check_name(headers: &HeaderMap, request: &Request) -> Result<(), Fault> {
    let member = match request.method.as_str() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return Ok(()),
    };
    let params = request.params.as_deref().and_then(|params| Object::parse(params).ok());
    let Some(name) = params.and_then(|params| params.text(member)) else { return Ok(()) };
    match text(headers, &NAME)?.map(|value| mirrored::decode(&value)) {
        Some(Some(said)) if said == name => Ok(()),
        Some(_) => Err(faults::header_mismatch(&format!("the header Mcp-Name is not the body's `{member}`"))),
        None => Err(faults::header_mismatch("the header Mcp-Name is missing")),
    }
}

/// `Mcp-Param-*`: the arguments that a tool's schema wants in headers as well.
pub(super) fn check_arguments(hub: &Hub, headers: &HeaderMap, request: &Request) -> Result<(), Fault> {
    if request.method != "tools/call" {
        return Ok(());
    }
    let params = request.params.as_deref().and_then(|params| Object::parse(params).ok());
    let Some(params) = params else { return Ok(()) };
    let Some(found) = params.text("name").and_then(|name| hub.catalogue().tool(&name)) else { return Ok(()) };
    let Ok(mirrors) = found.tool.mirrors() else { return Ok(()) };
    if mirrors.is_empty() {
        return Ok(());
    }
    let arguments = params.get("arguments").unwrap_or(RawValue::NULL);
    mirrors.iter().try_for_each(|mirror| check_mirror(headers, mirror, arguments))
}

fn check_mirror(headers: &HeaderMap, mirror: &Mirror, arguments: &RawValue) -> Result<(), Fault> {
    let Ok(name) = HeaderName::try_from(mirror.header()) else { return Ok(()) };
    let wrong = |what: &str| Err(faults::header_mismatch(&format!("the header {} {what}", mirror.header())));
    let said = match text(headers, &name)? {
        None => None,
        Some(value) => match mirrored::decode(&value) {
            Some(value) => Some(value),
            None => return wrong("cannot be read"),
        },
    };
    match (mirror.value(arguments), said) {
        (None, None) => Ok(()),
        (Some(value), Some(said)) if mirrored::same(&value, &said) => Ok(()),
        (Some(_), None) => wrong("is missing"),
        (Some(_), Some(_)) => wrong("is not the argument of the body"),
        (None, Some(_)) => wrong("is there, and its argument is not"),
    }
}

/// The one value of a header; more than one, or what is no text, is refused.
fn text(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, Fault> {
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else { return Ok(None) };
    let readable =
        |value: &HeaderValue| value.to_str().ok().map(|text| text.trim_matches([' ', '\t']).to_owned());
    match (readable(first), values.next()) {
        (Some(text), None) => Ok(Some(text)),
        (None, _) => {
            Err(faults::header_mismatch(&format!("the header {name} has characters that are not allowed")))
        }
        (Some(_), Some(_)) => Err(faults::header_mismatch(&format!("the header {name} is there twice"))),
    }
}
