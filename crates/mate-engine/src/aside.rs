//! What the coordinator could not look after: set aside, shown to people, and tried again. Nothing else waits for it.

use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{Micros, SessionId};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

/// The most that is kept at once; what is beyond is in the log.
const MOST: usize = 1_000;

/// Something that was set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The session, where its row can be read.
    pub session: Option<SessionId>,
    /// Why, and what to do.
    pub why: String,
    /// Since when.
    pub since: Micros,
}

/// What is set aside at the moment. It is found again by each coordinator, so it is kept in memory alone.
#[derive(Debug, Default)]
pub struct Aside(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    sessions: BTreeMap<SessionId, (String, Micros)>,
    rows: BTreeMap<String, Micros>,
}

impl Aside {
    /// A session could not be looked after.
    pub(crate) fn put(&self, session: SessionId, why: String, now: Micros) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = state.sessions.get(&session).map_or(now, |(_, since)| *since);
        if state.sessions.len() < MOST || state.sessions.contains_key(&session) {
            state.sessions.insert(session, (why, since));
        }
    }

    /// A session was looked after.
    pub(crate) fn take(&self, session: SessionId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).sessions.remove(&session);
    }

    /// A round is over: these sessions are unfinished, and these rows could not be read.
    pub(crate) fn round(&self, unfinished: &BTreeSet<SessionId>, rows: Vec<String>, now: Micros) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.sessions.retain(|session, _| unfinished.contains(session));
        let before = std::mem::take(&mut state.rows);
        let kept = rows.into_iter().take(MOST);
        state.rows = kept.map(|row| (row.clone(), before.get(&row).copied().unwrap_or(now))).collect();
    }

    /// How many things are set aside.
    #[must_use]
    pub fn count(&self) -> usize {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.sessions.len() + state.rows.len()
    }

    /// Why a session is set aside, if it is.
    #[must_use]
    pub fn why(&self, session: SessionId) -> Option<String> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.sessions.get(&session).map(|(why, _)| why.clone())
    }

    fn all(&self) -> Vec<Stuck> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = state.rows.iter().map(|(why, since)| (None, why, since));
        let sessions = state.sessions.iter().map(|(id, (why, since))| (Some(*id), why, since));
        rows.chain(sessions)
            .map(|(session, why, since)| Stuck { session, why: why.clone(), since: *since })
            .collect()
    }
}

impl Engine {
    /// What is set aside, for an administrator; bounded.
    ///
    /// # Errors
    /// Not an administrator.
    pub async fn set_aside(&self, who: &Principal) -> Result<Vec<Stuck>, EngineError> {
        self.demand_here(who, Verb::AsideList).await?;
        Ok(self.aside.all())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_looked_after_again_is_no_longer_set_aside() {
        let aside = Aside::default();
        let session = SessionId::new(uuid::Uuid::from_u128(1));
        aside.put(session, "one".to_owned(), Micros(5));
        aside.put(session, "two".to_owned(), Micros(9));
        aside.round(&BTreeSet::from([session]), vec!["row".to_owned()], Micros(10));
        aside.round(&BTreeSet::from([session]), vec!["row".to_owned()], Micros(11));
        let row = Stuck { session: None, why: "row".to_owned(), since: Micros(10) };
        let stuck = Stuck { session: Some(session), why: "two".to_owned(), since: Micros(5) };
        assert_eq!(aside.all(), [row, stuck]);
        assert_eq!((aside.count(), aside.why(session).as_deref()), (2, Some("two")));
        aside.take(session);
        aside.round(&BTreeSet::new(), Vec::new(), Micros(12));
        assert_eq!((aside.count(), aside.why(session)), (0, None));
    }
}
