//! A person asks for a look now.

use super::plan::recipe_for;
use crate::{Engine, EngineError, OperationView, Principal, Verb, resolve::not_unknown};
use mate_model::{
    OperationId,
    event::{Draft, EventType},
    operation::OperationState,
};
use serde_json::json;

impl Engine {
    /// Asks for a look whether an unknown operation has happened, now; the session's worker takes it.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when it does not exist, or not for this caller; why it cannot be looked for.
    pub async fn verify_operation(
        &self,
        who: &Principal,
        id: OperationId,
    ) -> Result<OperationView, EngineError> {
        let session = self.session_of(who, id.session, Verb::OperationVerify).await?;
        let row = self.stores.journal_reader(id.session).await?.operation(id).await?;
        let seen = self.see_one(row.ok_or(EngineError::NotFound)?).await?;
        if !matches!(seen.operation.state, OperationState::Unknown { .. }) {
            return Err(not_unknown(&seen.operation.state));
        }
        if self.ledger.verification(id).await?.is_none() {
            let connection = match seen.operation.connection {
                Some(connection) => self.ledger.connection(connection).await?,
                None => None,
            };
            let by_recipe =
                connection.is_some_and(|known| recipe_for(&known, &seen.operation.tool).is_some());
            let reader = self.stores.journal_reader(id.session).await?;
            let known = by_recipe || reader.upstream_task(id).await?.is_some();
            return Err(if known {
                EngineError::refused("turn_running", "its turn is not over yet: it is looked for after that")
            } else {
                EngineError::refused(
                    "no_recipe",
                    "its server keeps no record of it that is known here, and no recipe of its connection looks for \
                     this tool: find out, and resolve it yourself",
                )
            });
        }
        self.ledger.observe_time(self.clock.now()).await?;
        let at = self.clock.now();
        let data = json!({ "operation": id, "by": who.account });
        let kind = EventType::OperationVerificationAsked;
        let draft = Draft { kind, task: Some(seen.operation.task), turn: None, at, data };
        if !self.ledger.ask_look(&session, id, at, draft).await? {
            return Err(EngineError::refused("not_unknown", "it was settled a moment ago: look at it again"));
        }
        self.operation(who, id).await
    }
}
