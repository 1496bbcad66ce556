//! Removing an artifact's content. That it was there stays on record.

use super::ArtifactView;
use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{
    ArtifactId,
    event::{Draft, EventType},
    records::ArtifactState,
};
use serde_json::json;

impl Engine {
    /// Removes an artifact's content. It is gone from the stores when no other artifact of the project has the same.
    /// Removed already: nothing changes.
    ///
    /// # Errors
    /// [`EngineError::NotFound`]; not an owner; `not_kept` when there is no content; the stores'.
    pub async fn remove_artifact(
        &self,
        who: &Principal,
        id: ArtifactId,
    ) -> Result<ArtifactView, EngineError> {
        let found = self.artifact_for(who, id, Verb::ArtifactRemove).await?;
        if let Some(content) = found.kept() {
            let at = self.writing_time().await?;
            let data = json!({
                "by": who.account,
                "artifact": id,
                "name": found.artifact.name,
                "hash": super::record::hash(&content.hash),
                "size": content.size,
            });
            let (kind, task) = (EventType::ArtifactRemoved, Some(found.artifact.task));
            let draft = Draft { kind, task, turn: None, at, data };
            self.ledger.remove_artifact(found.project, id, draft).await?;
            if let Some(stored) = self.ledger.content(found.project, content.hash).await? {
                self.let_go(&stored).await?;
            }
        }
        let now: ArtifactView = self.artifact_for(who, id, Verb::ArtifactRemove).await?.into();
        if now.state != ArtifactState::Removed {
            return Err(EngineError::refused("not_kept", "it has no content that could be removed"));
        }
        Ok(now)
    }
}
