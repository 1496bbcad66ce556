//! Progress towards the runtime, if it asked for it.

use crate::core::{message, raw};
use serde_json::{json, value::RawValue};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// Where a notification for the runtime goes. Never blocks; false: it was dropped.
pub(crate) type ProgressSink = Arc<dyn Fn(String) -> bool + Send + Sync>;

/// Tells the waiting runtime that a call is still being worked on. Does nothing if it did not ask.
#[derive(Clone, Default)]
pub struct Progress {
    inner: Option<Arc<Inner>>,
}

struct Inner {
    token: Box<RawValue>,
    sink: ProgressSink,
    count: AtomicU64,
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Progress({})", if self.inner.is_some() { "asked" } else { "not asked" })
    }
}

impl Progress {
    pub(crate) fn new(token: Box<RawValue>, sink: ProgressSink) -> Self {
        Self { inner: Some(Arc::new(Inner { token, sink, count: AtomicU64::new(0) })) }
    }

    /// Says what is being waited for; counts up by itself.
    pub fn say(&self, text: &str) {
        if let Some(inner) = &self.inner {
            let step = inner.count.fetch_add(1, Ordering::Relaxed) + 1;
            let params = raw(&json!({ "progressToken": inner.token, "progress": step, "message": text }));
            (inner.sink)(message::write_notification("notifications/progress", Some(&params)));
        }
    }
}
