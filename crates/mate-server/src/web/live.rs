//! `/live`: whether there is anything new to show, in a few bytes. A browser asks once a second for all its tabs together.

use super::{refusal::Refusal, visit::Visit};
use axum::{
    Json,
    extract::RawQuery,
    response::{IntoResponse, Response},
};
use mate_engine::{Verb, admin::Paging};
use mate_model::TaskId;
use mate_pages::Live;
use serde_json::json;

/// The most tasks of one question.
const TASKS: usize = 20;
/// The most projects whose news is looked for.
const PROJECTS: u32 = 50;
/// How often what moves by itself (how long something lasts) is shown anew; microseconds.
const BEAT: i64 = 5_000_000;

/// The marks of the tasks that are named; an empty name stands for all that the reader sees.
pub(super) async fn marks(visit: Visit, RawQuery(query): RawQuery) -> Result<Response, Refusal> {
    let query = query.unwrap_or_default();
    let wanted = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "task");
    let mut marks = Vec::new();
    for (_, task) in wanted.take(TASKS) {
        // What cannot be seen any more has no mark.
        if let Ok(live) = of(&visit, &task).await {
            marks.push(json!({ "task": live.task, "mark": live.mark }));
        }
    }
    Ok(Json(marks).into_response())
}

/// What keeps a page live that is about a task, or about everything.
pub(super) async fn of(visit: &Visit, task: &str) -> Result<Live, Refusal> {
    let (engine, who) = (&visit.web.state.engine, &visit.visitor.caller.who);
    let beat = engine.clock.now().0 / BEAT;
    if task.is_empty() {
        let page = Paging { after: None, limit: PROJECTS };
        let mut mark = blake3::Hasher::new();
        for project in engine.projects(who, &page).await?.items {
            mark.update(&engine.ledger.head(project.id).await.map_err(mate_engine::EngineError::from)?.hash);
        }
        let mark = format!("{}.{beat}", &mark.finalize().to_hex()[..12]);
        return Ok(Live { task: String::new(), mark });
    }
    let id: TaskId = task.parse().map_err(|_| Refusal::not_found())?;
    let over = engine.task_for(who, id, Verb::TaskShow).await?.state.word().is_final();
    let (ledger, journal) = engine.task_heads(who, id).await?;
    let beat = if over { 0 } else { beat };
    Ok(Live { task: task.to_owned(), mark: format!("{ledger}.{journal}.{beat}") })
}
