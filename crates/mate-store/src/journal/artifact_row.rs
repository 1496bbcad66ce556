//! What results left behind, as rows of the session that had them.

use super::{JournalReader, operation_row::number};
use crate::{
    Row, Statement, StoreError, Value,
    artifact_columns::{columns, read},
    page::Page,
    params::{one_more, params},
};
use mate_model::{
    ArtifactId, SessionId, TurnId,
    records::{Artifact, ArtifactContent, ArtifactState},
};

const ADD: &str =
    "INSERT INTO journal_artifacts (session, id, task, turn, number, origin, name, source, state, media_type,
        size, hash, redacted, reason, created_at, removed_at, projected)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, NULL, 0)";
const SETTLE: &str = "UPDATE journal_artifacts SET state = $3, media_type = $4, size = $5, hash = $6, redacted = $7, reason = $8
    WHERE session = $1 AND id = $2 AND state = 'promised'";
const PROJECTED: &str = "UPDATE journal_artifacts SET projected = 1
    WHERE session = $1 AND id = $2 AND state <> 'promised'";
const LEFT: &str =
    "SELECT id, task, turn, number, origin, name, source, state, media_type, size, hash, redacted, reason,
        created_at, removed_at FROM journal_artifacts
    WHERE session = $1 AND projected = 0 AND id > $2 ORDER BY id LIMIT $3";

/// Writes an artifact down, as it stands by now.
pub(super) fn add(
    session: SessionId,
    key: &Value,
    turn: TurnId,
    artifact: &Artifact,
) -> Result<Statement, StoreError> {
    let place = artifact.operation.map(|id| number(session, id)).transpose()?;
    let columns = columns(&artifact.content);
    Ok(Statement::one(
        ADD,
        params![
            key.clone(),
            artifact.id,
            artifact.task,
            turn,
            place,
            artifact.origin,
            artifact.name.as_str(),
            artifact.source.clone(),
            artifact.content.state(),
            columns.media_type.map(str::to_owned),
            columns.size,
            columns.hash.map(|hash| hash.to_vec()),
            columns.redacted,
            columns.reason.map(str::to_owned),
            artifact.created_at,
        ],
    ))
}

/// What became of one that was promised.
pub(super) fn settle(key: &Value, id: ArtifactId, content: &ArtifactContent) -> Statement {
    let columns = columns(content);
    Statement::one(
        SETTLE,
        params![
            key.clone(),
            id,
            content.state(),
            columns.media_type.map(str::to_owned),
            columns.size,
            columns.hash.map(|hash| hash.to_vec()),
            columns.redacted,
            columns.reason.map(str::to_owned),
        ],
    )
}

/// The ledger has it.
pub(super) fn projected(key: &Value, id: ArtifactId) -> Statement {
    Statement::any(PROJECTED, params![key.clone(), id])
}

/// An artifact that the ledger does not have yet, and the turn that it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftArtifact {
    /// The turn.
    pub turn: TurnId,
    /// The artifact; still promised when its worker died before it was stored.
    pub artifact: Artifact,
}

impl LeftArtifact {
    /// Whether it was never stored.
    #[must_use]
    pub fn is_promised(&self) -> bool {
        self.artifact.content.state() == ArtifactState::Promised
    }
}

impl JournalReader {
    /// The artifacts that the ledger may not have yet, after `after`.
    ///
    /// # Errors
    /// The store's.
    pub async fn artifacts_left(
        &self,
        after: Option<ArtifactId>,
        limit: u32,
    ) -> Result<Page<LeftArtifact, ArtifactId>, StoreError> {
        let after = after.map_or_else(String::new, |id| id.to_string());
        let rows = self.db.fetch(LEFT, params![self.key.clone(), after, one_more(limit)]).await?;
        let session = self.session;
        let decode = |row: &Row| Ok(LeftArtifact { turn: row.parse("turn")?, artifact: read(row, session)? });
        Page::read(&rows, limit, decode, |row| row.parse("id"))
    }
}
