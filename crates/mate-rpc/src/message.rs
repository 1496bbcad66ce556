//! One JSON-RPC message: read strictly where we interpret it, kept as raw text everywhere else.

use super::Fault;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A request id: a string or a number, kept as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Id(Box<str>);

impl Id {
    /// The id as one of our own, which are numbers.
    #[must_use]
    pub fn as_number(&self) -> Option<u64> {
        self.0.parse().ok()
    }

    /// As it was written.
    #[must_use]
    pub fn to_raw(&self) -> Box<RawValue> {
        RawValue::from_string(self.0.to_string()).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }

    /// Reads an id.
    ///
    /// # Errors
    /// When it is neither a string nor a number, or longer than 256 bytes.
    pub fn read(raw: &RawValue) -> Result<Self, ReadError> {
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
pub struct Request {
    /// What the answer has to name.
    pub id: Id,
    /// What is wanted.
    pub method: String,
    /// With which parameters, as they were written.
    pub params: Option<Box<RawValue>>,
}

/// Somebody tells.
#[derive(Debug)]
pub struct Notification {
    /// What it is about.
    pub method: String,
    /// Its parameters, as they were written.
    pub params: Option<Box<RawValue>>,
}

/// What a request was answered with.
#[derive(Debug)]
pub enum Answer {
    /// It was done.
    Result(Box<RawValue>),
    /// It was refused, or failed.
    Error(Fault),
}

/// An answer and the request it belongs to.
#[derive(Debug)]
pub struct Response {
    /// The request's id; none where the other side could not read the request.
    pub id: Option<Id>,
    /// What it was answered with.
    pub answer: Answer,
}

/// One message.
#[derive(Debug)]
pub enum Message {
    /// Somebody wants an answer.
    Request(Request),
    /// Somebody tells.
    Notification(Notification),
    /// Somebody answers.
    Response(Response),
}

/// Why a text is not a message.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not JSON, or no object.
    #[error("not valid JSON: {0}")]
    Json(String),
    /// It is several messages in one.
    #[error("batches are not supported: send one message at a time")]
    Batch,
    /// A member is missing, or too much, or not what it has to be.
    #[error("not a JSON-RPC 2.0 message: {0}")]
    Envelope(&'static str),
    /// A member occurs twice.
    #[error("not a JSON-RPC 2.0 message: {0}")]
    Member(String),
}

impl ReadError {
    /// What is answered to it.
    #[must_use]
    pub fn fault(&self) -> Fault {
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

impl<'a> Envelope<'a> {
    fn read(text: &'a [u8]) -> Result<Self, ReadError> {
        match text.iter().find(|b| !b.is_ascii_whitespace()) {
            Some(b'[') => return Err(ReadError::Batch),
            Some(b'{') => {}
            Some(_) | None => return Err(ReadError::Json("expected an object".into())),
        }
        serde_json::from_slice(text).map_err(|e| match e.classify() {
            serde_json::error::Category::Data => ReadError::Member(e.to_string()),
            serde_json::error::Category::Io
            | serde_json::error::Category::Syntax
            | serde_json::error::Category::Eof => ReadError::Json(e.to_string()),
        })
    }
}

impl Message {
    /// Reads one message.
    ///
    /// # Errors
    /// When it is not exactly one message of JSON-RPC 2.0.
    pub fn read(text: &[u8]) -> Result<Self, ReadError> {
        let envelope = Envelope::read(text)?;
        if envelope.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
            return Err(ReadError::Envelope("`jsonrpc` must be \"2.0\""));
        }
        Self::of(&envelope)
    }

    /// Reads one message of a writer who takes the envelope lightly: `jsonrpc` may be missing, a request whose `id` is
    /// `null` is a notification, a `method` or an `error` that is `null` counts as absent, an answer with nothing in it is
    /// `null`, and one with both a result and an error is an error: in doubt nothing was done.
    ///
    /// # Errors
    /// When it is not JSON, or nothing can be made of it without guessing.
    pub fn read_leniently(text: &[u8]) -> Result<Self, ReadError> {
        let mut envelope = Envelope::read(text)?;
        let filled = |member: &&RawValue| member.get() != "null";
        envelope.method = envelope.method.filter(filled);
        envelope.error = envelope.error.filter(filled);
        if envelope.method.is_some() {
            (envelope.result, envelope.error) = (None, None);
            envelope.id = envelope.id.filter(filled);
        } else if envelope.error.is_some() {
            envelope.result = None;
        } else if envelope.id.is_some() {
            envelope.result = envelope.result.or(Some(RawValue::NULL));
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
#[must_use]
pub fn depth(text: &str) -> usize {
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
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|b| b == b'\n' || b == b'\r') {
        Cow::Owned(text.replace(['\n', '\r'], " "))
    } else {
        Cow::Borrowed(text)
    }
}

/// A request as one line without its line break.
#[must_use]
pub fn write_request(id: u64, method: &str, params: &RawValue) -> String {
    let params = one_line(params.get());
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{},"params":{params}}}"#, super::raw(&method))
}

/// A notification as one line without its line break.
#[must_use]
pub fn write_notification(method: &str, params: Option<&RawValue>) -> String {
    let method = super::raw(&method);
    match params {
        Some(params) => {
            format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{}}}"#, one_line(params.get()))
        }
        None => format!(r#"{{"jsonrpc":"2.0","method":{method}}}"#),
    }
}

/// An answer as one line without its line break; no id: the request could not be read.
#[must_use]
pub fn write_response(id: Option<&Id>, answer: &Answer) -> String {
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
    use proptest::prelude::*;

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

    /// What a lenient reading makes of a text, in one word and the parts.
    fn leniently(text: &str) -> String {
        match Message::read_leniently(text.as_bytes()) {
            Ok(Message::Request(request)) => format!("request {} {}", request.id.0, request.method),
            Ok(Message::Notification(notification)) => format!("notification {}", notification.method),
            Ok(Message::Response(Response { id, answer })) => {
                let id = id.map_or("null".to_owned(), |id| id.0.to_string());
                match answer {
                    Answer::Result(raw) => format!("result {id} {}", raw.get()),
                    Answer::Error(Fault(raw)) => format!("error {id} {}", raw.get()),
                }
            }
            Err(_) => "nothing".to_owned(),
        }
    }

    #[test]
    fn a_sloppy_envelope_is_read_without_guessing_and_never_as_a_success_in_doubt() {
        for (text, expected) in [
            (r#"{"id":1,"method":"x"}"#, "request 1 x"),
            (r#"{"jsonrpc":"1.0","id":"a","method":"x","result":null}"#, r#"request "a" x"#),
            (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, "notification x"),
            (r#"{"id":1,"result":null,"error":{"code":1}}"#, r#"error 1 {"code":1}"#),
            (r#"{"id":1,"result":{},"error":{"code":1}}"#, r#"error 1 {"code":1}"#),
            (r#"{"id":1,"result":{"a":1},"error":null}"#, r#"result 1 {"a":1}"#),
            (r#"{"id":1}"#, "result 1 null"),
            (r#"{"id":1,"error":null}"#, "result 1 null"),
            (r#"{"id":1,"method":null,"params":null,"result":7,"error":null}"#, "result 1 7"),
            (r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, "error null {}"),
            (r#"{"jsonrpc":"2.0","error":{}}"#, "nothing"),
            (r#"{"id":[1],"method":"x"}"#, "nothing"),
            (r#"{"id":1,"method":7}"#, "nothing"),
            (r#"{"id":1,"id":1,"result":1}"#, "nothing"),
            ("{}", "nothing"),
            ("[]", "nothing"),
            ("\"id\"", "nothing"),
            (r#"{"id":1,"result":1} x"#, "nothing"),
        ] {
            assert_eq!(leniently(text), expected, "{text}");
        }
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            "\\PC{0,8}|[\u{2028}\u{feff}\r\n\u{0}]{0,4}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::hash_map("[a-z]{0,6}", inner, 0..4)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// What is written is one line, and is read as what it was, strictly and leniently.
        #[test]
        fn what_is_written_is_read_again(id in any::<u64>(), method in "\\PC{0,12}", body in json(), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&body) } else { serde_json::to_string(&body) };
            let params = RawValue::from_string(text.unwrap()).unwrap();
            let line = write_request(id, &method, &params);
            prop_assert!(!line.contains(['\n', '\r']));
            for read in [Message::read(line.as_bytes()), Message::read_leniently(line.as_bytes())] {
                let Ok(Message::Request(request)) = read else { panic!("{line}") };
                prop_assert_eq!(request.id.as_number(), Some(id));
                prop_assert_eq!(&request.method, &method);
                let params: serde_json::Value = serde_json::from_str(request.params.unwrap().get()).unwrap();
                prop_assert_eq!(&params, &body);
                let told = write_response(Some(&request.id), &Answer::Result(super::super::raw(&body)));
                prop_assert!(matches!(Message::read(told.as_bytes()), Ok(Message::Response(_))), "{}", told);
            }
            let line = write_notification(&method, Some(&params));
            prop_assert!(!line.contains(['\n', '\r']));
            prop_assert!(matches!(Message::read(line.as_bytes()), Ok(Message::Notification(_))), "{}", line);
        }

        /// Reading ends, whatever comes, and a strict reader takes nothing that a lenient one refuses.
        #[test]
        fn whatever_comes_is_a_message_or_refused(text in r#"[{\[]("(id|method|result|error|jsonrpc)":("2.0"|1|null|\{\}|"x"),?){0,5}[}\]]?"#) {
            let strictly = Message::read(text.as_bytes());
            let leniently = Message::read_leniently(text.as_bytes());
            prop_assert!(strictly.is_err() || leniently.is_ok(), "{text}");
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
