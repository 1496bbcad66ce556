//! Work as it was asked for: sessions and tasks.

use crate::containment::Containment;
use crate::{
    AccountId, Micros, ProjectId, RuntimeId, SessionId, TaskId, TokenId,
    session::SessionState,
    task::{End, Run, StopRequest, TaskState},
    transition::Transition,
    words::{FailReason, OnApproval, OnInterruption},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// One conversation with one runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Where it belongs.
    pub project: ProjectId,
    /// With whom.
    pub runtime: RuntimeId,
    /// The directory it works in, absolute.
    pub workspace: String,
    /// Who hosts it.
    pub state: SessionState,
    /// When it was made.
    pub created_at: Micros,
    /// How its latest container holds its processes; `None` before it had one.
    pub containment: Option<Containment>,
}

/// What a task wants beyond its instructions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TaskPolicy {
    /// The agent must report its result with `agent_mate__report`.
    pub require_report: bool,
    /// What happens when the runtime is lost in the middle of it, and nothing is uncertain.
    pub on_interruption: OnInterruption,
    /// How many times it and what continues it may go on by themselves, counted over all of them.
    pub max_resumes: u32,
    /// What happens to a call that needs a person's leave.
    pub on_approval: OnApproval,
    /// Without activity for so many seconds it is shown as quiet. Absent: as its runtime says.
    pub quiet_seconds: Option<u32>,
    /// So many seconds after its start it is asked to stop; 0: never. Absent: as its runtime says.
    pub deadline_seconds: Option<u32>,
}

impl TaskPolicy {
    /// The most that `max_resumes` may be.
    pub const MOST_RESUMES: u32 = 10;
    /// The longest quiet time and the latest deadline, in seconds: a year.
    pub const MOST_SECONDS: u32 = 366 * 24 * 3600;
    /// Without activity for so many seconds a task is shown as quiet where nothing else is said.
    pub const QUIET_SECONDS: u32 = 60;

    /// How long after its start the task is asked to stop, if ever.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline_seconds
            .filter(|seconds| *seconds > 0)
            .map(|seconds| Duration::from_secs(seconds.into()))
    }
}

impl Default for TaskPolicy {
    fn default() -> Self {
        Self {
            require_report: false,
            on_interruption: OnInterruption::Hold,
            max_resumes: 1,
            on_approval: OnApproval::Park,
            quiet_seconds: None,
            deadline_seconds: None,
        }
    }
}

/// A durable unit of approved work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// Where it belongs.
    pub project: ProjectId,
    /// The session that carries it.
    pub session: SessionId,
    /// Who submitted it.
    pub proposer: AccountId,
    /// The token it was submitted with: revoking it ends the task's authority.
    pub token: TokenId,
    /// What the agent is asked to do.
    pub instructions: String,
    /// What it wants beyond that.
    pub policy: TaskPolicy,
    /// Its order in its session, from 1.
    pub number: i64,
    /// The task that it continues.
    pub continues: Option<TaskId>,
    /// The task that continues it. There is at most one, apart from rejected ones.
    pub continued_by: Option<TaskId>,
    /// How many times the tasks that it continues, and it, went on by themselves.
    pub resumes: i64,
    /// Its last claim, also after its end; none when it never started.
    pub claim: Option<Run>,
    /// The last wish that it stop, also after its end; none when it was never asked to while it ran.
    pub stop: Option<StopRequest>,
    /// Its state.
    pub state: TaskState,
    /// When it was submitted.
    pub created_at: Micros,
}

impl Task {
    /// The task after a move that its store has taken.
    #[must_use]
    pub fn moved(self, state: TaskState) -> Self {
        let claim = state.run().cloned().or(self.claim);
        let stop = state.stop().cloned().or(self.stop);
        Self { state, claim, stop, ..self }
    }

    /// Whether this move ends it by an interruption after which its policy wants it to go on.
    #[must_use]
    pub fn is_interrupted_by(&self, transition: &Transition<TaskState>) -> bool {
        let lost = matches!(
            transition.to(),
            TaskState::Ended { end: End::Failed { reason: FailReason::RuntimeLost, .. }, .. }
        );
        lost && self.policy.on_interruption == OnInterruption::Resume
    }
}
