//! Calls that the upstream carries out as tasks: the task's id is written down, so that its record can be asked for again.

use super::Admission;
use crate::{EngineError, resolve::Known, upstream_task::seal};
use mate_model::{
    OperationId,
    event::{Draft, EventType},
    operation::OperationState,
};
use mate_store::{Change, OperationFacts, UpstreamTask};
use serde_json::json;
use std::time::Duration;

/// How long the journal may take for it, before the result is waited for without.
const PATIENCE: Duration = Duration::from_secs(5);

impl Admission {
    /// Writes down what the upstream calls the task that it has made of a call; durable when this returns. One that is
    /// told after its call was given up is asked for from now on.
    ///
    /// # Errors
    /// [`EngineError::NotFound`], and the stores'.
    pub async fn upstream_task(&self, operation: OperationId, id: &str) -> Result<(), EngineError> {
        let row = self.reader.operation(operation).await?.ok_or(EngineError::NotFound)?;
        let (sealed, shown) = (seal(&self.engine, &self.vault, operation, id)?, self.clean(id));
        let at = self.now();
        let event = Draft {
            kind: EventType::OperationUpstreamTask,
            task: Some(row.task),
            turn: Some(row.turn),
            at,
            data: json!({ "operation": operation, "upstream_task": shown }),
        };
        let task = UpstreamTask { sealed, shown, known_at: at };
        let changes = vec![Change::NoteUpstreamTask { operation, task }, Change::Event(event)];
        self.journal.write_patiently(changes, PATIENCE).await?;
        let row = self.reader.operation(operation).await?.ok_or(EngineError::NotFound)?;
        if matches!(row.state, OperationState::Unknown { .. })
            && let Some(task) = self.engine.ledger.task(row.task).await?
        {
            self.engine.ledger.open_verifications(&task, &[operation], at).await?;
        }
        Ok(())
    }

    /// Copies what settled an operation into the journal, with the result that its record held: it is kept until the
    /// runtime has heard of it.
    ///
    /// # Errors
    /// The stores'. Without the result, it is copied by the next look.
    pub async fn fetched(
        &self,
        operation: OperationId,
        result: &str,
        facts: OperationFacts,
    ) -> Result<(), EngineError> {
        let row = self.reader.operation(operation).await?.ok_or(EngineError::NotFound)?;
        let kept = self.keep(operation, row.class, Some(result))?;
        let _alone = self.resolving.lock().await;
        self.engine.apply_resolutions(&self.journal, Some(Known { operation, facts, kept })).await?;
        Ok(())
    }
}
