//! Sessions: who hosts them, and how far their journals were seen.

use super::{Ledger, LedgerError};
use crate::{
    Row, Statement, StoreError,
    chain::Hash,
    decode,
    page::Page,
    params::{one_more, params},
};
use mate_model::{
    Epoch, Micros, ProjectId, SessionId, Transition,
    containment::Containment,
    event::Draft,
    records::Session,
    session::{SessionState, SessionStateWord},
};

pub(super) const ADD: &str = "INSERT INTO sessions (id, project, runtime, workspace, from_state, state, epoch,
        state_at, created_at, anchor_seq, anchor_hash) VALUES ($1, $2, $3, $4, '', 'idle', $5, NULL, $6, 0, NULL)";
const BY_ID: &str =
    "SELECT id, project, runtime, workspace, state, epoch, state_at, created_at, containment FROM sessions
    WHERE id = $1";
const LIST: &str =
    "SELECT id, project, runtime, workspace, state, epoch, state_at, created_at, containment FROM sessions
    WHERE project = $1 AND id < $2 ORDER BY id DESC LIMIT $3";
const UNFINISHED: &str =
    "SELECT id, project, runtime, workspace, state, epoch, state_at, created_at, containment FROM sessions
    WHERE id > $1 AND id IN (SELECT s.id FROM sessions s WHERE s.state = 'hosted'
        UNION SELECT t.session FROM tasks t WHERE t.state IN ('accepted', 'running', 'stop_requested')
        UNION SELECT r.session FROM resolutions r WHERE r.applied_at IS NULL
        UNION SELECT v.session FROM verifications v JOIN sessions o ON o.id = v.session
            WHERE v.due_at <= $3 AND o.state <> 'closed')
    ORDER BY id LIMIT $2";
const MOVE: &str = "UPDATE sessions SET from_state = state, state = $2, epoch = $3, state_at = $4
    WHERE id = $1 AND state = $5 AND epoch = $6";
const ANCHOR: &str =
    "UPDATE sessions SET anchor_seq = $2, anchor_hash = $3 WHERE id = $1 AND anchor_seq < $2";
const CONTAINED: &str = "UPDATE sessions SET containment = $2 WHERE id = $1 AND epoch = $3";
const ASK_CLOSE: &str = "UPDATE sessions SET close_asked_at = $2
    WHERE id = $1 AND state <> 'closed' AND close_asked_at IS NULL";
const CLOSE_ASKED: &str = "SELECT id FROM sessions WHERE id = $1 AND close_asked_at IS NOT NULL";
const ANCHORED: &str = "SELECT id, anchor_seq, anchor_hash FROM sessions WHERE id = $1";

fn decode(row: &Row) -> Result<Session, StoreError> {
    let epoch = decode::epoch(row, "epoch")?;
    let state = match row.parse("state")? {
        SessionStateWord::Idle => SessionState::Idle { epoch },
        SessionStateWord::Hosted => SessionState::Hosted { epoch, since: decode::micros(row, "state_at")? },
        SessionStateWord::Closed => SessionState::Closed { epoch, at: decode::micros(row, "state_at")? },
    };
    Ok(Session {
        id: row.parse("id")?,
        project: row.parse("project")?,
        runtime: row.parse("runtime")?,
        workspace: row.text("workspace")?.to_owned(),
        state,
        created_at: decode::micros(row, "created_at")?,
        containment: decode::opt_json(row, "containment")?,
    })
}

/// The insert of a new session; it must be idle.
pub(super) fn insert(session: &Session) -> Result<Statement, LedgerError> {
    let SessionState::Idle { epoch } = session.state else {
        return Err(StoreError::Misuse("a session is added idle".to_owned()).into());
    };
    Ok(Statement::one(
        ADD,
        params![
            session.id,
            session.project,
            session.runtime,
            session.workspace.as_str(),
            epoch,
            session.created_at
        ],
    ))
}

impl Ledger {
    /// Adds a session, idle.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when project or runtime does not exist, and the store's.
    pub async fn add_session(&self, session: &Session, draft: Draft) -> Result<(), LedgerError> {
        let added = self.commit(session.project, &[draft], &[insert(session)?]).await;
        added.map(|_| ()).map_err(|refused| refused.adding("session", "project or runtime"))
    }

