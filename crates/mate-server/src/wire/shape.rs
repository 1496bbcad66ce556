//! How ids, words and other short texts look on the wire. The description of the interface is written with these; they
//! have no values.

use mate_model::{
    approval::{ApprovalKind, ApprovalStateWord, Decision},
    event::{EventType, Log},
    limit::Period,
    operation::{OperationStateWord, Verdict},
    records::{ArtifactOrigin, ArtifactState},
    session::SessionStateWord,
    task::TaskStateWord,
    words,
};
use std::borrow::Cow;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr,
        schema::{ObjectBuilder, Schema, Type},
    },
};

/// Texts of one form: name, pattern, example, meaning.
macro_rules! texts {
    ($($name:ident = $pattern:expr, $example:expr, $doc:literal;)+) => {$(
        #[doc = $doc]
        pub enum $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let object = ObjectBuilder::new().schema_type(Type::String).description(Some($doc));
                object.pattern(Some($pattern)).examples([$example]).into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                stringify!($name).into()
            }
        }
    )+};
}

macro_rules! id {
    ($prefix:literal) => {
        concat!("^", $prefix, "_[0-9a-f]{32}$")
    };
}

macro_rules! one {
    ($prefix:literal) => {
        concat!($prefix, "_0199f3a4c5d67e80912a3b4c5d6e7f80")
    };
}

texts! {
    AccountId = id!("acc"), one!("acc"), "The id of an account.";
    TokenId = id!("tok"), one!("tok"), "The id of a token; has no part of the secret.";
    ProjectId = id!("prj"), one!("prj"), "The id of a project.";
    RuntimeId = id!("rtm"), one!("rtm"), "The id of a runtime.";
    ConnectionId = id!("con"), one!("con"), "The id of a connection.";
    GrantId = id!("grt"), one!("grt"), "The id of a grant.";
    PolicyId = id!("pol"), one!("pol"), "The id of a policy.";
    SessionId = id!("ses"), one!("ses"), "The id of a session.";
    TaskId = id!("tsk"), one!("tsk"), "The id of a task.";
    TurnId = id!("trn"), one!("trn"), "The id of a turn.";
    ArtifactId = id!("art"), one!("art"), "The id of an artifact.";
    OperationId = "^op_[0-9a-f]{32}_[1-9][0-9]*$", "op_0199f3a4c5d67e80912a3b4c5d6e7f80_7",
        "The id of an operation: its session and its number there.";
    ApprovalId = "^(op_[0-9a-f]{32}_[1-9][0-9]*|own_[0-9a-f]{32}_[0-9]+_[0-9]+)$", "op_0199f3a4c5d67e80912a3b4c5d6e7f80_7",
        "The id of an approval: of a call, the operation's.";
    Time = r"^-?[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$",
        "2030-01-31T12:00:00.000000Z", "A moment: RFC 3339, UTC, with microseconds.";
    Name = "^[a-z0-9](_?[a-z0-9-])*_?$", "website",
        "A name: 1 to 64 of `a-z`, `0-9`, `_` and `-`; begins with a letter or a digit, has no `__`.";
    NameOrId = "^[^/\\u0000]+$", "website", "A name, or an id.";
    Amount = r"^[0-9]{1,13}(\.[0-9]{1,6})?$", "12.5", "An amount: digits, and at most six decimals.";
    Rate = "^[1-9][0-9]{0,6}/(s|min|h)$", "30/min", "So many calls in a second, a minute or an hour.";
    Until = r"^([0-9]{1,9}[smhdw]|[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9:.]+([Zz]|[+-][0-9:]+))$", "30d",
        "A moment in RFC 3339 (`2030-01-31T12:00:00Z`), or a time from now (`90m`, `12h`, `30d`).";
    Cursor = "^[A-Za-z0-9_-]{8,512}$", "eXd4d3ZsYWouMS50YXNrcy50c2tf",
        "An opaque cursor: the `next` of the last page, or the `id` of an event.";
    Text = "^[^\\u0000]*$", "words", "A text without a NUL character.";
    Pattern = "^[A-Za-z0-9_./:*?-]{1,128}$", "get_*", "A pattern of tool names; `*` stands for anything.";
}

/// Closed sets of words: name and the type in the model.
macro_rules! words {
    ($($name:ident = $word:ty, $doc:literal;)+) => {$(
        #[doc = $doc]
        pub enum $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let words = <$word>::ALL.iter().map(|word| word.as_str());
                let object = ObjectBuilder::new().schema_type(Type::String).description(Some($doc));
                object.enum_values(Some(words)).into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                stringify!($name).into()
            }
        }
    )+};
}

words! {
    Role = words::Role, "What a member may do; each includes the ones before.";
    EffectClass = words::EffectClass, "What a call may change outside.";
    ApprovalMode = words::ApprovalMode, "When a person is asked.";
    ReportStatus = words::ReportStatus, "What the agent said of its own work.";
    Context = words::Context, "What the runtime knew of the conversation when it was prompted.";
    OnInterruption = words::OnInterruption, "What happens when the runtime is lost and nothing is uncertain.";
    OnApproval = words::OnApproval, "What happens to a call that needs a person's leave.";
    UnknownReason = words::UnknownReason, "Why an end is uncertain.";
    DenyReason = words::DenyReason, "Why a call was refused before its intent.";
    EvidenceKind = words::EvidenceKind, "What proves an outcome.";
    TaskState = TaskStateWord, "The state of a task.";
    SessionState = SessionStateWord, "The state of a session.";
    OperationState = OperationStateWord, "The state of an operation.";
    Resolution = Verdict, "What an uncertain call came to.";
    ApprovalState = ApprovalStateWord, "The state of an approval.";
    WhatFor = ApprovalKind, "What an approval is for.";
    Answer = Decision, "A person's answer.";
    LogName = Log, "Which log an event is in.";
    WhatHappened = EventType, "What happened.";
    Origin = ArtifactOrigin, "Where an artifact comes from.";
    Kept = ArtifactState, "How an artifact stands.";
    Per = Period, "The time that a rate is counted in.";
}
