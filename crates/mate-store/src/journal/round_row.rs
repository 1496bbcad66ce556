//! Rounds of calls that take several, as rows.

use super::{JournalReader, operation_row::number};
use crate::{Row, Statement, StoreError, Value, decode as read, params::params};
use mate_model::{
    Micros, OperationId, Transition,
    round::{RoundState, RoundStateWord},
};

const ADD: &str =
    "INSERT INTO operation_rounds (session, number, round, from_state, state, question, intended_at,
        asked_at)
    VALUES ($1, $2, $3, '', $4, $5, $6, $7)";
const MOVE: &str = "UPDATE operation_rounds SET from_state = state, state = $4, question = COALESCE($5, question),
        asked_at = COALESCE($6, asked_at)
    WHERE session = $1 AND number = $2 AND round = $3 AND state = $7
        AND EXISTS (SELECT 1 FROM operations o WHERE o.session = $1 AND o.number = $2 AND o.state = 'in_flight')";
const END: &str = "UPDATE operation_rounds SET from_state = state, state = 'over'
    WHERE session = $1 AND number = $2 AND round = $3 AND state = $4";
const OPEN: &str = "SELECT number, round, state, question, intended_at FROM operation_rounds
    WHERE session = $1 AND number = $2 AND state IN ('in_flight', 'input_required')";

/// A round, as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// Of which operation.
    pub operation: OperationId,
    /// Its number there, from 1.
    pub number: i64,
    /// Its state.
    pub state: RoundState,
    /// When its intent was decided.
    pub intended_at: Micros,
}

fn question(state: &RoundState, at: Micros) -> (Option<&str>, Option<Micros>) {
    match state {
        RoundState::InputRequired { question } => (Some(question), Some(at)),
        RoundState::InFlight | RoundState::Continued | RoundState::Over => (None, None),
    }
}

/// The first row of a round.
pub(super) fn add(session: &Value, place: i64, round: &Round) -> Statement {
    let (question, asked) = question(&round.state, round.intended_at);
    let word = round.state.word();
    Statement::one(
        ADD,
        params![session.clone(), place, round.number, word, question, round.intended_at, asked],
    )
}

/// The compare-and-set that applies a move.
pub(super) fn apply(
    session: &Value,
    place: i64,
    round: i64,
    transition: &Transition<RoundState>,
) -> Statement {
    let (question, asked) = question(transition.to(), transition.at());
    let (from, to) = (transition.from().word(), transition.to().word());
    if to == RoundStateWord::Over {
        return Statement::one(END, params![session.clone(), place, round, from]);
    }
    Statement::one(MOVE, params![session.clone(), place, round, to, question, asked, from])
}

/// The row of the round that follows one that was continued.
pub(super) fn next(
    session: &Value,
    place: i64,
    round: i64,
    transition: &Transition<RoundState>,
) -> Option<Statement> {
    let intended = transition.at();
    matches!(transition.to(), RoundState::Continued).then(|| {
        let word = RoundStateWord::InFlight;
        let nothing: (Option<&str>, Option<Micros>) = (None, None);
        let values = params![session.clone(), place, round + 1, word, nothing.0, intended, nothing.1];
        Statement::one(ADD, values)
    })
}

impl JournalReader {
    fn round(&self, row: &Row) -> Result<Round, StoreError> {
        Ok(Round {
            operation: OperationId { session: self.session, number: row.number("number")? },
            number: row.int("round")?,
            state: match row.parse("state")? {
                RoundStateWord::InFlight => RoundState::InFlight,
                RoundStateWord::InputRequired => {
                    RoundState::InputRequired { question: row.text("question")?.to_owned() }
                }
                RoundStateWord::Continued => RoundState::Continued,
                RoundStateWord::Over => RoundState::Over,
            },
            intended_at: read::micros(row, "intended_at")?,
        })
    }

    /// The round of an operation that is not over; none when it takes one round only.
    ///
    /// # Errors
    /// The store's, [`StoreError::Corrupt`], and [`StoreError::Misuse`] for an operation of another session.
    pub async fn open_round(&self, id: OperationId) -> Result<Option<Round>, StoreError> {
        let values = params![self.key.clone(), number(self.session, id)?];
        read::first(&self.db.fetch(OPEN, values).await?, |row| self.round(row))
    }
}
