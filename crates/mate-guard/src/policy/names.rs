//! How things are called in policies.

use cedar_policy::{EntityId, EntityTypeName, EntityUid};
use std::sync::LazyLock;

/// The kinds of things that policies name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Action,
    Account,
    Connection,
    Grant,
    Numbers,
    Project,
    Runtime,
    Task,
    Texts,
    Tool,
}

impl Kind {
    const ALL: [(Self, &'static str); 10] = [
        (Self::Action, "Action"),
        (Self::Account, "Account"),
        (Self::Connection, "Connection"),
        (Self::Grant, "Grant"),
        (Self::Numbers, "Numbers"),
        (Self::Project, "Project"),
        (Self::Runtime, "Runtime"),
        (Self::Task, "Task"),
        (Self::Texts, "Texts"),
        (Self::Tool, "Tool"),
    ];
}

/// Parsed once: each decision names several.
static TYPES: LazyLock<Option<Vec<EntityTypeName>>> =
    LazyLock::new(|| Kind::ALL.iter().map(|(_, name)| name.parse().ok()).collect());

/// `Kind::"id"`; none never happens, since every kind's name is a Cedar name.
pub(super) fn uid(kind: Kind, id: &str) -> Option<EntityUid> {
    let name = TYPES.as_ref()?.get(kind as usize)?.clone();
    Some(EntityUid::from_type_name_and_id(name, EntityId::new(id)))
}

/// A tool's id in policies: its connection's name, a slash, and the upstream's own name of it.
pub(super) fn tool_id(connection: &str, tool: &str) -> String {
    format!("{connection}/{tool}")
}
