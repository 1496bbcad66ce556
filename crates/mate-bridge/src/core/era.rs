//! The two eras of the protocol: with a handshake and sessions (until 2025-11-25), and without (since 2026-07-28), where
//! each request says for itself what its sender speaks and can.

use super::{Fault, Object, faults, raw};
use serde_json::{json, value::RawValue};
use std::sync::Arc;

/// The version of the new era.
pub(crate) const NEW: &str = "2026-07-28";
/// All that is spoken to a runtime, newest first.
pub(crate) const SPOKEN: [&str; 3] = [NEW, super::VERSIONS[0], super::VERSIONS[1]];

/// The members of `_meta` that the new era gives a meaning.
pub(crate) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const INFO: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const CAN: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub(crate) const SERVER: &str = "io.modelcontextprotocol/serverInfo";
pub(crate) const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
/// The extension by which calls are carried out as tasks.
pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";

/// How grave messages of a log are, from the least.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// The place of a level in that order.
pub(crate) fn level(name: &str) -> Option<usize> {
    LEVELS.iter().position(|known| *known == name)
}

/// All levels, for who has to choose one.
pub(crate) fn levels() -> String {
    LEVELS.join(", ")
}

/// What one request of the new era says of its sender.
#[derive(Debug, Default)]
pub(crate) struct Declared {
    pub(crate) elicitation: bool,
    /// It takes and follows tasks.
    pub(crate) tasks: bool,
    /// The least grave message of a log that it wants to hear about this request; none: it wants none.
    pub(crate) level: Option<usize>,
}

impl Declared {
    /// Reads what a request says; none: it is of the old era.
    pub(crate) fn read(params: Option<&RawValue>) -> Result<Option<Arc<Self>>, Fault> {
        let Some(meta) = meta(params).filter(|meta| meta.get(VERSION).is_some()) else { return Ok(None) };
        let version = meta.text(VERSION).unwrap_or_default();
        if version != NEW {
            return Err(faults::unsupported_version(&version, &SPOKEN));
        }
        let can = meta
            .object(CAN)
            .ok_or_else(|| Fault::invalid_params(&format!("`_meta` must have an object `{CAN}`")))?;
        let level =
            match meta.text(LEVEL) {
                None => None,
                Some(name) => Some(level(&name).ok_or_else(|| {
                    Fault::invalid_params(&format!("`{LEVEL}` must be one of {}", levels()))
                })?),
            };
        let extensions = can.object("extensions").unwrap_or_default();
        Ok(Some(Arc::new(Self {
            elicitation: can.object("elicitation").is_some(),
            tasks: extensions.object(TASKS).is_some(),
            level,
        })))
    }
}

/// `_meta` of a request's parameters.
pub(crate) fn meta(params: Option<&RawValue>) -> Option<Object> {
    Object::parse(params?).ok()?.object("_meta")
}

/// How Agent Mate names itself, to both sides.
pub(crate) fn ourselves() -> serde_json::Value {
    json!({ "name": "agent-mate", "title": "Agent Mate", "version": env!("CARGO_PKG_VERSION") })
}

/// A result as the new era wants it: it says what it is, and, where it can be kept, for how long and by whom. What it
/// says already stays.
pub(crate) fn finished(result: Box<RawValue>, can_be_kept: bool) -> Box<RawValue> {
    let Ok(mut object) = Object::parse(&result) else { return result };
    let mut missing = Vec::new();
    if object.get("resultType").is_none() {
        missing.push(("resultType", raw(&"complete")));
    }
    if can_be_kept && object.get("ttlMs").is_none() {
        missing.push(("ttlMs", raw(&0)));
    }
    if can_be_kept && object.get("cacheScope").is_none() {
        missing.push(("cacheScope", raw(&"private")));
    }
    if missing.is_empty() {
        return result;
    }
    for (key, value) in missing {
        object.set(key, value);
    }
    object.to_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Arc<Declared>>, Fault> {
        Declared::read(Some(&RawValue::from_string(text.to_owned()).expect("json")))
    }

    #[test]
    fn a_request_without_a_version_is_of_the_old_era_and_one_with_it_must_be_whole() {
        assert!(read("{}").expect("old").is_none());
        assert!(read(r#"{"_meta":{"progressToken":1}}"#).expect("old").is_none());
        let whole = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"io.modelcontextprotocol/logLevel":"error"}}"#;
        let declared = read(whole).expect("new").expect("new");
        assert!(declared.elicitation && declared.tasks && declared.level == Some(4));
        for (text, code) in [
            (r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#, "-32602"),
            (r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"1900-01-01"}}"#, "-32022"),
            (r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}"#, "-32022"),
            (&whole.replace("error", "loud"), "-32602"),
        ] {
            let fault = read(text).expect_err(text);
            assert!(fault.0.get().contains(code), "{text}: {}", fault.0.get());
        }
    }

    #[test]
    fn what_a_result_says_of_itself_stays() {
        let done = |text: &str, kept| finished(RawValue::from_string(text.into()).expect("json"), kept);
        assert_eq!(done(r#"{"a":1e400}"#, false).get(), r#"{"a":1e400,"resultType":"complete"}"#);
        let said = r#"{"resultType":"input_required","ttlMs":5,"cacheScope":"public"}"#;
        assert_eq!(done(said, true).get(), said);
        assert_eq!(done("{}", true).get(), r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#);
    }
}
