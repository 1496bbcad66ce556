//! One stream of several logs: the ledgers of projects, and the journals of tasks.

use super::{
    leave::{Leave, Shown},
    live::{self, About, Followed},
    log::Log,
    place, told,
};
use crate::{ServerState, cursor, problem::Problem};
use axum::response::Response;
use mate_engine::{Engine, EngineError, Principal, Verb};
use mate_model::{ProjectId, TaskId};
use serde_json::{Value, json};

/// The name of these streams, for their cursors.
pub(crate) const NAME: &str = "stream";

/// What begins a stream at the present instead of the beginning. It is too short for a cursor.
const NOW: &str = "now";

/// What was asked for.
#[derive(Debug, Default)]
pub(crate) struct Wish {
    /// Names or ids.
    projects: Vec<String>,
    tasks: Vec<String>,
    after: Option<String>,
}

impl Wish {
    /// The ledger of one project.
    pub(crate) fn of_project(project: String, after: Option<String>) -> Self {
        Self { projects: vec![project], tasks: Vec::new(), after }
    }
}

/// The most of each in one stream.
const MOST: usize = 20;

/// Reads the parameters of an address: `project` and `task` may be there several times.
pub(crate) fn parse(query: &str) -> Result<Wish, Problem> {
    let mut wish = Wish::default();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let (list, field) = match name.as_ref() {
            "project" => (&mut wish.projects, "project"),
            "task" => (&mut wish.tasks, "task"),
            "after" if wish.after.is_none() => {
                wish.after = Some(value.into_owned());
                continue;
            }
            "after" => return Err(Problem::parameter("after", "is there twice")),
            other => {
                return Err(Problem::parameter(
                    other,
                    "is not known here: `project`, `task` and `after` are",
                ));
            }
        };
        if !list.iter().any(|known| *known == value) {
            list.push(value.into_owned());
        }
        if list.len() > MOST {
            return Err(Problem::parameter(field, format!("at most {MOST} may be followed in one stream")));
        }
    }
    if wish.projects.is_empty() && wish.tasks.is_empty() {
        return Err(Problem::parameter("project", "name a project or a task to follow"));
    }
    Ok(wish)
}

/// Opens the stream that was asked for. `last` is where a stream was that broke off.
pub(crate) async fn follow(
    state: &ServerState,
    who: &Principal,
    shown: Shown,
    wish: Wish,
    last: Option<String>,
) -> Result<Response, Problem> {
    let engine = &state.engine;
    let (mut logs, mut needs) = (Vec::new(), Vec::new());
    for name in &wish.projects {
        let project = engine.project(who, name, Verb::ProjectEvents).await?.id;
        logs.push(Log::Project(project));
        needs.push((project, Verb::ProjectEvents));
    }
    for text in &wish.tasks {
        let id: TaskId = text.parse().map_err(|_| EngineError::NotFound)?;
        let task = engine.task_for(who, id, Verb::TaskEvents).await?;
        logs.push(Log::Journal { session: task.session, task: id });
        needs.push((task.project, Verb::TaskEvents));
    }
    // The same project may be named by its name and by its id.
    let mut known = std::collections::HashSet::new();
    logs.retain(|log| known.insert(*log));
    let (at, reset) = begin(engine, &logs, last.or(wish.after)).await?;
    let first = if reset {
        let why = "the cursor was not given out by a stream of these logs: what follows is all of them";
        ("reset", json!({ "why": why }))
    } else {
        ("start", json!({ "logs": logs.iter().map(|log| name(*log)).collect::<Vec<_>>() }))
    };
    let about = About {
        logs: logs.into_iter().zip(at).collect(),
        leave: Leave::new(shown, needs),
        cursors,
        until: None,
        first: Some(first),
    };
    live::open(state, about)
}

/// A page of a project's ledger, after a cursor.
pub(crate) async fn page(
    engine: &Engine,
    project: ProjectId,
    after: Option<&str>,
    limit: u32,
) -> Result<Value, Problem> {
    let log = Log::Project(project);
    let strange = || Problem::parameter("after", "not a cursor of this list: start again without it");
    let from = match after {
        Some(text) => {
            let plain = cursor::decode(NAME, text, "after")?;
            place::read(&plain, &[log]).and_then(|at| at.first().copied()).ok_or_else(strange)?
        }
        None => 0,
    };
    if from > log.head(engine).await? {
        return Err(Problem::parameter("after", "lies behind the last event: start again without it"));
    }
    let page = log.page(engine, from, limit).await?;
    let at = |seq: i64| cursor::encode(NAME, &place::write(&[(log, seq)]));
    let next = page.next.map(at);
    let items: Vec<_> = page
        .items
        .into_iter()
        .map(|event| {
            let id = at(event.seq);
            told::shown(log, event, id)
        })
        .collect();
    Ok(json!({ "items": items, "next": next }))
}

/// Where each log goes on, and whether that is another place than the cursor says.
async fn begin(
    engine: &Engine,
    logs: &[Log],
    after: Option<String>,
) -> Result<(Vec<i64>, bool), EngineError> {
    let beginning = vec![0; logs.len()];
    let Some(text) = after else { return Ok((beginning, false)) };
    let now = text == NOW;
    let known = cursor::decode(NAME, &text, "after").ok().and_then(|plain| place::read(&plain, logs));
    if known.is_none() && !now {
        return Ok((beginning, true));
    }
    let mut at = known.unwrap_or(beginning);
    for (log, at) in logs.iter().zip(&mut at) {
        let head = log.head(engine).await?;
        if now {
            *at = head;
        } else if *at > head {
            return Ok((vec![0; logs.len()], true));
        }
    }
    Ok((at, false))
}

/// A log, as a stream says which it follows.
fn name(log: Log) -> Value {
    match log {
        Log::Project(project) => json!({ "log": "ledger", "project": project.to_string() }),
        Log::Ledger { task, .. } => json!({ "log": "ledger", "task": task.to_string() }),
        Log::Journal { task, .. } => json!({ "log": "journal", "task": task.to_string() }),
    }
}

fn cursors(logs: &[Followed]) -> String {
    let at: Vec<_> = logs.iter().map(|followed| (followed.log, followed.at)).collect();
    cursor::encode(NAME, &place::write(&at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_follow_is_read_strictly() {
        let wish = parse("project=a&task=t1&task=t1&task=t2&after=x").expect("read");
        assert_eq!((wish.projects.len(), wish.tasks.len(), wish.after.as_deref()), (1, 2, Some("x")));
        let many = |name: &str| (0..21).map(|n| format!("{name}={n}")).collect::<Vec<_>>().join("&");
        for (query, field) in [
            (String::new(), "project"),
            ("after=x".to_owned(), "project"),
            ("project=a&after=x&after=y".to_owned(), "after"),
            ("project=a&tasks=t".to_owned(), "tasks"),
            (many("task"), "task"),
            (many("project"), "project"),
        ] {
            let problem = serde_json::to_value(parse(&query).expect_err("refused")).expect("JSON");
            assert_eq!(
                (&problem["status"], &problem["errors"][0]["field"]),
                (&json!(400), &json!(field)),
                "{query}"
            );
        }
        assert!(parse(&many("task").replace("task=20", "project=p")).is_ok());
    }
}
