//! A task: a durable unit of approved work. Its state lives in the ledger.

use crate::words::words;
use crate::{
    AccountId, Micros, TurnId,
    transition::{Epoch, Refusal, Transition},
    words::{FailReason, ReportStatus, UnknownReason},
};
use serde::{Deserialize, Serialize};

words!(/// The word of a task's state.
TaskStateWord, "a task state" {
    /// Submitted, not yet approved.
    Proposed = "proposed",
    /// Approved; waits for its session.
    Accepted = "accepted",
    /// Its turn is with the runtime.
    Running = "running",
    /// Somebody asked it to stop.
    StopRequested = "stop_requested",
    /// The runtime ended its turn and nothing is uncertain.
    Completed = "completed",
    /// It ended, and not as wished.
    Failed = "failed",
    /// It was stopped, and that is proved.
    Stopped = "stopped",
    /// It was not approved, or the approval was withdrawn before the start.
    Rejected = "rejected",
    /// It ended, and something is uncertain.
    Unknown = "unknown",
});

impl TaskStateWord {
    /// Whether no move leads out of it.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Stopped | Self::Rejected)
    }
}

/// A claim to start: which turn, by the holder of which epoch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// The turn that carries the task's prompt.
    pub turn: TurnId,
    /// The epoch of the worker that claimed it last.
    pub epoch: Epoch,
    /// When it was claimed first.
    pub since: Micros,
}

/// A wish that a task stop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StopRequest {
    /// Who asked; nobody when its deadline passed.
    pub by: Option<AccountId>,
    /// When it was asked first.
    pub at: Micros,
    /// Go to SIGKILL at once.
    pub kill: bool,
}

/// What proves that a task was stopped.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum StopEvidence {
    /// It was stopped before any process was started or any prompt sent for it.
    NeverStarted,
    /// Every process of the session is gone.
    ContainerEmpty {
        /// The kernel's means that counted them: `pid_namespace`, ...
        means: String,
        /// When that was seen.
        at: Micros,
        /// What was seen, in words.
        proof: String,
    },
}

/// How a task ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case", deny_unknown_fields)]
pub enum End {
    /// The runtime says that it ended its turn.
    Completed {
        /// What the agent reported of its work, if it did.
        report: Option<ReportStatus>,
    },
    /// It failed.
    Failed {
        /// Why, as a word.
        reason: FailReason,
        /// Why, in words; redacted.
        detail: String,
    },
    /// It was stopped.
    Stopped {
        /// What proves it.
        evidence: StopEvidence,
    },
}

/// A task's state; each owns its data.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// Submitted, not yet approved.
    Proposed,
    /// Approved and durable.
    Accepted {
        /// Who approved.
        by: AccountId,
        /// When.
        at: Micros,
    },
    /// Claimed by a worker.
    Running {
        /// The claim.
        run: Run,
    },
    /// Claimed, and asked to stop.
    StopRequested {
        /// The claim.
        run: Run,
        /// The wish.
        stop: StopRequest,
    },
    /// Ended, with nothing uncertain.
    Ended {
        /// How.
        end: End,
        /// When.
        at: Micros,
    },
    /// Not approved.
    Rejected {
        /// By whom.
        by: AccountId,
        /// When.
        at: Micros,
        /// Why.
        reason: String,
    },
    /// Ended, with something uncertain.
    Unknown {
        /// The end that it takes when the last uncertainty is settled.
        then: End,
        /// What is uncertain.
        reason: UnknownReason,
        /// Since when.
        at: Micros,
    },
}

