//! `/tasks/{task}/events`: a page, or a stream for who accepts `text/event-stream`.

use super::table::Routes;
use crate::{
    ServerState,
    answer::Answer,
    cursor,
    describe::Doc,
    extract::{Caller, Query, Segments, limit},
    problem::Problem,
    stream, views,
    wire::{answer, shape},
};
use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, header};
use mate_engine::{Cursor, EngineError, EventView, Verb};
use mate_model::TaskId;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;

/// The name of a task's stream, for its cursors.
pub(crate) const STREAM: &str = "events";

pub(super) fn routes(routes: Routes) -> Routes {
    routes.get(
        "/tasks/{task}/events",
        Verb::TaskEvents,
        events,
        Doc::streams::<answer::Event>().query::<Which>().refuses(&["too_many_streams"]),
    )
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct Which {
    /// The `id` of an event, or the `next` of a page: what came after it.
    #[param(value_type = Option<shape::Cursor>, inline)]
    after: Option<String>,
    /// How many items at most; 100 if absent.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// `end`: a stream ends when the task has.
    #[param(pattern = "^end$")]
    until: Option<String>,
}

async fn events(
    State(state): State<ServerState>,
    caller: Caller,
    Segments(task): Segments<String>,
    Query(which): Query<Which>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let task: TaskId = task.parse().map_err(|_| EngineError::NotFound)?;
    let until_end = match which.until.as_deref() {
        None => false,
        Some("end") => true,
        Some(_) => return Err(Problem::parameter("until", "must be `end`, or be left out")),
    };
    let limit = limit(which.limit)?;
    if wants_stream(&headers) {
        return stream::open(&state, caller, task, last_seen(&headers).or(which.after), until_end).await;
    }
    let after = which.after.as_deref().map(position).transpose()?.unwrap_or_default();
    if state.engine.is_ahead(&caller.who, task, after).await? {
        return Err(Problem::parameter("after", "lies behind the last event: start again without it"));
    }
    let page = state.engine.task_events(&caller.who, task, after, limit).await?;
    let next = page.more.then(|| cursor::encode(STREAM, &page.next));
    let items: Vec<_> = page.items.iter().map(view).collect();
    Ok(Answer::ok(json!({ "items": items, "next": next })).into_response())
}

/// A browser that comes back says where it was; its address still has where it began.
pub(crate) fn last_seen(headers: &HeaderMap) -> Option<String> {
    headers.get("last-event-id").map(|value| value.to_str().unwrap_or_default().to_owned())
}

pub(super) fn wants_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut types = accepted.flat_map(|value| value.split(',')).filter_map(|range| range.split(';').next());
    types.any(|essence| essence.trim().eq_ignore_ascii_case("text/event-stream"))
}

/// The position that a cursor of a task's stream names.
pub(crate) fn position(text: &str) -> Result<Cursor, Problem> {
    let plain = cursor::decode(STREAM, text, "after")?;
    plain
        .parse()
        .map_err(|_| Problem::parameter("after", "not a cursor of this stream: start again without it"))
}

/// An event as it is shown; its id is the cursor that resumes after it.
fn view(event: &EventView) -> Value {
    let mut shown = views::of(event);
    shown["id"] = cursor::encode(STREAM, &event.id).into();
    shown
}
