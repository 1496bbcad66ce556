//! The one place where a resolution is shown over what the journal still says.

use crate::{Engine, EngineError};
use mate_model::{
    OperationId, TaskId,
    operation::{OperationCommand, OperationState, OperationStateWord, Verdict},
    records::{Operation, Task},
    resolution::Resolution,
};
use mate_store::{JournalReader, Page};
use std::collections::BTreeMap;

const PAGE: u32 = 1000;

/// An operation as it is to be seen: with what settled it, if anything did.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The journal's row; its state is the resolved one.
    pub operation: Operation,
    /// What settled it.
    pub resolution: Option<Resolution>,
}

/// Part of a list, in request order.
#[derive(Debug)]
pub(crate) struct SeenPage {
    pub(crate) items: Vec<Seen>,
    pub(crate) next: Option<i64>,
    /// How many rows cannot be read.
    pub(crate) corrupt: usize,
}

/// Shows a resolution over the journal's row.
fn over(mut operation: Operation, resolution: Option<Resolution>) -> Seen {
    if let Some(resolution) = &resolution {
        let finding = &resolution.finding;
        let command =
            OperationCommand::Resolve { verdict: finding.verdict, evidence: finding.evidence.clone() };
        if let Ok(transition) = operation.state.decide(operation.class, command, resolution.at) {
            operation.state = transition.into_to();
        }
    }
    Seen { operation, resolution }
}

impl Engine {
    /// Rows of one task's operations, in request order, as they are to be seen.
    ///
    /// # Errors
    /// The ledger's.
    pub async fn see(&self, task: TaskId, rows: Vec<Operation>) -> Result<Vec<Seen>, EngineError> {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(Vec::new()) };
        let resolutions = self.ledger.resolutions(task, first.id.number, last.id.number).await?;
        let mut known: BTreeMap<OperationId, Resolution> =
            resolutions.into_iter().map(|resolution| (resolution.operation, resolution)).collect();
        Ok(rows
            .into_iter()
            .map(|operation| {
                let resolution = known.remove(&operation.id);
                over(operation, resolution)
            })
            .collect())
    }

    /// One operation as it is to be seen.
    pub(crate) async fn see_one(&self, operation: Operation) -> Result<Seen, EngineError> {
        let resolution = self.ledger.resolution(operation.id).await?;
        Ok(over(operation, resolution))
    }

    /// A task's operations after number `after`, in request order; in one state, if that is given.
    pub(crate) async fn seen_operations(
        &self,
        reader: &JournalReader,
        task: &Task,
        state: Option<OperationStateWord>,
        after: i64,
        limit: u32,
    ) -> Result<SeenPage, EngineError> {
        let limit = limit.clamp(1, PAGE);
        let verdict = state.and_then(verdict);
        // Asked for first: one that reaches the journal meanwhile is then in both lists, and not in neither.
        let unapplied = match verdict {
            Some(verdict) => Some(self.ledger.unapplied_verdicts(task, verdict, after, limit).await?),
            None => None,
        };
        let mut page = SeenPage { items: Vec::new(), next: Some(after), corrupt: 0 };
        while let Some(after) = page.next.filter(|_| page.items.len() < limit as usize) {
            let left = limit - u32::try_from(page.items.len()).unwrap_or(limit);
            let found = reader.operations(Some(task.id), state, after, left).await?;
            page.next = found.next;
            page.corrupt += found.corrupt.len();
            let seen = self.see(task.id, found.items).await?;
            let wanted = |seen: &Seen| state.is_none_or(|state| seen.operation.state.word() == state);
            page.items.extend(seen.into_iter().filter(wanted));
        }
        match unapplied {
            Some(unapplied) => merge(reader, page, unapplied, limit).await,
            None => Ok(page),
        }
    }

    /// The operations of a task that nothing has settled.
    ///
    /// # Errors
    /// The stores'.
    pub async fn unsettled_operations(
        &self,
        reader: &JournalReader,
        task: TaskId,
    ) -> Result<Vec<OperationId>, EngineError> {
        let mut unknown = Vec::new();
        let mut after = 0;
        loop {
            let state = Some(OperationStateWord::Unknown);
            let page = reader.operations(Some(task), state, after, PAGE).await?;
            let seen = self.see(task, page.items).await?;
            let unsettled = |seen: &Seen| matches!(seen.operation.state, OperationState::Unknown { .. });
            unknown.extend(seen.iter().filter(|seen| unsettled(seen)).map(|seen| seen.operation.id));
            match page.next {
                Some(next) => after = next,
                None => return Ok(unknown),
            }
        }
    }
}

/// A page of the journal, together with operations whose resolution it does not have yet.
async fn merge(
    reader: &JournalReader,
    page: SeenPage,
    unapplied: Page<Resolution, i64>,
    limit: u32,
) -> Result<SeenPage, EngineError> {
    // Each list is whole up to its own next number, both together up to the lower one.
    let whole = [page.next, unapplied.next].into_iter().flatten().min();
    let mut all: BTreeMap<OperationId, Seen> =
        page.items.into_iter().map(|seen| (seen.operation.id, seen)).collect();
    for resolution in unapplied.items {
        if !all.contains_key(&resolution.operation)
            && let Some(operation) = reader.operation(resolution.operation).await?
        {
            all.insert(resolution.operation, over(operation, Some(resolution)));
        }
    }
    let within = |seen: &Seen| whole.is_none_or(|whole| place(seen) <= whole);
    let mut items: Vec<Seen> = all.into_values().filter(within).collect();
    let mut next = whole;
    if items.len() > limit as usize {
        items.truncate(limit as usize);
        next = items.last().map(place);
    }
    Ok(SeenPage { items, next, corrupt: page.corrupt + unapplied.corrupt.len() })
}

fn place(seen: &Seen) -> i64 {
    i64::try_from(seen.operation.id.number).unwrap_or(i64::MAX)
}

const fn verdict(state: OperationStateWord) -> Option<Verdict> {
    match state {
        OperationStateWord::Succeeded => Some(Verdict::Succeeded),
        OperationStateWord::Failed => Some(Verdict::Failed),
        OperationStateWord::Abandoned => Some(Verdict::Abandoned),
        OperationStateWord::Requested
        | OperationStateWord::Denied
        | OperationStateWord::AwaitingApproval
        | OperationStateWord::Expired
        | OperationStateWord::Withdrawn
        | OperationStateWord::InFlight
        | OperationStateWord::NotSent
        | OperationStateWord::Unknown => None,
    }
}
