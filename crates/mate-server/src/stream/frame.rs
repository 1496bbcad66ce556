//! Frames of `text/event-stream`.

use bytes::{BufMut, BytesMut};
use serde::Serialize;

/// Sent when a stream opens: how long a browser waits before it comes back.
pub(crate) const OPENING: &str = "retry: 1000\n\n";

/// Sent when nothing has happened for a while, so that proxies and clients know that the stream lives.
pub(crate) const HEARTBEAT: &str = ": alive\n\n";

/// One frame: an unnamed one for an event of a log, a named one for news of the stream itself.
pub(crate) fn put(buffer: &mut BytesMut, name: Option<&str>, id: Option<&str>, data: &impl Serialize) {
    // Serde's JSON is one line: line feeds and carriage returns in texts are escaped.
    let Ok(json) = serde_json::to_string(data) else {
        tracing::error!("an event could not be written as JSON");
        return;
    };
    if let Some(id) = id {
        line(buffer, "id", id);
    }
    if let Some(name) = name {
        line(buffer, "event", name);
    }
    line(buffer, "data", &json);
    buffer.put_u8(b'\n');
}

fn line(buffer: &mut BytesMut, field: &str, value: &str) {
    buffer.put_slice(field.as_bytes());
    buffer.put_slice(b": ");
    buffer.put_slice(value.as_bytes());
    buffer.put_u8(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f113_odd_line_ends_stay_in_one_frame() {
        let mut buffer = BytesMut::new();
        put(&mut buffer, None, Some("c1"), &serde_json::json!({"text": "a\r\nb\rc\u{2028}\u{85}\0"}));
        let text = String::from_utf8(buffer.to_vec()).expect("utf-8");
        let wanted = "id: c1\ndata: {\"text\":\"a\\r\\nb\\rc\u{2028}\u{85}\\u0000\"}\n\n";
        assert_eq!(text, wanted);
    }
}