/// What can be asked of a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TaskCommand {
    /// A member approves it.
    Approve {
        /// Who.
        by: AccountId,
    },
    /// A member rejects it, or withdraws the approval before the start.
    Reject {
        /// Who.
        by: AccountId,
        /// Why.
        reason: String,
    },
    /// The session's worker claims it, or claims it again after a worker's death.
    Claim {
        /// The turn that carries it. A claim made again keeps the first one's turn.
        turn: TurnId,
        /// The worker's epoch.
        epoch: Epoch,
    },
    /// A member asks it to stop, or its deadline passed.
    Stop {
        /// Who asks; nobody when its deadline passed.
        by: Option<AccountId>,
        /// At once, by SIGKILL.
        kill: bool,
    },
    /// The journal says how its turn ended, and what stayed uncertain.
    Conclude {
        /// The epoch of who read the journal.
        epoch: Epoch,
        /// How it ended.
        end: End,
        /// What is uncertain, if anything.
        uncertain: Option<UnknownReason>,
    },
    /// The last uncertainty was settled by evidence.
    Settle,
}

impl TaskCommand {
    const fn verb(&self) -> &'static str {
        match self {
            Self::Approve { .. } => "approve it",
            Self::Reject { .. } => "reject it",
            Self::Claim { .. } => "start it",
            Self::Stop { .. } => "stop it",
            Self::Conclude { .. } => "end it",
            Self::Settle => "settle it",
        }
    }
}

impl TaskState {
    /// The state's word.
    #[must_use]
    pub const fn word(&self) -> TaskStateWord {
        match self {
            Self::Proposed => TaskStateWord::Proposed,
            Self::Accepted { .. } => TaskStateWord::Accepted,
            Self::Running { .. } => TaskStateWord::Running,
            Self::StopRequested { .. } => TaskStateWord::StopRequested,
            Self::Ended { end: End::Completed { .. }, .. } => TaskStateWord::Completed,
            Self::Ended { end: End::Failed { .. }, .. } => TaskStateWord::Failed,
            Self::Ended { end: End::Stopped { .. }, .. } => TaskStateWord::Stopped,
            Self::Rejected { .. } => TaskStateWord::Rejected,
            Self::Unknown { .. } => TaskStateWord::Unknown,
        }
    }

    /// The claim, while one is in force.
    #[must_use]
    pub const fn run(&self) -> Option<&Run> {
        match self {
            Self::Running { run } | Self::StopRequested { run, .. } => Some(run),
            Self::Proposed
            | Self::Accepted { .. }
            | Self::Ended { .. }
            | Self::Rejected { .. }
            | Self::Unknown { .. } => None,
        }
    }

    /// The wish that it stop, while one is in force.
    #[must_use]
    pub const fn stop(&self) -> Option<&StopRequest> {
        match self {
            Self::StopRequested { stop, .. } => Some(stop),
            Self::Proposed
            | Self::Accepted { .. }
            | Self::Running { .. }
            | Self::Ended { .. }
            | Self::Rejected { .. }
            | Self::Unknown { .. } => None,
        }
    }

    /// The one place that knows which moves a task can make.
    ///
    /// # Errors
    /// A [`Refusal`] that says why the command does not apply; the state stays.
    pub fn decide(&self, command: TaskCommand, now: Micros) -> Result<Transition<Self>, Refusal> {
        let to = match self {
            Self::Proposed => Self::from_proposed(command, now),
            Self::Accepted { .. } => Self::from_accepted(command, now),
            Self::Running { run } => Self::from_running(run, command, now),
            Self::StopRequested { run, stop } => Self::from_stop_requested(run, stop, command, now),
            Self::Unknown { then, .. } => Self::from_unknown(then, &command, now),
            Self::Ended { .. } | Self::Rejected { .. } => Err(Refusal::Final { state: self.word().as_str() }),
        }?;
        Ok(Transition::new(self.clone(), to, now))
    }

    fn from_proposed(command: TaskCommand, now: Micros) -> Result<Self, Refusal> {
        match command {
            TaskCommand::Approve { by } => Ok(Self::Accepted { by, at: now }),
            TaskCommand::Reject { by, reason } => Ok(Self::Rejected { by, at: now, reason }),
            TaskCommand::Claim { .. }
            | TaskCommand::Stop { .. }
            | TaskCommand::Conclude { .. }
            | TaskCommand::Settle => Err(not_now(&command, TaskStateWord::Proposed)),
        }
    }

