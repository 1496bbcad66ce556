//! What must hold after any loss of power, by the product's own recovery.

use crate::{record::Mark, scenario::open};
use async_trait::async_trait;
use mate_engine::{Engine, SessionLock, Undertaker};
use mate_model::{
    OperationId, TaskId,
    operation::OperationStateWord,
    records::Task,
    session::SessionState,
    task::{StopEvidence, TaskState, TaskStateWord},
    turn::TurnState,
    words::UnknownReason,
};
use mate_store::JournalReader;
use std::{path::Path, sync::Arc};

/// Nothing of the session lives: the machine was without power.
struct NewBoot;

#[async_trait]
impl Undertaker for NewBoot {
    async fn end(&self, _folder: &Path) -> Result<StopEvidence, String> {
        Ok(StopEvidence::NeverStarted)
    }
}

/// Opens what is left in `root`, recovers it, and says what is wrong. `said`: what others know.
pub(crate) async fn judge(root: &Path, said: &[Mark]) -> Vec<String> {
    let mut wrong = Vec::new();
    let engine = match open(root).await {
        Ok(engine) => engine,
        Err(error) => return vec![format!("the home cannot be opened: {error}")],
    };
    let submitted = said.iter().find_map(|mark| match mark {
        Mark::Submitted(task) => Some(*task),
        Mark::Prompted(_) | Mark::Sent(_) | Mark::Answered(_) | Mark::Told(_) | Mark::Ended(_) => None,
    });
    let Some(id) = submitted else { return wrong };
    if let Err(error) = look(&engine, id, said, &mut wrong).await {
        wrong.push(error);
    }
    wrong
}

async fn look(
    engine: &Arc<Engine>,
    id: TaskId,
    said: &[Mark],
    wrong: &mut Vec<String>,
) -> Result<(), String> {
    let task = engine.ledger.task(id).await.map_err(|error| error.to_string())?;
    let Some(task) = task else { return Err(format!("{id} was accepted, and is lost")) };
    let folder = engine.home.session(task.session);
    if !folder.path().exists() {
        wrong.push("the ledger names a session whose folder is lost".to_owned());
        engine.home.create_session(task.session).map_err(|error| error.to_string())?;
    }
    let session = engine.ledger.session(task.session).await.map_err(|error| error.to_string())?;
    let session = session.ok_or("the session is lost")?;
    if matches!(session.state, SessionState::Hosted { .. }) {
        let lock =
            SessionLock::try_take(&folder).map_err(|error| error.to_string())?.ok_or("it is locked")?;
        engine.recover(&session, &lock, &NewBoot).await.map_err(|error| format!("no recovery: {error}"))?;
    }
    let task = engine.ledger.task(id).await.map_err(|error| error.to_string())?.unwrap_or(task);
    let reader = engine.stores.journal_reader(task.session).await.map_err(|error| error.to_string())?;
    for mark in said {
        if let Some(why) = check(&reader, &task, said, *mark).await? {
            wrong.push(why);
        }
    }
    if matches!(task.state, TaskState::Unknown { reason: UnknownReason::JournalLost, .. }) {
        wrong.push("the journal is said to be lost".to_owned());
    }
    chains(engine, &reader, &task, wrong).await;
    invented(&reader, said, wrong).await
}

async fn check(
    reader: &JournalReader,
    task: &Task,
    said: &[Mark],
    mark: Mark,
) -> Result<Option<String>, String> {
    let state = async |operation: OperationId| {
        let row = reader.operation(operation).await.map_err(|error| error.to_string())?;
        Ok::<_, String>(row.map(|row| row.state.word()))
    };
    Ok(match mark {
        Mark::Submitted(_) | Mark::Answered(_) => None,
        Mark::Prompted(turn) => {
            let turn = reader.turn(turn).await.map_err(|error| error.to_string())?;
            let over = turn.is_some_and(|turn| matches!(turn.state, TurnState::Ended { .. }));
            (!over).then(|| "a prompt went out, and would be sent again".to_owned())
        }
        Mark::Sent(operation) => match state(operation).await? {
            Some(OperationStateWord::Succeeded | OperationStateWord::Unknown) => None,
            Some(OperationStateWord::Failed | OperationStateWord::NotSent) | None => {
                Some(format!("{operation} went out, and its intent is lost"))
            }
            Some(other) => Some(format!("{operation} went out, and is {other}")),
        },
        Mark::Told(operation) => match state(operation).await? {
            Some(OperationStateWord::Succeeded) => None,
            other => Some(format!("the success of {operation} was told, and it is {other:?}")),
        },
        Mark::Ended(_) => {
            let answered = said.iter().filter(|mark| matches!(mark, Mark::Answered(_))).count();
            let ended = task.state.word() == TaskStateWord::Unknown && answered == 3;
            (!ended).then(|| format!("the task ended with one call unknown, and is {}", task.state.word()))
        }
    })
}

async fn chains(engine: &Engine, reader: &JournalReader, task: &Task, wrong: &mut Vec<String>) {
    match engine.ledger.verify_chain(task.project).await {
        Ok(report) if report.broken.is_none() => {}
        other => wrong.push(format!("the ledger's chain: {other:?}")),
    }
    match reader.verify_chain().await {
        Ok(report) if report.broken.is_none() => {}
        other => wrong.push(format!("the journal's chain: {other:?}")),
    }
}

/// No success without an answer, and nothing left open.
async fn invented(reader: &JournalReader, said: &[Mark], wrong: &mut Vec<String>) -> Result<(), String> {
    let page = reader.operations(None, None, 0, 100).await.map_err(|error| error.to_string())?;
    for row in page.items {
        let word = row.state.word();
        if word == OperationStateWord::Succeeded && !said.contains(&Mark::Answered(row.id)) {
            wrong.push(format!("{} is succeeded, and was never answered", row.id));
        }
        if word == OperationStateWord::InFlight {
            wrong.push(format!("{} is still in flight after recovery", row.id));
        }
    }
    Ok(())
}
