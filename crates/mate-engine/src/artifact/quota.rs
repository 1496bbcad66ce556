//! How much a project's artifacts may hold.

use crate::{Engine, EngineError};
use mate_model::ProjectId;
use serde::Serialize;

/// The largest quota, in bytes: a pebibyte.
pub(crate) const MOST: i64 = 1 << 50;

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
}
