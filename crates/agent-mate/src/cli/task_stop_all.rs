//! `agent-mate task stop --all`: every task that is at work or waits for its session.

use super::{
    Context,
    client::Client,
    exit::{Exit, Failure},
    show::{column, text_at},
    task::of_all_projects,
};
use serde_json::{Value, json};
use std::time::Duration;

/// Those that wait first, so that none of them begins when the one before it has ended.
const STATES: [&str; 3] = ["accepted", "running", "stop_requested"];
/// How many are asked in one command; the list says when there are more.
const MOST: usize = 500;
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(200);

/// Asks each, then waits until all have ended.
pub(super) async fn stop_all(
    how: &str,
    project: Option<String>,
    no_wait: bool,
    client: &Client,
    context: &Context,
) -> Result<Exit, Failure> {
    let mut asked: Vec<Value> = Vec::new();
    for state in STATES {
        for task in open(state, project.as_deref(), client).await? {
            // One that was asked a moment ago is found again in its new state.
            if asked.iter().any(|one| text_at(one, "id") == text_at(&task, "id")) {
                continue;
            }
            match client.post(&["tasks", text_at(&task, "id"), how], &json!({}), None).await {
                Ok(task) => asked.push(task),
                // It has ended meanwhile.
                Err(failure) if failure.exit == Exit::Refused => {}
                Err(failure) => return Err(failure),
            }
        }
    }
    if !no_wait {
        wait(&mut asked, client, context).await?;
    }
    let uncertain = asked.iter().any(|task| text_at(task, "state") == "unknown");
    let columns = [column("ID", "id"), column("STATE", "state"), column("REASON", "reason")];
    let found = json!({ "items": asked, "next": null });
    context.screen.list(&found, &columns, "No task is at work or waits for its session.")?;
    Ok(if uncertain { Exit::TaskUnknown } else { Exit::Done })
}

async fn open(state: &str, project: Option<&str>, client: &Client) -> Result<Vec<Value>, Failure> {
    let query = [("state", state.to_owned()), ("limit", MOST.to_string())];
    let page = match project {
        Some(project) => client.get(&["projects", project, "tasks"], &query).await?,
        None => of_all_projects(&query, client).await?,
    };
    Ok(page.get("items").and_then(Value::as_array).cloned().unwrap_or_default())
}

async fn wait(tasks: &mut [Value], client: &Client, context: &Context) -> Result<(), Failure> {
    let all = async {
        for task in tasks.iter_mut() {
            while Exit::of_task(text_at(task, "state")).is_none() {
                tokio::time::sleep(PAUSE).await;
                *task = client.get(&["tasks", text_at(task, "id")], &[]).await?;
            }
        }
        Ok(())
    };
    match context.timeout {
        None => all.await,
        Some(bound) => tokio::time::timeout(bound, all).await.unwrap_or_else(|_| {
            let detail =
                "not all tasks have ended; they go on being stopped: agent-mate task list".to_owned();
            Err(Failure::new(Exit::TimedOut, "timed_out", detail))
        }),
    }
}
