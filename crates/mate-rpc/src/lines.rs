//! Lines of bounded length from a byte stream. Only a line feed ends a line.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// What came next.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A whole line without its line feed.
    Text(Vec<u8>),
    /// A line over the limit, thrown away but for its ends, which may tell whose answer it was.
    TooLong {
        /// The first bytes.
        head: Vec<u8>,
        /// The last bytes; none where the line was given up before its end.
        tail: Vec<u8>,
    },
    /// The stream ended within a line. Whether that can be a message is for the reader to say.
    Unfinished(Vec<u8>),
    /// The stream ended.
    End,
}

/// Bytes of an oversized line that are kept at each end.
const KEPT: usize = 512;

/// Reads lines. Holds no more than one line of the longest length, and a buffer.
pub struct Lines<R> {
    inner: BufReader<R>,
    max: usize,
    /// Bytes of an oversized line that are kept at each end.
    kept: usize,
    /// An oversized line is given up at its limit, and not read to its end.
    gives_up: bool,
    line: Vec<u8>,
    tail: Vec<u8>,
    over: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of at most `max` bytes, without their line feed.
    pub fn new(inner: R, max: usize) -> Self {
        let inner = BufReader::with_capacity(64 * 1024, inner);
        Self { inner, max, kept: KEPT, gives_up: false, line: Vec::new(), tail: Vec::new(), over: false }
    }

    /// Lines of which so many bytes are kept, of oversized ones as well.
    pub fn keeping(inner: R, max: usize) -> Self {
        Self { kept: max, ..Self::new(inner, max) }
    }

    /// Lines of which an oversized one is told as soon as it is known to be one: it may have no end. What is read
    /// after it is its rest.
    pub fn giving_up(inner: R, max: usize) -> Self {
        Self { gives_up: true, ..Self::new(inner, max) }
    }

    /// The next line. Safe to drop while it waits: nothing that was read is lost.
    ///
    /// # Errors
    /// The stream's.
    pub async fn next(&mut self) -> std::io::Result<Line> {
        loop {
            let chunk = self.inner.fill_buf().await?;
            if chunk.is_empty() {
                let (line, over) = (std::mem::take(&mut self.line), std::mem::take(&mut self.over));
                self.tail = Vec::new();
                return Ok(if line.is_empty() || over { Line::End } else { Line::Unfinished(line) });
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = &chunk[..end.unwrap_or(chunk.len())];
            let used = end.map_or(chunk.len(), |end| end + 1);
            if !self.over && self.line.len() + part.len() > self.max {
                self.over = true;
                self.tail.extend_from_slice(&self.line[self.line.len().saturating_sub(self.kept)..]);
                if self.line.len() < self.kept {
                    self.line.extend_from_slice(&part[..part.len().min(self.kept)]);
                }
                self.line.truncate(self.kept);
                self.line.shrink_to_fit();
            }
            if self.over {
                self.tail.extend_from_slice(&part[part.len().saturating_sub(self.kept)..]);
                let cut = self.tail.len().saturating_sub(self.kept);
                self.tail.drain(..cut);
            } else {
                self.line.extend_from_slice(part);
            }
            self.inner.consume(used);
            if end.is_some() || (self.over && self.gives_up) {
                let (line, tail) = (std::mem::take(&mut self.line), std::mem::take(&mut self.tail));
                return Ok(match std::mem::take(&mut self.over) {
                    true => Line::TooLong { head: line, tail: if end.is_some() { tail } else { Vec::new() } },
                    false => Line::Text(line),
                });
            }
        }
    }

    /// Reads to the end and keeps nothing.
    pub async fn discard(mut self) {
        while let Ok(chunk @ [_, ..]) = self.inner.fill_buf().await {
            let used = chunk.len();
            self.inner.consume(used);
        }
    }
}

/// The numeric `id` member that an oversized message seems to have, by its ends.
#[must_use]
pub fn guess_id(head: &[u8], tail: &[u8]) -> Option<u64> {
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
mod tests;
