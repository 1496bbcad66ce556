//! Events: past facts, in the past tense, in a session's journal or in the ledger.

use crate::words::words;
use crate::{Micros, SessionId, TaskId, TurnId, transition::Epoch};
use serde::{Deserialize, Serialize};
use serde_json::Value;

words!(/// Which log an event is in.
Log, "a log" {
    /// What was asked, allowed and decided.
    Ledger = "ledger",
    /// What one session did.
    Journal = "journal",
});

words!(/// What happened. The word's first part names the thing, the second the fact.
EventType, "an event type" {
    /// A task was submitted.
    TaskSubmitted = "task.submitted",
    /// A member approved it.
    TaskApproved = "task.approved",
    /// A member rejected it, or withdrew the approval.
    TaskRejected = "task.rejected",
    /// A worker claimed it.
    TaskStarted = "task.started",
    /// A worker with a higher epoch claimed it again: no prompt had been sent.
    TaskRestarted = "task.restarted",
    /// A member asked it to stop.
    TaskStopRequested = "task.stop_requested",
    /// A member asked for SIGKILL at once, after a stop had been asked.
    TaskKillRequested = "task.kill_requested",
    /// It ended, completed.
    TaskCompleted = "task.completed",
    /// It ended, failed.
    TaskFailed = "task.failed",
    /// It ended, stopped, with evidence.
    TaskStopped = "task.stopped",
    /// It ended, with something uncertain.
    TaskUnknown = "task.unknown",
    /// It was continued by a new task: by a member, or by its own policy.
    TaskResumed = "task.resumed",
    /// Its policy wants it to go on by itself, and it does not: it waits for a member.
    TaskHeld = "task.held",
    /// A person settled what the runtime's own tools, or a lost journal, had left uncertain.
    TaskResolved = "task.resolved",
    /// Evidence settled an operation whose outcome was unknown.
    OperationResolved = "operation.resolved",
    /// Evidence came that says otherwise; the state stays.
    OperationContradicted = "operation.contradicted",
    /// A person took note of evidence to the contrary.
    OperationAcknowledged = "operation.acknowledged",
    /// A person asked for a look whether a call has happened.
    OperationVerificationAsked = "operation.verification_asked",
    /// A look whether a call has happened was admitted, and was sent next.
    OperationLookAdmitted = "operation.look_admitted",
    /// What a look whether a call has happened came to.
    OperationVerified = "operation.verified",
    /// A grant was made.
    GrantAdded = "grant.added",
    /// A grant was renewed: what had changed of its tools' definitions is pinned.
    GrantRenewed = "grant.renewed",
    /// A tool was seen with another definition than the one pinned under the grant: it is not used any more.
    GrantDefinitionChanged = "grant.definition_changed",
    /// A grant was revoked.
    GrantRevoked = "grant.revoked",
    /// A call, or a tool of the runtime's own, waits in the inbox for a person's leave.
    ApprovalAsked = "approval.asked",
    /// A person gave leave.
    ApprovalAllowed = "approval.allowed",
    /// A person refused leave.
    ApprovalDenied = "approval.denied",
    /// The leave was used, by the one request that it was for.
    ApprovalUsed = "approval.used",
    /// Nobody answered, or used the answer, in time.
    ApprovalExpired = "approval.expired",
    /// The request is no longer of use: the turn ended, a stop came, or its authority was lost.
    ApprovalWithdrawn = "approval.withdrawn",
    /// A person took leave back: an answer that was not used yet, or a permission for the rest of a task.
    ApprovalRevoked = "approval.revoked",
    /// An account that may act in the project was disabled.
    AccountDisabled = "account.disabled",
    /// It was enabled again.
    AccountEnabled = "account.enabled",
    /// A token that was good for the project was revoked.
    TokenRevoked = "token.revoked",
    /// Settings or secrets of a connection were changed of which something was granted.
    ConnectionChanged = "connection.changed",
    /// A connection was removed of which something was granted.
    ConnectionRemoved = "connection.removed",
    /// A member was added, or the role changed.
    MemberSet = "member.set",
    /// A member was removed.
    MemberRemoved = "member.removed",
    /// A project was made.
    ProjectAdded = "project.added",
    /// How a project is worked in was changed.
    ProjectSet = "project.set",
    /// A project was archived.
    ProjectArchived = "project.archived",
    /// A session was made.
    SessionAdded = "session.added",
    /// A session was closed.
    SessionClosed = "session.closed",

    /// A worker took the session's lock.
    WorkerStarted = "worker.started",
    /// A worker gave the session back.
    WorkerEnded = "worker.ended",
    /// A dead worker's journal was classified.
    SessionRecovered = "session.recovered",
    /// The runtime's process was started in its container.
    RuntimeStarted = "runtime.started",
    /// The runtime answered its first requests: name, version, capabilities.
    RuntimeReady = "runtime.ready",
    /// The runtime's process ended.
    RuntimeEnded = "runtime.ended",
    /// The runtime's own conversation could not be loaded: it starts without its history.
    ContextLost = "session.context_lost",
    /// A turn was opened for a task.
    TurnStarted = "turn.started",
    /// The prompt's intent was committed; the prompt was sent next.
    TurnPrompted = "turn.prompted",
    /// The runtime's turn was over with calls in flight.
    TurnSettling = "turn.settling",
    /// The turn was over.
    TurnEnded = "turn.ended",
    /// The prompt begins with a recovery note: what is on record of the work that the task continues.
    TurnNoted = "turn.noted",
    /// What the session runs reached one of its limits, and was refused or killed for it.
    LimitReached = "container.limit_reached",
    /// A step of the stop ladder was taken.
    StopStep = "stop.step",
    /// Every process of the session was seen to be gone.
    ContainerEmpty = "container.empty",
    /// The task lost authority, or a part of it; names what was in flight at that moment, which is not undone.
    AuthorityChanged = "authority.changed",
    /// A call was refused.
    OperationDenied = "operation.denied",
    /// A call waits for a person's leave.
    OperationAwaitingApproval = "operation.awaiting_approval",
    /// The leave was not given in time.
    OperationExpired = "operation.expired",
    /// The leave is no longer of use.
    OperationWithdrawn = "operation.withdrawn",
    /// A call's intent was committed.
    OperationAdmitted = "operation.admitted",
    /// A call succeeded.
    OperationSucceeded = "operation.succeeded",
    /// A call failed.
    OperationFailed = "operation.failed",
    /// A call was proved never to have been sent.
    OperationNotSent = "operation.not_sent",
    /// A call may have happened.
    OperationUnknown = "operation.unknown",
    /// The upstream answered a call with a question; a further round may carry the answer.
    OperationInputRequired = "operation.input_required",
    /// The intent of a call's further round was committed.
    OperationContinued = "operation.continued",
    /// The upstream carries a call out as a task, and has named it.
    OperationUpstreamTask = "operation.upstream_task",
    /// The runtime asked for a call again whose result had not reached it: it was given that, and nothing was sent.
    OperationRedelivered = "operation.redelivered",
    /// Nobody will find out what became of a call.
    OperationAbandoned = "operation.abandoned",
    /// The agent reported its result.
    AgentReported = "agent.reported",
    /// The agent said something.
    AgentMessage = "agent.message",
    /// The agent showed a thought.
    AgentThought = "agent.thought",
    /// The runtime repeated what the user had said.
    UserMessage = "user.message",
    /// The agent's plan.
    AgentPlan = "agent.plan",
    /// A tool call as the runtime shows it.
    ToolCall = "tool.call",
    /// News of a tool call as the runtime shows it.
    ToolUpdate = "tool.update",
    /// Tokens and cost, as the runtime tells them.
    Usage = "runtime.usage",
    /// The runtime asked for leave for a tool of its own.
    PermissionAsked = "permission.asked",
    /// It was answered.
    PermissionAnswered = "permission.answered",
    /// An artifact is kept, is only referenced, or could not be kept, and why.
    ArtifactRecorded = "artifact.recorded",
    /// The files that a turn left or changed in the workspace.
    WorkspaceListed = "workspace.listed",
    /// A member made an artifact of a file in a task's workspace.
    ArtifactPublished = "artifact.published",
    /// A member removed an artifact's content.
    ArtifactRemoved = "artifact.removed",
    /// A member set how much a project's artifacts may hold.
    ArtifactQuotaSet = "project.artifact_quota_set",
    /// Something odd that somebody may want to know: a line that was no JSON, an unknown update, stderr.
    Diagnostic = "diagnostic",
});

/// An event that is about to be written: the store gives it its number and its link in the chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// What happened.
    pub kind: EventType,
    /// Whose task it is about.
    pub task: Option<TaskId>,
    /// In which turn.
    pub turn: Option<TurnId>,
    /// When.
    pub at: Micros,
    /// What there is to say; redacted, bounded.
    pub data: Value,
}

/// An event as it stands in its log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Which log.
    pub log: Log,
    /// Its number there: from 1, without gaps.
    pub seq: i64,
    /// The number of the same task's previous event in this log.
    pub prev: Option<i64>,
    /// The session, for a journal's event.
    pub session: Option<SessionId>,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// The turn it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The epoch of the writer, for a journal's event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Epoch>,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// When.
    pub at: Micros,
    /// What there is to say.
    pub data: Value,
}
