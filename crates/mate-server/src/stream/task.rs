//! A task's stream: what its project's ledger and its session's journal say of it.

use super::{
    leave::{Leave, Shown},
    live::{self, About, Followed},
    log::Log,
};
use crate::{
    ServerState,
    extract::Caller,
    problem::Problem,
    routes::{STREAM, position},
};
use axum::response::Response;
use mate_engine::{Cursor, Verb};
use mate_model::TaskId;
use serde_json::json;

/// Opens a task's stream. A cursor that was never given out leads to a `reset` and the whole history.
pub(crate) async fn open(
    state: &ServerState,
    caller: Caller,
    task: TaskId,
    after: Option<String>,
    until_end: bool,
) -> Result<Response, Problem> {
    let task = state.engine.task_for(&caller.who, task, Verb::TaskEvents).await?;
    let (mut cursor, mut first) = (Cursor::default(), None);
    if let Some(text) = after {
        match position(&text).ok() {
            Some(known) if !state.engine.is_ahead(&caller.who, task.id, known).await? => cursor = known,
            Some(_) | None => {
                let why = "the cursor was not given out by this stream: what follows is all of it";
                first = Some(("reset", json!({ "why": why })));
            }
        }
    }
    let ledger = Log::Ledger { project: task.project, task: task.id };
    let journal = Log::Journal { session: task.session, task: task.id };
    let about = About {
        logs: vec![(ledger, cursor.ledger), (journal, cursor.journal)],
        leave: Leave::new(Shown::Bearer(caller.bearer), vec![(task.project, Verb::TaskEvents)]),
        cursors,
        until: until_end.then_some(task.id),
        first,
    };
    live::open(state, about)
}

fn cursors(logs: &[Followed]) -> String {
    let mut cursor = Cursor::default();
    for followed in logs {
        match followed.log {
            Log::Journal { .. } => cursor.journal = followed.at,
            Log::Ledger { .. } | Log::Project(_) => cursor.ledger = followed.at,
        }
    }
    crate::cursor::encode(STREAM, &cursor.to_string())
}
