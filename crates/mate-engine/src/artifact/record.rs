//! What became of an artifact: into the journal first, then into the ledger's index.

use crate::{Engine, EngineError};
use mate_model::{
    Micros, ProjectId, TurnId,
    event::{Draft, EventType},
    records::{Artifact, ArtifactContent},
};
use mate_store::{Change, JournalWriter, LedgerError};
use serde_json::{Value, json};

/// What an event tells of an artifact.
pub(crate) fn told(artifact: &Artifact) -> Value {
    let mut data = json!({
        "artifact": artifact.id,
        "operation": artifact.operation,
        "origin": artifact.origin,
        "name": artifact.name,
        "source": artifact.source,
        "state": artifact.content.state(),
    });
    match &artifact.content {
        ArtifactContent::Kept(content) | ArtifactContent::Removed { content, .. } => {
            data["size"] = content.size.into();
            data["media_type"] = content.media_type.as_str().into();
            data["hash"] = hash(&content.hash).into();
            data["redacted"] = content.redacted.into();
        }
        ArtifactContent::NotKept { reason } => data["reason"] = reason.as_str().into(),
        ArtifactContent::Promised | ArtifactContent::Referenced { .. } => {}
    }
    data
}

/// A hash as it is shown.
pub(crate) fn hash(bytes: &[u8; 32]) -> String {
    blake3::Hash::from_bytes(*bytes).to_hex().to_string()
}

/// The event that tells of an artifact.
pub(crate) fn recorded(artifact: &Artifact, turn: TurnId, at: Micros) -> Draft {
    let (kind, task) = (EventType::ArtifactRecorded, Some(artifact.task));
    Draft { kind, task, turn: Some(turn), at, data: told(artifact) }
}

impl Engine {
    /// Records what became of a promised artifact, and then puts it into the index. The content, where it is kept, is
    /// durable already.
    ///
    /// # Errors
    /// The stores'. What the journal has is put into the index by recovery, or at the session's end.
    pub async fn settle_artifact(
        &self,
        journal: &JournalWriter,
        project: ProjectId,
        turn: TurnId,
        artifact: Artifact,
    ) -> Result<(), EngineError> {
        let settle = Change::SettleArtifact { id: artifact.id, content: artifact.content.clone() };
        let event = Change::Event(recorded(&artifact, turn, self.clock.now()));
        journal.post(vec![settle, event]).await?.written().await?;
        mate_fault::point_async!("artifact.settled");
        self.project_artifact(journal, project, &artifact).await
    }

    /// Puts an artifact that the journal has settled into the index; done already, nothing changes.
    ///
    /// # Errors
    /// The ledger's.
    pub async fn project_artifact(
        &self,
        journal: &JournalWriter,
        project: ProjectId,
        artifact: &Artifact,
    ) -> Result<(), EngineError> {
        match self.ledger.add_artifact(project, artifact).await {
            // Its content is gone by now: that is said, and it is not named.
            Err(LedgerError::NotFound(_)) if artifact.content.content().is_some() => {
                let content = ArtifactContent::NotKept { reason: super::NotKept::LetGo.to_string() };
                let lost = Artifact { content, ..artifact.clone() };
                self.ledger.add_artifact(project, &lost).await?;
            }
            added => added?,
        }
        mate_fault::point_async!("artifact.indexed");
        journal.later(Change::ProjectedArtifact { id: artifact.id });
        Ok(())
    }
}
