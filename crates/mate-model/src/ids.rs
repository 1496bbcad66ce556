//! Ids: a UUID behind a type of its own, written with a prefix that says what it names.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{fmt, str::FromStr};
use uuid::Uuid;

/// A text that is not an id of the wanted kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not {wanted} id: expected `{prefix}_` and 32 lower-case hexadecimal digits")]
pub struct BadId {
    /// The kind, with its article: "a task".
    pub wanted: &'static str,
    /// The prefix that such an id starts with.
    pub prefix: &'static str,
}

fn parse_hex(digits: &str) -> Option<Uuid> {
    let lower = digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    (digits.len() == 32 && lower).then(|| Uuid::try_parse(digits).ok()).flatten()
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $wanted:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// What such an id starts with, before the underscore.
            pub const PREFIX: &'static str = $prefix;

            /// Names something new; the UUID comes from an [`crate::Entropy`].
            #[must_use]
            pub const fn new(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The UUID behind the prefix.
            #[must_use]
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "_{}"), self.0.simple())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                text.strip_prefix(concat!($prefix, "_"))
                    .and_then(parse_hex)
                    .map(Self)
                    .ok_or(BadId { wanted: $wanted, prefix: $prefix })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(/// Who owns and acts: a person or a service.
    AccountId, "acc", "an account");
id!(/// A bearer token's row; has no part of the secret.
    TokenId, "tok", "a token");
id!(/// What work belongs together.
    ProjectId, "prj", "a project");
id!(/// An agent program that exists already, and how to launch it.
    RuntimeId, "rtm", "a runtime");
id!(/// A configured link to an upstream MCP server.
    ConnectionId, "con", "a connection");
id!(/// A project's authority to use some tools of a connection.
    GrantId, "grt", "a grant");
id!(/// A statement of the administrators about what may be called.
    PolicyId, "pol", "a policy");
id!(/// One conversation with one runtime in one project and workspace.
    SessionId, "ses", "a session");
id!(/// A durable unit of approved work.
    TaskId, "tsk", "a task");
id!(/// One prompt to the runtime until it stops.
    TurnId, "trn", "a turn");
id!(/// An immutable output of a project. Drawn at random: it tells nothing of when it was made or of its neighbours.
    ArtifactId, "art", "an artifact");

/// One outside action: the session it belongs to and its number there, from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId {
    /// The session whose journal holds the operation.
    pub session: SessionId,
    /// The operation's number in that session, in request order, from 1.
    pub number: u64,
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "op_{}_{}", self.session.uuid().simple(), self.number)
    }
}

impl fmt::Debug for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for OperationId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let bad = BadId { wanted: "an operation", prefix: "op" };
        let (hex, number) =
            text.strip_prefix("op_").and_then(|rest| rest.split_once('_')).ok_or_else(|| bad.clone())?;
        let session = parse_hex(hex).map(SessionId::new).ok_or_else(|| bad.clone())?;
        Ok(Self { session, number: counted(number).ok_or(bad)? })
    }
}

impl Serialize for OperationId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for OperationId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// An approval: named like the operation that waits for it, or, for a tool of the runtime's own, by the session, its
/// worker's epoch and a number in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ApprovalId {
    /// Of a call through the bridge.
    Call(OperationId),
    /// Of a tool of the runtime's own.
    OwnTool {
        /// Whose.
        session: SessionId,
        /// Of the worker whose runtime asked.
        epoch: u64,
        /// Counted from 1 in each epoch.
        number: u64,
    },
}

impl ApprovalId {
    /// The session that asks.
    #[must_use]
    pub const fn session(self) -> SessionId {
        match self {
            Self::Call(operation) => operation.session,
            Self::OwnTool { session, .. } => session,
        }
    }

    /// The operation that waits, if one does.
    #[must_use]
    pub const fn operation(self) -> Option<OperationId> {
        match self {
            Self::Call(operation) => Some(operation),
            Self::OwnTool { .. } => None,
        }
    }
}

impl fmt::Display for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(operation) => fmt::Display::fmt(operation, f),
            Self::OwnTool { session, epoch, number } => {
                write!(f, "own_{}_{epoch}_{number}", session.uuid().simple())
            }
        }
    }
}

impl fmt::Debug for ApprovalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ApprovalId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let Some(rest) = text.strip_prefix("own_") else {
            return text.parse().map(Self::Call);
        };
        let bad = || BadId { wanted: "an approval", prefix: "own" };
        let mut parts = rest.split('_');
        let session = parts.next().and_then(parse_hex).map(SessionId::new).ok_or_else(bad)?;
        let mut next = || parts.next().and_then(counted).ok_or_else(bad);
        let id = Self::OwnTool { session, epoch: next()?, number: next()? };
        if parts.next().is_some() { Err(bad()) } else { Ok(id) }
    }
}

/// A number from 1, as it is written here and in no other way.
fn counted(text: &str) -> Option<u64> {
    let plain = !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|n| plain && *n > 0 && *n <= i64::MAX as u64)
}

impl Serialize for ApprovalId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ApprovalId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_as_written_and_nothing_else_does() {
        let id = TaskId::new(Uuid::from_u128(0x0193_0000_0000_7000_8000_0000_0000_00ff));
        assert_eq!(id.to_string(), "tsk_019300000000700080000000000000ff");
        assert_eq!(id.to_string().parse(), Ok(id));
        for bad in
            ["", "tsk_", "ses_019300000000700080000000000000ff", "tsk_019300000000700080000000000000FF"]
        {
            assert!(bad.parse::<TaskId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn an_approval_is_named_like_its_operation_or_like_nothing_else() {
        let session = SessionId::new(Uuid::from_u128(7));
        let call = OperationId { session, number: 12 };
        assert_eq!(call.to_string().parse(), Ok(ApprovalId::Call(call)));
        let own = ApprovalId::OwnTool { session, epoch: 3, number: 1 };
        assert_eq!(own.to_string(), "own_00000000000000000000000000000007_3_1");
        assert_eq!(own.to_string().parse(), Ok(own));
        for bad in
            ["own_", "own_00000000000000000000000000000007_3", "own_00000000000000000000000000000007_3_1_1"]
        {
            assert!(bad.parse::<ApprovalId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn an_operation_id_holds_its_session() {
        let session = SessionId::new(Uuid::from_u128(7));
        let id = OperationId { session, number: 12 };
        assert_eq!(id.to_string().parse(), Ok(id));
        for bad in [
            "op_",
            "op_00_1",
            "op_00000000000000000000000000000007_0",
            "op_00000000000000000000000000000007_01",
        ] {
            assert!(bad.parse::<OperationId>().is_err(), "{bad}");
        }
    }
}
