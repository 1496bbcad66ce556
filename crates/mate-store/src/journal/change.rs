//! What can be written to a journal.

use mate_model::{
    ArtifactId, Micros, OperationId, Transition, TurnId,
    event::Draft,
    operation::{OperationState, Permit},
    records::{Artifact, ArtifactContent, Operation, Turn},
    round::RoundState,
    task::StopEvidence,
    turn::{PromptPermit, TurnState},
    words::{Context, ReportStatus},
};

/// One change; a write is a list of them, all or none.
#[derive(Clone, Debug)]
pub enum Change {
    /// A turn begins; its state must be `starting`.
    OpenTurn(Turn),
    /// A turn moves on.
    MoveTurn {
        /// Which turn.
        turn: TurnId,
        /// The move.
        transition: Transition<TurnState>,
        /// What the agent reported, if that is news.
        report: Option<ReportStatus>,
        /// What proves that the container is empty, if that is news.
        evidence: Option<StopEvidence>,
    },
    /// An operation's first row: it is born with what was judged.
    AddOperation {
        /// The operation; its state is the one that the move leads to.
        operation: Box<Operation>,
        /// The move from `requested`.
        transition: Transition<OperationState>,
    },
    /// An operation moves on.
    MoveOperation {
        /// Which operation.
        id: OperationId,
        /// The move.
        transition: Transition<OperationState>,
        /// What is known of the call by now.
        facts: OperationFacts,
    },
    /// The agent reported its result.
    SetReport {
        /// In which turn.
        turn: TurnId,
        /// What it said.
        status: ReportStatus,
    },
    /// How many tools of the runtime's own are at work, as it shows them.
    SetOwnActivity {
        /// In which turn.
        turn: TurnId,
        /// How many.
        count: i64,
    },
    /// The container was seen to be empty.
    SetEvidence {
        /// For which turn.
        turn: TurnId,
        /// What proves it.
        evidence: StopEvidence,
    },
    /// An event.
    Event(Draft),
    /// What the runtime knows of the conversation when a turn's prompt reaches it.
    SetContext {
        /// Which turn.
        turn: TurnId,
        /// What it knows.
        context: Context,
        /// The runtime's own id of the conversation, for loading it later; none when it cannot be kept.
        conversation: Option<String>,
        /// The recovery note that the prompt begins with.
        note: Option<String>,
    },
    /// A round of a call that takes several begins, or the first one's question has come.
    AddRound(super::Round),
    /// A round moves on; with the move to `continued`, the next round begins: its intent.
    MoveRound {
        /// Of which operation.
        operation: OperationId,
        /// The round's number.
        round: i64,
        /// The move.
        transition: Transition<RoundState>,
    },
    /// Whoever resolved the operation allows one identical call.
    PermitRepeat {
        /// Which operation may be repeated.
        operation: OperationId,
    },
    /// What decided of an operation's call is another than at first, at the second read.
    Decide {
        /// Of which operation.
        operation: OperationId,
        /// The decision, with both reads.
        decision: serde_json::Value,
    },
    /// A success that the runtime has not heard of yet.
    KeepResult {
        /// Whose.
        operation: OperationId,
        /// The result, sealed; none when it is too large to be kept.
        sealed: Option<Vec<u8>>,
    },
    /// The upstream carries a call out as a task, and has named it; the first name stands.
    NoteUpstreamTask {
        /// Which call.
        operation: OperationId,
        /// Its name.
        task: super::UpstreamTask,
    },
    /// An artifact, as it stands by now: promised with the outcome of a call, or settled at once.
    AddArtifact {
        /// In which turn.
        turn: TurnId,
        /// The artifact.
        artifact: Box<Artifact>,
    },
    /// What became of an artifact that was promised.
    SettleArtifact {
        /// Which.
        id: ArtifactId,
        /// How it stands.
        content: ArtifactContent,
    },
    /// The ledger has an artifact as it stands.
    ProjectedArtifact {
        /// Which.
        id: ArtifactId,
    },
    /// The runtime has heard of the success.
    DropResult {
        /// Of which one.
        operation: OperationId,
    },
}

/// What is known of a call; what is none here stays as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperationFacts {
    /// When the first byte was handed to the upstream's stream, at the earliest.
    pub sent_at: Option<Micros>,
    /// When the answer was there.
    pub answered_at: Option<Micros>,
    /// From sent to answered, by a clock that never goes back; microseconds.
    pub duration_us: Option<i64>,
    /// The size of the result, in bytes of JSON.
    pub result_size: Option<i64>,
    /// What the result is made of.
    pub result_type: Option<String>,
}

/// A write that is durable.
#[derive(Debug)]
pub struct Written {
    /// Permissions to send, one for each intent of the write.
    pub permits: Vec<Permit>,
    /// The permission to send the prompt, when the write had its intent.
    pub prompt: Option<PromptPermit>,
    /// The number of the journal's last event.
    pub seq: i64,
}

impl Written {
    /// What follows from changes that are durable.
    pub(super) fn of(changes: &[Change], seq: i64) -> Self {
        let mut written = Self { permits: Vec::new(), prompt: None, seq };
        for change in changes {
            match change {
                Change::AddOperation { operation, transition } => {
                    written.permits.extend(transition.committed_intent(operation.id));
                }
                Change::MoveOperation { id, transition, .. } => {
                    written.permits.extend(transition.committed_intent(*id));
                }
                Change::MoveRound { operation, transition, .. } => {
                    written.permits.extend(transition.committed_round(*operation));
                }
                Change::MoveTurn { transition, .. } => {
                    written.prompt = transition.committed_prompt().or(written.prompt);
                }
                Change::OpenTurn(_)
                | Change::SetReport { .. }
                | Change::SetOwnActivity { .. }
                | Change::SetEvidence { .. }
                | Change::Event(_)
                | Change::SetContext { .. }
                | Change::AddRound(_)
                | Change::PermitRepeat { .. }
                | Change::Decide { .. }
                | Change::KeepResult { .. }
                | Change::NoteUpstreamTask { .. }
                | Change::AddArtifact { .. }
                | Change::SettleArtifact { .. }
                | Change::ProjectedArtifact { .. }
                | Change::DropResult { .. } => {}
            }
        }
        written
    }
}
