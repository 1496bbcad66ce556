//! The index of artifacts: what a session's journal or a member made known of them.

use super::{Ledger, LedgerError, error::Refused};
use crate::{
    Row, Statement, StoreError,
    artifact_columns::{columns, read},
    decode,
    page::Page,
    params::{one_more, params},
};
use mate_model::{
    ArtifactId, Micros, OperationId, ProjectId, TaskId,
    event::Draft,
    records::{Artifact, ArtifactContent, Content},
};

const ADD: &str = "INSERT INTO artifacts (id, project, session, task, number, origin, name, source, state, media_type, size,
        hash, held, redacted, reason, created_at, removed_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, NULL)
    ON CONFLICT (id) DO NOTHING";
const REMOVE: &str = "UPDATE artifacts SET state = 'removed', held = NULL, removed_at = $2
    WHERE id = $1 AND state = 'kept'";
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, project, session, task, number, origin, name, source, state, media_type, size, hash, \
             redacted, reason, created_at, removed_at FROM artifacts ",
            $rest
        )
    };
}
const ONE: &str = select!("WHERE id = $1");
const OF_PROJECT: &str = select!(
    "WHERE project = $1 AND (created_at < $2 OR (created_at = $2 AND id < $3))
     ORDER BY created_at DESC, id DESC LIMIT $4"
);
const OF_TASK: &str = select!(
    "WHERE task = $1 AND (created_at < $2 OR (created_at = $2 AND id < $3))
     ORDER BY created_at DESC, id DESC LIMIT $4"
);
const OF_OPERATION: &str = select!("WHERE session = $1 AND number = $2 ORDER BY id LIMIT $3");

/// Whose artifacts are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArtifactsOf {
    /// A project's.
    Project(ProjectId),
    /// A task's.
    Task(TaskId),
}

/// An artifact and its project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedArtifact {
    /// Where it belongs.
    pub project: ProjectId,
    /// The artifact.
    pub artifact: Artifact,
}

fn decode(row: &Row) -> Result<IndexedArtifact, StoreError> {
    Ok(IndexedArtifact { project: row.parse("project")?, artifact: read(row, row.parse("session")?)? })
}

fn add(project: ProjectId, artifact: &Artifact) -> Result<Statement, StoreError> {
    let columns = columns(&artifact.content);
    let hash = columns.hash.map(|hash| hash.to_vec());
    let held = hash.clone().filter(|_| matches!(artifact.content, ArtifactContent::Kept(_)));
    let wrong = |_| StoreError::Misuse("an operation's number is out of range".to_owned());
    let number = artifact.operation.map(|id| i64::try_from(id.number)).transpose().map_err(wrong)?;
    Ok(Statement::any(
        ADD,
        params![
            artifact.id,
            project,
            artifact.session,
            artifact.task,
            number,
            artifact.origin,
            artifact.name.as_str(),
            artifact.source.clone(),
            artifact.content.state(),
            columns.media_type.map(str::to_owned),
            columns.size,
            hash,
            held,
            columns.redacted,
            columns.reason.map(str::to_owned),
            artifact.created_at,
        ],
    ))
}

impl Ledger {
    /// Adds an artifact to the index; one that is there stays as it is.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when its content is not at hand (any more), and the store's.
    pub async fn add_artifact(&self, project: ProjectId, artifact: &Artifact) -> Result<(), LedgerError> {
        let added = self.write(vec![add(project, artifact)?]).await;
        added.map_err(|refused| refused.adding("artifact", "content"))
    }

    /// The same, with the event that tells of it.
    ///
    /// # Errors
    /// As [`Ledger::add_artifact`].
    pub async fn publish_artifact(
        &self,
        project: ProjectId,
        artifact: &Artifact,
        draft: Draft,
    ) -> Result<(), LedgerError> {
        let published = self.commit(project, &[draft], &[add(project, artifact)?]).await;
        published.map(|_| ()).map_err(|refused| refused.adding("artifact", "content"))
    }

    /// The artifact with this id.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn artifact(&self, id: ArtifactId) -> Result<Option<IndexedArtifact>, StoreError> {
        decode::first(&self.db.fetch(ONE, params![id]).await?, decode)
    }

    /// Artifacts, the latest first, before `before`.
    ///
    /// # Errors
    /// The store's.
    pub async fn artifacts(
        &self,
        of: ArtifactsOf,
        before: Option<(Micros, ArtifactId)>,
        limit: u32,
    ) -> Result<Page<IndexedArtifact, (Micros, ArtifactId)>, StoreError> {
        let (at, id) = before.map_or((i64::MAX, String::new()), |(at, id)| (at.0, id.to_string()));
        let rows = match of {
            ArtifactsOf::Project(project) => {
                self.db.fetch(OF_PROJECT, params![project, at, id, one_more(limit)]).await?
            }
            ArtifactsOf::Task(task) => self.db.fetch(OF_TASK, params![task, at, id, one_more(limit)]).await?,
        };
        Page::read(&rows, limit, decode, |row| Ok((decode::micros(row, "created_at")?, row.parse("id")?)))
    }

    /// The artifacts of an operation, at most `limit`.
    ///
    /// # Errors
    /// The store's.
    pub async fn artifacts_of(
        &self,
        operation: OperationId,
        limit: u32,
    ) -> Result<Page<IndexedArtifact, ArtifactId>, StoreError> {
        let wrong = |_| StoreError::Misuse("an operation's number is out of range".to_owned());
        let number = i64::try_from(operation.number).map_err(wrong)?;
        let rows = self.db.fetch(OF_OPERATION, params![operation.session, number, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.parse("id"))
    }

    /// Notes that a member removed an artifact's content; false when it was not kept (any more). The content is let go
    /// by [`Ledger::let_go`].
    ///
    /// # Errors
    /// The store's.
    pub async fn remove_artifact(
        &self,
        project: ProjectId,
        artifact: ArtifactId,
        draft: Draft,
    ) -> Result<bool, LedgerError> {
        let statement = Statement::one(REMOVE, params![artifact, draft.at]);
        match self.commit(project, &[draft], &[statement]).await {
            Ok(_) => Ok(true),
            Err(Refused::Guard(_)) => Ok(false),
            Err(refused) => Err(refused.changing("artifact")),
        }
    }
}

impl IndexedArtifact {
    /// Its content, while that is kept.
    #[must_use]
    pub const fn kept(&self) -> Option<&Content> {
        match &self.artifact.content {
            ArtifactContent::Kept(content) => Some(content),
            ArtifactContent::Promised
            | ArtifactContent::NotKept { .. }
            | ArtifactContent::Referenced { .. }
            | ArtifactContent::Removed { .. } => None,
        }
    }
}
