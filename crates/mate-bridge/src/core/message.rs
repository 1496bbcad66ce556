//! One JSON-RPC message: read strictly where we interpret it, kept as raw text everywhere else.

use super::Fault;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A request id: a string or a number, kept as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Id(Box<str>);

impl Id {
    pub(crate) fn as_number(&self) -> Option<u64> {
        self.0.parse().ok()
    }

    pub(crate) fn read(raw: &RawValue) -> Result<Self, ReadError> {
        let text = raw.get();
        let scalar = text.starts_with(|c: char| c == '"' || c == '-' || c.is_ascii_digit());
        if !scalar || text.len() > 256 {
            return Err(ReadError::Envelope("`id` must be a string or a number of at most 256 bytes"));
        }
        Ok(Self(text.into()))
    }
}

/// Somebody wants an answer.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) id: Id,
    pub(crate) method: String,
    pub(crate) params: Option<Box<RawValue>>,
}

/// Somebody tells.
#[derive(Debug)]
pub(crate) struct Notification {
    pub(crate) method: String,
    pub(crate) params: Option<Box<RawValue>>,
}

/// What a request was answered with.
#[derive(Debug)]
pub(crate) enum Answer {
    Result(Box<RawValue>),
    Error(Fault),
}

/// An answer and the request it belongs to.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) id: Option<Id>,
    pub(crate) answer: Answer,
}

#[derive(Debug)]
pub(crate) enum Message {
    Request(Request),
    Notification(Notification),
    Response(Response),
}

/// Why a text is not a message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("not valid JSON: {0}")]
    Json(String),
    #[error("batches are not supported: send one message at a time")]
    Batch,
    #[error("not a JSON-RPC 2.0 message: {0}")]
    Envelope(&'static str),
    #[error("not a JSON-RPC 2.0 message: {0}")]
    Member(String),
}

impl ReadError {
    pub(crate) fn fault(&self) -> Fault {
        let text = self.to_string();
        match self {
            Self::Json(_) => Fault::parse(&text),
            Self::Batch | Self::Envelope(_) | Self::Member(_) => Fault::invalid_request(&text),
        }
    }
}

fn present<'de: 'a, 'a, D: Deserializer<'de>>(d: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(d).map(Some)
}

/// The members that we interpret. A repeated one is an error of the deserializer; others are ignored.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

impl Message {
    /// Reads one message.
    pub(crate) fn read(text: &[u8]) -> Result<Self, ReadError> {
        match text.iter().find(|b| !b.is_ascii_whitespace()) {
            Some(b'[') => return Err(ReadError::Batch),
            Some(b'{') => {}
            Some(_) | None => return Err(ReadError::Json("expected an object".into())),
        }
        let envelope: Envelope<'_> = serde_json::from_slice(text).map_err(|e| match e.classify() {
            serde_json::error::Category::Data => ReadError::Member(e.to_string()),
            serde_json::error::Category::Io
            | serde_json::error::Category::Syntax
            | serde_json::error::Category::Eof => ReadError::Json(e.to_string()),
        })?;
        if envelope.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
            return Err(ReadError::Envelope("`jsonrpc` must be \"2.0\""));
        }
        Self::of(&envelope)
    }

    fn of(envelope: &Envelope<'_>) -> Result<Self, ReadError> {
        let params = envelope.params.map(ToOwned::to_owned);
        if let Some(method) = envelope.method {
            if envelope.result.is_some() || envelope.error.is_some() {
                return Err(ReadError::Envelope("both a request and an answer"));
            }
            let method: String = serde_json::from_str(method.get())
                .map_err(|_| ReadError::Envelope("`method` must be a string"))?;
            return Ok(match envelope.id {
                None => Self::Notification(Notification { method, params }),
                Some(id) => Self::Request(Request { id: Id::read(id)?, method, params }),
            });
        }
        let id = match envelope.id {
            None => return Err(ReadError::Envelope("neither `method` nor `id`")),
            Some(id) if id.get() == "null" => None,
            Some(id) => Some(Id::read(id)?),
        };
        let answer = match (envelope.result, envelope.error) {
            (Some(result), None) => Answer::Result(result.to_owned()),
            (None, Some(error)) => Answer::Error(Fault(error.to_owned())),
            (Some(_), Some(_)) => return Err(ReadError::Envelope("both `result` and `error`")),
            (None, None) => return Err(ReadError::Envelope("neither `method`, `result` nor `error`")),
        };
        Ok(Self::Response(Response { id, answer }))
    }
}

/// How deep the nesting of a JSON text goes. The text is known to be valid.
pub(crate) fn depth(text: &str) -> usize {
    let (mut deepest, mut now, mut in_string, mut escaped) = (0_usize, 0_usize, false, false);
    for byte in text.bytes() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                now += 1;
                deepest = deepest.max(now);
            }
            b'}' | b']' => now = now.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The text on one line. Line breaks in valid JSON are white space between tokens, never inside a string.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|b| b == b'\n' || b == b'\r') {
        Cow::Owned(text.replace(['\n', '\r'], " "))
    } else {
        Cow::Borrowed(text)
    }
}

/// A request as one line without its line break.
pub(crate) fn write_request(id: u64, method: &str, params: &RawValue) -> String {
    let params = one_line(params.get());
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{},"params":{params}}}"#, super::raw(&method))
}

/// A notification as one line without its line break.
pub(crate) fn write_notification(method: &str, params: Option<&RawValue>) -> String {
    let method = super::raw(&method);
    match params {
        Some(params) => {
            format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{}}}"#, one_line(params.get()))
        }
        None => format!(r#"{{"jsonrpc":"2.0","method":{method}}}"#),
    }
}

/// An answer as one line without its line break; no id: the request could not be read.
pub(crate) fn write_response(id: Option<&Id>, answer: &Answer) -> String {
    let (name, body) = match answer {
        Answer::Result(raw) => ("result", raw.get()),
        Answer::Error(fault) => ("error", fault.0.get()),
    };
    let id = id.map_or("null", |id| &id.0);
    let mut text = String::with_capacity(body.len() + id.len() + 40);
    text.push_str(r#"{"jsonrpc":"2.0","id":"#);
    text.push_str(id);
    text.push_str(",\"");
    text.push_str(name);
    text.push_str("\":");
    text.push_str(&one_line(body));
    text.push('}');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_one_clean_message_is_refused_with_its_reason() {
        for (text, wanted) in [
            (r#"[{"jsonrpc":"2.0","method":"x"}]"#, "batches"),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#, "duplicate field `id`"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"x","\u006dethod":"y"}"#, "duplicate field `method`"),
            (r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, "`id` must be"),
            (r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#, "`jsonrpc` must be"),
            (r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#, "both"),
            (r#"{"jsonrpc":"2.0","id":1}"#, "neither"),
            ("{", "not valid JSON"),
            ("7", "not valid JSON"),
            ("", "not valid JSON"),
        ] {
            let error = Message::read(text.as_bytes()).expect_err(text).to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }

    #[test]
    fn raw_parts_and_ids_survive_reading_and_writing() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        for result in [r#""\ud800""#, "1e400", "null", "-0.10", deep.as_str()] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":"a\n1","result":{result}}}"#);
            let Ok(Message::Response(response)) = Message::read(text.as_bytes()) else {
                panic!("not read: {result}")
            };
            assert_eq!(write_response(response.id.as_ref(), &response.answer), text);
        }
        assert_eq!(depth(&deep), 5000);
        assert_eq!(depth(r#"{"a":"[[[\"[","b":[1]}"#), 2);
    }
}
