//! Calls of several rounds: the upstream answers with a question, and a further call of the runtime carries the answer.
//!
//! All rounds are one operation, in flight from the first intent to the last answer. Each further round has an intent
//! of its own, and a second read. What is open when the turn ends, or at a crash, is lost.

use super::{
    Admission, Admitted, CurrentTurn, Ended, Go, Receipt, questions::Parked, request::Request, twins::TwinKey,
};
use crate::EngineError;
use mate_guard::Json;
use mate_model::{
    Micros, OperationId, Refusal,
    event::{Draft, EventType},
    operation::{OperationState, Outcome},
    round::{RoundCommand, RoundState},
};
use mate_store::{Change, journal::Round};
use serde_json::json;

/// The longest question or task that is kept to be told again, in bytes.
pub(super) const TOLD_AGAIN: usize = 64 << 10;

impl Admission {
    /// Records that the upstream answered with a question. Uses up the leave to send this round; the operation stays
    /// in flight until it has its outcome. `state` is what the upstream wants to see again, `null` when nothing; `text` is
    /// the question, for a call that was lost on its way back and is made again.
    ///
    /// # Errors
    /// The journal's: then the question is not recorded, and the agent must not be told of it.
    pub async fn ask(&self, go: Go, state: &str, text: &str) -> Result<Receipt, EngineError> {
        let (operation, now) = (go.operation(), self.now());
        let question = self.question(state, &go.call);
        // It is not in flight until its answer comes.
        self.answerable.close(operation).await;
        let change = if go.round == 1 {
            let state = RoundState::InputRequired { question: question.clone() };
            Change::AddRound(Round { operation, number: 1, state, intended_at: go.intended_at })
        } else {
            let asked = RoundCommand::Ask { question: question.clone() };
            let transition = RoundState::InFlight.decide(asked, now)?;
            Change::MoveRound { operation, round: go.round, transition }
        };
        let event = round_event(EventType::OperationInputRequired, go.turn, now, operation, go.round);
        self.journal.write(vec![change, Change::Event(event)]).await?;
        let Go { turn, class, grant, call, round, twin, settles, key, slot, leave, trace, decision, .. } = go;
        let text = (text.len() <= TOLD_AGAIN).then(|| text.to_owned());
        let parked = Parked {
            turn,
            class,
            grant,
            call,
            round,
            question,
            text,
            twin,
            settles,
            key,
            slot,
            leave,
            trace,
            decision,
        };
        self.questions.put(operation, parked);
        Ok(Receipt::plain())
    }

    /// The question that an equal call has left open: whoever makes the call again has not heard it, or has lost it.
    /// None of its text: it is too long to be told again.
    pub(super) fn open_question(
        &self,
        call: &TwinKey,
        turn: CurrentTurn,
    ) -> Option<(OperationId, Option<String>)> {
        self.questions.of(call, turn)
    }

    /// Names a question without its text: a digest of what the upstream wants to see again, and of the call.
    pub(super) fn question(&self, state: &str, call: &TwinKey) -> String {
        let text =
            Json::parse(state).map_or_else(|_| String::new(), |json| self.digests.digest(&json).to_string());
        let both = json!([text, call.connection, call.tool, call.digest]).to_string();
        Json::parse(&both).map_or(text, |json| self.digests.digest(&json).to_string())
    }

    /// The intent of a further round; none: the call answers no question that is open.
    pub(super) async fn continue_round(
        &self,
        request: &Request<'_>,
        state: &str,
        turn: CurrentTurn,
        call: TwinKey,
    ) -> Result<Option<Admitted>, EngineError> {
        let question = self.question(state, &call);
        let Some((operation, parked)) = self.questions.take(&question, &call, turn) else { return Ok(None) };
        let now = self.now();
        let from = RoundState::InputRequired { question };
        let transition = from.decide(RoundCommand::Continue, now)?;
        let round = parked.round + 1;
        let event = round_event(EventType::OperationContinued, turn, now, operation, round);
        let change = Change::MoveRound { operation, round: parked.round, transition };
        let written = self.journal.write(vec![change, Change::Event(event)]).await?;
        let permit = written.permits.into_iter().find(|permit| permit.operation() == operation);
        let permit = permit
            .ok_or_else(|| EngineError::Internal("the journal gave no permit for a round".to_owned()))?;
        let Parked { class, grant, twin, settles, key, slot, leave, trace, decision, .. } = parked;
        let go = Go {
            permit,
            class,
            grant,
            turn,
            call,
            round,
            intended_at: now,
            twin,
            slot,
            settles,
            key,
            trace,
            leave,
            decision,
        };
        self.second_read(request, go).await.map(Some)
    }

    /// What is written with the outcome of an operation that took several rounds.
    pub(super) fn last_round(
        &self,
        operation: OperationId,
        round: i64,
        now: Micros,
    ) -> Result<Option<Change>, Refusal> {
        if round == 1 {
            return Ok(None);
        }
        let transition = RoundState::InFlight.decide(RoundCommand::End, now)?;
        Ok(Some(Change::MoveRound { operation, round, transition }))
    }

    /// Gives up the questions that nobody will answer any more.
    pub(super) async fn drop_questions(&self) {
        for (operation, parked) in self.questions.drain() {
            if let Err(error) = self.drop_question(operation, &parked).await {
                // It stays in flight, and is classified by whoever takes over.
                tracing::warn!(%operation, %error, "an open question could not be given up");
            }
        }
    }

    async fn drop_question(&self, operation: OperationId, parked: &Parked) -> Result<(), EngineError> {
        let from = RoundState::InputRequired { question: parked.question.clone() };
        let transition = from.decide(RoundCommand::End, self.now())?;
        let end = Change::MoveRound { operation, round: parked.round, transition };
        let detail = "the upstream asked a question, and the turn ended before it was answered".to_owned();
        let outcome = Outcome::Lost { detail };
        let ended = Ended::new(outcome, mate_store::OperationFacts::default(), None);
        let (from, class, turn) = (OperationState::InFlight, parked.class, parked.turn);
        self.write_outcome(operation, &from, class, turn, ended, Some(end)).await?;
        Ok(())
    }
}

pub(super) fn round_event(
    kind: EventType,
    turn: CurrentTurn,
    at: Micros,
    operation: OperationId,
    round: i64,
) -> Draft {
    let data = json!({ "operation": operation, "round": round });
    Draft { kind, task: Some(turn.task), turn: Some(turn.turn), at, data }
}
