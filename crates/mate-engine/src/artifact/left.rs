//! What a worker left of artifacts: promises that were not kept, and what the index does not have yet.

use super::NotKept;
use crate::{Engine, EngineError};
use mate_model::{
    ProjectId,
    records::{Artifact, ArtifactContent},
};
use mate_store::{JournalReader, JournalWriter};

/// How many are looked at in one query.
const PAGE: u32 = 200;

impl Engine {
    /// Settles the promises of a worker that is gone, and puts into the index what is not there yet. For the holder of
    /// the session's lock.
    ///
    /// # Errors
    /// The stores'; done again, it goes on.
    pub async fn settle_artifacts_left(
        &self,
        journal: &JournalWriter,
        reader: &JournalReader,
        project: ProjectId,
    ) -> Result<(), EngineError> {
        let mut after = None;
        loop {
            let page = reader.artifacts_left(after, PAGE).await?;
            for corrupt in &page.corrupt {
                tracing::error!(%corrupt, "an artifact cannot be read, and stays as it is");
            }
            for left in page.items {
                if left.is_promised() {
                    let content = ArtifactContent::NotKept { reason: NotKept::Interrupted.to_string() };
                    let artifact = Artifact { content, ..left.artifact };
                    self.settle_artifact(journal, project, left.turn, artifact).await?;
                } else {
                    self.project_artifact(journal, project, &left.artifact).await?;
                }
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(()),
            }
        }
    }
}
