//! A text as it reads when what escapes and breaks it is undone, with the way back to the text: percent-encoding, the
//! escapes of JSON at any depth, entities of HTML, and lines that break base64 or hexadecimal digits.
//!
//! The same is done to what is looked for, so it need not be known which characters an encoder leaves alone, or how deep
//! a text is wrapped.

use memchr::{memchr_iter, memchr3_iter};
use std::ops::Range;

/// How often one encoding may wrap itself.
const DEPTH: usize = 4;
/// The longest run of backslashes that is one escape.
const RUN: usize = 64;
/// So many digits stand before a line break at least, where it is one within digits.
pub(crate) const LINE: usize = 32;
/// The widest indentation of a line of digits.
const INDENT: usize = 16;
/// Stands between parts that do not touch in the text; no secret holds it.
const APART: u8 = 0;

/// Some parts of a text, undone.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub(crate) bytes: Vec<u8>,
    /// Where the bytes come from, in order.
    pub(crate) spans: Vec<Span>,
    /// It goes on to the end of the text.
    pub(crate) open: bool,
}

/// From `at` on, the bytes are those of the text from `start` on, or all stand for what is there up to `end`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    at: usize,
    start: usize,
    end: usize,
    plain: bool,
}

impl View {
    fn push(&mut self, byte: u8, (start, end): (usize, usize)) {
        let span = Span { at: self.bytes.len(), start, end, plain: end - start == 1 };
        match self.spans.last() {
            Some(last) if last.plain && span.plain && last.start + (span.at - last.at) == start => {}
            Some(_) | None => self.spans.push(span),
        }
        self.bytes.push(byte);
    }

    fn plain(&mut self, text: &[u8], range: Range<usize>) {
        if let Some(part) = text.get(range.clone())
            && !part.is_empty()
        {
            self.spans.push(Span { at: self.bytes.len(), start: range.start, end: range.end, plain: true });
            self.bytes.extend_from_slice(part);
        }
    }

    fn part(&mut self) {
        if let Some(last) = self.bytes.len().checked_sub(1) {
            let end = self.origin(last).end;
            self.push(APART, (end, end));
        }
    }

    fn origin(&self, at: usize) -> Range<usize> {
        let after = self.spans.partition_point(|span| span.at <= at);
        match after.checked_sub(1).and_then(|before| self.spans.get(before)) {
            Some(span) if span.plain => span.start + (at - span.at)..span.start + (at - span.at) + 1,
            Some(span) => span.start..span.end,
            None => 0..0,
        }
    }

    /// Where in the text a part of this comes from.
    pub(crate) fn place(&self, range: &Range<usize>) -> Range<usize> {
        self.origin(range.start).start..self.origin(range.end.saturating_sub(1)).end
    }

    /// The same place, or the beginning of the escape that it is within.
    pub(crate) fn not_within(&self, at: usize) -> usize {
        let after = self.spans.partition_point(|span| span.start < at);
        match after.checked_sub(1).and_then(|before| self.spans.get(before)) {
            Some(span) if !span.plain && at < span.end => span.start,
            Some(_) | None => at,
        }
    }
}

/// All of `text` undone: what is looked for.
pub(crate) fn undone(text: &[u8]) -> Vec<u8> {
    let mut view = View::default();
    let mut at = 0;
    while at < text.len() {
        at = token(text, at, &mut view);
    }
    view.bytes
}

/// The parts of `text` that hold escapes, undone, with `reach` bytes around each; none where there are no escapes.
pub(crate) fn unescaped(text: &[u8], reach: usize) -> Option<View> {
    let mut view = View::default();
    let mut at = 0;
    for escape in memchr3_iter(b'%', b'\\', b'&', text) {
        if escape < at || !is_escape(text, escape) {
            continue;
        }
        if view.bytes.is_empty() || escape - at > 2 * reach {
            let end = (at + reach).min(escape);
            if !view.bytes.is_empty() {
                view.plain(text, at..end);
                view.part();
            }
            at = escape.saturating_sub(reach).max(at);
        }
        view.plain(text, at..escape);
        at = token(text, escape, &mut view);
    }
    if view.bytes.is_empty() && at == 0 {
        return None;
    }
    let end = (at + reach).min(text.len());
    view.plain(text, at..end);
    view.open = end == text.len();
    Some(view)
}

/// The lines of base64 or hexadecimal digits in `bytes`, joined; none where none are broken. So many digits as `lead` says
/// stood before the first one.
pub(crate) fn joined(bytes: &[u8], lead: usize, reach: usize) -> Option<View> {
    let mut view = View::default();
    let mut done = 0;
    // The other half of a line break may come yet.
    let half = (bytes.last() == Some(&b'\r')).then(|| bytes.len() - 1);
    for at in memchr_iter(b'\n', bytes).chain(half) {
        if at < done {
            continue;
        }
        let before = if at > 0 && bytes.get(at - 1) == Some(&b'\r') { at - 1 } else { at };
        let line = bytes.get(..before).unwrap_or_default();
        let run = line.iter().rev().take(reach.max(LINE)).take_while(|byte| is_digit(**byte)).count();
        if run + if run == before { lead } else { 0 } < LINE {
            continue;
        }
        view.part();
        view.plain(bytes, before - run..before);
        done = join(bytes, at + 1, &mut view);
        view.open = done == bytes.len();
    }
    (!view.bytes.is_empty()).then_some(view)
}

