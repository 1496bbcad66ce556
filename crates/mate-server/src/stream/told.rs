//! An event as streams tell it: written out once, for everybody who hears it.

use super::log::Log;
use crate::views;
use bytes::{BufMut, BytesMut};
use mate_engine::EventView;
use mate_model::event::Event;
use serde_json::Value;

/// An event without its `id`, which differs from stream to stream.
#[derive(Debug)]
pub(crate) struct Told {
    /// Its number.
    pub(super) seq: i64,
    /// When it happened; microseconds. By this events of several logs are put in order.
    pub(super) at: i64,
    /// Its JSON, without the opening brace. It is one line.
    rest: Box<str>,
}

/// An event as it is shown: with the cursor that resumes after it, and the project where the log is a project's.
pub(crate) fn shown(log: Log, event: Event, id: String) -> Value {
    let mut shown = views::of(&EventView::of(event, id));
    if let Log::Project(project) = log {
        shown["project"] = project.to_string().into();
    }
    shown
}

impl Told {
    pub(super) fn of(log: Log, event: Event) -> Self {
        let (seq, at) = (event.seq, event.at.0);
        let mut shown = shown(log, event, String::new());
        if let Some(fields) = shown.as_object_mut() {
            fields.remove("id");
        }
        let json = shown.to_string();
        Self { seq, at, rest: json.strip_prefix('{').unwrap_or(&json).into() }
    }

    /// One that says nothing, for tests.
    #[cfg(test)]
    pub(super) fn plain(seq: i64, at: i64) -> Self {
        Self { seq, at, rest: "}".into() }
    }

    /// How much memory it takes; bytes.
    pub(super) fn size(&self) -> usize {
        self.rest.len() + size_of::<Self>()
    }

    /// Writes its frame. `id` has no character that JSON would escape.
    pub(super) fn put(&self, buffer: &mut BytesMut, id: &str) {
        for part in ["id: ", id, "\ndata: {\"id\":\"", id, "\",", &self.rest, "\n\n"] {
            buffer.put_slice(part.as_bytes());
        }
    }
}
