//! Closed sets of words: the same word in code, SQL, JSON, the command line and the documents.

/// A text that is not one of the words allowed in its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{got}` is not {wanted}; one of: {allowed}")]
pub struct BadWord {
    /// What was expected, with its article: "an effect class".
    pub wanted: &'static str,
    /// What was found, cut to 64 characters.
    pub got: String,
    /// The allowed words, separated by commas.
    pub allowed: String,
}

/// Makes an enum whose variants are words.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident, $wanted:literal { $($(#[$vmeta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[$vmeta])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Every word of the set, in its order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::words::BadWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text).ok_or_else(|| $crate::words::BadWord {
                    wanted: $wanted,
                    got: text.chars().take(64).collect(),
                    allowed: Self::ALL.iter().map(|w| w.as_str()).collect::<Vec<_>>().join(", "),
                })
            }
        }
    };
}
pub(crate) use words;

words!(/// What a member may do in a project; each role may all that the one before it may.
Role, "a role" {
    /// Reads.
    Viewer = "viewer",
    /// Also proposes, approves, stops, answers and resolves.
    Operator = "operator",
    /// Also manages members, the use of connections, grants and retention.
    Owner = "owner",
});

words!(/// What a call may change outside; what is not known is an effect.
EffectClass, "an effect class" {
    /// Changes nothing: may be asked again.
    Read = "read",
    /// Changes something, but the same key twice changes it once.
    Idempotent = "idempotent",
    /// Changes something each time.
    Effect = "effect",
});

words!(/// When a grant wants a person's leave; each word is more cautious than the one before it.
ApprovalMode, "an approval mode" {
    /// The grant is the leave.
    Never = "never",
    /// For the first call of a tool in a task.
    Once = "once",
    /// For each call.
    Always = "always",
});

words!(/// What the agent said of its own work through the tool `agent_mate__report`.
ReportStatus, "a report status" {
    /// It did what was asked.
    Done = "done",
    /// Something stands in its way.
    Blocked = "blocked",
    /// There was nothing to do.
    NothingToDo = "nothing_to_do",
});

words!(/// Why a runtime ended its turn (ACP protocol 1, `StopReason`).
StopReason, "a stop reason" {
    /// It says that it is done.
    EndTurn = "end_turn",
    /// The model's token limit.
    MaxTokens = "max_tokens",
    /// The limit of model requests in one turn.
    MaxTurnRequests = "max_turn_requests",
    /// The model refused.
    Refusal = "refusal",
    /// It was cancelled.
    Cancelled = "cancelled",
});

words!(/// Why a task failed.
FailReason, "a reason to fail" {
    /// The runtime ended its turn without a message, a tool call or any usage.
    EmptyTurn = "empty_turn",
    /// A limit of the model or of the runtime.
    LimitReached = "limit_reached",
    /// The model refused.
    Refused = "refused",
    /// The runtime says that it was cancelled, and nobody asked for it.
    CancelledByRuntime = "cancelled_by_runtime",
    /// The process went away without a stop reason, and nothing was in flight.
    RuntimeLost = "runtime_lost",
    /// The runtime could not be launched, or did not take the session; no prompt was sent.
    StartFailed = "start_failed",
    /// The task continues an earlier one, and the runtime does not have that conversation any more; no prompt was sent.
    ContextLost = "context_lost",
    /// The runtime answered the prompt with an error.
    RuntimeError = "runtime_error",
    /// The task wanted a report, and the agent made none.
    ReportMissing = "report_missing",
});

words!(/// What the runtime knows of the session's conversation when a turn's prompt reaches it.
Context, "a context" {
    /// There was no conversation before.
    New = "new",
    /// It has the conversation so far: it never ended, or loaded it again.
    Loaded = "loaded",
    /// There was a conversation, and it begins without it.
    Lost = "lost",
});

words!(/// What happens to a task whose runtime was lost in the middle of it, with nothing uncertain.
OnInterruption, "a policy for interruptions" {
    /// Nothing, until somebody resumes it.
    Hold = "hold",
    /// It is continued without being asked, a bounded number of times.
    Resume = "resume",
});

words!(/// What happens to a call that needs a person's leave.
OnApproval, "a policy for approvals" {
    /// It waits for an answer, within bounds.
    Park = "park",
    /// It is refused at once: nobody is there.
    Deny = "deny",
});

words!(/// Why an end is uncertain.
UnknownReason, "a reason to be uncertain" {
    /// Operations whose outcome nobody knows.
    Operations = "operations",
    /// The runtime's own tools were at work when its process went away.
    OwnActivity = "own_activity",
    /// The journal is missing, or behind the epoch that the ledger recorded.
    JournalLost = "journal_lost",
});

words!(/// Why an operation was refused before its intent.
DenyReason, "a reason to deny" {
    /// The connection or the tool is not known to this session.
    UnknownTool = "unknown_tool",
    /// No grant covers the tool, or the one that did was revoked, expired or used up.
    NotGranted = "not_granted",
    /// The account, member, token or project behind the task lost its authority.
    NotAuthorised = "not_authorised",
    /// The arguments do not fit the tool's input schema.
    BadArguments = "bad_arguments",
    /// The task was asked to stop.
    AfterStop = "after_stop",
    /// No turn is running.
    NoTurn = "no_turn",
    /// An identical call may have happened: it is not repeated.
    MayHaveHappened = "may_have_happened",
    /// An identical call has happened, and the runtime had not heard of it: it is told so, and nothing is sent.
    HasHappened = "has_happened",
    /// Nobody waits for the answer any more: the caller cancelled or hung up before the intent.
    CallerGone = "caller_gone",
    /// A policy forbids it, or none permits it.
    Forbidden = "forbidden",
    /// The tool's definition is another than the one that was pinned under the grant.
    DefinitionChanged = "definition_changed",
    /// Another grant covers the call than the one that it was judged or asked under, or its effect class is another now.
    GrantChanged = "grant_changed",
    /// A limit of calls, of their rate or of what they spend is used up.
    LimitReached = "limit_reached",
    /// A person said no.
    ByPerson = "by_person",
    /// It needs a person's leave, and the task's policy is to deny.
    NobodyThere = "nobody_there",
    /// The stores cannot take its intent now.
    NotRecordable = "not_recordable",
});

words!(/// What proves an outcome.
EvidenceKind, "a kind of evidence" {
    /// The upstream's own answer to the call.
    Answer = "answer",
    /// The upstream's own answer, after the call had been given up.
    LateAnswer = "late_answer",
    /// No byte of the call left this machine's hands.
    NeverSent = "never_sent",
    /// The call changes nothing, so that its loss is a failure and no uncertainty.
    ReadOnly = "read_only",
    /// The upstream's record, fetched again.
    UpstreamRecord = "upstream_record",
    /// A verification recipe's result.
    Verification = "verification",
    /// A person's statement, with a reason.
    Person = "person",
    /// The success of a repeat under the same idempotency key.
    Repeat = "repeat",
});