    /// The session with this id.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn session(&self, id: SessionId) -> Result<Option<Session>, StoreError> {
        decode::first(&self.db.fetch(BY_ID, params![id]).await?, decode)
    }

    /// A project's sessions, newest first, those older than `before`.
    ///
    /// # Errors
    /// The store's.
    pub async fn sessions(
        &self,
        project: ProjectId,
        before: Option<SessionId>,
        limit: u32,
    ) -> Result<Page<Session, SessionId>, StoreError> {
        let before = before.map_or_else(|| "~".to_owned(), |id| id.to_string());
        let rows = self.db.fetch(LIST, params![project, before, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.parse("id"))
    }

    /// Sessions that are hosted, have a task that waits or runs, a resolution that their journal does not have
    /// yet, or a look to be taken by `now`. Does not grow with history.
    ///
    /// # Errors
    /// The store's.
    pub async fn unfinished(
        &self,
        now: Micros,
        after: Option<SessionId>,
        limit: u32,
    ) -> Result<Page<Session, SessionId>, StoreError> {
        let after = after.map_or_else(String::new, |id| id.to_string());
        let rows = self.db.fetch(UNFINISHED, params![after, one_more(limit), now]).await?;
        Page::read(&rows, limit, decode, |row| row.parse("id"))
    }

    /// Applies a move of a session, with an event of its project if there is one to tell.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`] when its state is no longer the one that the move starts from, and the store's.
    pub async fn apply_session(
        &self,
        session: &Session,
        transition: &Transition<SessionState>,
        draft: Option<Draft>,
    ) -> Result<(), LedgerError> {
        let to = transition.to();
        let since = match to {
            SessionState::Idle { .. } => None,
            SessionState::Hosted { since, .. } => Some(*since),
            SessionState::Closed { at, .. } => Some(*at),
        };
        let from = transition.from();
        let values = params![session.id, to.word(), to.epoch(), since, from.word(), from.epoch()];
        let statement = Statement::one(MOVE, values);
        let moved = match draft {
            Some(draft) => self.commit(session.project, &[draft], &[statement]).await.map(|_| ()),
            None => self.write(vec![statement]).await,
        };
        moved.map_err(|refused| refused.moving("session"))
    }

    /// Remembers that somebody wants the session closed: its worker ends, and no task is added to it. Once is enough.
    ///
    /// # Errors
    /// The store's.
    pub async fn ask_close(&self, session: SessionId, at: Micros) -> Result<(), StoreError> {
        self.db.execute(Statement::any(ASK_CLOSE, params![session, at])).await.map(|_| ())
    }

    /// Whether somebody wants the session closed.
    ///
    /// # Errors
    /// The store's.
    pub async fn close_asked(&self, session: SessionId) -> Result<bool, StoreError> {
        Ok(!self.db.fetch(CLOSE_ASKED, params![session]).await?.is_empty())
    }

    /// Remembers how far a session's journal was seen; an older sight changes nothing.
    ///
    /// # Errors
    /// The store's.
    pub async fn anchor(&self, session: SessionId, seq: i64, hash: Hash) -> Result<(), StoreError> {
        self.db.execute(Statement::any(ANCHOR, params![session, seq, hash])).await.map(|_| ())
    }

    /// Remembers how the latest container of a session holds its processes; the worker of an earlier epoch changes
    /// nothing.
    ///
    /// # Errors
    /// The store's.
    pub async fn contained(
        &self,
        session: SessionId,
        epoch: Epoch,
        containment: &Containment,
    ) -> Result<(), StoreError> {
        let text =
            serde_json::to_string(containment).map_err(|error| StoreError::Misuse(error.to_string()))?;
        self.db.execute(Statement::any(CONTAINED, params![session, text, epoch])).await.map(|_| ())
    }

    /// How far a session's journal was seen: the number and hash of an event; none when never.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn anchored(&self, session: SessionId) -> Result<Option<(i64, Hash)>, StoreError> {
        let rows = self.db.fetch(ANCHORED, params![session]).await?;
        let read = |row: &Row| match row.int("anchor_seq")? {
            0 => Ok(None),
            seq => Ok(Some((seq, decode::hash(row, "anchor_hash")?))),
        };
        decode::first(&rows, read).map(Option::flatten)
    }
}
