//! Server-sent events, read from chunks of bytes with a bound.

/// One event: what a stream carries for us.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) data: Vec<u8>,
}

/// A reader that is fed bytes and gives events.
#[derive(Debug, Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_cr: bool,
    /// The last `id:` seen; a stream can be resumed after it.
    pub(crate) last_id: Option<String>,
    /// The server's wish for the wait before resuming, in milliseconds.
    pub(crate) retry: Option<u64>,
}

impl Events {
    /// A stream that goes on after the event `last_id`.
    pub(crate) fn after(last_id: Option<String>) -> Self {
        Self { last_id, ..Self::default() }
    }

    /// Takes bytes; gives the events that they complete. `Err`: more than `max` bytes without an event.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], max: usize) -> Result<Vec<Event>, ()> {
        let mut events = Vec::new();
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            match bytes.iter().position(|b| *b == b'\n' || *b == b'\r') {
                None => {
                    self.line.extend_from_slice(bytes);
                    bytes = &[];
                }
                Some(end) => {
                    self.line.extend_from_slice(&bytes[..end]);
                    self.after_cr = bytes[end] == b'\r';
                    bytes = &bytes[end + 1..];
                    let line = std::mem::take(&mut self.line);
                    events.extend(self.take_line(&line));
                }
            }
            if self.line.len() + self.data.len() > max {
                return Err(());
            }
        }
        Ok(events)
    }

    fn take_line(&mut self, line: &[u8]) -> Option<Event> {
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return std::mem::take(&mut self.has_data).then_some(Event { data });
        }
        let (field, value) = match line.iter().position(|b| *b == b':') {
            None => (line, &[][..]),
            Some(at) => {
                let value = &line[at + 1..];
                (&line[..at], value.strip_prefix(b" ").unwrap_or(value))
            }
        };
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"id" if value.len() <= 1024 && !value.contains(&0) => {
                self.last_id = String::from_utf8(value.to_vec()).ok();
            }
            b"retry" => self.retry = std::str::from_utf8(value).ok().and_then(|v| v.parse().ok()),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let text = b": hi\r\nid: 7\r\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\nretry: 20\n\ndata:x\n\ndata: lost";
        for size in 1..text.len() {
            let mut events = Events::default();
            let mut seen = Vec::new();
            for chunk in text.chunks(size) {
                seen.extend(events.feed(chunk, 1000).unwrap());
            }
            let wanted = [Event { data: b"{\"a\":\n1}".to_vec() }, Event { data: b"x".to_vec() }];
            assert_eq!(seen, wanted, "chunks of {size}");
            assert_eq!((events.last_id.as_deref(), events.retry), (Some("7"), Some(20)));
        }
    }

    #[test]
    fn an_event_without_end_is_refused() {
        assert!(Events::default().feed(&[b'x'; 100], 50).is_err());
    }
}
