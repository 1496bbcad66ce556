//! Taking secrets out of texts before they are written: known ones in their usual encodings, and
//! those that can be told by their looks.

use crate::{
    redact_forms::{self, Forms},
    redact_shapes::Shapes,
    redact_stream::Stream,
    redact_view::{self, View},
};
use aho_corasick::{AhoCorasick, MatchKind};
use std::{
    borrow::Cow,
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
    forms: Vec<Vec<u8>>,
    /// Which bytes forms begin with.
    first: [bool; 256],
    /// The length of the longest form.
    reach: usize,
    shapes: Arc<Shapes>,
}

impl Inner {
    fn of(forms: Forms, shapes: Arc<Shapes>) -> Result<Self, TooManySecrets> {
        let forms: Vec<_> = forms.into_iter().collect();
        let known = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .build(&forms)
            .map_err(|error| TooManySecrets(error.to_string()))?;
        let mut first = [false; 256];
        for byte in forms.iter().filter_map(|form| form.first()) {
            first[usize::from(*byte)] = true;
        }
        let reach = forms.iter().map(Vec::len).max().unwrap_or_default();
        Ok(Self { known, forms, first, reach, shapes })
    }

    /// Where in `bytes`, not before `from`, an end begins that a form begins with and goes on after.
    fn unfinished_from(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let start = from.max(bytes.len().saturating_sub(self.reach));
        (start..bytes.len()).find(|at| {
            let end = &bytes[*at..];
            self.first[usize::from(end[0])] && {
                let after = self.forms.partition_point(|form| form.as_slice() <= end);
                self.forms.get(after).is_some_and(|form| form.starts_with(end))
            }
        })
    }

    /// What of a text must be undone before it can be compared, each with what it was made of, if that is not the text.
    fn views(&self, bytes: &[u8], lead: usize) -> Views {
        let mut views = Views::default();
        if !self.forms.is_empty() {
            views.joined = redact_view::joined(bytes, lead, self.reach);
            views.unescaped = redact_view::unescaped(bytes, self.reach);
            let unescaped = views.unescaped.as_ref();
            views.both = unescaped.and_then(|view| {
                let both = redact_view::joined(&view.bytes, lead, self.reach)?;
                Some(View { open: both.open && view.open, ..both })
            });
        }
        views
    }

    /// Adds where known secrets are.
    fn find(&self, text: &str, lead: usize, found: &mut Vec<Range<usize>>) {
        found.extend(self.known.find_overlapping_iter(text).map(|m| m.range()));
        let views = self.views(text.as_bytes(), lead);
        for (view, place) in views.each() {
            found.extend(self.known.find_overlapping_iter(&view.bytes).map(|m| place(m.range())));
        }
        for range in found {
            // A form that is no text may begin or end within a character.
            range.start = text.floor_char_boundary(range.start);
            range.end = text.ceil_char_boundary(range.end);
        }
    }
}

/// A text undone, each way by itself and both ways.
#[derive(Default)]
struct Views {
    joined: Option<View>,
    unescaped: Option<View>,
    both: Option<View>,
}

type Place<'a> = Box<dyn Fn(Range<usize>) -> Range<usize> + 'a>;

impl Views {
    /// Each, with the way back to the text.
    fn each(&self) -> impl Iterator<Item = (&View, Place<'_>)> {
        fn one(view: &View) -> (&View, Place<'_>) {
            (view, Box::new(|range| view.place(&range)))
        }
        let joined = self.joined.as_ref().map(one);
        let unescaped = self.unescaped.as_ref().map(one);
        let both = self.both.as_ref().zip(self.unescaped.as_ref()).map(|(view, below)| {
            let place: Place<'_> = Box::new(|range| below.place(&view.place(&range)));
            (view, place)
        });
        [joined, unescaped, both].into_iter().flatten()
    }
}

impl Redactor {
    /// Looks for `secrets` and the secrets within them (what follows a scheme's word, the password of an address), in
    /// their usual encodings, and for the well-known shapes.
    ///
    /// # Errors
    /// When there are too many secrets for the matcher.
    pub fn new(secrets: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<Self, TooManySecrets> {
        let mut forms = Forms::new();
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
        let mut new = Forms::new();
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
        let (hidden, _) = self.hidden(text, 0, 0);
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
        let inner = self.inner();
        inner.known.is_match(bytes)
            || inner.views(bytes, 0).each().any(|(view, _)| inner.known.is_match(&view.bytes))
    }

    /// How many bytes of one block must be looked at again before the next, so that no secret is missed between them.
    pub const OVERLAP: usize = 8 * redact_forms::MAX_PIECE;

    /// A text that comes in pieces.
    #[must_use]
    pub fn stream(&self) -> Stream {
        Stream::new(self.clone())
    }

    /// What is to hide, in order and without overlaps, the first `covered` bytes included; and
    /// where a private key begins that has not ended. So many digits as `lead` says stood before the text.
    pub(crate) fn hidden(
        &self,
        text: &str,
        covered: usize,
        lead: usize,
    ) -> (Vec<Range<usize>>, Option<usize>) {
        let mut found: Vec<_> = (covered > 0).then_some(0..covered).into_iter().collect();
        let inner = self.inner();
        inner.find(text, lead, &mut found);
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
    pub(crate) fn unfinished_from(&self, text: &str, from: usize, lead: usize) -> usize {
        let inner = self.inner();
        let shape = inner.shapes.unfinished_from(text, from).unwrap_or(text.len());
        let known = self.known_unfinished_from(text, from, lead).unwrap_or(text.len());
        let hold = known.min(shape);
        if inner.forms.is_empty() || hold <= from {
            return hold;
        }
        // No escape is cut in two.
        let unescaped = redact_view::unescaped(text.as_bytes(), inner.reach);
        let hold = unescaped.map_or(hold, |view| view.not_within(hold));
        text.floor_char_boundary(hold.max(from))
    }

    /// The same for known secrets alone, if there is such a place.
    pub(crate) fn known_unfinished_from(&self, text: &str, from: usize, lead: usize) -> Option<usize> {
        let inner = self.inner();
        if inner.forms.is_empty() {
            return None;
        }
        let bytes = text.as_bytes();
        let escape = inner.shapes.unfinished_escape_from(text, from);
        let whole = &bytes[..escape.unwrap_or(bytes.len())];
        let mut first = escape.into_iter().chain(inner.unfinished_from(bytes, from)).min();
        if escape.is_some() {
            first = first.into_iter().chain(inner.unfinished_from(whole, from.min(whole.len()))).min();
        }
        let views = inner.views(whole, lead);
        for (view, place_of) in views.each().filter(|(view, _)| view.open) {
            let mut at = 0;
            while let Some(found) = inner.unfinished_from(&view.bytes, at) {
                let place = place_of(found..found + 1).start;
                if place >= from {
                    first = first.into_iter().chain([place]).min();
                    break;
                }
                at = found + 1;
            }
        }
        first.map(|at| text.floor_char_boundary(at).max(from))
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
