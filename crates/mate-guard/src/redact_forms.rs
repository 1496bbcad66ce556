//! The forms in which a known secret may turn up in a text.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Shorter ones would redact half of every text.
pub(crate) const MIN_SECRET: usize = 4;
/// Longer forms are looked for in pieces, so that what a stream holds back stays bounded.
pub(crate) const MAX_PIECE: usize = 4096;
/// Encodings of secrets shorter than this are too short to tell from chance.
const MIN_ENCODED: usize = 6;
/// A line of a secret of several lines is looked for by itself from this length on.
const MIN_LINE: usize = 16;

/// Every form of `secret`, sorted; none longer than [`MAX_PIECE`] bytes.
pub(crate) fn of(secret: &[u8]) -> BTreeSet<String> {
    let mut forms = BTreeSet::new();
    let trimmed = secret.trim_ascii();
    if trimmed.len() < MIN_SECRET {
        return forms;
    }
    if let Ok(text) = std::str::from_utf8(trimmed) {
        texts(text, &mut forms);
        if text.contains('\n') {
            let lines = text.lines().map(str::trim).filter(|line| line.len() >= MIN_LINE);
            lines.for_each(|line| texts(line, &mut forms));
        }
    }
    if trimmed.len() >= MIN_ENCODED {
        base64(trimmed, &mut forms);
        for bytes in [secret, trimmed] {
            let digits = hex::encode(bytes);
            insert(&digits.to_uppercase(), &mut forms);
            insert(&digits, &mut forms);
        }
    }
    forms
}

fn texts(text: &str, forms: &mut BTreeSet<String>) {
    insert(text, forms);
    // JSON within JSON (a tool result as text) escapes twice.
    let once = json_escaped(text);
    insert(&json_escaped(&once), forms);
    insert(&once.replace('/', "\\/"), forms);
    insert(&once, forms);
    for upper in [true, false] {
        let percent = percent_encoded(text, upper);
        insert(&percent.replace("%20", "+"), forms);
        insert(&percent, forms);
    }
}

fn insert(form: &str, forms: &mut BTreeSet<String>) {
    let mut rest = form;
    while rest.len() > MAX_PIECE {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(MAX_PIECE));
        forms.insert(piece.to_owned());
        rest = after;
    }
    // A short last piece by itself would match by chance; it is found with what stands before it.
    if rest.len() < MIN_LINE && rest.len() < form.len() {
        rest = &form[form.floor_char_boundary(form.len() - MIN_LINE)..];
    }
    forms.insert(rest.to_owned());
}

/// What of the secret's encoding does not depend on its neighbours, at each of three alignments.
fn base64(secret: &[u8], forms: &mut BTreeSet<String>) {
    for (shift, skipped) in [(0, 0), (1, 2), (2, 3)] {
        let mut shifted = vec![0; shift];
        shifted.extend_from_slice(secret);
        let whole = shifted.len() * 8 / 6;
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            if let Some(core) = engine.encode(&shifted).get(skipped..whole) {
                insert(core, forms);
            }
        }
    }
}

fn json_escaped(text: &str) -> String {
    let quoted = serde_json::Value::String(text.to_owned()).to_string();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

fn percent_encoded(text: &str, upper: bool) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String does not fail.
            let _ = if upper { write!(out, "%{byte:02X}") } else { write!(out, "%{byte:02x}") };
        }
        out
    })
}
