//! A line of a sloppy writer as text that can be read.

use std::borrow::Cow;

/// The text of a line: a byte order mark is dropped, broken UTF-8 and lone surrogate escapes are
/// replaced, so that one odd character does not cost a whole message.
#[must_use]
pub fn repair(line: &[u8]) -> Cow<'_, str> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    let text = String::from_utf8_lossy(line);
    if text.contains("\\u") { Cow::Owned(replace_lone_surrogates(&text)) } else { text }
}

fn replace_lone_surrogates(text: &str) -> String {
    let mut repaired = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (plain, escape) = rest.split_at(at);
        repaired.push_str(plain);
        let (kept, length) = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (escape.get(..12), 12),
            (Some(0xd800..=0xdfff), _) => (Some("\\ufffd"), 6),
            (Some(_), _) => (escape.get(..6), 6),
            // An escape of two characters, the second of which may be a backslash.
            (None, _) => {
                let length = 1 + escape.chars().nth(1).map_or(0, char::len_utf8);
                (escape.get(..length), length)
            }
        };
        repaired.push_str(kept.unwrap_or_default());
        rest = escape.get(length..).unwrap_or_default();
    }
    repaired.push_str(rest);
    repaired
}

/// The UTF-16 unit that an escape at the beginning of `text` stands for.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn f113_lone_surrogates_are_replaced_and_pairs_are_kept() {
        for (input, expected) in [
            (r#""\ud83d\ude00""#, "😀"),
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""\ude00x\ud83d\n""#, "\u{fffd}x\u{fffd}\n"),
            (r#""\\ud83d\\""#, r"\ud83d\"),
            (r#""é\u00e9""#, "éé"),
        ] {
            let text: String = serde_json::from_str(&repair(input.as_bytes())).unwrap();
            assert_eq!(text, expected);
        }
        assert_eq!(repair(b"\xef\xbb\xbf{}\xff"), "{}\u{fffd}");
        assert_eq!(repair(br"\ud8"), r"\ud8");
        assert_eq!(repair(b"\\"), "\\");
    }

    /// Pieces of which JSON strings are made that writers get wrong.
    fn piece() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("\\\\".to_owned()),
            Just("\\n".to_owned()),
            Just("\\\"".to_owned()),
            Just("\u{2028}".to_owned()),
            Just("👩‍👧".to_owned()),
            (0_u16..).prop_map(|unit| format!("\\u{unit:04x}")),
            (0xd7f0_u16..0xe010).prop_map(|unit| format!("\\u{unit:04X}")),
            "[a-u ]{0,3}",
        ]
    }

    proptest! {
        #[test]
        fn f113_whatever_escapes_a_string_holds_it_can_be_read(pieces in prop::collection::vec(piece(), 0..24)) {
            let text = format!("\"{}\"", pieces.concat());
            let repaired = repair(text.as_bytes());
            prop_assert!(serde_json::from_str::<String>(&repaired).is_ok(), "{text} became {repaired}");
            // What can be read as it is stays as it is.
            if let Ok(plain) = serde_json::from_str::<String>(&text) {
                prop_assert_eq!(serde_json::from_str::<String>(&repaired).unwrap(), plain);
            }
        }

        #[test]
        fn any_bytes_become_text_and_text_without_escapes_stays(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let repaired = repair(&bytes).into_owned();
            if let Ok(text) = std::str::from_utf8(&bytes)
                && !text.contains('\\')
            {
                prop_assert_eq!(repaired, text.strip_prefix('\u{feff}').unwrap_or(text));
            }
        }
    }
}
