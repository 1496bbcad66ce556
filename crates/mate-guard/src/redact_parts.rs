//! The secrets within a secret: what a scheme's word, a user's name or a parameter's name stands before. An upstream that
//! is given `Bearer X` may say `X` alone.

use crate::redact_view::undone;
use base64::{
    Engine,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

/// A word after a scheme that is not known, or a value of a parameter, is taken for a secret from this length on.
const MIN_PART: usize = 8;
/// Words before credentials, in small letters.
const SCHEMES: [&str; 14] = [
    "bearer",
    "basic",
    "token",
    "apikey",
    "api-key",
    "api_key",
    "key",
    "digest",
    "negotiate",
    "jwt",
    "oauth",
    "splunk",
    "bot",
    "dpop",
];
/// What a word of a name ends with whose value is a secret, in small letters: `apikey`, `clientsecret`.
const ENDS: [&str; 7] = ["token", "secret", "password", "passwd", "pwd", "passphrase", "signature"];
/// English words that end with `key` and have nothing to do with one: `monkey=banana` keeps its value. Every other word that
/// ends so counts as a key: a name that is not known hides more, not less.
const NO_KEYS: [&str; 13] = [
    "monkey", "donkey", "turkey", "hockey", "jockey", "whiskey", "hotkey", "smokey", "mickey", "hickey",
    "lackey", "dickey", "buckey",
];
/// Whole words of such a name.
const WORDS: [&str; 10] = [
    "auth",
    "authorization",
    "sig",
    "pass",
    "pw",
    "credential",
    "credentials",
    "session",
    "sessionid",
    "jwt",
];
/// A document of more bytes is not looked into.
const DOCUMENT: usize = 64 * 1024;

/// Whether a name says that its value is a secret: `api_key`, `X-Amz-Signature`, `accessToken`.
#[must_use]
pub fn names_secret(name: &str) -> bool {
    let mut words = vec![String::new()];
    let mut small = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() || (small && c.is_ascii_uppercase()) {
            words.push(String::new());
        }
        small = c.is_ascii_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
            word.push(c.to_ascii_lowercase());
        }
    }
    let is_key = |word: &str| word.ends_with("key") && !NO_KEYS.contains(&word);
    words
        .iter()
        .map(String::as_str)
        .any(|word| WORDS.contains(&word) || is_key(word) || ENDS.iter().any(|end| word.ends_with(end)))
}

/// What of `secret` is to be hidden also where it stands by itself.
pub(crate) fn of(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    if let Ok(text) = std::str::from_utf8(secret) {
        let text = text.trim();
        let credential = after_scheme(text, &mut parts);
        user_info(credential, &mut parts);
        values(credential, &mut parts);
        document(text, &mut parts);
    }
    parts
}

fn put(part: &str, parts: &mut Vec<Vec<u8>>) {
    let part = part.trim().trim_matches(['"', '\'']);
    parts.push(part.as_bytes().to_vec());
    // In an address it may be escaped, and told without.
    let plain = undone(part.as_bytes());
    if plain != part.as_bytes() {
        parts.push(plain);
    }
}

/// What follows a scheme's word; the same text where there is none.
fn after_scheme<'a>(text: &'a str, parts: &mut Vec<Vec<u8>>) -> &'a str {
    let Some((word, rest)) = text.split_once([' ', '\t']) else { return text };
    let rest = rest.trim();
    let scheme = word.trim_end_matches(':').to_ascii_lowercase();
    let known = SCHEMES.contains(&scheme.as_str());
    let is_word =
        !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    if !(known || (is_word && rest.len() >= MIN_PART && !rest.contains(char::is_whitespace))) {
        return text;
    }
    put(rest, parts);
    if scheme == "basic" {
        basic(rest, parts);
    }
    rest
}

/// `user:password`, and the password; a user without one is a token.
fn basic(encoded: &str, parts: &mut Vec<Vec<u8>>) {
    let lenient = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let decoded = [STANDARD, URL_SAFE]
        .into_iter()
        .find_map(|alphabet| GeneralPurpose::new(&alphabet, lenient).decode(encoded).ok());
    let Some(decoded) = decoded else { return };
    let colon = decoded.iter().position(|byte| *byte == b':');
    if let Some(colon) = colon {
        let password = decoded[colon + 1..].to_vec();
        parts.push(if password.is_empty() { decoded[..colon].to_vec() } else { password });
    }
    parts.push(decoded);
}

/// Who and what stands before the host of an address.
fn user_info(text: &str, parts: &mut Vec<Vec<u8>>) {
    for (at, _) in text.match_indices("://").take(16) {
        let rest = &text[at + 3..];
        let authority = rest.split(['/', '?', '#', ' ', '"', '\'']).next().unwrap_or_default();
        let Some((user_info, _)) = authority.rsplit_once('@') else { continue };
        match user_info.split_once(':') {
            Some((user, "")) => put(user, parts),
            Some((_, password)) => put(password, parts),
            None => put(user_info, parts),
        }
    }
}

/// `name=value`, in cookies, queries, parameters of a scheme and strings of settings.
fn values(text: &str, parts: &mut Vec<Vec<u8>>) {
    for pair in text.split(['?', '&', ';', ',', ' ', '\n', '#']).take(100) {
        let Some((name, value)) = pair.split_once('=') else { continue };
        let value = value.trim().trim_matches(['"', '\'']);
        let is_name =
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        if is_name && value.len() >= MIN_PART && names_secret(name) {
            put(value, parts);
        }
    }
}

/// Values of a JSON document whose names say that they are secrets.
fn document(text: &str, parts: &mut Vec<Vec<u8>>) {
    if !text.starts_with('{') || text.len() > DOCUMENT {
        return;
    }
    let Ok(document) = serde_json::from_str::<serde_json::Value>(text) else { return };
    let mut open = vec![&document];
    while let Some(value) = open.pop() {
        match value {
            serde_json::Value::Object(fields) => {
                for (name, value) in fields {
                    if let serde_json::Value::String(value) = value
                        && value.len() >= MIN_PART
                        && names_secret(name)
                    {
                        parts.push(value.clone().into_bytes());
                    }
                    open.push(value);
                }
            }
            serde_json::Value::Array(items) => open.extend(items),
            serde_json::Value::Null
            | serde_json::Value::Bool(_)
            | serde_json::Value::Number(_)
            | serde_json::Value::String(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_secrets() {
        for name in [
            "api_key",
            "apikey",
            "X-Amz-Signature",
            "accessToken",
            "PASSWORD",
            "client-secret",
            "sig",
            "auth",
            "--token",
        ] {
            assert!(names_secret(name), "{name}");
        }
        for name in ["x-key", "apiKey", "monkey_key", "deploykey", "primarykey"] {
            assert!(names_secret(name), "{name}");
        }
        for name in ["monkey", "--monkey", "turkeyName", "hockey_team"] {
            assert!(!names_secret(name), "{name}");
        }
        for name in ["author", "design", "keyboard", "max_tokens", "region", "passenger", "codec", ""] {
            assert!(!names_secret(name), "{name}");
        }
    }
}
