//! Answers to what an upstream asks about the task that it has made of a call (2026-07-28): the call's own round is over
//! with the task, and each answer is a further round of the same operation, with an intent and a second read of its own.
//!
//! The operation stays in flight: what it came to, the upstream's record of the task says.

use super::{
    Admission, CurrentTurn, Go, asking::Leave, intent::Intended, request::Request, rounds::round_event,
};
use crate::EngineError;
use mate_guard::Json;
use mate_model::{
    GrantId, Micros, OperationId,
    event::EventType,
    operation::Permit,
    round::{RoundCommand, RoundState},
    words::EffectClass,
};
use mate_store::{Change, journal::Round};
use serde_json::{Value, json};
use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

/// Questions of one task that are answered.
const MOST: usize = 1_024;

/// A call in flight whose upstream may ask about it.
#[derive(Debug)]
pub(super) struct InFlight {
    turn: CurrentTurn,
    leave: Leave,
    terms: (GrantId, EffectClass),
    decision: Value,
    /// The number of its last round, and when that was intended.
    round: i64,
    intended_at: Micros,
    /// The questions whose answers were intended.
    answered: BTreeSet<String>,
    over: bool,
}

/// All of them. One for each call in flight that may become a task, so it is bounded by them.
#[derive(Debug, Default)]
pub(super) struct Answerable(Mutex<HashMap<OperationId, Arc<tokio::sync::Mutex<InFlight>>>>);

impl Answerable {
    fn find(&self, operation: OperationId) -> Option<Arc<tokio::sync::Mutex<InFlight>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&operation).cloned()
    }

    /// The number of the last round of a call that is over now; none: it was never one that can be asked about. No
    /// answer is let out after this.
    pub(super) async fn close(&self, operation: OperationId) -> Option<i64> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&operation)?;
        let mut known = known.lock().await;
        known.over = true;
        Some(known.round)
    }
}

/// What was decided of an answer.
#[derive(Debug)]
pub enum Answering {
    /// The round's intent is durable and the authority still stands: to be sent once.
    Go {
        /// The leave to send it.
        permit: Permit,
        /// The questions that it answers; what else was named has been answered before.
        keys: Vec<String>,
    },
    /// All of it was let out before: nothing is to be sent.
    Before,
    /// Not to be sent; the words are for the agent.
    Refused(String),
}

impl Admission {
    /// Notes that a call which is about to be sent may become a task, whose questions are answered by further rounds.
    pub fn answerable(&self, go: &Go) {
        let (turn, leave, decision) = (go.turn, go.leave, go.decision.clone());
        let (round, intended_at) = (go.round, go.intended_at);
        let terms = (go.grant, go.class);
        let known = InFlight {
            turn,
            leave,
            terms,
            decision,
            round,
            intended_at,
            answered: BTreeSet::new(),
            over: false,
        };
        let mut all = self.answerable.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(go.operation(), Arc::new(tokio::sync::Mutex::new(known)));
    }

    /// Judges answers to questions about a call's task, by their keys. `request` is the call as it was made. Each question
    /// is answered at most once, whatever the answer was.
    pub async fn answer(
        &self,
        operation: OperationId,
        request: &Request<'_>,
        keys: &[String],
    ) -> Result<Answering, EngineError> {
        let over =
            || Answering::Refused("the task is over, or not of this turn; no answer was sent".to_owned());
        let Some(known) = self.answerable.find(operation) else { return Ok(over()) };
        let mut known = known.lock().await;
        let fresh: Vec<String> = keys.iter().filter(|key| !known.answered.contains(*key)).cloned().collect();
        if known.over {
            return Ok(over());
        }
        if fresh.is_empty() && !keys.is_empty() {
            return Ok(Answering::Before);
        }
        if known.answered.len() + fresh.len() > MOST {
            let why = format!("more than {MOST} questions of one task are not answered; nothing was sent");
            return Ok(Answering::Refused(why));
        }
        let _open = self.gate.read().await;
        if self.current() != Some(known.turn) {
            return Ok(over());
        }
        // A clock that was set back would put the answer before what is known.
        self.engine.ledger.observe_time(self.now()).await?;
        let permit = self.intend_answer(operation, &mut known, &fresh).await?;
        let (turn, leave, terms) = (known.turn, known.leave, known.terms);
        let intended = Intended { operation, turn, leave, terms, first: &known.decision };
        match self.read_again(request, &intended).await {
            Ok(()) => {
                known.answered.extend(fresh.iter().cloned());
                Ok(Answering::Go { permit, keys: fresh })
            }
            Err((reason, why)) => {
                let mut event =
                    round_event(EventType::OperationContinued, turn, self.now(), operation, known.round);
                event.data["not_sent"] = json!(reason.to_string());
                self.journal.write(vec![Change::Event(event)]).await?;
                Ok(Answering::Refused(format!("{why}. The answer was NOT sent ({operation}).")))
            }
        }
    }

    /// It is proved that no byte of an answer went out: its questions may be answered again.
    pub async fn answer_not_sent(&self, operation: OperationId, keys: &[String]) {
        let Some(known) = self.answerable.find(operation) else { return };
        let mut known = known.lock().await;
        for key in keys {
            known.answered.remove(key);
        }
    }

    /// Writes the round down: that the upstream asks, and that the answer is about to go out.
    async fn intend_answer(
        &self,
        operation: OperationId,
        known: &mut InFlight,
        keys: &[String],
    ) -> Result<Permit, EngineError> {
        let (turn, now) = (known.turn, self.now());
        let named = json!([operation, keys]).to_string();
        let question =
            Json::parse(&named).map_or_else(|_| String::new(), |json| self.digests.digest(&json).to_string());
        let asked = RoundState::InputRequired { question: question.clone() };
        let ask = if known.round == 1 {
            let (number, state, intended_at) = (1, asked.clone(), known.intended_at);
            Change::AddRound(Round { operation, number, state, intended_at })
        } else {
            let transition = RoundState::InFlight.decide(RoundCommand::Ask { question }, now)?;
            Change::MoveRound { operation, round: known.round, transition }
        };
        let transition = asked.decide(RoundCommand::Continue, now)?;
        let go_on = Change::MoveRound { operation, round: known.round, transition };
        let events = [
            round_event(EventType::OperationInputRequired, turn, now, operation, known.round),
            round_event(EventType::OperationContinued, turn, now, operation, known.round + 1),
        ];
        let changes = [ask, go_on].into_iter().chain(events.map(Change::Event)).collect();
        let written = self.journal.write(changes).await?;
        known.round += 1;
        known.intended_at = now;
        let permit = written.permits.into_iter().find(|permit| permit.operation() == operation);
        permit.ok_or_else(|| EngineError::Internal("the journal gave no permit for a round".to_owned()))
    }
}
