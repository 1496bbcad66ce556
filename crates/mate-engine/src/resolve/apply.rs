//! The journal follows: resolutions are copied into it by whoever holds its pen.

use crate::{
    Engine, EngineError, SessionLock,
    admit::{repeat_succeeded, settled_event},
};
use mate_model::{
    OperationId, SessionId, TaskId,
    event::Draft,
    operation::{OperationCommand, OperationState, OperationStateWord, Verdict},
    records::Operation,
    resolution::Resolution,
    words::EffectClass,
};
use mate_store::{Change, JournalReader, JournalWriter, OperationFacts};
use serde_json::json;
use std::collections::BTreeSet;

/// How many are copied in one commit; each is four statements at most.
const PAGE: u32 = 200;
/// How many unknown operations are looked at in one query.
const LOOKED_AT: u32 = 500;

/// What the session's worker knows of an operation besides its resolution.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// Which operation.
    pub(crate) operation: OperationId,
    /// Times and sizes.
    pub(crate) facts: OperationFacts,
    /// The result, kept until the runtime has heard of it.
    pub(crate) kept: Option<Change>,
}

impl Engine {
    /// Copies the session's resolutions into its journal, looks at their tasks, and remembers that this was done; in
    /// this order, so that a crash in between lets it be done again. `known` is of one operation. Answers how many there were.
    ///
    /// # Errors
    /// The stores'. What was not done is done the next time.
    pub(crate) async fn apply_resolutions(
        &self,
        journal: &JournalWriter,
        known: Option<Known>,
    ) -> Result<u64, EngineError> {
        let reader = journal.reader();
        let mut count = 0;
        let mut after = 0;
        loop {
            let page = self.ledger.unapplied_resolutions(journal.session(), after, PAGE).await?;
            for corrupt in &page.corrupt {
                tracing::error!(%corrupt, "a resolution cannot be read; the journal does not get it");
            }
            let mut done = Vec::with_capacity(page.items.len());
            let mut changes = Vec::new();
            for resolution in page.items {
                let known = known.as_ref().filter(|known| known.operation == resolution.operation);
                if self.copy(&reader, &resolution, known, &mut changes).await? {
                    done.push(resolution);
                }
            }
            if !changes.is_empty() {
                journal.write(changes).await?;
                mate_fault::point_async!("resolve.journal_written");
            }
            for task in done.iter().map(|resolution| resolution.task).collect::<BTreeSet<TaskId>>() {
                self.settle(task).await?;
                mate_fault::point_async!("resolve.task_settled");
            }
            for resolution in &done {
                self.ledger.resolution_applied(resolution.operation, self.clock.now()).await?;
                count += 1;
            }
            match page.next {
                Some(next) => after = next,
                None => return Ok(count),
            }
        }
    }

    /// Copies what nobody else will copy: the session has no worker and needs none. The caller holds its lock.
    ///
    /// # Errors
    /// The stores'. Then it is tried again.
    pub(crate) async fn apply_left(&self, session: SessionId, held: &SessionLock) -> Result<(), EngineError> {
        if self.ledger.unapplied_resolutions(session, 0, 1).await?.items.is_empty() {
            return Ok(());
        }
        let epoch = self.host(session, held).await?;
        let (journal, _) = self.stores.journal_writer(session, epoch, self.clock.now()).await?;
        self.apply_resolutions(&journal, None).await?;
        self.release(session, epoch).await
    }

    /// Finds unknown operations whose repeat under the same key has succeeded, where nobody could write that down.
    ///
    /// # Errors
    /// The stores'. Then it is tried again.
    pub async fn weigh_repeats(&self, reader: &JournalReader) -> Result<(), EngineError> {
        let mut after = 0;
        loop {
            let state = Some(OperationStateWord::Unknown);
            let page = reader.operations(None, state, after, LOOKED_AT).await?;
            for operation in page.items.iter().filter(|operation| operation.class == EffectClass::Idempotent)
            {
                let repeat = reader.repeat_of(operation.id).await?;
                if let Some(repeat) =
                    repeat.filter(|repeat| repeat.state.word() == OperationStateWord::Succeeded)
                {
                    self.take_evidence(reader, operation.id, &repeat_succeeded(repeat.id)).await?;
                }
            }
            match page.next {
                Some(next) => after = next,
                None => return Ok(()),
            }
        }
    }

    /// The changes that bring one resolution into the journal; says whether it is done with when they are written.
    async fn copy(
        &self,
        reader: &JournalReader,
        resolution: &Resolution,
        known: Option<&Known>,
        changes: &mut Vec<Change>,
    ) -> Result<bool, EngineError> {
        let Some(operation) = reader.operation(resolution.operation).await? else {
            tracing::error!(operation = %resolution.operation, "a resolved operation is not in the journal");
            return Ok(true);
        };
        if !matches!(operation.state, OperationState::Unknown { .. }) {
            // Copied before; or, with a journal that fell behind, in flight: then it is classified first.
            return Ok(operation.state.word().is_final());
        }
        let finding = &resolution.finding;
        let command =
            OperationCommand::Resolve { verdict: finding.verdict, evidence: finding.evidence.clone() };
        let transition = operation.state.decide(operation.class, command, self.clock.now())?;
        let event = event(&operation, resolution, self.clock.now());
        let facts = known.map(|known| known.facts.clone()).unwrap_or_default();
        changes.push(Change::MoveOperation { id: operation.id, transition, facts });
        if finding.verdict == Verdict::Succeeded {
            changes.extend(known.and_then(|known| known.kept.clone()));
        }
        if finding.permit_repeat {
            changes.push(Change::PermitRepeat { operation: operation.id });
        }
        changes.push(Change::Event(event));
        Ok(true)
    }
}

fn event(operation: &Operation, resolution: &Resolution, at: mate_model::Micros) -> Draft {
    let finding = &resolution.finding;
    Draft {
        kind: settled_event(finding.verdict.state()),
        task: Some(operation.task),
        turn: Some(operation.turn),
        at,
        data: json!({
            "operation": operation.id,
            "connection": operation.connection_name,
            "tool": operation.tool,
            "detail": finding.evidence.detail,
            "evidence": finding.evidence.kind,
            "by": finding.evidence.by,
            "resolved_at": resolution.at,
        }),
    }
}
