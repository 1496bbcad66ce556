//! Tool arguments read strictly from their raw text, and their one canonical spelling.
//!
//! Like RFC 8785 (keys sorted by UTF-16, no white space, one spelling of strings and numbers), but
//! exact for numbers that a double cannot hold.

use crate::number;
use serde::de::IgnoredAny;
use std::cmp::Ordering;

/// How deep arrays and objects may nest.
pub const MAX_DEPTH: usize = 128;

/// Why a text is not taken as JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadJson {
    /// Not JSON at all.
    #[error("not valid JSON at line {line}, column {column}")]
    Syntax {
        /// From 1.
        line: usize,
        /// From 1, in bytes.
        column: usize,
    },
    /// The same key twice in one object, which different readers take differently.
    #[error("an object has the same key twice: send each key once")]
    DuplicateKey,
    /// Deeper than [`MAX_DEPTH`].
    #[error("nested more than {MAX_DEPTH} levels deep: flatten it")]
    TooDeep,
    /// An escape that stands for no character.
    #[error("a string holds a lone surrogate, which stands for no character")]
    LoneSurrogate,
    /// An exponent beyond a million.
    #[error("a number is out of bounds: its exponent is beyond a million")]
    NumberOutOfBounds,
}

/// A JSON value as it was written, its objects sorted, no precision lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number in its canonical spelling.
    Number(String),
    /// A string, its escapes resolved.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object, sorted by the UTF-16 code units of its keys; no key twice.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Reads `raw` strictly.
    ///
    /// # Errors
    /// [`BadJson`]: see its variants.
    pub fn parse(raw: &str) -> Result<Self, BadJson> {
        // The grammar is checked first, so the walk below may rely on it.
        serde_json::from_str::<IgnoredAny>(raw).map_err(syntax)?;
        Walk { raw, at: 0 }.value(0)
    }

    /// What stands at a dotted path of object members, if anything does.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<&Self> {
        path.split('.').try_fold(self, |value, name| match value {
            Self::Object(fields) => fields.iter().find_map(|(key, value)| (key == name).then_some(value)),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) | Self::Array(_) => None,
        })
    }

    /// The canonical text.
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Number(spelled) => out.push_str(spelled),
            Self::String(text) => write_string(text, out),
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(fields) => {
                out.push('{');
                for (index, (name, value)) in fields.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(name, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

fn syntax(error: serde_json::Error) -> BadJson {
    BadJson::Syntax { line: error.line(), column: error.column() }
}

fn write_string(text: &str, out: &mut String) {
    // `serde_json` escapes as RFC 8785 asks for: the short forms, and lower-case `\u00xx`.
    out.push_str(&serde_json::Value::String(text.to_owned()).to_string());
}

fn by_utf16(left: &str, right: &str) -> Ordering {
    left.encode_utf16().cmp(right.encode_utf16())
}

struct Walk<'a> {
    raw: &'a str,
    at: usize,
}

impl Walk<'_> {
    fn peek(&self) -> u8 {
        self.raw.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    /// Steps over `byte`, if it is next after white space.
    fn take(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.peek() == byte;
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Result<Json, BadJson> {
        if depth > MAX_DEPTH {
            return Err(BadJson::TooDeep);
        }
        self.skip_space();
        match self.peek() {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => self.string().map(Json::String),
            b'n' => Ok(self.word(4, Json::Null)),
            b't' => Ok(self.word(4, Json::Bool(true))),
            b'f' => Ok(self.word(5, Json::Bool(false))),
            _ => self.number(),
        }
    }

    const fn word(&mut self, length: usize, value: Json) -> Json {
        self.at += length;
        value
    }

    fn number(&mut self) -> Result<Json, BadJson> {
        let start = self.at;
        while matches!(self.peek(), b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') {
            self.at += 1;
        }
        let text = self.raw.get(start..self.at).unwrap_or_default();
        number::canonical(text).map(Json::Number).ok_or(BadJson::NumberOutOfBounds)
    }

    fn string(&mut self) -> Result<String, BadJson> {
        let start = self.at;
        self.at += 1;
        while self.peek() != b'"' && self.at < self.raw.len() {
            self.at += if self.peek() == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        // The grammar holds, so the only thing left to be wrong is an escaped surrogate.
        let quoted = self.raw.get(start..self.at).ok_or(BadJson::LoneSurrogate)?;
        serde_json::from_str(quoted).map_err(|_| BadJson::LoneSurrogate)
    }

    fn array(&mut self, depth: usize) -> Result<Json, BadJson> {
        self.at += 1;
        let mut items = Vec::new();
        while !self.take(b']') {
            items.push(self.value(depth + 1)?);
            self.take(b',');
        }
        Ok(Json::Array(items))
    }

    fn object(&mut self, depth: usize) -> Result<Json, BadJson> {
        self.at += 1;
        let mut fields = Vec::new();
        while !self.take(b'}') {
            let name = self.string()?;
            self.take(b':');
            fields.push((name, self.value(depth + 1)?));
            self.take(b',');
        }
        fields.sort_by(|(left, _), (right, _)| by_utf16(left, right));
        if fields.windows(2).any(|pair| matches!(pair, [(left, _), (right, _)] if left == right)) {
            return Err(BadJson::DuplicateKey);
        }
        Ok(Json::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(raw: &str) -> String {
        Json::parse(raw).expect(raw).canonical()
    }

    #[test]
    fn one_spelling() {
        let raw = " { \"b\" : [ 1.0 , \"\\u0041\\/\\u001F\\n\" , null , { } , [ ] ] ,\n\"a\":true, \"\\ud83d\\ude00\":1, \"\u{fb33}\":2}";
        // By UTF-16 the emoji (0xd83d...) comes before U+FB33; by code point it would come after.
        assert_eq!(
            canonical(raw),
            "{\"a\":true,\"b\":[1,\"A/\\u001f\\n\",null,{},[]],\"😀\":1,\"\u{fb33}\":2}"
        );
    }

    #[test]
    fn what_readers_could_take_differently_is_refused() {
        assert_eq!(Json::parse(r#"{"a":1,"\u0061":2}"#), Err(BadJson::DuplicateKey));
        assert_eq!(Json::parse(r#"[{"a":{"x":1,"y":2,"x":1}}]"#), Err(BadJson::DuplicateKey));
        assert_eq!(Json::parse(r#""\ud800""#), Err(BadJson::LoneSurrogate));
        assert_eq!(Json::parse(r#"{"\udc00":1}"#), Err(BadJson::LoneSurrogate));
        assert_eq!(Json::parse("1e9999999"), Err(BadJson::NumberOutOfBounds));
        for bad in ["", "{", "[1,]", "{\"a\":1,}", "01", "'a'", "nul", "1 2", "\"\n\"", "{a:1}", "NaN", "[1}"]
        {
            assert!(matches!(Json::parse(bad), Err(BadJson::Syntax { .. })), "{bad}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Json::parse(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(Json::parse(&nested(MAX_DEPTH + 1)), Err(BadJson::TooDeep));
        assert_eq!(Json::parse(&nested(100_000)), Err(BadJson::TooDeep));
    }
}
