//! A keyed digest of arguments: equal arguments are recognised, nothing about them is told.

use crate::{canonical::Json, secret::Key};
use std::{fmt, str::FromStr};

/// The key of one session's digests; a digest of another session says nothing here.
#[derive(Clone, Debug)]
pub struct DigestKey(Key);

impl DigestKey {
    /// Derived from the session's own key.
    #[must_use]
    pub fn of_session(session_key: &Key) -> Self {
        Self(session_key.derive("argument digest", b""))
    }

    /// The digest of the canonical text of `arguments` (BLAKE3, keyed).
    #[must_use]
    pub fn digest(&self, arguments: &Json) -> ArgumentDigest {
        ArgumentDigest(*blake3::keyed_hash(self.0.expose(), arguments.canonical().as_bytes()).as_bytes())
    }
}

/// Stands for the arguments of an operation; written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArgumentDigest([u8; 32]);

impl ArgumentDigest {
    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ArgumentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for ArgumentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is not a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an argument digest: expected 64 lower-case hexadecimal digits")]
pub struct BadDigest;

impl FromStr for ArgumentDigest {
    type Err = BadDigest;

    fn from_str(text: &str) -> Result<Self, BadDigest> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| BadDigest)?;
        let digest = Self(bytes);
        if digest.to_string() == text { Ok(digest) } else { Err(BadDigest) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn digest(raw: &str) -> ArgumentDigest {
        DigestKey::of_session(&Key::new([5; 32])).digest(&Json::parse(raw).expect(raw))
    }

    #[test]
    fn g09_a_digest_is_keyed_by_its_session() {
        let other = DigestKey::of_session(&Key::new([6; 32])).digest(&Json::Null);
        assert_ne!(other, digest("null"));
        assert_eq!(digest("null").to_string().parse(), Ok(digest("null")));
        assert_eq!("AB".repeat(32).parse::<ArgumentDigest>(), Err(BadDigest));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::hash_map("[a-cä😀]{0,3}", inner, 0..6)
                    .prop_map(|fields| fields.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    /// The same value, its keys the other way round.
    fn reversed(value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(reversed).collect::<Vec<_>>().into(),
            Value::Object(fields) => fields
                .iter()
                .rev()
                .map(|(k, v)| (k.clone(), reversed(v)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }

    proptest! {
        #[test]
        fn order_and_white_space_never_change_it(value in any_json()) {
            let pretty = serde_json::to_string_pretty(&reversed(&value)).expect("writes");
            prop_assert_eq!(digest(&value.to_string()), digest(&pretty));
        }

        #[test]
        fn another_value_always_does(left in any_json(), right in any_json()) {
            let (left_text, right_text) = (Json::parse(&left.to_string()), Json::parse(&right.to_string()));
            let same = left_text == right_text;
            prop_assert_eq!(same, digest(&left.to_string()) == digest(&right.to_string()));
            let wrapped = Value::from(vec![left.clone()]);
            prop_assert_ne!(digest(&left.to_string()), digest(&wrapped.to_string()));
        }
    }
}
