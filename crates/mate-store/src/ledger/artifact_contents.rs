//! What artifacts hold: each content of a project once, counted against its quota.

use super::{Ledger, LedgerError, error::Refused};
use crate::{Row, Statement, StoreError, decode, params::params};
use mate_model::{Micros, ProjectId};

const TOUCH: &str = "UPDATE artifact_contents SET touched_at = $3 WHERE project = $1 AND hash = $2";
const CHARGE: &str = "UPDATE projects SET artifact_bytes = artifact_bytes + CAST($2 AS BIGINT)
    WHERE id = $1 AND artifact_bytes + CAST($2 AS BIGINT) <= artifact_quota";
const ADD: &str = "INSERT INTO artifact_contents (project, hash, size, content, touched_at)
    VALUES ($1, $2, $3, $4, $5)";
const ONE: &str =
    "SELECT project, hash, size, content FROM artifact_contents WHERE project = $1 AND hash = $2";
const NAMED: &str = "SELECT project, hash, size, content FROM artifact_contents WHERE content = $1";
const UNHELD: &str = "SELECT c.project, c.hash, c.size, c.content FROM artifact_contents c
    WHERE c.touched_at < $1 AND NOT EXISTS (SELECT 1 FROM artifacts a WHERE a.project = c.project AND a.held = c.hash)
    ORDER BY c.touched_at LIMIT $2";
const LET_GO: &str = "DELETE FROM artifact_contents WHERE project = $1 AND hash = $2
    AND NOT EXISTS (SELECT 1 FROM artifacts a
        WHERE a.project = artifact_contents.project AND a.held = artifact_contents.hash)";
const GIVE_BACK: &str =
    "UPDATE projects SET artifact_bytes = artifact_bytes - CAST($2 AS BIGINT) WHERE id = $1";
const ROOM: &str = "SELECT artifact_quota, artifact_bytes FROM projects WHERE id = $1";
const BEGIN: &str = "INSERT INTO artifact_drafts (content, begun_at) VALUES ($1, $2)";
const NO_DRAFT: &str = "DELETE FROM artifact_drafts WHERE content = $1";
const OLD_DRAFTS: &str = "SELECT content FROM artifact_drafts WHERE begun_at < $1 ORDER BY content LIMIT $2";
const PUT: &str = "INSERT INTO artifact_chunks (content, number, sealed) VALUES ($1, $2, $3)";
const GET: &str = "SELECT sealed FROM artifact_chunks WHERE content = $1 AND number = $2";
const DROP: &str = "DELETE FROM artifact_chunks WHERE content = $1";

/// A content that is at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredContent {
    /// Where it belongs.
    pub project: ProjectId,
    /// BLAKE3 of it.
    pub hash: [u8; 32],
    /// Its length in bytes.
    pub size: i64,
    /// Under which name its bytes are sealed.
    pub content: String,
}

/// What became of a content that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It is taken under the name that was given.
    Taken,
    /// The project has it already, under another name.
    Known,
    /// The project's quota does not allow it.
    OverQuota,
}

/// How much a project's artifacts may hold, and hold; in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArtifactRoom {
    /// At most.
    pub quota: i64,
    /// By now.
    pub used: i64,
}

impl ArtifactRoom {
    /// What is left.
    #[must_use]
    pub fn left(&self) -> i64 {
        self.quota.saturating_sub(self.used).max(0)
    }
}

fn decode(row: &Row) -> Result<StoredContent, StoreError> {
    Ok(StoredContent {
        project: row.parse("project")?,
        hash: decode::hash(row, "hash")?,
        size: row.int("size")?,
        content: row.text("content")?.to_owned(),
    })
}

impl Ledger {
    /// Says that a content is wanted again, so that it is not let go at this moment; false when it is not at hand.
    ///
    /// # Errors
    /// The store's.
    pub async fn touch_content(
        &self,
        project: ProjectId,
        hash: [u8; 32],
        at: Micros,
    ) -> Result<bool, LedgerError> {
        match self.write(vec![Statement::one(TOUCH, params![project, hash, at])]).await {
            Ok(()) => Ok(true),
            Err(Refused::Guard(_)) => Ok(false),
            Err(refused) => Err(refused.changing("content")),
        }
    }

