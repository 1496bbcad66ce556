//! Parameters in the words of an upstream's era.

use super::Hello;
use crate::core::{
    Object,
    era::{self, CAN, INFO, LEVEL, NEW, VERSION},
    raw,
};
use serde_json::{json, value::RawValue};

/// All members of `_meta` that only the new era knows begin so.
const OURS: &str = "io.modelcontextprotocol/";

/// The parameters for an upstream that speaks without sessions: each request says what we speak and, unless whoever asks
/// has said it, what we can. For another one they say nothing of that.
pub(super) fn dress(params: &RawValue, new: bool) -> Box<RawValue> {
    if !new && !params.get().contains(OURS) {
        return params.to_owned();
    }
    let Ok(mut object) = Object::parse(params) else { return params.to_owned() };
    let mut meta = object.object("_meta").unwrap_or_default();
    if new {
        meta.set(VERSION, raw(&NEW));
        meta.set(INFO, raw(&era::ourselves()));
        if meta.get(CAN).is_none() {
            meta.set(CAN, raw(&json!({})));
        }
    } else {
        let before = meta.values().count();
        for key in [VERSION, INFO, CAN, LEVEL] {
            meta.remove(key);
        }
        if meta.values().count() == 0 && before > 0 {
            object.remove("_meta");
            return object.to_raw();
        }
        if meta.values().count() == before {
            return params.to_owned();
        }
    }
    object.set("_meta", meta.to_raw());
    object.to_raw()
}

impl Hello {
    /// What to ask of it with `subscriptions/listen`; none: it tells of nothing.
    pub(super) fn wishes(&self, uris: &[String]) -> Option<Box<RawValue>> {
        let mut wish = json!({});
        for (key, is) in [
            ("toolsListChanged", self.tells_tools),
            ("promptsListChanged", self.tells_prompts),
            ("resourcesListChanged", self.tells_resources),
        ] {
            if is {
                wish[key] = json!(true);
            }
        }
        if !uris.is_empty() {
            wish["resourceSubscriptions"] = json!(uris);
        }
        wish.as_object().is_some_and(|wish| !wish.is_empty()).then(|| raw(&json!({ "notifications": wish })))
    }

    /// Reads the result of `server/discover`.
    pub(crate) fn discovered(result: &RawValue) -> Result<Self, String> {
        let object =
            Object::parse(result).map_err(|e| format!("what it says of itself cannot be read: {e}"))?;
        let versions: Vec<String> = object
            .get("supportedVersions")
            .and_then(|versions| serde_json::from_str(versions.get()).ok())
            .unwrap_or_default();
        if !versions.iter().any(|version| version == NEW) {
            return Err(format!("it does not speak protocol version {NEW}"));
        }
        let can = object.object("capabilities").unwrap_or_default();
        let extensions = can.object("extensions").unwrap_or_default();
        let tasks = extensions.object(era::TASKS).is_some();
        Ok(Self {
            new: true,
            tasks,
            cancels_tasks: tasks,
            version: NEW.to_owned(),
            ..Self::of(&object, &can)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dressed(text: &str, new: bool) -> String {
        dress(&RawValue::from_string(text.to_owned()).expect("json"), new).get().to_owned()
    }

    #[test]
    fn each_era_hears_its_own_words_and_the_rest_stays() {
        let said = r#"{"a":1e400,"_meta":{"x":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}}"#;
        assert_eq!(dressed(said, false), r#"{"a":1e400,"_meta":{"x":1}}"#);
        assert_eq!(dressed(r#"{"_meta":{"x":{}}}"#, false), r#"{"_meta":{"x":{}}}"#);
        let only = r#"{"_meta":{"io.modelcontextprotocol/logLevel":"info"},"b":2}"#;
        assert_eq!(dressed(only, false), r#"{"b":2}"#);
        let new = dressed(said, true);
        assert!(
            new.starts_with(r#"{"a":1e400,"_meta":{"x":1,"#)
                && new.contains(r#""clientInfo":{"name":"agent-mate""#) | new.contains("agent-mate"),
            "{new}"
        );
        assert!(new.contains(r#""io.modelcontextprotocol/clientCapabilities":{"sampling":{}}"#), "{new}");
        assert!(dressed("{}", true).contains(r#""io.modelcontextprotocol/clientCapabilities":{}"#));
    }
}