    fn from_accepted(command: TaskCommand, now: Micros) -> Result<Self, Refusal> {
        match command {
            TaskCommand::Approve { .. } => Err(Refusal::Already { state: "accepted" }),
            TaskCommand::Reject { by, reason } => Ok(Self::Rejected { by, at: now, reason }),
            TaskCommand::Claim { turn, epoch } => Ok(Self::Running { run: Run { turn, epoch, since: now } }),
            TaskCommand::Stop { .. } => {
                Ok(Self::Ended { end: End::Stopped { evidence: StopEvidence::NeverStarted }, at: now })
            }
            TaskCommand::Conclude { .. } | TaskCommand::Settle => {
                Err(not_now(&command, TaskStateWord::Accepted))
            }
        }
    }

    fn from_running(run: &Run, command: TaskCommand, now: Micros) -> Result<Self, Refusal> {
        match command {
            TaskCommand::Claim { epoch, .. } => Ok(Self::Running { run: reclaim(run, epoch)? }),
            TaskCommand::Stop { by, kill } => {
                Ok(Self::StopRequested { run: run.clone(), stop: StopRequest { by, at: now, kill } })
            }
            // Nobody asked for a stop, so none can be claimed.
            TaskCommand::Conclude { end: End::Stopped { .. }, .. } => Err(Refusal::NoEvidence),
            TaskCommand::Conclude { epoch, end, uncertain } => conclude(run, epoch, end, uncertain, now),
            TaskCommand::Approve { .. } => Err(Refusal::Already { state: "running" }),
            TaskCommand::Reject { .. } | TaskCommand::Settle => {
                Err(not_now(&command, TaskStateWord::Running))
            }
        }
    }

    fn from_stop_requested(
        run: &Run,
        stop: &StopRequest,
        command: TaskCommand,
        now: Micros,
    ) -> Result<Self, Refusal> {
        match command {
            TaskCommand::Claim { epoch, .. } => {
                Ok(Self::StopRequested { run: reclaim(run, epoch)?, stop: stop.clone() })
            }
            TaskCommand::Stop { kill: true, .. } if !stop.kill => {
                Ok(Self::StopRequested { run: run.clone(), stop: StopRequest { kill: true, ..stop.clone() } })
            }
            TaskCommand::Stop { .. } => Err(Refusal::Already { state: "stop_requested" }),
            TaskCommand::Conclude { epoch, end, uncertain } => conclude(run, epoch, end, uncertain, now),
            TaskCommand::Approve { .. } | TaskCommand::Reject { .. } | TaskCommand::Settle => {
                Err(not_now(&command, TaskStateWord::StopRequested))
            }
        }
    }

    fn from_unknown(then: &End, command: &TaskCommand, now: Micros) -> Result<Self, Refusal> {
        match command {
            TaskCommand::Settle => Ok(Self::Ended { end: then.clone(), at: now }),
            TaskCommand::Conclude { .. } => Err(Refusal::Already { state: "unknown" }),
            TaskCommand::Approve { .. }
            | TaskCommand::Reject { .. }
            | TaskCommand::Claim { .. }
            | TaskCommand::Stop { .. } => Err(not_now(command, TaskStateWord::Unknown)),
        }
    }
}

const fn not_now(command: &TaskCommand, state: TaskStateWord) -> Refusal {
    Refusal::NotNow { command: command.verb(), state: state.as_str() }
}

fn reclaim(run: &Run, epoch: Epoch) -> Result<Run, Refusal> {
    if epoch < run.epoch {
        return Err(Refusal::Stale { writer: epoch, current: run.epoch });
    }
    if epoch == run.epoch {
        return Err(Refusal::Already { state: "running" });
    }
    Ok(Run { epoch, ..run.clone() })
}

fn conclude(
    run: &Run,
    epoch: Epoch,
    end: End,
    uncertain: Option<UnknownReason>,
    now: Micros,
) -> Result<TaskState, Refusal> {
    if epoch < run.epoch {
        return Err(Refusal::Stale { writer: epoch, current: run.epoch });
    }
    Ok(match uncertain {
        Some(reason) => TaskState::Unknown { then: end, reason, at: now },
        None => TaskState::Ended { end, at: now },
    })
}
