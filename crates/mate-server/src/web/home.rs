//! `/`

use super::{
    gather::{projects, tasks},
    inside::escape,
    live,
    refusal::Refusal,
    visit::{Tried, Visit},
};
use crate::extract::Query;
use axum::response::Response;
use jiff::Timestamp;
use mate_pages::{
    Here, Home, home,
    view::{List, Task},
};
use serde::Deserialize;

/// How many of each kind are shown.
const EACH: u32 = 20;
/// How long a failure stays among what needs somebody; seconds.
const DAY: i64 = 24 * 3_600;

#[derive(Default, Deserialize)]
pub(super) struct Which {
    project: Option<String>,
    cursor: Option<String>,
}

pub(super) async fn show(visit: Visit, query: Query<Which>) -> Result<Response, Refusal> {
    let Query(which) = query;
    let mark = live::of(&visit, "").await?;
    let mut shown = Home { projects: projects(&visit).await?, ..Home::default() };
    let wanted = which.project.filter(|wanted| !wanted.is_empty());
    let looked: Vec<String> = match &wanted {
        Some(wanted) => {
            let found = shown.projects.iter().find(|one| &one.id == wanted || &one.name == wanted);
            vec![found.ok_or_else(Refusal::not_found)?.id.clone()]
        }
        None => shown.projects.iter().map(|project| project.id.clone()).collect(),
    };
    let only = if let [only] = looked.as_slice() { only.clone() } else { String::new() };
    shown.chosen = wanted.map(|_| only.clone()).unwrap_or_default();
    let of = if only.is_empty() { String::new() } else { format!("&project={}", escape(&only)) };
    let approvals: List<_> = visit.api.get(&format!("/approvals?limit={EACH}{of}")).await?;
    let unknown: List<_> = visit.api.get(&format!("/operations?state=unknown&limit={EACH}{of}")).await?;
    (shown.approvals, shown.unknown) = (approvals.items, unknown.items);
    for project in &looked {
        look_into(&visit, project, &mut shown, which.cursor.as_deref().unwrap_or_default()).await?;
    }
    let settled_there = |task: &Task| shown.unknown.iter().any(|one| one.task == task.id);
    shown.attention.retain(|task| task.state != "unknown" || !settled_there(task));
    // What needs somebody is not told twice.
    shown.ended.retain(|task| shown.attention.iter().all(|other| other.id != task.id));
    shown.ended.sort_by_key(|task| std::cmp::Reverse(task.ended_at));
    shown.ended.truncate(EACH as usize);
    if only.is_empty() {
        shown.older = None;
    } else {
        shown.older =
            shown.older.map(|next| format!("/?project={}&cursor={}#ended", escape(&only), escape(&next)));
    }
    let main = home(&visit.cx, &shown);
    Ok(visit.live(&Tried::default().on(Here::Home, "Overview"), &mark, &main))
}

async fn look_into(visit: &Visit, project: &str, shown: &mut Home, cursor: &str) -> Result<(), Refusal> {
    for state in ["proposed", "unknown", "failed", "running", "stop_requested", "accepted"] {
        let found = tasks(visit, project, state, "", EACH).await?;
        shown.cut |= found.next.is_some() && state != "failed";
        let place = match state {
            "running" | "stop_requested" => &mut shown.running,
            "accepted" => &mut shown.waiting,
            _ => &mut shown.attention,
        };
        place
            .extend(found.items.into_iter().filter(|task| state != "failed" || is_fresh(task, visit.cx.now)));
    }
    let found = tasks(visit, project, "", cursor, EACH * 2).await?;
    shown.older = found.next;
    shown.ended.extend(found.items.into_iter().filter(|task| task.is_final));
    Ok(())
}

/// A failure that nobody has gone on from, of the last day.
fn is_fresh(task: &Task, now: Timestamp) -> bool {
    task.continued_by.is_none() && task.ended_at.is_some_and(|at| now.as_second() - at.as_second() < DAY)
}
