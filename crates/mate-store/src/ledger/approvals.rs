//! Approvals: the inbox of requests that wait for a person, and their answers.

use super::{Ledger, LedgerError, error::Refused, permissions};
use crate::{
    Row, Statement, StoreError, decode,
    page::Page,
    params::{json, one_more, params},
};
use mate_model::{
    AccountId, ApprovalId, Micros, ProjectId, TaskId, TokenId, Transition,
    approval::{ApprovalState, ApprovalStateWord, Decision},
    event::Draft,
    records::{Answer, Approval, Over},
};
use std::{fmt, str::FromStr};

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, project, task, turn, mode, connection, connection_name, tool, class, digest, shape, created_at, \
             state, expires_at, decided_by, decided_with, decided_at, reason, used_at, over_at, over_why FROM approvals ",
            $rest
        )
    };
}

const ADD: &str =
    "INSERT INTO approvals (id, project, task, turn, mode, connection, connection_name, tool, class, digest, shape,
        created_at, from_state, state, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, '', 'open', $13)";
const BY_ID: &str = select!("WHERE id = $1");
const LIST: &str = select!(
    "WHERE project = $1 AND (created_at > $2 OR (created_at = $2 AND id > $3)) ORDER BY created_at, id LIMIT $4"
);
const LIST_OPEN: &str = select!(
    "WHERE project = $1 AND state = 'open' AND (created_at > $2 OR (created_at = $2 AND id > $3))
    ORDER BY created_at, id LIMIT $4"
);
const WAITING: &str =
    select!("WHERE task = $1 AND state IN ('open', 'allowed') AND id > $2 ORDER BY id LIMIT $3");
const OVER: &str = select!("WHERE task = $1 AND state IN ('expired', 'withdrawn') ORDER BY id LIMIT $2");
// The first condition is the index's.
const COUNT_OPEN: &str = "SELECT count(*) AS open FROM approvals
    WHERE task = $1 AND state IN ('open', 'allowed') AND state = 'open'";
const MOVE: &str = "UPDATE approvals SET from_state = state, state = $2,
        decided_by = COALESCE($3, decided_by), decided_with = COALESCE($4, decided_with),
        decided_at = COALESCE($5, decided_at), reason = $6, used_at = $7,
        over_at = $9, over_why = $10
    WHERE id = $1 AND state = $8";

/// The most requests of one task that wait at once.
pub const MAX_WAITING: u32 = 500;

/// A place in a project's inbox: by age, then by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InboxPlace {
    /// When the last one that was shown was asked.
    pub at: Micros,
    /// Its id.
    pub id: ApprovalId,
}

impl fmt::Display for InboxPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.at.0, self.id)
    }
}

impl FromStr for InboxPlace {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (at, id) = text.split_once('.').ok_or(())?;
        Ok(Self { at: Micros(at.parse().map_err(|_| ())?), id: id.parse().map_err(|_| ())? })
    }
}

fn decode(row: &Row) -> Result<Approval, StoreError> {
    Ok(Approval {
        id: row.parse("id")?,
        project: row.parse("project")?,
        task: row.parse("task")?,
        turn: row.parse("turn")?,
        mode: row.parse("mode")?,
        connection: row.opt_parse("connection")?,
        connection_name: row.text("connection_name")?.to_owned(),
        tool: row.text("tool")?.to_owned(),
        class: row.parse("class")?,
        digest: row.text("digest")?.to_owned(),
        shape: decode::json(row, "shape")?,
        state: state(row)?,
        expires_at: decode::micros(row, "expires_at")?,
        answer: answer(row)?,
        over: over(row)?,
        created_at: decode::micros(row, "created_at")?,
    })
}

fn state(row: &Row) -> Result<ApprovalState, StoreError> {
    let by = || row.parse::<AccountId>("decided_by");
    let at = || decode::micros(row, "decided_at");
    let expires = || decode::micros(row, "expires_at");
    Ok(match row.parse("state")? {
        ApprovalStateWord::Open => ApprovalState::Open { expires: expires()? },
        ApprovalStateWord::Allowed => ApprovalState::Allowed { by: by()?, at: at()?, expires: expires()? },
        ApprovalStateWord::Denied => {
            ApprovalState::Denied { by: by()?, at: at()?, reason: row.text("reason")?.to_owned() }
        }
        ApprovalStateWord::Expired => ApprovalState::Expired,
        ApprovalStateWord::Withdrawn => ApprovalState::Withdrawn,
        ApprovalStateWord::Used => ApprovalState::Used { by: by()?, at: decode::micros(row, "used_at")? },
    })
}

fn answer(row: &Row) -> Result<Option<Answer>, StoreError> {
    let Some(by) = row.opt_parse("decided_by")? else { return Ok(None) };
    let reason = row.opt_text("reason")?.map(str::to_owned);
    let decision = if reason.is_some() { Decision::Deny } else { Decision::Allow };
    let (with, at) = (row.parse("decided_with")?, decode::micros(row, "decided_at")?);
    Ok(Some(Answer { decision, by, with, at, reason }))
}

fn over(row: &Row) -> Result<Option<Over>, StoreError> {
    let Some(why) = row.opt_text("over_why")? else { return Ok(None) };
    Ok(Some(Over { at: decode::micros(row, "over_at")?, why: why.to_owned() }))
}

