//! What both stores keep of an artifact, in columns.

use crate::{Row, StoreError, decode};
use mate_model::{
    OperationId, SessionId,
    records::{Artifact, ArtifactContent, ArtifactState, Content},
};

/// What the content of an artifact is in columns.
pub(crate) struct Columns<'a> {
    pub(crate) media_type: Option<&'a str>,
    pub(crate) size: Option<i64>,
    pub(crate) hash: Option<[u8; 32]>,
    pub(crate) redacted: bool,
    pub(crate) reason: Option<&'a str>,
}

/// The columns of a content.
pub(crate) fn columns(content: &ArtifactContent) -> Columns<'_> {
    let none = Columns { media_type: None, size: None, hash: None, redacted: false, reason: None };
    match content {
        ArtifactContent::Promised => none,
        ArtifactContent::Kept(content) | ArtifactContent::Removed { content, .. } => Columns {
            media_type: Some(&content.media_type),
            size: Some(content.size),
            hash: Some(content.hash),
            redacted: content.redacted,
            reason: None,
        },
        ArtifactContent::NotKept { reason } => Columns { reason: Some(reason), ..none },
        ArtifactContent::Referenced { media_type, size } => {
            Columns { media_type: media_type.as_deref(), size: *size, ..none }
        }
    }
}

/// An artifact of `session` from its row.
pub(crate) fn read(row: &Row, session: SessionId) -> Result<Artifact, StoreError> {
    let number = row.opt_int("number")?;
    let wrong = |_| row.corrupt("number", "it is no number of an operation");
    let number = number.map(u64::try_from).transpose().map_err(wrong)?;
    Ok(Artifact {
        id: row.parse("id")?,
        session,
        task: row.parse("task")?,
        operation: number.map(|number| OperationId { session, number }),
        origin: row.parse("origin")?,
        name: row.text("name")?.to_owned(),
        source: row.opt_text("source")?.map(str::to_owned),
        content: content(row)?,
        created_at: decode::micros(row, "created_at")?,
    })
}

fn content(row: &Row) -> Result<ArtifactContent, StoreError> {
    let kept = || {
        Ok::<_, StoreError>(Content {
            hash: decode::hash(row, "hash")?,
            size: row.int("size")?,
            media_type: row.text("media_type")?.to_owned(),
            redacted: row.flag("redacted")?,
        })
    };
    Ok(match row.parse("state")? {
        ArtifactState::Promised => ArtifactContent::Promised,
        ArtifactState::Kept => ArtifactContent::Kept(kept()?),
        ArtifactState::NotKept => ArtifactContent::NotKept { reason: row.text("reason")?.to_owned() },
        ArtifactState::Referenced => ArtifactContent::Referenced {
            media_type: row.opt_text("media_type")?.map(str::to_owned),
            size: row.opt_int("size")?,
        },
        ArtifactState::Removed => {
            ArtifactContent::Removed { content: kept()?, at: decode::micros(row, "removed_at")? }
        }
    })
}
