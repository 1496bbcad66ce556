//! `/search`: an id leads to what it names; words are looked for among the newest tasks.

use super::{
    answer::see_other,
    gather::{projects, shown, tasks},
    inside::escape,
    refusal::Refusal,
    visit::Visit,
};
use crate::extract::Query;
use axum::response::Response;
use mate_pages::{
    Found, Here, search,
    view::{Operation, Task},
};
use serde::Deserialize;
use serde_json::Value;

/// How many tasks of a project are looked at, and of how many of them the operations.
const TASKS: u32 = 200;
const OPENED: usize = 40;
/// The most that is shown of each kind.
const MOST: usize = 50;

#[derive(Default, Deserialize)]
pub(super) struct Which {
    #[serde(default)]
    q: String,
}

pub(super) async fn show(visit: Visit, query: Query<Which>) -> Result<Response, Refusal> {
    let words = query.0.q.trim().chars().take(200).collect::<String>();
    for (start, noun) in [("tsk_", "tasks"), ("op_", "operations"), ("art_", "artifacts")] {
        if words.starts_with(start)
            && let Some(found) = visit.api.find::<Value>(&format!("/{noun}/{}", escape(&words))).await
        {
            let place = match noun {
                "artifacts" => {
                    found.get("task").and_then(Value::as_str).map(|task| format!("/tasks/{}", escape(task)))
                }
                _ => Some(format!("/{noun}/{}", escape(&words))),
            };
            return Ok(see_other(&place.unwrap_or_else(|| "/".to_owned())));
        }
    }
    let mut found = Found { words, ..Found::default() };
    if !found.words.is_empty() {
        look(&visit, &mut found).await?;
    }
    Ok(visit.page(Here::Elsewhere, "Search", &search(&visit.cx, &found)))
}

async fn look(visit: &Visit, found: &mut Found) -> Result<(), Refusal> {
    let wanted = found.words.to_lowercase();
    let mut opened = 0;
    for project in projects(visit).await? {
        let list = tasks(visit, &project.id, "", "", TASKS).await?;
        found.looked += list.items.len();
        found.more |= list.next.is_some();
        for task in list.items {
            if opened < OPENED && task.started_at.is_some() {
                opened += 1;
                operations(visit, &task, &wanted, found).await;
            }
            if found.tasks.len() < MOST
                && (task.instructions.to_lowercase().contains(&wanted) || task.id == wanted)
            {
                found.tasks.push(task);
            }
        }
    }
    Ok(())
}

async fn operations(visit: &Visit, task: &Task, wanted: &str, found: &mut Found) {
    let Ok(id) = task.id.parse() else { return };
    let who = &visit.visitor.caller.who;
    // A journal that cannot be read now hides nothing of the others.
    let Ok(page) = visit.web.state.engine.recent_operations(who, id, None, 100).await else { return };
    let named = |operation: &Operation| {
        format!("{}/{}", operation.connection_name, operation.tool).to_lowercase().contains(wanted)
    };
    let room = MOST.saturating_sub(found.operations.len());
    found.operations.extend(page.items.iter().filter_map(shown::<Operation>).filter(named).take(room));
}
