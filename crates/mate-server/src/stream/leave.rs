//! Whether a stream's reader may still hear it.

use mate_engine::{Engine, EngineError, Principal, Verb};
use mate_model::{Micros, ProjectId};
use std::sync::Arc;

/// How long a judgement is good for when the ledger says that no authority was changed; microseconds. A browser's
/// sign-out does not change any.
const GOOD_FOR: i64 = 15_000_000;

/// By what a reader is known.
#[derive(Clone)]
pub(crate) enum Shown {
    /// A token.
    Bearer(Arc<str>),
    /// A browser's cookie.
    Cookie(Arc<str>),
}

/// A reader's leave to hear some projects, and how it was judged last.
pub(super) struct Leave {
    shown: Shown,
    needs: Vec<(ProjectId, Verb)>,
    judged: Option<Judged>,
}

struct Judged {
    /// The authorisation version before the judgement.
    version: i64,
    /// When, by the monotonic clock.
    at: i64,
    /// When the token ends.
    ends: Option<Micros>,
}

impl Leave {
    pub(super) fn new(shown: Shown, mut needs: Vec<(ProjectId, Verb)>) -> Self {
        needs.sort_by_key(|(project, verb)| (*project, verb.as_str()));
        needs.dedup();
        Self { shown, needs, judged: None }
    }

    /// Judges the reader again, unless nothing can have changed. `version` is the authorisation version as it was found
    /// after what is to be told was read: what was committed after a revocation is never told.
    pub(super) async fn still(&mut self, engine: &Engine, version: i64) -> Result<(), EngineError> {
        let (now, clock) = (engine.clock.now(), engine.clock.monotonic());
        let good = self.judged.as_ref().is_some_and(|last| {
            last.version >= version && clock - last.at < GOOD_FOR && last.ends.is_none_or(|end| now < end)
        });
        if good {
            return Ok(());
        }
        let version = engine.ledger.authorisation_version().await?;
        let who = self.who(engine).await?;
        for (project, verb) in &self.needs {
            engine.demand(&who, *project, *verb).await?;
        }
        self.judged = Some(Judged { version, at: clock, ends: who.ends_at });
        Ok(())
    }

    async fn who(&self, engine: &Engine) -> Result<Principal, EngineError> {
        match &self.shown {
            Shown::Bearer(token) => engine.authenticate(token).await,
            Shown::Cookie(cookie) => engine.browser(cookie).await,
        }
    }
}
