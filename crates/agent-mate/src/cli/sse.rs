//! Server-sent events, as far as our streams use them.

/// The longest event that is taken.
const LIMIT: usize = 8 * 1024 * 1024;

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The cursor that resumes after it.
    pub(crate) id: Option<String>,
    /// Its kind; empty for an ordinary one.
    pub(crate) event: String,
    /// What it says.
    pub(crate) data: String,
}

/// Puts events together from pieces.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    pending: Vec<u8>,
    frame: Frame,
}

impl Reader {
    /// Takes a piece; returns the events that it completes. `Err`: an event is too long to be one.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<Vec<Frame>, String> {
        self.pending.extend_from_slice(piece);
        let mut frames = Vec::new();
        let mut start = 0;
        while let Some(length) =
            self.pending.get(start..).and_then(|rest| rest.iter().position(|b| *b == b'\n'))
        {
            let line = self.pending.get(start..start + length).unwrap_or_default();
            let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned();
            start += length + 1;
            if line.is_empty() {
                let frame = std::mem::take(&mut self.frame);
                if !frame.data.is_empty() || !frame.event.is_empty() {
                    frames.push(frame);
                }
            } else {
                self.line(&line);
            }
        }
        self.pending.drain(..start);
        if self.pending.len() + self.frame.data.len() > LIMIT {
            return Err("the coordinator sent an event of more than 8 MiB".to_owned());
        }
        Ok(frames)
    }

    fn line(&mut self, line: &str) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.frame.id = Some(value.to_owned()),
            "event" => value.clone_into(&mut self.frame.event),
            "data" => {
                if !self.frame.data.is_empty() {
                    self.frame.data.push('\n');
                }
                self.frame.data.push_str(value);
            }
            // A comment (the heartbeat), or a field that we have no use for.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_any_pieces() {
        let stream =
            b": heartbeat\n\nid: c1.2.3\r\ndata: {\"a\":\ndata: 1}\n\nevent: reset\ndata: x\n\nid: 9\n\n";
        let wanted = [
            Frame { id: Some("c1.2.3".into()), event: String::new(), data: "{\"a\":\n1}".into() },
            Frame { id: None, event: "reset".into(), data: "x".into() },
        ];
        for size in 1..stream.len() {
            let mut reader = Reader::default();
            let frames: Vec<_> =
                stream.chunks(size).flat_map(|piece| reader.push(piece).expect("short")).collect();
            assert_eq!(frames, wanted, "pieces of {size}");
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut reader = Reader::default();
        let piece = vec![b'x'; LIMIT / 4];
        assert!((0..5).any(|_| reader.push(&piece).is_err()));
    }
}
