//! Untrusted text made fit to show: on a terminal, in a log line, on a page.

use std::fmt::Write;

/// `text` on one line, at most `limit` characters of it: whatever could move a cursor, forge a
/// line or turn the reading direction is written as a visible escape.
#[must_use]
pub fn line(text: &str, limit: usize) -> String {
    shown(text, limit, false)
}

/// As [`line`], but line feeds and tabs stay.
#[must_use]
pub fn block(text: &str, limit: usize) -> String {
    shown(text, limit, true)
}

/// As [`line`], for bytes that may not be UTF-8 (paths, process output); what is not shows as U+FFFD.
#[must_use]
pub fn line_of_bytes(bytes: &[u8], limit: usize) -> String {
    line(&String::from_utf8_lossy(bytes), limit)
}

fn shown(text: &str, limit: usize, keep_lines: bool) -> String {
    let mut out = String::with_capacity(text.len().min(limit) + 3);
    for (count, character) in text.chars().enumerate() {
        if count == limit {
            out.push('…');
            break;
        }
        match character {
            '\n' | '\t' if keep_lines => out.push(character),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if deceives(c) => {
                // Writing to a String does not fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// Controls of terminal, line and direction, and characters that cannot be seen. Joiners stay:
/// some scripts and emoji need them.
fn deceives(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f115_escapes_cannot_forge_lines_or_colours() {
        assert_eq!(line("a\n[APPROVED] b", 99), "a\\n[APPROVED] b");
        assert_eq!(line("\u{1b}[31mred\u{9b}2J\u{7}", 99), "\\u{1b}[31mred\\u{9b}2J\\u{7}");
        assert_eq!(line("gpj.\u{202e}exe\u{2066}\u{2028}x", 99), "gpj.\\u{202e}exe\\u{2066}\\u{2028}x");
        assert_eq!(line_of_bytes(b"\xed\xa0\x80x", 99), "\u{fffd}\u{fffd}\u{fffd}x", "a lone surrogate");
    }

    #[test]
    fn honest_text_stays_as_it_is() {
        for text in ["", "Grüße, 世界", "👩‍👩‍👧 C:\\new", "عربى"] {
            assert_eq!(line(text, 99), text);
        }
        assert_eq!(block("a\n\tb\r\n", 99), "a\n\tb\\r\n");
    }

    #[test]
    fn length_is_cut_visibly() {
        assert_eq!(line("äbcdef", 3), "äbc…");
        assert_eq!(line("äbc", 3), "äbc");
    }
}
