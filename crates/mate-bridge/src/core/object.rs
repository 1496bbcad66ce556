//! A JSON object as ordered pairs of key and raw value: edited without touching what is not edited.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::{collections::HashSet, fmt};

/// An object whose members keep their order and their exact text. Duplicate keys are refused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Object;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut pairs = Vec::new();
                let mut seen = HashSet::new();
                while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    if !seen.insert(key.clone()) {
                        return Err(A::Error::custom(format!("the key {key:?} occurs twice")));
                    }
                    pairs.push((key, value));
                }
                Ok(Object(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

impl Object {
    /// Reads an object; the error says what is wrong with it.
    pub(crate) fn parse(text: &RawValue) -> Result<Self, String> {
        serde_json::from_str(text.get()).map_err(|e| e.to_string())
    }

    /// As [`Object::parse`]; an absent or `null` value is an empty object.
    pub(crate) fn parse_or_empty(text: Option<&RawValue>) -> Result<Self, String> {
        match text {
            None => Ok(Self::default()),
            Some(raw) if raw.get() == "null" => Ok(Self::default()),
            Some(raw) => Self::parse(raw),
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&RawValue> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| &**v)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &RawValue> {
        self.0.iter().map(|(_, v)| &**v)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(key, value)| (key.as_str(), &**value))
    }

    /// The member `key` if it is a string.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        serde_json::from_str(self.get(key)?.get()).ok()
    }

    /// The member `key` if it is an object.
    pub(crate) fn object(&self, key: &str) -> Option<Self> {
        Self::parse(self.get(key)?).ok()
    }

    /// The member `key` if it is an array: its elements, each as it stands.
    pub(crate) fn list(&self, key: &str) -> Option<Vec<Box<RawValue>>> {
        serde_json::from_str(self.get(key)?.get()).ok()
    }

    /// Replaces `key` in its place, or adds it at the end.
    pub(crate) fn set(&mut self, key: &str, value: Box<RawValue>) {
        match self.0.iter_mut().find(|(k, _)| k == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    /// Takes `key` out.
    pub(crate) fn remove(&mut self, key: &str) {
        self.0.retain(|(k, _)| k != key);
    }

    pub(crate) fn to_raw(&self) -> Box<RawValue> {
        let size = self.0.iter().map(|(k, v)| k.len() + v.get().len() + 8).sum::<usize>() + 2;
        let mut text = String::with_capacity(size);
        text.push('{');
        for (index, (key, value)) in self.0.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            text.push_str(super::raw(key).get());
            text.push(':');
            text.push_str(value.get());
        }
        text.push('}');
        RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_leave_the_rest_byte_for_byte() {
        let raw =
            RawValue::from_string(r#"{"a":1.000000000000000000001,"name":"x","z":{"q": [1e400]}}"#.into())
                .unwrap();
        let mut object = Object::parse(&raw).unwrap();
        object.set("name", super::super::raw(&"y"));
        object.set("new", super::super::raw(&true));
        assert_eq!(
            object.to_raw().get(),
            r#"{"a":1.000000000000000000001,"name":"y","z":{"q": [1e400]},"new":true}"#
        );
    }

    #[test]
    fn a_key_that_occurs_twice_is_refused() {
        let raw = RawValue::from_string(r#"{"a":1,"\u0061":2}"#.into()).unwrap();
        assert!(Object::parse(&raw).unwrap_err().contains("twice"));
    }
}
