//! Artifacts as they are shown.

use super::record::hash;
use crate::{
    Engine, EngineError, Principal, Verb,
    admin::{Listing, Paging},
};
use mate_model::{
    ArtifactId, Micros, OperationId, ProjectId, SessionId, TaskId,
    records::{ArtifactContent, ArtifactOrigin, ArtifactState},
};
use mate_store::{ArtifactsOf, IndexedArtifact};
use serde::Serialize;
use std::{fmt, str::FromStr};

/// How many of an operation's artifacts are shown with it.
const WITH_OPERATION: u32 = 100;

/// An artifact as it is shown.
#[derive(Clone, Debug, Serialize)]
pub struct ArtifactView {
    /// Its id.
    pub id: ArtifactId,
    /// How it stands.
    pub state: ArtifactState,
    /// Where it belongs.
    pub project: ProjectId,
    /// The task that it comes from.
    pub task: TaskId,
    /// That task's session.
    pub session: SessionId,
    /// The operation whose result it is, or was in.
    pub operation: Option<OperationId>,
    /// Where it comes from.
    pub origin: ArtifactOrigin,
    /// A name for people, safe as the name of a file.
    pub name: String,
    /// A resource's address, or a path beneath the workspace.
    pub source: Option<String>,
    /// Its media type: found by looking, or of a reference as it was claimed.
    pub media_type: Option<String>,
    /// Its length in bytes; of a reference as it was claimed.
    pub size: Option<i64>,
    /// BLAKE3 of what is kept, in hexadecimal.
    pub hash: Option<String>,
    /// Secrets were taken out of it before it was kept.
    pub redacted: bool,
    /// Why it is not kept.
    pub reason: Option<String>,
    /// When it was first recorded; microseconds UTC.
    pub created_at: Micros,
    /// When its content was removed.
    pub removed_at: Option<Micros>,
}

impl From<IndexedArtifact> for ArtifactView {
    fn from(indexed: IndexedArtifact) -> Self {
        let IndexedArtifact { project, artifact } = indexed;
        let content = artifact.content.content();
        let (claimed, reason, removed_at) = match &artifact.content {
            ArtifactContent::Referenced { media_type, size } => ((media_type.clone(), *size), None, None),
            ArtifactContent::NotKept { reason } => ((None, None), Some(reason.clone()), None),
            ArtifactContent::Removed { at, .. } => ((None, None), None, Some(*at)),
            ArtifactContent::Promised | ArtifactContent::Kept(_) => ((None, None), None, None),
        };
        Self {
            id: artifact.id,
            state: artifact.content.state(),
            project,
            task: artifact.task,
            session: artifact.session,
            operation: artifact.operation,
            origin: artifact.origin,
            media_type: content.map(|content| content.media_type.clone()).or(claimed.0),
            size: content.map(|content| content.size).or(claimed.1),
            hash: content.map(|content| hash(&content.hash)),
            redacted: content.is_some_and(|content| content.redacted),
            name: artifact.name,
            source: artifact.source,
            reason,
            created_at: artifact.created_at,
            removed_at,
        }
    }
}

/// A position in a list of artifacts: the moment and the id of the last one.
#[derive(Clone, Copy)]
struct Position(Micros, ArtifactId);

impl FromStr for Position {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (at, id) = text.split_once(' ').ok_or(())?;
        Ok(Self(Micros(at.parse().map_err(|_| ())?), id.parse().map_err(|_| ())?))
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0.0, self.1)
    }
}

impl Engine {
    /// An artifact, for a caller who may do with it what the verb says.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when it does not exist, or not for this caller.
    pub(crate) async fn artifact_for(
        &self,
        who: &Principal,
        id: ArtifactId,
        verb: Verb,
    ) -> Result<IndexedArtifact, EngineError> {
        let Some(found) = self.ledger.artifact(id).await? else { return self.nothing(who).await };
        self.demand(who, found.project, verb).await?;
        Ok(found)
    }

    /// An artifact as it is shown.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when it does not exist, or not for this caller.
    pub async fn artifact(&self, who: &Principal, id: ArtifactId) -> Result<ArtifactView, EngineError> {
        Ok(self.artifact_for(who, id, Verb::ArtifactShow).await?.into())
    }

    /// A project's artifacts, or those of one of its tasks; the latest first.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when the project or the task does not exist, or not for this caller.
    pub async fn artifacts(
        &self,
        who: &Principal,
        project: &str,
        task: Option<TaskId>,
        page: &Paging,
    ) -> Result<Listing<ArtifactView>, EngineError> {
        let project = self.project(who, project, Verb::ArtifactList).await?;
        let of = match task {
            None => ArtifactsOf::Project(project.id),
            Some(id) => {
                let task = self.task_for(who, id, Verb::ArtifactList).await?;
                if task.project != project.id {
                    return Err(EngineError::NotFound);
                }
                ArtifactsOf::Task(id)
            }
        };
        self.artifact_page(of, page).await
    }

    /// A task's artifacts, the latest first.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when the task does not exist, or not for this caller.
    pub async fn task_artifacts(
        &self,
        who: &Principal,
        task: TaskId,
        page: &Paging,
    ) -> Result<Listing<ArtifactView>, EngineError> {
        let task = self.task_for(who, task, Verb::ArtifactList).await?;
        self.artifact_page(ArtifactsOf::Task(task.id), page).await
    }

    async fn artifact_page(
        &self,
        of: ArtifactsOf,
        page: &Paging,
    ) -> Result<Listing<ArtifactView>, EngineError> {
        let before = page.position::<Position>()?.map(|Position(at, id)| (at, id));
        let found = self.ledger.artifacts(of, before, page.limit).await?;
        let found = mate_store::Page {
            items: found.items,
            corrupt: found.corrupt,
            next: found.next.map(|(at, id)| Position(at, id)),
        };
        Ok(Listing::from(found).map(ArtifactView::from))
    }

    /// The artifacts of an operation that the caller may see already.
    pub(crate) async fn artifacts_of(
        &self,
        operation: OperationId,
    ) -> Result<Vec<ArtifactView>, EngineError> {
        let found = self.ledger.artifacts_of(operation, WITH_OPERATION).await?;
        for corrupt in &found.corrupt {
            tracing::error!(%corrupt, "an artifact could not be read");
        }
        Ok(found.items.into_iter().map(ArtifactView::from).collect())
    }
}
