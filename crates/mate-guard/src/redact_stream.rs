//! Redaction of a text that comes in pieces, so that no cut between them lets a secret through.

use crate::{
    redact::{REDACTED, Redactor},
    redact_shapes::PEM_END_LENGTH,
    redact_view,
};

/// An unfinished shape longer than this is taken for a secret without waiting for its end.
const MAX_HELD: usize = 16 * 1024;

/// Takes pieces, gives back what is safe to write so far. Memory is bounded by about 16 KiB and the
/// size of one piece.
#[derive(Debug)]
pub struct Stream {
    redactor: Redactor,
    /// One written character for context, and then what is held back.
    held: String,
    /// How many bytes at the front of `held` are written already.
    written: usize,
    /// How many digits of base64 stood before `held`, as far as it matters.
    lead: usize,
    /// How many bytes at the front of `held` belong to a secret whose mark is written.
    covered: usize,
    dropping: Option<Dropping>,
    /// Whether something was hidden so far.
    hidden: bool,
}

/// A secret without a known end, whose mark is written already.
#[derive(Clone, Copy, Debug)]
enum Dropping {
    Pem,
    Word,
}

impl Stream {
    pub(crate) const fn new(redactor: Redactor) -> Self {
        Self { redactor, held: String::new(), written: 0, lead: 0, covered: 0, dropping: None, hidden: false }
    }

    /// Takes the next piece; returns what can be written now, which may lag behind.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        self.advance(false)
    }

    /// No piece follows: returns the rest.
    #[must_use]
    pub fn finish(self) -> String {
        self.end().0
    }

    /// No piece follows: returns the rest, and whether something was hidden anywhere.
    #[must_use]
    pub fn end(mut self) -> (String, bool) {
        let rest = self.advance(true);
        (rest, self.hidden)
    }

    /// Whether something was hidden in what was returned so far.
    #[must_use]
    pub const fn has_hidden(&self) -> bool {
        self.hidden
    }

    fn advance(&mut self, last: bool) -> String {
        let mut out = String::new();
        if !self.drop_unended() {
            return out;
        }
        let (hidden, open_pem) = self.redactor.hidden(&self.held, self.covered, self.lead);
        let end = self.held.len();
        let hold =
            if last { end } else { self.redactor.unfinished_from(&self.held, self.written, self.lead) };
        let too_long = end - hold > MAX_HELD;
        let unended = match open_pem {
            Some(begin) if begin <= hold || too_long => Some((begin.min(hold), Dropping::Pem)),
            Some(_) | None => too_long.then_some((hold, Dropping::Word)),
        };
        let marked = self.write(&hidden, unended.map_or(hold, |(begin, _)| begin), &mut out);
        if let Some((_, kind)) = unended {
            if !marked {
                out.push_str(REDACTED);
                self.hidden = true;
            }
            self.cover_all();
            self.dropping = Some(kind);
        }
        out
    }

    /// Writes up to `hold`; says whether what follows belongs to a secret that is marked.
    fn write(&mut self, hidden: &[std::ops::Range<usize>], hold: usize, out: &mut String) -> bool {
        let mut at = self.written;
        let mut covered = 0;
        for range in hidden {
            let start = range.start.max(at);
            if start >= hold {
                break;
            }
            if range.end <= at {
                continue;
            }
            out.push_str(self.held.get(at..start).unwrap_or_default());
            let marked_before = start == self.written && start < self.covered;
            if !marked_before {
                out.push_str(REDACTED);
                self.hidden = true;
            }
            at = range.end.min(hold);
            covered = range.end;
        }
        let covered = covered.max(self.covered);
        out.push_str(self.held.get(at..hold).unwrap_or_default());
        let dropped = self.keep_from(hold);
        self.covered = covered.saturating_sub(dropped);
        if self.covered <= self.written {
            self.covered = 0;
        }
        self.covered > 0
    }

    /// Forgets what is before `at`, but for one character; returns how many bytes went.
    fn keep_from(&mut self, at: usize) -> usize {
        let context = self.held.get(..at).and_then(|s| s.chars().next_back()).map_or(0, char::len_utf8);
        let dropped = at - context;
        self.drop_front(dropped);
        self.written = context;
        dropped
    }

    fn drop_front(&mut self, bytes: usize) {
        self.lead = redact_view::digits_before(&self.held.as_bytes()[..bytes], self.lead);
        self.held.drain(..bytes);
    }

    /// Drops the rest of a secret whose end is not known; false while it goes on.
    fn drop_unended(&mut self) -> bool {
        let Some(kind) = self.dropping else { return true };
        let end = match kind {
            Dropping::Pem => self.redactor.shapes().pem_end(&self.held, 0),
            Dropping::Word => self.held.find(|c: char| c.is_whitespace() || "\"'<>".contains(c)),
        };
        let Some(end) = end else {
            self.cover_all();
            return false;
        };
        self.dropping = None;
        self.covered = end;
        true
    }

    /// All that is held belongs to a secret. Enough of it stays to see an end marker that comes in
    /// pieces, and a known secret that begins within and goes on after.
    fn cover_all(&mut self) {
        let length = self.held.len();
        let marker = self.held.floor_char_boundary(length.saturating_sub(PEM_END_LENGTH));
        let known =
            self.redactor.known_unfinished_from(&self.held, self.written, self.lead).unwrap_or(length);
        self.drop_front(marker.min(known).max(self.written));
        self.written = 0;
        self.covered = self.held.len();
    }
}
