//! Taking secrets out of texts before they are written: known ones in their usual encodings, and
//! those that can be told by their looks.

use crate::{redact_forms, redact_shapes::Shapes, redact_stream::Stream};
use aho_corasick::{AhoCorasick, MatchKind};
use std::{
    borrow::Cow,
    collections::BTreeSet,
    fmt,
    ops::Range,
    sync::{Arc, PoisonError, RwLock},
};

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";

/// How much of a text is looked at for its beginning, in bytes.
const WINDOW: usize = 64 * 1024;

/// The secrets are too many to look for.
#[derive(Debug, thiserror::Error)]
#[error("the redactor could not be built: {0}; give this session fewer or smaller secrets")]
pub struct TooManySecrets(String);

/// Finds secrets. Cheap to clone. Holds the secrets in memory, in clear, while it lives.
///
/// A known secret of fewer than 4 bytes is not looked for: it would take half of every text with it.
#[derive(Clone)]
pub struct Redactor(Arc<RwLock<Arc<Inner>>>);

struct Inner {
    known: AhoCorasick,
    /// The forms that `known` looks for, sorted; none is empty.
    forms: Vec<String>,
    shapes: Arc<Shapes>,
}

impl Inner {
    fn of(forms: BTreeSet<String>, shapes: Arc<Shapes>) -> Result<Self, TooManySecrets> {
        let forms: Vec<_> = forms.into_iter().collect();
        let known = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(&forms)
            .map_err(|error| TooManySecrets(error.to_string()))?;
        Ok(Self { known, forms, shapes })
    }

    /// Whether a form begins with `end` and is longer.
    fn begins_a_form(&self, end: &str) -> bool {
        let at = self.forms.partition_point(|form| form.as_str() <= end);
        self.forms.get(at).is_some_and(|form| form.starts_with(end))
    }
}

impl Redactor {
    /// Looks for `secrets` (raw, and as base64, hexadecimal, percent-encoded, JSON-escaped) and for
    /// the well-known shapes.
    ///
    /// # Errors
    /// When there are too many secrets for the matcher.
    pub fn new(secrets: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<Self, TooManySecrets> {
        let mut forms = BTreeSet::new();
        for secret in secrets {
            forms.append(&mut redact_forms::of(secret.as_ref()));
        }
        let shapes = Shapes::new().map_err(|error| TooManySecrets(error.to_string()))?;
        let inner = Inner::of(forms, Arc::new(shapes))?;
        Ok(Self(Arc::new(RwLock::new(Arc::new(inner)))))
    }

    /// Looks for these from now on as well, in every clone; what was looked for before stays known.
    ///
    /// # Errors
    /// When there are too many secrets for the matcher; then nothing has changed.
    pub fn learn(&self, secrets: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<(), TooManySecrets> {
        let mut new = BTreeSet::new();
        for secret in secrets {
            new.append(&mut redact_forms::of(secret.as_ref()));
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        new.retain(|form| known.forms.binary_search(form).is_err());
        if new.is_empty() {
            return Ok(());
        }
        new.extend(known.forms.iter().cloned());
        let shapes = Arc::clone(&known.shapes);
        *known = Arc::new(Inner::of(new, shapes)?);
        Ok(())
    }

    fn inner(&self) -> Arc<Inner> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// A whole text without its secrets.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let (hidden, _) = self.hidden(text, 0);
        if hidden.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for range in hidden {
            out.push_str(text.get(at..range.start).unwrap_or_default());
            out.push_str(REDACTED);
            at = range.end;
        }
        out.push_str(text.get(at..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// The beginning of a text as it is shown: without its secrets, and only then cut, to at most so many characters.
    /// Of a long text only a window is looked at; what may be the beginning of a secret at its end is left out.
    #[must_use]
    pub fn shown(&self, text: &str, characters: usize) -> String {
        if text.len() <= WINDOW {
            return self.redact(text).chars().take(characters).collect();
        }
        let window = &text[..text.floor_char_boundary(WINDOW)];
        self.stream().push(window).chars().take(characters).collect()
    }

    /// Whether bytes that are no text hold a known secret, in any of its forms. Shapes are not looked for: they would
    /// be met by chance.
    #[must_use]
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        self.inner().known.is_match(bytes)
    }

    /// How many bytes of one block must be looked at again before the next, so that no secret is missed between them.
    pub const OVERLAP: usize = redact_forms::MAX_PIECE;

    /// A text that comes in pieces.
    #[must_use]
    pub fn stream(&self) -> Stream {
        Stream::new(self.clone())
    }

    /// What is to hide, in order and without overlaps, the first `covered` bytes included; and
    /// where a private key begins that has not ended.
    pub(crate) fn hidden(&self, text: &str, covered: usize) -> (Vec<Range<usize>>, Option<usize>) {
        let mut found: Vec<_> = (covered > 0).then_some(0..covered).into_iter().collect();
        let inner = self.inner();
        found.extend(inner.known.find_overlapping_iter(text).map(|m| m.range()));
        inner.shapes.find(text, &mut found);
        let open = inner.shapes.find_pem(text, &mut found);
        found.sort_unstable_by_key(|range| (range.start, range.end));
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(found.len());
        for range in found {
            match merged.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                Some(_) | None => merged.push(range),
            }
        }
        (merged, open)
    }

    /// From where on (not before `from`) something may be the beginning of a secret.
    pub(crate) fn unfinished_from(&self, text: &str, from: usize) -> usize {
        let shape = self.inner().shapes.unfinished_from(text, from).unwrap_or(text.len());
        self.known_unfinished_from(text, from).unwrap_or(text.len()).min(shape)
    }

    /// The same for known secrets alone, if there is such a place.
    pub(crate) fn known_unfinished_from(&self, text: &str, from: usize) -> Option<usize> {
        let start = from.max(text.len().saturating_sub(redact_forms::MAX_PIECE));
        let inner = self.inner();
        let mut ends = (start..text.len()).filter_map(|at| text.get(at..).map(|end| (at, end)));
        ends.find(|(_, end)| inner.begins_a_form(end)).map(|(at, _)| at)
    }

    pub(crate) fn shapes(&self) -> Arc<Shapes> {
        Arc::clone(&self.inner().shapes)
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor([redacted])")
    }
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
