//! What pages need of more than one answer.

use super::{inside::escape, refusal::Refusal, visit::Visit};
use mate_pages::view::{Event, List, Project, Task};
use serde::Serialize;
use serde_json::Value;

/// The most projects that one page looks into.
const PROJECTS: u32 = 50;

/// The visitor's projects.
pub(super) async fn projects(visit: &Visit) -> Result<Vec<Project>, Refusal> {
    let list: List<Project> = visit.api.get(&format!("/projects?limit={PROJECTS}")).await?;
    Ok(list.items.into_iter().filter(|project| project.state == "active").collect())
}

/// Tasks of a project: in one state, or in any.
pub(super) async fn tasks(
    visit: &Visit,
    project: &str,
    state: &str,
    cursor: &str,
    limit: u32,
) -> Result<List<Task>, Refusal> {
    let mut path = format!("/projects/{}/tasks?limit={limit}", escape(project));
    for (name, value) in [("state", state), ("cursor", cursor)] {
        if !value.is_empty() {
            path = format!("{path}&{name}={}", escape(value));
        }
    }
    visit.api.get(&path).await
}

/// A view of the engine's as pages take it.
pub(super) fn shown<T: serde::de::DeserializeOwned>(view: &impl Serialize) -> Option<T> {
    serde_json::from_value(crate::views::of(view)).ok()
}

/// The accounts that events speak of.
pub(super) fn accounts(events: &[Event]) -> impl Iterator<Item = &str> {
    events.iter().filter_map(|event| event.data.get("by").and_then(Value::as_str))
}
