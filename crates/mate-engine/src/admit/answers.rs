//! Answers to what an upstream asks while a call is in flight: a question that it puts in the middle of the call (before
//! 2026-07-28), or one about the task that it has made of it. Each answer is a further round of the same operation, with
//! an intent and a second read of its own.
//!
//! The operation stays in flight: what it came to, the upstream's answer or its record of the task says.

use super::{
    Admission, CurrentTurn, Go,
    asking::Leave,
    intent::Intended,
    questions::Shown,
    request::Request,
    rounds::{TOLD_AGAIN, round_event},
    twins::TwinKey,
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

/// Questions about one call that are answered.
const MOST: usize = 1_024;

/// A call in flight whose upstream may ask about it.
#[derive(Debug)]
struct Known {
    call: TwinKey,
    turn: CurrentTurn,
    rounds: tokio::sync::Mutex<InFlight>,
}

/// Its rounds, and what they are judged by.
#[derive(Debug)]
struct InFlight {
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

/// All of them. One for each call in flight that may be asked about, so it is bounded by them.
#[derive(Debug, Default)]
pub(super) struct Answerable(Mutex<HashMap<OperationId, Arc<Known>>>);

impl Answerable {
    fn find(&self, operation: OperationId) -> Option<Arc<Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&operation).cloned()
    }

    /// The number of the last round of a call that is over now; none: it was never one that can be asked about. No
    /// answer is let out after this.
    pub(super) async fn close(&self, operation: OperationId) -> Option<i64> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&operation)?;
        let mut rounds = known.rounds.lock().await;
        rounds.over = true;
        Some(rounds.round)
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
    /// Notes that the upstream may ask about a call which is about to be sent: its questions are answered by further rounds.
    pub fn answerable(&self, go: &Go) {
        let (turn, leave, decision) = (go.turn, go.leave, go.decision.clone());
        let (round, intended_at) = (go.round, go.intended_at);
        let terms = (go.grant, go.class);
        let (answered, over) = (BTreeSet::new(), false);
        let rounds = InFlight { turn, leave, terms, decision, round, intended_at, answered, over };
        let known = Known { call: go.call.clone(), turn, rounds: tokio::sync::Mutex::new(rounds) };
        let mut all = self.answerable.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(go.operation(), Arc::new(known));
    }

    /// Whether a request is equal to a call in flight that may be asked about, as the replay guard compares calls.
    #[must_use]
    pub fn is_call(&self, operation: OperationId, request: &Request<'_>) -> bool {
        let Some(known) = self.answerable.find(operation) else { return false };
        self.current() == Some(known.turn) && self.twin_key(request).is_some_and(|key| key == known.call)
    }

    fn twin_key(&self, request: &Request<'_>) -> Option<TwinKey> {
        let digest = self.digests.digest(&Json::parse(request.arguments).ok()?).to_string();
        let (connection, tool) = (self.clean(request.connection_name), self.clean(request.tool));
        Some(TwinKey { connection, tool, digest })
    }

    /// What equal calls are given while this one is in flight, since whoever makes the call again may not have heard it: the
    /// question about it, or the task that it became. None: they wait for its end.
    pub fn meanwhile(&self, operation: OperationId, text: Option<&str>) {
        let Some(known) = self.answerable.find(operation) else { return };
        let (call, turn) = (known.call.clone(), known.turn);
        let shown = text.map(|text| (text.len() <= TOLD_AGAIN).then(|| text.to_owned()));
        self.questions.show(operation, shown.map(|text| Shown { call, turn, text }));
        if self.answerable.find(operation).is_none() {
            self.questions.show(operation, None);
        }
    }

    /// Judges answers to questions about a call, by their keys. `request` is the call as it was made; where it names what
    /// it continues, a further one that does is known as let out before. Each question is answered at most once, whatever
    /// the answer was.
    pub async fn answer(
        &self,
        operation: OperationId,
        request: &Request<'_>,
        keys: &[String],
    ) -> Result<Answering, EngineError> {
        let Some(known) = self.answerable.find(operation) else { return Ok(over()) };
        let (call, turn) = (&known.call, known.turn);
        let question = request.continues.map(|state| self.question(state, call));
        let noted = question.filter(|question| self.questions.has_answer(question, call, turn, operation));
        let answering = self.judge_answer(operation, request, keys, &known.rounds).await;
        match (&answering, noted) {
            (Ok(Answering::Go { .. } | Answering::Before), _) | (_, None) => {}
            (Ok(Answering::Refused(_)) | Err(_), Some(question)) => {
                self.questions.has_no_answer(&question, operation);
            }
        }
        answering
    }

    async fn judge_answer(
        &self,
        operation: OperationId,
        request: &Request<'_>,
        keys: &[String],
        rounds: &tokio::sync::Mutex<InFlight>,
    ) -> Result<Answering, EngineError> {
        let mut known = rounds.lock().await;
        let fresh: Vec<String> = keys.iter().filter(|key| !known.answered.contains(*key)).cloned().collect();
        if known.over {
            return Ok(over());
        }
        if fresh.is_empty() && !keys.is_empty() {
            return Ok(Answering::Before);
        }
        if known.answered.len() + fresh.len() > MOST {
            let why = format!("more than {MOST} questions about one call are not answered; nothing was sent");
            return Ok(Answering::Refused(why));
        }
        let _open = self.gate.read().await;
        if self.current() != Some(known.turn) {
            return Ok(over());
        }
        // A clock that was set back would put the answer before what is known.
        self.engine.ledger.observe_time(self.now()).await?;
        mate_fault::point_async!("answer.observed");
        let permit = self.intend_answer(operation, &mut known, &fresh).await?;
        mate_fault::point_async!("answer.intended");
        let (turn, leave, terms) = (known.turn, known.leave, known.terms);
        let intended = Intended { operation, turn, leave, terms, first: &known.decision };
        match self.read_again(request, &intended).await {
            Ok(()) => {
                known.answered.extend(fresh.iter().cloned());
                mate_fault::point_async!("answer.admitted");
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
        let mut known = known.rounds.lock().await;
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
        let written = match self.journal.write(changes).await {
            Ok(written) => written,
            Err(error) => {
                // It may have been written all the same: the next round, or the outcome, goes on from there.
                if let Ok(Some(open)) = self.reader.open_round(operation).await {
                    (known.round, known.intended_at) = (open.number, open.intended_at);
                }
                return Err(error.into());
            }
        };
        known.round += 1;
        known.intended_at = now;
        let permit = written.permits.into_iter().find(|permit| permit.operation() == operation);
        permit.ok_or_else(|| EngineError::Internal("the journal gave no permit for a round".to_owned()))
    }
}

fn over() -> Answering {
    Answering::Refused("the call is over, or not of this turn; no answer was sent".to_owned())
}
