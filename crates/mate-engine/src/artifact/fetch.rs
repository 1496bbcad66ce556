//! Handing an artifact's content out.

use super::{ArtifactView, ContentReader};
use crate::{Engine, EngineError, Principal, Verb};
use mate_guard::Whole;
use mate_model::{ArtifactId, records::ArtifactContent};
use std::sync::Arc;

/// An artifact whose content is open.
#[derive(Debug)]
pub struct Download {
    /// The artifact.
    pub artifact: ArtifactView,
    /// Its content.
    pub reader: ContentReader,
}

impl Engine {
    /// Opens an artifact's content.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when the artifact does not exist, or not for this caller; `not_kept` when there is no
    /// content; [`EngineError::Damaged`] when it is not what was stored.
    pub async fn download(
        self: &Arc<Self>,
        who: &Principal,
        id: ArtifactId,
    ) -> Result<Download, EngineError> {
        let found = self.artifact_for(who, id, Verb::ArtifactGet).await?;
        let content = match &found.artifact.content {
            ArtifactContent::Kept(content) => content.clone(),
            ArtifactContent::NotKept { reason } => {
                return Err(EngineError::refused(
                    "not_kept",
                    format!("its content is not at hand: {reason}"),
                ));
            }
            ArtifactContent::Referenced { .. } => {
                let detail = "it is a link to something elsewhere, and nobody followed it: see its `source`";
                return Err(EngineError::refused("not_kept", detail));
            }
            ArtifactContent::Removed { .. } => {
                return Err(EngineError::refused("removed", "a member has removed its content"));
            }
            ArtifactContent::Promised => {
                return Err(EngineError::refused("not_kept", "its content is still being stored"));
            }
        };
        let stored = self.ledger.content(found.project, content.hash).await?;
        let stored = stored.ok_or_else(|| {
            EngineError::Damaged(format!("{id} has no content although the index says that it is kept"))
        })?;
        let whole = Whole { hash: content.hash, size: u64::try_from(content.size).unwrap_or_default() };
        let reader = self.open_content(found.project, &stored.content, whole).await?;
        Ok(Download { artifact: found.into(), reader })
    }
}
