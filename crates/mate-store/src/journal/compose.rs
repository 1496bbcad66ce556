//! Makes the statements of a write, and numbers and chains its events.

use super::{
    Change, JournalError, artifact_row, kept_row, operation_row, round_row, turn_row, upstream_task_row,
};
use crate::{
    Statement, StoreError, Value,
    chain::{Hash, Link, link},
    params::{json, params},
};
use mate_model::{Epoch, SessionId, event::Draft};

const ADVANCE: &str = "UPDATE journal_heads SET seq = $4, head = $5, writes = $6
    WHERE session = $1 AND epoch = $2 AND writes = $3";
const APPEND: &str = "INSERT INTO journal_events (session, seq, prev, epoch, task, turn, type, at, data, hash)
    VALUES ($1, $2, (SELECT MAX(e.seq) FROM journal_events e WHERE e.session = $1 AND e.task = $4), $3, $4, $5, $6,
        $7, $8, $9)";

/// Who writes.
#[derive(Clone, Debug)]
pub(super) struct Pen {
    pub(super) session: SessionId,
    pub(super) key: Value,
    pub(super) epoch: Epoch,
}

/// Where the journal ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) seq: i64,
    pub(super) hash: Hash,
    pub(super) writes: i64,
}

impl Pen {
    /// The guard of a script: the epoch is ours and nobody wrote since `from`.
    pub(super) fn advance(&self, from: &End, to: &End) -> Statement {
        let values = params![self.key.clone(), self.epoch, from.writes, to.seq, to.hash, to.writes];
        Statement::one(ADVANCE, values)
    }

    /// The statements of `changes`; `end` moves on with each event.
    pub(super) fn compose(
        &self,
        changes: &[Change],
        end: &mut End,
        script: &mut Vec<Statement>,
    ) -> Result<(), JournalError> {
        for change in changes {
            script.push(self.statement(change, end)?);
            if let Change::MoveOperation { id, transition, .. } = change
                && kept_row::is_news(transition)
            {
                script.push(kept_row::note(&self.key, operation_row::number(self.session, *id)?));
            }
            if let Change::MoveRound { operation, round, transition } = change {
                let place = operation_row::number(self.session, *operation)?;
                script.extend(round_row::next(&self.key, place, *round, transition));
            }
        }
        Ok(())
    }

    fn statement(&self, change: &Change, end: &mut End) -> Result<Statement, StoreError> {
        let (session, key) = (self.session, &self.key);
        match change {
            Change::OpenTurn(turn) => turn_row::add(key, turn),
            Change::MoveTurn { turn, transition, report, evidence } => {
                turn_row::apply(key, *turn, transition, *report, evidence.as_ref())
            }
            Change::AddOperation { operation, transition } => {
                operation_row::add(session, key, operation, transition)
            }
            Change::MoveOperation { id, transition, facts } => {
                operation_row::apply(session, key, *id, transition, facts)
            }
            Change::SetReport { turn, status } => Ok(turn_row::report(key, *turn, *status)),
            Change::SetOwnActivity { turn, count } => Ok(turn_row::own_activity(key, *turn, *count)),
            Change::SetEvidence { turn, evidence } => turn_row::evidence(key, *turn, evidence),
            Change::Event(draft) => self.event(draft, end),
            Change::SetContext { turn, context, conversation, note } => {
                Ok(turn_row::context(key, *turn, *context, conversation.as_deref(), note.as_deref()))
            }
            Change::AddRound(round) => {
                Ok(round_row::add(key, operation_row::number(session, round.operation)?, round))
            }
            Change::MoveRound { operation, round, transition } => {
                let place = operation_row::number(session, *operation)?;
                Ok(round_row::apply(key, place, *round, transition))
            }
            Change::PermitRepeat { operation } => {
                Ok(operation_row::permit_repeat(key, operation_row::number(session, *operation)?))
            }
            Change::Decide { operation, decision } => {
                operation_row::decide(key, operation_row::number(session, *operation)?, decision)
            }
            Change::KeepResult { operation, sealed } => {
                let number = operation_row::number(session, *operation)?;
                Ok(kept_row::keep(key, number, sealed.as_deref()))
            }
            Change::NoteUpstreamTask { operation, task } => {
                Ok(upstream_task_row::note(key, operation_row::number(session, *operation)?, task))
            }
            Change::AddArtifact { turn, artifact } => artifact_row::add(session, key, *turn, artifact),
            Change::SettleArtifact { id, content } => Ok(artifact_row::settle(key, *id, content)),
            Change::ProjectedArtifact { id } => Ok(artifact_row::projected(key, *id)),
            Change::DropResult { operation } => {
                Ok(kept_row::drop(key, operation_row::number(session, *operation)?))
            }
        }
    }

    fn event(&self, draft: &Draft, end: &mut End) -> Result<Statement, StoreError> {
        let seq = end.seq + 1;
        let (task, turn) = (draft.task.map(|id| id.to_string()), draft.turn.map(|id| id.to_string()));
        let data = json(&draft.data)?;
        let event = Link {
            seq,
            epoch: Some(self.epoch),
            task: task.as_deref(),
            turn: turn.as_deref(),
            kind: draft.kind.as_str(),
            at: draft.at,
            data: &data,
        };
        let hash = link(&end.hash, &event);
        (end.seq, end.hash) = (seq, hash);
        let key = self.key.clone();
        Ok(Statement::one(
            APPEND,
            params![key, seq, self.epoch, task, turn, draft.kind, draft.at, data, hash],
        ))
    }
}
