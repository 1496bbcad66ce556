//! What a terminal sends, as keys.

/// The longest text that is pasted at once; bytes.
const PASTE: usize = 4_096;
/// The longest sequence of one key; bytes.
const SEQUENCE: usize = 32;
const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// One key, or a text that was pasted: that is never taken for keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    Backspace,
    /// Ctrl-C, Ctrl-D
    Interrupt,
    /// Ctrl-Z
    Suspend,
    /// Ctrl-L
    Redraw,
    Pasted(String),
}

/// Bytes that came and are no whole key yet.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    pending: Vec<u8>,
    pasting: bool,
}

impl Decoder {
    /// The keys that are whole with these bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((used, key)) = self.next() {
            self.pending.drain(..used);
            keys.extend(key);
        }
        keys
    }

    /// An escape came that may be a key, or the beginning of one.
    pub(super) fn is_between(&self) -> bool {
        !self.pasting && self.pending.first() == Some(&0x1b)
    }

    /// Nothing more came: the escape was a key.
    pub(super) fn settle(&mut self) -> Option<Key> {
        let between = self.is_between();
        if between {
            self.pending.clear();
        }
        between.then_some(Key::Escape)
    }

    /// The next key, if it is whole, and how many bytes it is.
    fn next(&mut self) -> Option<(usize, Option<Key>)> {
        if self.pasting {
            return self.pasted();
        }
        if self.pending.starts_with(PASTE_BEGINS) {
            self.pasting = true;
            return Some((PASTE_BEGINS.len(), None));
        }
        match self.pending.as_slice() {
            [] | [0x1b] => None,
            [0x1b, b'[', rest @ ..] => match rest.iter().position(|byte| (0x40..=0x7e).contains(byte)) {
                Some(end) => Some((end + 3, named(rest.get(..=end).unwrap_or_default()))),
                None if rest.len() > SEQUENCE => Some((rest.len() + 2, None)),
                None => None,
            },
            [0x1b, b'O'] => None,
            [0x1b, b'O', letter, ..] => Some((3, named(&[*letter]))),
            // With Alt: what it would do is not done.
            [0x1b, _, ..] => Some((2, Some(Key::Escape))),
            [byte, ..] if byte.is_ascii() => Some((1, single(*byte))),
            more => character(more),
        }
    }

    /// What was pasted, once its end is there. Too long a text is let go.
    fn pasted(&mut self) -> Option<(usize, Option<Key>)> {
        let end = self.pending.windows(PASTE_ENDS.len()).position(|part| part == PASTE_ENDS);
        let Some(end) = end else {
            let most = PASTE + PASTE_ENDS.len();
            return (self.pending.len() > most).then(|| (self.pending.len() - PASTE_ENDS.len() + 1, None));
        };
        self.pasting = false;
        let text = String::from_utf8_lossy(self.pending.get(..end).unwrap_or_default()).into_owned();
        Some((end + PASTE_ENDS.len(), Some(Key::Pasted(text))))
    }
}

/// A key below U+0080; other controls are none.
fn single(byte: u8) -> Option<Key> {
    match byte {
        0x03 | 0x04 => Some(Key::Interrupt),
        0x1a => Some(Key::Suspend),
        0x0c => Some(Key::Redraw),
        b'\r' | b'\n' => Some(Key::Enter),
        0x08 | 0x7f => Some(Key::Backspace),
        0x20..0x7f => Some(Key::Char(char::from(byte))),
        _ => None,
    }
}

/// What a sequence names, without its beginning.
fn named(sequence: &[u8]) -> Option<Key> {
    match sequence {
        b"A" => Some(Key::Up),
        b"B" => Some(Key::Down),
        b"H" | b"1~" | b"7~" => Some(Key::Home),
        b"F" | b"4~" | b"8~" => Some(Key::End),
        b"5~" => Some(Key::PageUp),
        b"6~" => Some(Key::PageDown),
        _ => None,
    }
}

/// A character of several bytes; what is none is let go byte by byte.
fn character(bytes: &[u8]) -> Option<(usize, Option<Key>)> {
    let first = bytes.get(..bytes.len().min(4)).unwrap_or_default();
    let whole = match std::str::from_utf8(first) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() > 0 => {
            std::str::from_utf8(first.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or_default()
        }
        // It is not all there yet.
        Err(error) if error.error_len().is_none() => return None,
        Err(_) => return Some((1, None)),
    };
    let found = whole.chars().next()?;
    Some((found.len_utf8(), (!found.is_control()).then_some(Key::Char(found))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_in_whatever_pieces_they_come() {
        let sent = "ja\u{1b}[A\u{1b}OB\u{1b}[5~\r\u{7f}ä漢\u{3}\u{1b}[1;5A".as_bytes();
        let (j, a) = (Key::Char('j'), Key::Char('a'));
        let rest = [Key::Up, Key::Down, Key::PageUp, Key::Enter, Key::Backspace];
        let last = [Key::Char('ä'), Key::Char('漢'), Key::Interrupt];
        let wanted: Vec<_> = [j, a].into_iter().chain(rest).chain(last).collect();
        assert_eq!(Decoder::default().push(sent), wanted);
        let mut decoder = Decoder::default();
        let one_by_one: Vec<_> = sent.iter().flat_map(|byte| decoder.push(&[*byte])).collect();
        assert_eq!(one_by_one, wanted);
        assert!(decoder.pending.is_empty());
    }

    #[test]
    fn an_escape_alone_is_a_key_when_nothing_follows() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(b"\x1b"), []);
        assert!(decoder.is_between());
        assert_eq!((decoder.settle(), decoder.settle()), (Some(Key::Escape), None));
        assert_eq!(decoder.push(b"\x1by"), [Key::Escape], "Alt and a letter is not the letter");
    }

    #[test]
    fn what_is_pasted_presses_no_key_and_is_bounded() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(b"\x1b[200~ay\x1b"), []);
        assert_eq!(decoder.push(b"[201~q"), [Key::Pasted("ay".to_owned()), Key::Char('q')]);
        decoder.push(PASTE_BEGINS);
        for _ in 0..100 {
            assert_eq!(decoder.push(&[b'y'; 1_000]), []);
            assert!(decoder.pending.len() <= PASTE + 2_000);
        }
        let ended = decoder.push(b"\x1b[201~q");
        assert_eq!(ended.last(), Some(&Key::Char('q')));
        let odd = decoder.push(b"\xff\xc3\x28\x00\x07");
        assert_eq!(odd, [Key::Char('(')]);
    }
}
