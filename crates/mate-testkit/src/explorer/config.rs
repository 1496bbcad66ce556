//! What is explored: the kind of stores, the two operations, what may go wrong, and which rule is broken on purpose.

use mate_model::words::EffectClass;

/// Who can hold a session's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stores {
    /// The kernel holds the lock for a process until it is dead: a frozen worker keeps it.
    Embedded,
    /// The lock is a lease: a frozen worker loses it, and may wake as a stale writer.
    Shared,
}

/// What one operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tool {
    /// What its call may change.
    pub class: EffectClass,
    /// It needs a person's leave. At most one of the two operations may.
    pub approval: bool,
}

/// A rule of the protocol that is broken on purpose, to see that the exploration notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// The call is sent first and its intent is written afterwards.
    DispatchBeforeIntent,
    /// The ledger is not read again after the intent.
    NoSecondRead,
    /// The journal takes writes of any epoch.
    NoJournalFence,
    /// A worker's ledger writes do not name the session's epoch; only the task's own check stands.
    NoLedgerFence,
    /// A stop after the prompt is concluded without ending the container and without evidence.
    StopWithoutEvidence,
    /// After the prompt the evidence is written and the container is not ended.
    EvidenceWithoutEnding,
    /// A stop before the prompt, with the runtime launched already, does not end the container.
    StopFirstKeepsContainer,
    /// Recovery does not make sure that the container is empty.
    RecoverWithoutEmptying,
    /// Recovery writes no evidence for a turn that it finds ended, and gives up when its end needs some.
    EndedTurnWithoutEvidence,
    /// Recovery sends a call again whose intent has no outcome.
    DispatchAgain,
    /// Recovery prompts again after a prompt's intent.
    PromptAgain,
    /// Recovery says that a call with an intent and no outcome was not sent.
    LostIsNotSent,
    /// A worker that was given leave does not mark it as used.
    LeaveNotUsed,
    /// A stale worker's keeper starts a container although the lease is lost.
    KeeperWithoutDeadline,
    /// A worker whose turn is over does not wait for the calls in flight.
    CloseWithoutSettling,
    /// A worker that a stale write was refused to goes on waiting for ever.
    StaleWorkerStays,
    /// A late answer is written to the journal, past the ledger.
    LateIntoJournal,
    /// Later evidence takes the place of the first.
    LastEvidenceWins,
    /// A resolution counts as copied before the journal has it.
    AppliedBeforeCopied,
    /// A task is settled when one of its calls is.
    SettleTooEarly,
    /// Nobody but the resolver looks whether a task can be settled.
    SettleForgotten,
}

/// One exploration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Where the states live.
    pub stores: Stores,
    /// The two operations that the runtime may ask for.
    pub tools: [Tool; 2],
    /// How many crashes may come: of a worker, the container, the coordinator, or everything at once.
    pub crashes: u8,
    /// How often a worker may be frozen, or the coordinator be hasty.
    pub freezes: u8,
    /// Whether members may also revoke the authority and ask for SIGKILL at once, and upstreams answer with errors.
    pub full: bool,
    /// Whether people also resolve calls, rightly or wrongly.
    pub resolves: bool,
    /// What is broken on purpose.
    pub flaw: Option<Flaw>,
    /// States after which the exploration gives up.
    pub limit: usize,
}

impl Flaw {
    /// Every flaw that the explorer must notice.
    pub const ALL: &'static [Self] = &[
        Self::DispatchBeforeIntent,
        Self::NoSecondRead,
        Self::NoJournalFence,
        Self::NoLedgerFence,
        Self::StopWithoutEvidence,
        Self::EvidenceWithoutEnding,
        Self::StopFirstKeepsContainer,
        Self::RecoverWithoutEmptying,
        Self::EndedTurnWithoutEvidence,
        Self::DispatchAgain,
        Self::PromptAgain,
        Self::LostIsNotSent,
        Self::LeaveNotUsed,
        Self::KeeperWithoutDeadline,
        Self::CloseWithoutSettling,
        Self::StaleWorkerStays,
        Self::LateIntoJournal,
        Self::LastEvidenceWins,
        Self::AppliedBeforeCopied,
        Self::SettleTooEarly,
        Self::SettleForgotten,
    ];

    /// The broken rule, in words.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::DispatchBeforeIntent => "a call is sent before its intent is committed",
            Self::NoSecondRead => "the ledger is not read again after the intent",
            Self::NoJournalFence => "the journal takes writes of any epoch",
            Self::NoLedgerFence => "a worker's ledger writes do not name the session's epoch",
            Self::StopWithoutEvidence => "a stop after the prompt is concluded without ending the container",
            Self::EvidenceWithoutEnding => {
                "after the prompt the end of the container is written and does not happen"
            }
            Self::StopFirstKeepsContainer => "a stop before the prompt leaves a launched runtime alive",
            Self::RecoverWithoutEmptying => "recovery does not empty the container",
            Self::EndedTurnWithoutEvidence => "recovery writes no evidence for a turn that it finds ended",
            Self::DispatchAgain => "recovery sends a call again",
            Self::PromptAgain => "recovery prompts again",
            Self::LostIsNotSent => "recovery says `not_sent` of a call with an intent",
            Self::LeaveNotUsed => "a leave is taken and not marked as used",
            Self::KeeperWithoutDeadline => "a container is started after the lease was lost",
            Self::CloseWithoutSettling => "a turn is ended with calls in flight",
            Self::StaleWorkerStays => "a worker that was refused as stale stays",
            Self::LateIntoJournal => "a late answer is written to the journal alone",
            Self::LastEvidenceWins => "later evidence takes the place of the first",
            Self::AppliedBeforeCopied => "a resolution counts as copied before it is",
            Self::SettleTooEarly => "a task is settled when one of its calls is",
            Self::SettleForgotten => "nobody but the resolver settles a task",
        }
    }
}

impl Config {
    /// The usual bounds: two effects, one crash and another one during its recovery.
    #[must_use]
    pub const fn new(stores: Stores) -> Self {
        let effect = Tool { class: EffectClass::Effect, approval: false };
        Self {
            stores,
            tools: [effect; 2],
            crashes: 2,
            freezes: 1,
            full: false,
            resolves: false,
            flaw: None,
            limit: 4_000_000,
        }
    }

    /// The same with these operations.
    #[must_use]
    pub const fn with_tools(mut self, tools: [Tool; 2]) -> Self {
        self.tools = tools;
        self
    }

    /// The same with these many crashes and freezes.
    #[must_use]
    pub const fn with_faults(mut self, crashes: u8, freezes: u8) -> Self {
        self.crashes = crashes;
        self.freezes = freezes;
        self
    }

    /// The same with revocation, SIGKILL at once, and errors from upstreams.
    #[must_use]
    pub const fn in_full(mut self) -> Self {
        self.full = true;
        self
    }

    /// The same with people who resolve calls.
    #[must_use]
    pub const fn resolving(mut self) -> Self {
        self.resolves = true;
        self
    }

    /// The same with a rule broken.
    #[must_use]
    pub const fn with_flaw(mut self, flaw: Flaw) -> Self {
        self.flaw = Some(flaw);
        self
    }

    pub(super) fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }
}
