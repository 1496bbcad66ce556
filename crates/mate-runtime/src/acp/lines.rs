//! Lines from a runtime's output: bounded, and repaired where a sloppy writer broke them.

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Text(Vec<u8>),
    TooLong,
    End,
}

/// Reads lines that end with LF; what stands behind the last LF is a line too.
pub(super) struct LineReader<R> {
    source: R,
    limit: usize,
    buffer: Vec<u8>,
    /// The bytes before this place hold no LF.
    searched: usize,
    ended: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(source: R, limit: usize) -> Self {
        Self { source, limit, buffer: Vec::new(), searched: 0, ended: false }
    }

    /// The next line without its LF. Safe to drop while it waits: nothing that was read is lost.
    pub(super) async fn next(&mut self) -> Line {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            if let Some(at) = unsearched.iter().position(|byte| *byte == b'\n') {
                let rest = self.buffer.split_off(self.searched + at + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.pop();
                self.searched = 0;
                return if line.len() > self.limit { Line::TooLong } else { Line::Text(line) };
            }
            self.searched = self.buffer.len();
            if self.searched > self.limit {
                return Line::TooLong;
            }
            if self.ended {
                let last = std::mem::take(&mut self.buffer);
                self.searched = 0;
                return if last.is_empty() { Line::End } else { Line::Text(last) };
            }
            self.buffer.reserve(16 << 10);
            match self.source.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) => self.ended = true,
                Ok(_) => {}
            }
        }
    }
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Reads to the end and keeps nothing.
    pub(super) async fn discard(mut self) {
        self.buffer.clear();
        while !self.ended {
            self.buffer.clear();
            self.ended = !matches!(self.source.read_buf(&mut self.buffer).await, Ok(1..));
        }
    }
}

/// The text of a line: a byte order mark is dropped, broken UTF-8 and lone surrogate escapes are
/// replaced, so that one odd character does not cost a whole message.
pub(super) fn repair(line: &[u8]) -> String {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    let text = String::from_utf8_lossy(line);
    if text.contains("\\u") { replace_lone_surrogates(&text) } else { text.into_owned() }
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

    async fn lines(input: &[u8], limit: usize) -> Vec<Line> {
        let mut reader = LineReader::new(input, limit);
        let mut found = Vec::new();
        loop {
            let line = reader.next().await;
            let last = matches!(line, Line::End | Line::TooLong);
            found.push(line);
            if last {
                return found;
            }
        }
    }

    #[tokio::test]
    async fn f113_only_a_line_feed_ends_a_line() {
        let text = |t: &str| Line::Text(t.as_bytes().to_vec());
        let input = "a\u{2028}b\u{85}\r\n\0\n\nlast";
        let expected = vec![text("a\u{2028}b\u{85}\r"), text("\0"), text(""), text("last"), Line::End];
        assert_eq!(lines(input.as_bytes(), 100).await, expected);
    }

    #[tokio::test]
    async fn a_line_without_end_is_given_up() {
        let input = vec![b'x'; 1 << 20];
        assert_eq!(lines(&input, 1000).await, vec![Line::TooLong]);
        let fits = lines(b"0123456789\n0123456789x\n", 10).await;
        assert_eq!(fits, vec![Line::Text(b"0123456789".to_vec()), Line::TooLong]);
    }

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
}
