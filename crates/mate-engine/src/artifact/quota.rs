//! How much a project's artifacts may hold.

use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{
    ProjectId,
    event::{Draft, EventType},
};
use serde::Serialize;
use serde_json::json;

/// The largest quota, in bytes: a pebibyte.
const MOST: i64 = 1 << 50;

/// How much a project's artifacts may hold, and hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ArtifactUse {
    /// At most, in bytes.
    pub artifact_quota: i64,
    /// By now, in bytes, each content once.
    pub artifact_bytes: i64,
}

impl Engine {
    /// How much a project's artifacts may hold, and hold; for whoever may see the project already.
    ///
    /// # Errors
    /// The ledger's.
    pub async fn artifact_use(&self, project: ProjectId) -> Result<ArtifactUse, EngineError> {
        let room = self.ledger.artifact_room(project).await?;
        Ok(ArtifactUse { artifact_quota: room.quota, artifact_bytes: room.used })
    }

    /// Sets how much a project's artifacts may hold. What is there stays, also above it.
    ///
    /// # Errors
    /// Not an owner; a quota that cannot be; an archived project; the ledger's.
    pub async fn set_artifact_quota(
        &self,
        who: &Principal,
        project: &str,
        quota: i64,
    ) -> Result<ProjectId, EngineError> {
        let project = self.live_project(who, project, Verb::ProjectSet).await?;
        if !(0..=MOST).contains(&quota) {
            return Err(EngineError::invalid("artifact_quota", format!("must be 0 to {MOST} bytes")));
        }
        let at = self.writing_time().await?;
        let data = json!({ "by": who.account, "artifact_quota": quota });
        let draft = Draft { kind: EventType::ArtifactQuotaSet, task: None, turn: None, at, data };
        self.ledger.set_artifact_quota(project.id, quota, draft).await?;
        Ok(project.id)
    }
}
