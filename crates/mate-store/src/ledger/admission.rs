//! What an admission reads, on the hot path: one indexed query each.

use super::Ledger;
use crate::{Row, StoreError, decode, params::params};
use mate_model::{Epoch, Micros, ProjectId, TaskId, TurnId, task::TaskStateWord, words::Role};

const ADMISSION: &str = "SELECT t.id, t.state, t.turn, t.epoch, t.stop_kill, m.value AS authorisation_version,
        (SELECT MIN(r.number) FROM resolutions r WHERE r.session = t.session AND r.applied_at IS NULL) AS unapplied
    FROM tasks t, meta m WHERE t.id = $1 AND m.name = 'authorisation_version'";

const AUTHORITY: &str =
    "SELECT t.id, a.disabled_at, m.role, k.revoked_at, k.expires_at, k.role AS token_role,
        k.project AS token_project, p.archived_at, a.name AS proposer_name, p.name AS project_name,
        r.name AS runtime_name
    FROM tasks t JOIN accounts a ON a.id = t.proposer JOIN tokens k ON k.id = t.token
        JOIN projects p ON p.id = t.project JOIN sessions s ON s.id = t.session JOIN runtimes r ON r.id = s.runtime
        LEFT JOIN members m ON m.project = t.project AND m.account = t.proposer
    WHERE t.id = $1";

/// How a task stands, and under which authorisation version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionRow {
    /// The ledger's authorisation version.
    pub authorisation_version: i64,
    /// The task's state.
    pub state: TaskStateWord,
    /// The turn that carries it, or carried it.
    pub turn: Option<TurnId>,
    /// The epoch that claimed it last.
    pub epoch: Option<Epoch>,
    /// A stop was asked for, at once.
    pub stop_kill: bool,
    /// Resolutions wait that the session's journal does not have yet.
    pub unapplied: bool,
}

/// What a task's authority rests on, as it stands now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskAuthority {
    /// When the proposer was disabled.
    pub proposer_disabled_at: Option<Micros>,
    /// The proposer's role in the task's project; none when no longer a member.
    pub role: Option<Role>,
    /// When the token was revoked.
    pub token_revoked_at: Option<Micros>,
    /// When the token ends.
    pub token_expires_at: Option<Micros>,
    /// The most that the token allows.
    pub token_role: Option<Role>,
    /// The only project of the token.
    pub token_project: Option<ProjectId>,
    /// When the project was archived.
    pub project_archived_at: Option<Micros>,
    /// The proposer's name.
    pub proposer_name: String,
    /// The project's name.
    pub project_name: String,
    /// The name of the session's runtime, also when it was removed.
    pub runtime_name: String,
}

fn decode_admission(row: &Row) -> Result<AdmissionRow, StoreError> {
    Ok(AdmissionRow {
        authorisation_version: row.int("authorisation_version")?,
        state: row.parse("state")?,
        turn: row.opt_parse("turn")?,
        epoch: row.opt_int("epoch")?.map(Epoch),
        stop_kill: row.flag("stop_kill")?,
        unapplied: row.opt_int("unapplied")?.is_some(),
    })
}

fn decode_authority(row: &Row) -> Result<TaskAuthority, StoreError> {
    Ok(TaskAuthority {
        proposer_disabled_at: decode::opt_micros(row, "disabled_at")?,
        role: row.opt_parse("role")?,
        token_revoked_at: decode::opt_micros(row, "revoked_at")?,
        token_expires_at: decode::opt_micros(row, "expires_at")?,
        token_role: row.opt_parse("token_role")?,
        token_project: row.opt_parse("token_project")?,
        project_archived_at: decode::opt_micros(row, "archived_at")?,
        proposer_name: row.text("proposer_name")?.to_owned(),
        project_name: row.text("project_name")?.to_owned(),
        runtime_name: row.text("runtime_name")?.to_owned(),
    })
}

impl Ledger {
    /// How a task stands, in one snapshot with the authorisation version.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn admission(&self, task: TaskId) -> Result<Option<AdmissionRow>, StoreError> {
        decode::first(&self.db.glance(ADMISSION, params![task]).await?, decode_admission)
    }

    /// What a task's authority rests on.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn authority_of(&self, task: TaskId) -> Result<Option<TaskAuthority>, StoreError> {
        decode::first(&self.db.fetch(AUTHORITY, params![task]).await?, decode_authority)
    }
}
