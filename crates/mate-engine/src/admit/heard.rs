//! What the runtime has heard of. A success stays on record as unheard until its answer was handed to the runtime.

use super::twins::TwinGuard;
use mate_model::OperationId;
use mate_store::{Change, JournalWriter};
use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::oneshot;

/// How many are remembered until the journal has them for sure; each later operation writes some of them.
const RECENT: usize = 4_096;

/// The operations of which the runtime has heard a moment ago.
pub(super) struct Heard {
    journal: JournalWriter,
    recent: Mutex<VecDeque<OperationId>>,
}

impl Heard {
    pub(super) fn new(journal: JournalWriter) -> Arc<Self> {
        Arc::new(Self { journal, recent: Mutex::default() })
    }

    /// Whether the runtime has heard of it, though the journal may not say so yet.
    pub(super) fn has(&self, operation: OperationId) -> bool {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).contains(&operation)
    }

    /// It goes into the journal with the next write: a crash before that makes a result be offered once more.
    fn note(&self, operation: OperationId) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() >= RECENT {
            recent.pop_front();
        }
        recent.push_back(operation);
        drop(recent);
        // Another session's journal is not written here: after a restart it is told once more.
        if operation.session == self.journal.session() {
            self.journal.later(Change::DropResult { operation });
        }
    }
}

/// Held while an answer is on its way to the runtime. Dropped, the answer has not reached it.
///
/// Equal calls wait as long as it is held: only then is it known whether the first one's answer arrived.
#[must_use = "say that the answer was handed over, or drop it"]
pub struct Receipt {
    news: Option<(Arc<Heard>, OperationId)>,
    _twin: Option<TwinGuard>,
    /// Tells by being dropped that it is known whether the answer arrived.
    _over: Option<oneshot::Sender<()>>,
}

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let news = self.news.as_ref().map(|(_, operation)| operation);
        f.debug_struct("Receipt").field("news", &news).finish_non_exhaustive()
    }
}

impl Receipt {
    /// For an answer whose arrival changes nothing.
    pub(super) const fn plain() -> Self {
        Self { news: None, _twin: None, _over: None }
    }

    /// For the success of an operation.
    pub(super) fn of(heard: &Arc<Heard>, operation: OperationId, twin: Option<TwinGuard>) -> Self {
        Self { news: Some((Arc::clone(heard), operation)), _twin: twin, _over: None }
    }

    /// For an outcome that the journal does not have yet, and what is resolved when this is gone.
    pub(super) fn held(heard: Option<&Arc<Heard>>, operation: OperationId) -> (Self, oneshot::Receiver<()>) {
        let (tell, over) = oneshot::channel();
        let news = heard.map(|heard| (Arc::clone(heard), operation));
        (Self { news, _twin: None, _over: Some(tell) }, over)
    }

    /// The answer was handed to a caller that is still there.
    pub fn handed_over(mut self) {
        if let Some((heard, operation)) = self.news.take() {
            heard.note(operation);
        }
    }
}
