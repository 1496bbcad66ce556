//! Lines of bounded length from a byte stream.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// What came next.
pub(crate) enum Line {
    /// A whole line without its line break.
    Text(Vec<u8>),
    /// A line over the limit, thrown away but for its ends, which may tell whose answer it was.
    TooLong { head: Vec<u8>, tail: Vec<u8> },
    /// The stream ended.
    End,
}

/// Bytes of an oversized line that are kept at each end.
const KEPT: usize = 512;

pub(crate) struct Lines<R> {
    inner: BufReader<R>,
    max: usize,
    /// Bytes of an oversized line that are kept at each end.
    kept: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(inner: R, max: usize) -> Self {
        Self { inner: BufReader::with_capacity(64 * 1024, inner), max, kept: KEPT }
    }

    /// Lines of which so many bytes are kept, of oversized ones as well.
    pub(crate) fn keeping(inner: R, max: usize) -> Self {
        Self { kept: max, ..Self::new(inner, max) }
    }

    pub(crate) async fn next(&mut self) -> std::io::Result<Line> {
        let mut line = Vec::new();
        let mut tail: Vec<u8> = Vec::new();
        let mut over = false;
        loop {
            let chunk = self.inner.fill_buf().await?;
            if chunk.is_empty() {
                // What has no line break is not a whole message.
                return Ok(Line::End);
            }
            let end = chunk.iter().position(|b| *b == b'\n');
            let part = &chunk[..end.unwrap_or(chunk.len())];
            let used = end.map_or(chunk.len(), |e| e + 1);
            if !over && line.len() + part.len() > self.max {
                over = true;
                tail.extend_from_slice(&line[line.len().saturating_sub(self.kept)..]);
                if line.len() < self.kept {
                    line.extend_from_slice(&part[..part.len().min(self.kept)]);
                }
                line.truncate(self.kept);
                line.shrink_to_fit();
            }
            if over {
                tail.extend_from_slice(&part[part.len().saturating_sub(self.kept)..]);
                let cut = tail.len().saturating_sub(self.kept);
                tail.drain(..cut);
            } else {
                line.extend_from_slice(part);
            }
            self.inner.consume(used);
            if end.is_some() {
                return Ok(if over { Line::TooLong { head: line, tail } } else { Line::Text(line) });
            }
        }
    }
}

/// The numeric `id` member that an oversized message seems to have, by its ends.
pub(crate) fn guess_id(head: &[u8], tail: &[u8]) -> Option<u64> {
    fn after(text: &[u8], from_end: bool) -> Option<u64> {
        let text = String::from_utf8_lossy(text);
        let at = if from_end { text.rfind("\"id\"") } else { text.find("\"id\"") }?;
        let rest = text[at + 4..].trim_start().strip_prefix(':')?.trim_start();
        let digits = rest.find(|c: char| !c.is_ascii_digit()).map_or(rest, |end| &rest[..end]);
        digits.parse().ok()
    }
    let head_is_envelope =
        !String::from_utf8_lossy(head).split("\"id\"").next().unwrap_or("").contains("\"result\"");
    if head_is_envelope && let Some(id) = after(head, false) {
        return Some(id);
    }
    after(tail, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_over_the_limit_is_dropped_and_the_next_one_is_read() {
        let long = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"{}\"}}\nnext\nunfinished",
            "x".repeat(300_000)
        );
        let mut lines = Lines::new(long.as_bytes(), 1000);
        match lines.next().await.unwrap() {
            Line::TooLong { head, tail } => assert_eq!(guess_id(&head, &tail), Some(7)),
            Line::Text(_) | Line::End => panic!("expected an oversized line"),
        }
        assert!(matches!(lines.next().await.unwrap(), Line::Text(t) if t == b"next"));
        assert!(matches!(lines.next().await.unwrap(), Line::End));
    }

    #[test]
    fn the_id_may_also_stand_at_the_end() {
        assert_eq!(guess_id(br#"{"result":{"id":1,"x":"aaaa"#, br#"aaaa"},"id": 42}"#), Some(42));
        assert_eq!(guess_id(b"{\"result\":", b"aaaa"), None);
    }
}
