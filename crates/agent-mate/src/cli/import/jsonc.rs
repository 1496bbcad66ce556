//! JSON as people write it into settings: with comments and trailing commas.

use serde_json::Value;

/// Reads it.
///
/// # Errors
/// Where it is no JSON, without its text, which may hold secrets.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let plain = plain(text.strip_prefix('\u{feff}').unwrap_or(text));
    serde_json::from_str(&plain).map_err(|error| {
        let kind = if error.is_eof() { "it ends too early" } else { "it is no JSON" };
        format!("{kind} (line {}, column {})", error.line(), error.column())
    })
}

/// The same with blanks in place of comments and of commas before a closing bracket; lines and columns stay.
fn plain(text: &str) -> String {
    let mut out: Vec<char> = Vec::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut comma: Option<usize> = None;
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                comma = None;
                out.push(c);
                while let Some(c) = chars.next() {
                    out.push(c);
                    match c {
                        '\\' => out.extend(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '/' if chars.peek() == Some(&'/') => {
                out.push(' ');
                while let Some(c) = chars.next_if(|c| *c != '\n') {
                    out.push(if c == '\r' { c } else { ' ' });
                }
            }
            '/' if chars.peek() == Some(&'*') => {
                // The star that opens the comment does not close it.
                chars.next();
                out.extend([' ', ' ']);
                let mut before = ' ';
                for c in chars.by_ref() {
                    out.push(if c == '\n' { c } else { ' ' });
                    if (before, c) == ('*', '/') {
                        break;
                    }
                    before = c;
                }
            }
            ',' => {
                comma = Some(out.len());
                out.push(c);
            }
            '}' | ']' => {
                if let Some(at) = comma.take() {
                    out[at] = ' ';
                }
                out.push(c);
            }
            _ => {
                if !c.is_whitespace() {
                    comma = None;
                }
                out.push(c);
            }
        }
    }
    out.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn comments_and_trailing_commas_are_taken() {
        let text = "\u{feff}// first\n{ \"a\": [1, 2, /* , */ ], /* two\nlines */ \"b\": \"// no, /* comment */ ,]\", \"c\": \"\\\"//\",\n}\n// last";
        assert_eq!(read(text), Ok(json!({"a": [1, 2], "b": "// no, /* comment */ ,]", "c": "\"//"})));
        assert_eq!(read("{\"u\": \"https://x/y\"}"), Ok(json!({"u": "https://x/y"})));
    }

    #[test]
    fn what_is_wrong_is_told_without_the_text() {
        let why = read("{\n  \"TOKEN\": hunter2\n}").expect_err("no JSON");
        assert!(why.contains("line 2") && !why.contains("hunter2"), "{why}");
        for bad in ["", "{", "{\"a\": \"x", "[1,,2]", "/* open", "{\"a\":1}}"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