/// Why a request ended without an answer or its use: what the event says that tells of it.
fn why_over(to: &ApprovalState, draft: &Draft) -> Option<String> {
    match to {
        ApprovalState::Expired | ApprovalState::Withdrawn => {
            let detail = draft.data.get("detail").and_then(|detail| detail.as_str());
            Some(detail.unwrap_or(to.word().as_str()).to_owned())
        }
        ApprovalState::Open { .. }
        | ApprovalState::Allowed { .. }
        | ApprovalState::Denied { .. }
        | ApprovalState::Used { .. } => None,
    }
}

impl Ledger {
    /// Puts a request into the inbox, with the event that tells of it; one that is there already stays as it is (false).
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when its task does not exist, and the store's.
    pub async fn add_approval(&self, approval: &Approval, draft: Draft) -> Result<bool, LedgerError> {
        if approval.state != (ApprovalState::Open { expires: approval.expires_at }) {
            return Err(StoreError::Misuse("an approval is added open".to_owned()).into());
        }
        let values = params![
            approval.id,
            approval.project,
            approval.task,
            approval.turn,
            approval.mode,
            approval.connection,
            approval.connection_name.as_str(),
            approval.tool.as_str(),
            approval.class,
            approval.digest.as_str(),
            json(&approval.shape)?,
            approval.created_at,
            approval.expires_at,
        ];
        match self.commit(approval.project, &[draft], &[Statement::one(ADD, values)]).await {
            Ok(_) => Ok(true),
            Err(Refused::Unique) => Ok(false),
            Err(refused) => Err(refused.adding("approval", "task")),
        }
    }

    /// The approval with this id.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn approval(&self, id: ApprovalId) -> Result<Option<Approval>, StoreError> {
        decode::first(&self.db.fetch(BY_ID, params![id]).await?, decode)
    }

    /// A project's approvals by age; only those that wait for an answer, unless `all`.
    ///
    /// # Errors
    /// The store's.
    pub async fn approvals(
        &self,
        project: ProjectId,
        all: bool,
        after: Option<InboxPlace>,
        limit: u32,
    ) -> Result<Page<Approval, InboxPlace>, StoreError> {
        let (at, id) =
            after.map_or((Micros(i64::MIN), String::new()), |place| (place.at, place.id.to_string()));
        let sql = if all { LIST } else { LIST_OPEN };
        let rows = self.db.fetch(sql, params![project, at, id, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| {
            Ok(InboxPlace { at: decode::micros(row, "created_at")?, id: row.parse("id")? })
        })
    }

    /// A task's approvals that wait for their answer or for their use, by id.
    ///
    /// # Errors
    /// The store's.
    pub async fn waiting_approvals(
        &self,
        task: TaskId,
        after: Option<ApprovalId>,
    ) -> Result<Page<Approval, ApprovalId>, StoreError> {
        let after = after.map_or_else(String::new, |id| id.to_string());
        let rows = self.db.fetch(WAITING, params![task, after, one_more(MAX_WAITING)]).await?;
        Page::read(&rows, MAX_WAITING, decode, |row| row.parse("id"))
    }

    /// The first of a task's approvals that expired or were withdrawn, by id.
    ///
    /// # Errors
    /// The store's.
    pub async fn approvals_over(
        &self,
        task: TaskId,
        limit: u32,
    ) -> Result<Page<Approval, ApprovalId>, StoreError> {
        let rows = self.db.fetch(OVER, params![task, one_more(limit)]).await?;
        Page::read(&rows, limit, decode, |row| row.parse("id"))
    }

    /// How many of a task's approvals wait for an answer.
    ///
    /// # Errors
    /// The store's.
    pub async fn open_approvals(&self, task: TaskId) -> Result<i64, StoreError> {
        let rows = self.db.fetch(COUNT_OPEN, params![task]).await?;
        rows.first().map_or(Ok(0), |row| row.int("open"))
    }

    /// Applies a move of an approval, with an event of its project that tells of it. `with` is the token of whoever
    /// answers; leave for the rest of a task (`permission`) is given in the same script.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`] when its state is no longer the one that the move starts from, and the store's.
    pub async fn apply_approval(
        &self,
        approval: &Approval,
        transition: &Transition<ApprovalState>,
        with: Option<TokenId>,
        permission: bool,
        draft: Draft,
    ) -> Result<(), LedgerError> {
        let (by, at, reason, used): (Option<AccountId>, Option<Micros>, Option<&str>, Option<Micros>) =
            match transition.to() {
                ApprovalState::Open { .. } | ApprovalState::Expired | ApprovalState::Withdrawn => {
                    (None, None, None, None)
                }
                ApprovalState::Allowed { by, at, .. } => (Some(*by), Some(*at), None, None),
                ApprovalState::Denied { by, at, reason } => (Some(*by), Some(*at), Some(reason), None),
                ApprovalState::Used { at, .. } => (None, None, None, Some(*at)),
            };
        let (to, from) = (transition.to().word(), transition.from().word());
        let why = why_over(transition.to(), &draft);
        let over = why.as_ref().map(|_| transition.at());
        let values = params![approval.id, to, by, with, at, reason, used, from, over, why];
        let mut statements = vec![Statement::one(MOVE, values)];
        if permission {
            statements.extend(permissions::give(approval.id));
        }
        let moved = self.commit(approval.project, &[draft], &statements).await;
        moved.map(|_| ()).map_err(|refused| refused.moving("approval"))
    }
}
