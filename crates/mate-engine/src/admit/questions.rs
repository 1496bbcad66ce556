//! The questions of upstreams that are open, and those that were answered a moment ago.

use super::{
    CurrentTurn,
    asking::Leave,
    twins::{TwinGuard, TwinKey},
};
use crate::spill::Slot;
use mate_model::{GrantId, OperationId, records::Operation, words::EffectClass};
use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch;

/// Answers that are remembered, for a further round that is made again.
const ANSWERED: usize = 1_024;

/// What waits between two rounds of an operation.
#[derive(Debug)]
pub(super) struct Parked {
    pub(super) turn: CurrentTurn,
    pub(super) class: EffectClass,
    /// The grant that its first round was judged under.
    pub(super) grant: GrantId,
    pub(super) call: TwinKey,
    pub(super) round: i64,
    pub(super) question: String,
    /// The question itself, as the upstream put it, unless it is long.
    pub(super) text: Option<String>,
    pub(super) twin: Option<TwinGuard>,
    pub(super) settles: Vec<Operation>,
    pub(super) key: OperationId,
    pub(super) slot: Slot,
    pub(super) leave: Leave,
    pub(super) trace: String,
    pub(super) decision: serde_json::Value,
}

/// A question whose answer was let out.
#[derive(Debug)]
struct Answered {
    question: String,
    call: TwinKey,
    turn: CurrentTurn,
    operation: OperationId,
}

/// What an equal call is given while a call goes on at its upstream.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) call: TwinKey,
    pub(super) turn: CurrentTurn,
    /// Unless it is long.
    pub(super) text: Option<String>,
}

/// The operations whose question is open. One for each call in flight, so it is bounded by them.
#[derive(Debug)]
pub(super) struct Questions {
    open: Mutex<HashMap<OperationId, Parked>>,
    /// What is told meanwhile of calls that go on.
    shown: Mutex<HashMap<OperationId, Shown>>,
    answered: Mutex<VecDeque<Answered>>,
    /// Raised with each question.
    news: watch::Sender<()>,
}

impl Default for Questions {
    fn default() -> Self {
        Self {
            open: Mutex::default(),
            shown: Mutex::default(),
            answered: Mutex::default(),
            news: watch::Sender::new(()),
        }
    }
}

impl Questions {
    fn open(&self) -> MutexGuard<'_, HashMap<OperationId, Parked>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shown(&self) -> MutexGuard<'_, HashMap<OperationId, Shown>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What equal calls are given from now on while the call goes on; none: nothing, they wait.
    pub(super) fn show(&self, operation: OperationId, shown: Option<Shown>) {
        match shown {
            Some(shown) => {
                self.shown().insert(operation, shown);
                self.news.send_replace(());
            }
            None => {
                self.shown().remove(&operation);
            }
        }
    }

    fn answered(&self) -> MutexGuard<'_, VecDeque<Answered>> {
        self.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, operation: OperationId, parked: Parked) {
        self.open().insert(operation, parked);
        self.news.send_replace(());
    }

    /// Takes the one that the call answers; its answer is remembered as let out.
    pub(super) fn take(
        &self,
        question: &str,
        call: &TwinKey,
        turn: CurrentTurn,
    ) -> Option<(OperationId, Parked)> {
        let mut all = self.open();
        let fits =
            |parked: &Parked| parked.question == question && parked.call == *call && parked.turn == turn;
        let found = all.iter().filter(|(_, parked)| fits(parked)).map(|(id, _)| *id).max()?;
        // Under the lock: whoever does not find it open any more finds it answered.
        self.has_answer(question, call, turn, found);
        all.remove(&found).map(|parked| (found, parked))
    }

    /// Remembers that a question was answered; false: it was known.
    pub(super) fn has_answer(
        &self,
        question: &str,
        call: &TwinKey,
        turn: CurrentTurn,
        operation: OperationId,
    ) -> bool {
        let mut answered = self.answered();
        if answered.iter().any(|known| known.question == question && known.operation == operation) {
            return false;
        }
        if answered.len() >= ANSWERED {
            answered.pop_front();
        }
        let (question, call) = (question.to_owned(), call.clone());
        answered.push_back(Answered { question, call, turn, operation });
        true
    }

    /// The answer was not let out.
    pub(super) fn has_no_answer(&self, question: &str, operation: OperationId) {
        self.answered().retain(|known| known.question != question || known.operation != operation);
    }

    /// The operation whose question the call answers once more.
    pub(super) fn was_answered(
        &self,
        question: &str,
        call: &TwinKey,
        turn: CurrentTurn,
    ) -> Option<OperationId> {
        let answered = self.answered();
        let same =
            |known: &&Answered| known.question == question && known.call == *call && known.turn == turn;
        answered.iter().rfind(same).map(|known| known.operation)
    }

    /// The open question of an equal call, and its text, if that is at hand.
    pub(super) fn of(&self, call: &TwinKey, turn: CurrentTurn) -> Option<(OperationId, Option<String>)> {
        let all = self.open();
        let mine = all.iter().filter(|(_, parked)| parked.call == *call && parked.turn == turn);
        if let Some((id, parked)) = mine.max_by_key(|(id, _)| **id) {
            return Some((*id, parked.text.clone()));
        }
        drop(all);
        let shown = self.shown();
        let mine = shown.iter().filter(|(_, shown)| shown.call == *call && shown.turn == turn);
        mine.max_by_key(|(id, _)| **id).map(|(id, shown)| (*id, shown.text.clone()))
    }

    /// The same, when there is one.
    pub(super) async fn when_open(&self, call: &TwinKey, turn: CurrentTurn) -> (OperationId, Option<String>) {
        let mut news = self.news.subscribe();
        loop {
            if let Some(found) = self.of(call, turn) {
                return found;
            }
            if news.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    pub(super) fn drain(&self) -> Vec<(OperationId, Parked)> {
        self.answered().clear();
        self.shown().clear();
        self.open().drain().collect()
    }
}
