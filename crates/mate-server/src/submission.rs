//! Submitting a task: its idempotency key is written by the same script as the task itself, so that no crash can
//! come between the two.

use crate::{
    ServerState,
    answer::Answer,
    extract::{Ask, Caller},
    problem::Problem,
    views,
    wire::{self, AddTask},
};
use http::StatusCode;
use mate_engine::{EngineError, Resume, Submit};
use mate_model::{TaskId, records::Task};
use mate_store::{Claim, IdempotencyKey, IdempotencyRecord};

/// Submits a task to a project.
pub(crate) async fn submit(
    state: &ServerState,
    caller: &Caller,
    ask: &Ask,
    body: &[u8],
    project: String,
    wish: AddTask,
) -> Result<Answer, Problem> {
    let AddTask { instructions, runtime, session, approve, queue, policy } = wish;
    let wish = Submit { id: None, project, instructions, runtime, session, approve, queue, policy };
    once(state, caller, ask, body, async |id, key| {
        state.engine.submit(&caller.who, Submit { id, ..wish }, key).await
    })
    .await
}

/// Continues a task by a new one.
pub(crate) async fn resume(
    state: &ServerState,
    caller: &Caller,
    ask: &Ask,
    body: &[u8],
    task: TaskId,
    wish: wire::Resume,
) -> Result<Answer, Problem> {
    let wire::Resume { fresh, instructions, queue } = wish;
    once(state, caller, ask, body, async |id, key| {
        let wish = Resume { id, task, fresh, instructions, queue };
        state.engine.resume(&caller.who, wish, key).await
    })
    .await
}

/// Makes a task at most once for each key. `make` gets the task's id and the record to write with it, when there
/// is a key.
async fn once(
    state: &ServerState,
    caller: &Caller,
    ask: &Ask,
    body: &[u8],
    make: impl AsyncFnOnce(Option<TaskId>, Option<IdempotencyRecord>) -> Result<Task, EngineError>,
) -> Result<Answer, Problem> {
    let Some(key) = ask.keyed(&caller.who, body) else {
        let task = make(None, None).await?;
        return Ok(created(views::of(&state.engine.view(task).await?), false));
    };
    if let Some(answer) = first_answer(state, caller, &key).await? {
        return Ok(answer);
    }
    let id = TaskId::new(state.engine.entropy.uuid());
    let record = IdempotencyRecord {
        key: key.clone(),
        status: StatusCode::CREATED.as_u16(),
        body: id.to_string(),
        at: state.engine.clock.now(),
    };
    match make(Some(id), Some(record)).await {
        Ok(task) => Ok(created(views::of(&state.engine.view(task).await?), false)),
        // Another request with the same key may have been faster.
        Err(error) => match first_answer(state, caller, &key).await? {
            Some(answer) => Ok(answer),
            None => Err(error.into()),
        },
    }
}

/// The task that the key's first request made, as it stands now.
async fn first_answer(
    state: &ServerState,
    caller: &Caller,
    key: &IdempotencyKey,
) -> Result<Option<Answer>, Problem> {
    let known = state.engine.ledger.replay(key).await.map_err(EngineError::from)?;
    let id = match known {
        None => return Ok(None),
        Some(Claim::Mismatch) => return Err(EngineError::KeyReused.into()),
        Some(Claim::Replay { body, .. }) => body,
        Some(Claim::Fresh | Claim::InProgress { .. }) => {
            return Err(EngineError::Internal("a submission's key is without its task".to_owned()).into());
        }
    };
    let id: TaskId = id
        .parse()
        .map_err(|error| EngineError::Internal(format!("an answer that was kept cannot be read: {error}")))?;
    Ok(Some(created(views::of(&state.engine.task(&caller.who, id).await?), true)))
}

const fn created(body: serde_json::Value, replayed: bool) -> Answer {
    Answer { status: StatusCode::CREATED, body, replayed }
}
