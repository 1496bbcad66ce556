//! The forms in which a known secret may turn up in a text, once its escapes are undone.

use crate::{redact_parts, redact_view::undone};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use std::collections::BTreeSet;

/// Shorter ones would redact half of every text.
pub(crate) const MIN_SECRET: usize = 4;
/// Longer forms are looked for in pieces, so that what a stream holds back stays bounded.
pub(crate) const MAX_PIECE: usize = 2048;
/// Encodings of secrets shorter than this are too short to tell from chance.
const MIN_ENCODED: usize = 6;
/// A line of a secret of several lines is looked for by itself from this length on.
const MIN_LINE: usize = 16;

/// What is looked for, sorted; nothing in it is empty or longer than [`MAX_PIECE`] bytes.
pub(crate) type Forms = BTreeSet<Vec<u8>>;

/// Every form of `secret` and of the secrets within it.
pub(crate) fn of(secret: &[u8]) -> Forms {
    let mut forms = Forms::new();
    one(secret, &mut forms);
    redact_parts::of(secret).iter().for_each(|part| one(part, &mut forms));
    forms
}

fn one(secret: &[u8], forms: &mut Forms) {
    let trimmed = secret.trim_ascii();
    if trimmed.len() < MIN_SECRET {
        return;
    }
    plain(trimmed, forms);
    if let Ok(text) = std::str::from_utf8(trimmed)
        && text.contains('\n')
    {
        let lines = text.lines().map(str::trim).filter(|line| line.len() >= MIN_LINE);
        lines.for_each(|line| plain(line.as_bytes(), forms));
    }
    if trimmed.len() >= MIN_ENCODED {
        base64(trimmed, forms);
        for bytes in [secret, trimmed] {
            let digits = hex::encode(bytes);
            insert(digits.to_uppercase().as_bytes(), forms);
            insert(digits.as_bytes(), forms);
        }
    }
}

/// As it is, with its own escapes undone, and with blanks as forms of the web write them.
fn plain(text: &[u8], forms: &mut Forms) {
    insert(text, forms);
    let undone = undone(text);
    if undone.len() < MIN_SECRET {
        return;
    }
    for form in [text, &undone] {
        if form.contains(&b' ') {
            let blanks: Vec<u8> = form.iter().map(|byte| if *byte == b' ' { b'+' } else { *byte }).collect();
            insert(&blanks, forms);
        }
    }
    insert(&undone, forms);
}

fn insert(form: &[u8], forms: &mut Forms) {
    let mut rest = form;
    while rest.len() > MAX_PIECE {
        let (piece, after) = rest.split_at(MAX_PIECE);
        forms.insert(piece.to_owned());
        rest = after;
    }
    // A short last piece by itself would match by chance; it is found with what stands before it.
    if rest.len() < MIN_LINE && rest.len() < form.len() {
        rest = &form[form.len() - MIN_LINE..];
    }
    forms.insert(rest.to_owned());
}

/// What of the secret's encoding does not depend on its neighbours, at each of three alignments.
fn base64(secret: &[u8], forms: &mut Forms) {
    for (shift, skipped) in [(0, 0), (1, 2), (2, 3)] {
        let mut shifted = vec![0; shift];
        shifted.extend_from_slice(secret);
        let whole = shifted.len() * 8 / 6;
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            if let Some(core) = engine.encode(&shifted).get(skipped..whole) {
                insert(core.as_bytes(), forms);
            }
        }
    }
}