/// Adds the lines of digits that begin at `at`; says where they end.
fn join(bytes: &[u8], mut at: usize, view: &mut View) -> usize {
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        at += rest.iter().take(INDENT).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let digits = bytes.get(at..).unwrap_or_default().iter().take_while(|byte| is_digit(**byte)).count();
        view.plain(bytes, at..at + digits);
        at += digits;
        let line_break = match bytes.get(at..).unwrap_or_default() {
            [b'\r', b'\n', ..] => 2,
            [b'\n', ..] | [b'\r'] => 1,
            _ => 0,
        };
        if line_break == 0 || digits < LINE {
            return at;
        }
        at += line_break;
    }
}

/// How many digits end `bytes`, with `lead` before them; no more than matter.
pub(crate) fn digits_before(bytes: &[u8], lead: usize) -> usize {
    let run = bytes.iter().rev().take(LINE).take_while(|byte| is_digit(**byte)).count();
    if run == bytes.len() { (run + lead).min(LINE) } else { run }
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte)
}

fn is_escape(text: &[u8], at: usize) -> bool {
    match text.get(at) {
        Some(b'%') => percent(text, at).is_some(),
        Some(b'&') => entity(text, at).is_some(),
        Some(b'\\') => text.get(at + 1).is_some_and(|byte| b"\\/\"'nrtbfu".contains(byte) || *byte == b'%'),
        Some(_) | None => false,
    }
}

/// Undoes what begins at `at`; says where it ends.
fn token(text: &[u8], at: usize, view: &mut View) -> usize {
    if text.get(at) == Some(&b'&')
        && let Some((c, next)) = entity(text, at)
    {
        put(c, (at, next), view);
        return next;
    }
    let (first, mut next) = unit(text, at);
    if first != b'\\' {
        view.push(first, (at, next));
        return next;
    }
    for _ in 1..RUN {
        if next >= text.len() {
            return next;
        }
        let (byte, after) = unit(text, next);
        next = after;
        let byte = match byte {
            b'\\' => continue,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' => 8,
            b'f' => 12,
            b'u' => match code(text, after) {
                Some((c, after)) => {
                    // A backslash goes, however it is written.
                    if c != '\\' {
                        put(c, (at, after), view);
                    }
                    return after;
                }
                None => b'u',
            },
            other => other,
        };
        view.push(byte, (at, next));
        return next;
    }
    next
}

fn put(c: char, place: (usize, usize), view: &mut View) {
    c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| view.push(byte, place));
}

/// One byte, percent-encoded or not.
fn unit(text: &[u8], at: usize) -> (u8, usize) {
    percent(text, at).unwrap_or_else(|| (text.get(at).copied().unwrap_or_default(), at + 1))
}

fn percent(text: &[u8], at: usize) -> Option<(u8, usize)> {
    if text.get(at) != Some(&b'%') {
        return None;
    }
    let pair = |at: usize| Some((nibble(*text.get(at)?)? << 4) | nibble(*text.get(at + 1)?)?);
    let (mut byte, mut next) = (pair(at + 1)?, at + 3);
    for _ in 0..DEPTH {
        if byte != b'%' {
            break;
        }
        // What is wrapped once more; its digits may be as well.
        let digit = |at: usize| match pair(at + 1) {
            Some(byte) if text.get(at) == Some(&b'%') => Some((nibble(byte)?, at + 3)),
            Some(_) | None => Some((nibble(*text.get(at)?)?, at + 1)),
        };
        let Some((high, after)) = digit(next) else { break };
        let Some((low, after)) = digit(after) else { break };
        (byte, next) = ((high << 4) | low, after);
    }
    Some((byte, next))
}

fn nibble(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// The character after `\u`.
fn code(text: &[u8], at: usize) -> Option<(char, usize)> {
    let four = |at: usize| {
        let digits = std::str::from_utf8(text.get(at..at + 4)?).ok()?;
        digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
    };
    let high = four(at)?;
    if !(0xd800..0xdc00).contains(&high) {
        return Some((char::from_u32(high)?, at + 4));
    }
    let mut next = at + 4;
    for _ in 0..RUN {
        match unit(text, next) {
            (b'\\', after) => next = after,
            _ => break,
        }
    }
    let low = four(next + 1).filter(|low| text.get(next) == Some(&b'u') && (0xdc00..0xe000).contains(low))?;
    Some((char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))?, next + 5))
}

/// A character as HTML writes it.
fn entity(text: &[u8], at: usize) -> Option<(char, usize)> {
    let mut at = at + 1;
    let mut found = None;
    for _ in 0..=DEPTH {
        let rest = text.get(at..(at + 10).min(text.len()))?;
        let Some(end) = rest.iter().position(|byte| *byte == b';') else { break };
        let Some(c) = named(&rest[..end]) else { break };
        found = Some((c, at + end + 1));
        if c != '&' {
            break;
        }
        at += end + 1;
    }
    found
}

fn named(name: &[u8]) -> Option<char> {
    let number = |digits: &[u8], radix| {
        std::str::from_utf8(digits)
            .ok()
            .and_then(|d| u32::from_str_radix(d, radix).ok())
            .and_then(char::from_u32)
    };
    match name {
        b"amp" => Some('&'),
        b"lt" => Some('<'),
        b"gt" => Some('>'),
        b"quot" => Some('"'),
        b"apos" => Some('\''),
        [b'#', b'x' | b'X', digits @ ..] => number(digits, 16),
        [b'#', digits @ ..] => number(digits, 10),
        _ => None,
    }
}
