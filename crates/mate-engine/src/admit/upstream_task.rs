//! Calls that the upstream carries out as tasks: the task's id is written down, so that its record can be asked for again.

use super::Admission;
use crate::{EngineError, resolve::Known, upstream_task::seal};
use mate_guard::REDACTED;
use mate_model::{
    OperationId,
    event::{Draft, EventType},
    operation::OperationState,
    record::shown_task_id,
    records::Operation,
};
use mate_store::{Change, OperationFacts, UpstreamTask};
use serde_json::json;
use std::{borrow::Cow, time::Duration};

/// How long the journal may take for it, before the result is waited for without.
const PATIENCE: Duration = Duration::from_secs(5);

impl Admission {
    /// Writes down what the upstream calls the task that it has made of a call; durable when this returns. One that is
    /// told after its call was given up is asked for from now on. False: it is the name of another call's task at the
    /// same connection, which is not taken; the journal says so.
    ///
    /// # Errors
    /// [`EngineError::NotFound`], and the stores'.
    pub async fn upstream_task(&self, operation: OperationId, id: &str) -> Result<bool, EngineError> {
        let row = self.reader.operation(operation).await?.ok_or(EngineError::NotFound)?;
        let digest = self.engine.upstream_task_digest(self.session, row.connection, id);
        if self.is_another_calls(&row, &digest).await? {
            return Ok(false);
        }
        let (sealed, shown) = (seal(&self.engine, &self.vault, operation, id)?, self.task_as_shown(id));
        let at = self.now();
        let event = Draft {
            kind: EventType::OperationUpstreamTask,
            task: Some(row.task),
            turn: Some(row.turn),
            at,
            data: json!({ "operation": operation, "upstream_task": shown }),
        };
        let task = UpstreamTask { sealed, digest: digest.to_vec(), shown, known_at: at };
        let changes = vec![Change::NoteUpstreamTask { operation, task }, Change::Event(event)];
        self.journal.write_patiently(changes, PATIENCE).await?;
        // Another call may have been named the same at the same moment: only one of them is on record with it.
        if self.is_another_calls(&row, &digest).await? {
            return Ok(false);
        }
        let row = self.reader.operation(operation).await?.ok_or(EngineError::NotFound)?;
        if matches!(row.state, OperationState::Unknown { .. })
            && let Some(task) = self.engine.ledger.task(row.task).await?
        {
            self.engine.ledger.open_verifications(&task, &[operation], at).await?;
        }
        Ok(true)
    }

    /// Whether a name is noted for another call; the journal then says that it was not taken.
    async fn is_another_calls(&self, row: &Operation, digest: &[u8]) -> Result<bool, EngineError> {
        let other = self.reader.upstream_task_named(digest).await?.filter(|other| *other != row.id);
        let Some(other) = other else { return Ok(false) };
        let event = Draft {
            kind: EventType::OperationUpstreamTask,
            task: Some(row.task),
            turn: Some(row.turn),
            at: self.now(),
            data: json!({ "operation": row.id, "not_taken": "another_call", "of": other }),
        };
        self.journal.write_patiently(vec![Change::Event(event)], PATIENCE).await?;
        Ok(true)
    }

    /// What is shown of an id: nothing, where there is a secret in it.
    fn task_as_shown(&self, id: &str) -> String {
        match self.redactor.redact(id) {
            Cow::Borrowed(_) => shown_task_id(id),
            Cow::Owned(_) => REDACTED.to_owned(),
        }
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