    /// Offers a content whose bytes are durable. Only one that is taken counts against the quota.
    ///
    /// # Errors
    /// The store's.
    pub async fn offer_content(&self, content: &StoredContent, at: Micros) -> Result<Offered, LedgerError> {
        let StoredContent { project, hash, size, content } = content;
        if self.touch_content(*project, *hash, at).await? {
            return Ok(Offered::Known);
        }
        let script = vec![
            Statement::one(CHARGE, params![*project, *size]),
            Statement::one(ADD, params![*project, *hash, *size, content.as_str(), at]),
            Statement::any(NO_DRAFT, params![content.as_str()]),
        ];
        match self.write(script).await {
            Ok(()) => Ok(Offered::Taken),
            Err(Refused::Guard(_)) => Ok(Offered::OverQuota),
            // Somebody else was first, at this moment.
            Err(Refused::Unique) => Ok(Offered::Known),
            Err(refused) => Err(refused.adding("content", "project")),
        }
    }

    /// A project's content by its hash.
    ///
    /// # Errors
    /// The store's.
    pub async fn content(
        &self,
        project: ProjectId,
        hash: [u8; 32],
    ) -> Result<Option<StoredContent>, StoreError> {
        decode::first(&self.db.fetch(ONE, params![project, hash]).await?, decode)
    }

    /// Whether bytes that are sealed under this name belong to a content that is at hand.
    ///
    /// # Errors
    /// The store's.
    pub async fn is_content(&self, content: &str) -> Result<bool, StoreError> {
        Ok(!self.db.fetch(NAMED, params![content]).await?.is_empty())
    }

    /// Contents that no artifact holds, and that nobody touched since `before`.
    ///
    /// # Errors
    /// The store's.
    pub async fn unheld_contents(
        &self,
        before: Micros,
        limit: u32,
    ) -> Result<Vec<StoredContent>, StoreError> {
        self.db.fetch(UNHELD, params![before, i64::from(limit)]).await?.iter().map(decode).collect()
    }

    /// Lets a content go that no artifact holds, and gives its bytes back to the project; false when one holds it.
    ///
    /// # Errors
    /// The store's.
    pub async fn let_go(&self, content: &StoredContent) -> Result<bool, LedgerError> {
        let StoredContent { project, hash, size, content } = content;
        let script = vec![
            Statement::one(GIVE_BACK, params![*project, *size]),
            Statement::one(LET_GO, params![*project, *hash]),
            Statement::any(DROP, params![content.as_str()]),
        ];
        match self.write(script).await {
            Ok(()) => Ok(true),
            // Held again at this moment, or gone already.
            Err(Refused::Guard(_) | Refused::Missing) => Ok(false),
            Err(refused) => Err(refused.changing("content")),
        }
    }

    /// How much a project's artifacts may hold, and hold.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`], and the store's.
    pub async fn artifact_room(&self, project: ProjectId) -> Result<ArtifactRoom, LedgerError> {
        let rows = self.db.fetch(ROOM, params![project]).await?;
        let row = rows.first().ok_or(LedgerError::NotFound("project"))?;
        Ok(ArtifactRoom { quota: row.int("artifact_quota")?, used: row.int("artifact_bytes")? })
    }

    /// Begins bytes under a name of their own in a shared store.
    ///
    /// # Errors
    /// The store's.
    pub async fn begin_chunks(&self, content: &str, at: Micros) -> Result<(), StoreError> {
        self.db.execute(Statement::one(BEGIN, params![content, at])).await.map(|_| ())
    }

    /// Puts one sealed chunk.
    ///
    /// # Errors
    /// The store's.
    pub async fn put_chunk(&self, content: &str, number: i64, sealed: Vec<u8>) -> Result<(), StoreError> {
        self.db.execute(Statement::one(PUT, params![content, number, sealed])).await.map(|_| ())
    }

    /// One sealed chunk.
    ///
    /// # Errors
    /// The store's.
    pub async fn chunk(&self, content: &str, number: i64) -> Result<Option<Vec<u8>>, StoreError> {
        let rows = self.db.fetch(GET, params![content, number]).await?;
        decode::first(&rows, |row| row.blob("sealed").map(<[u8]>::to_vec))
    }

    /// Names of bytes that were begun before `before` and that no content has.
    ///
    /// # Errors
    /// The store's.
    pub async fn old_drafts(&self, before: Micros, limit: u32) -> Result<Vec<String>, StoreError> {
        let rows = self.db.fetch(OLD_DRAFTS, params![before, i64::from(limit)]).await?;
        rows.iter().map(|row| row.text("content").map(str::to_owned)).collect()
    }

    /// Drops bytes that no content has.
    ///
    /// # Errors
    /// The store's.
    pub async fn drop_chunks(&self, content: &str) -> Result<(), StoreError> {
        let script = vec![Statement::any(DROP, params![content]), Statement::any(NO_DRAFT, params![content])];
        self.db.script(script).await.map(|_| ())
    }
}
