//! One moment of the whole: two stores, the world, the processes, and what may still go wrong.

use mate_model::operation::Verdict;

/// No row.
pub(super) const NONE: u8 = u8::MAX;

/// Where a worker's main program is; each name says what it does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum At {
    Lock,
    Empty,
    TakeOver,
    Classify,
    Claim,
    Open,
    Launch,
    Look,
    /// A stop came before the prompt: the container is ended, its proof written, then the turn is over.
    EndFirst,
    EvidenceFirst,
    Prompt,
    Send,
    Work,
    Stop,
    Finish,
    FinishNotStarted,
    FinishStopped,
    Settle,
    End,
    Evidence,
    Read,
    Conclude,
    Quit,
    Release,
}

/// Whether a process is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Life {
    Absent,
    Running,
    /// Stopped in the middle (SIGSTOP, a frozen machine); may wake at any time.
    Frozen,
}

/// Where a worker is with one call; what it has in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Stage {
    /// Nothing yet.
    New,
    /// The journal has the wait; the inbox not yet.
    Asked,
    /// Waits for a person.
    Waiting,
    /// The leave was used; the intent comes next.
    Leave,
    /// The intent is committed; the permission to send is in hand.
    Permit,
    /// The second read refused it.
    Barred,
    /// The second read passed it.
    Admitted,
    /// Sent; listens.
    Sent,
    /// Given up, but still listens.
    Late,
    /// Over.
    Done,
}

/// A worker process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Worker {
    pub(super) life: Life,
    pub(super) at: At,
    pub(super) epoch: u8,
    /// Whether the lock, or the lease, is its own in truth; it may believe otherwise.
    pub(super) holds: bool,
    pub(super) stages: [Stage; 2],
    /// The conclusion it has read, to be written next: from which task state to which.
    pub(super) from: u8,
    pub(super) to: u8,
}

impl Worker {
    pub(super) const ABSENT: Self = Self {
        life: Life::Absent,
        at: At::Lock,
        epoch: 0,
        holds: false,
        stages: [Stage::New; 2],
        from: NONE,
        to: NONE,
    };
}

/// What an upstream did with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Upstream {
    Untouched,
    Pending,
    Success,
    Error,
    /// It may have happened; no answer will come.
    Silent,
}

/// The world's side of one operation, and what the exploration remembers of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Call {
    /// How often it was sent.
    pub(super) sent: u8,
    pub(super) upstream: Upstream,
    /// A cut came while its intent was committed and its outcome was not.
    pub(super) cut: bool,
    /// When its intent was committed, it was no longer allowed.
    pub(super) late: bool,
}

/// What was found out of one call, as the ledger has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Found {
    /// The verdict that stands, if anything was found out.
    pub(super) verdict: Option<Verdict>,
    /// A person said so; else a late answer did.
    pub(super) person: bool,
    /// The ledger remembers that the journal has it.
    pub(super) applied: bool,
    /// Evidence to the contrary came.
    pub(super) contrary: bool,
}

impl Found {
    pub(super) const NOTHING: Self = Self { verdict: None, person: false, applied: false, contrary: false };
}

/// What the runtime does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Runtime {
    Silent,
    Prompted,
    SaysEnd,
    SaysCancelled,
    SaysError,
}

impl Runtime {
    /// Whether it has answered the prompt.
    pub(super) const fn has_answered(self) -> bool {
        matches!(self, Self::SaysEnd | Self::SaysCancelled | Self::SaysError)
    }
}

/// The container of the session's processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Container {
    Dead,
    /// Started by the worker in this slot.
    Of(u8),
    /// Its worker is dead; its processes die soon, or are made to.
    Orphan,
}

/// The coordinator's way from a free lock to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Coordinator {
    Idle,
    /// It has seen that nobody holds the session's lock.
    SawFree,
    /// It has recorded this epoch, and starts a worker with it next.
    Recorded(u8),
}

/// A rule that was broken on the way into a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Breach {
    None,
    StaleWrite,
    SentWithoutIntent,
    SentAfterOutcome,
    SentThoughBarred,
    SentWithoutLeave,
    PromptedWithoutIntent,
    WrongEnd,
    StaleWhileHeld,
}

/// One moment of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    // The ledger.
    pub(super) task: u8,
    pub(super) session: u8,
    pub(super) revoked: bool,
    pub(super) approval: u8,
    pub(super) found: [Found; 2],
    pub(super) own_settled: bool,
    // The journal.
    pub(super) head: u8,
    pub(super) turn: u8,
    pub(super) operations: [u8; 2],
    pub(super) evidence: bool,
    // The world.
    pub(super) container: Container,
    pub(super) runtime: Runtime,
    pub(super) prompts: u8,
    pub(super) calls: [Call; 2],
    // The processes.
    pub(super) workers: [Worker; 2],
    pub(super) coordinator: Coordinator,
    // What may still go wrong.
    pub(super) crashes: u8,
    pub(super) freezes: u8,
    pub(super) breach: Breach,
}

impl State {
    /// A task was submitted; nothing else was done.
    pub(super) const fn first(crashes: u8, freezes: u8) -> Self {
        let call = Call { sent: 0, upstream: Upstream::Untouched, cut: false, late: false };
        Self {
            task: 0,
            session: 0,
            revoked: false,
            approval: NONE,
            found: [Found::NOTHING; 2],
            own_settled: false,
            head: 0,
            turn: NONE,
            operations: [0; 2],
            evidence: false,
            container: Container::Dead,
            runtime: Runtime::Silent,
            prompts: 0,
            calls: [call; 2],
            workers: [Worker::ABSENT; 2],
            coordinator: Coordinator::Idle,
            crashes,
            freezes,
            breach: Breach::None,
        }
    }

    /// Whether a process listens for the answer to this call.
    pub(super) fn heard(&self, call: usize) -> bool {
        self.workers.iter().any(|worker| {
            worker.life != Life::Absent && matches!(worker.stages[call], Stage::Sent | Stage::Late)
        })
    }

    /// What nobody can tell apart becomes the same.
    pub(super) fn tidy(mut self, same_tools: bool) -> Self {
        for worker in &mut self.workers {
            if worker.life == Life::Absent {
                *worker = Worker::ABSENT;
            }
        }
        if self.workers[0].epoch > self.workers[1].epoch {
            self.workers.swap(0, 1);
            if let Container::Of(slot) = self.container {
                self.container = Container::Of(1 - slot);
            }
        }
        for call in 0..2 {
            if self.calls[call].upstream == Upstream::Pending && !self.heard(call) {
                self.calls[call].upstream = Upstream::Silent;
            }
            let unsent = |worker: &Worker| matches!(worker.stages[call], Stage::Permit | Stage::Admitted);
            self.calls[call].late &= self.workers.iter().any(unsent);
        }
        if same_tools {
            self.order_calls();
        }
        self
    }

    /// Two calls of the same kind that changed places make the same moment.
    fn order_calls(&mut self) {
        let key = |call: usize| {
            let stages = self.workers.map(|worker| worker.stages[call]);
            (self.operations[call], self.calls[call], self.found[call], stages)
        };
        if key(0) > key(1) {
            self.operations.swap(0, 1);
            self.calls.swap(0, 1);
            self.found.swap(0, 1);
            for worker in &mut self.workers {
                worker.stages.swap(0, 1);
            }
        }
    }
}
