//! `/tasks/{task}`

use super::{
    form::Form,
    gather::{accounts, shown},
    inside::escape,
    live,
    refusal::Refusal,
    visit::{Tried, Visit},
};
use crate::extract::{Query, Segments};
use axum::response::Response;
use mate_model::{TaskId, event::EventType, words::Role};
use mate_pages::{
    Conversation, Here, TaskPage, Window, task,
    view::{Approval, Event, List, Project, Task},
};
use serde::Deserialize;
use serde_json::{Value, json};

/// How many events of the conversation are on one page.
const EVENTS: u32 = 120;
/// How many operations are on one page.
const OPERATIONS: u32 = 100;
/// How many events of the ledger are told.
const DECIDED: u32 = 100;

#[derive(Default, Deserialize)]
pub(super) struct Which {
    from: Option<i64>,
    to: Option<i64>,
    before: Option<i64>,
    operations: Option<i64>,
}

pub(super) async fn show(
    visit: Visit,
    Segments(id): Segments<String>,
    query: Query<Which>,
) -> Result<Response, Refusal> {
    whole(&visit, &id, &query.0, &Tried::default()).await
}

/// The page, with what became of a form on it.
pub(super) async fn whole(
    visit: &Visit,
    id: &str,
    which: &Which,
    tried: &Tried,
) -> Result<Response, Refusal> {
    let task_id: TaskId = id.parse().map_err(|_| Refusal::not_found())?;
    let mark = live::of(visit, id).await?;
    let (api, engine, who) = (&visit.api, &visit.web.state.engine, &visit.visitor.caller.who);
    let found: Task = api.get(&format!("/tasks/{task_id}")).await?;
    let project: Project = api.get(&format!("/projects/{}", found.project)).await?;
    let session = api.find(&format!("/sessions/{}", found.session)).await.unwrap_or_default();
    let approvals: List<Approval> =
        api.get(&format!("/approvals?limit=100&project={}", escape(&found.project))).await?;
    let artifacts: List<_> = api.get(&format!("/tasks/{task_id}/artifacts?limit=100")).await?;
    let last = async |kind| -> Option<Event> { shown(&engine.last_event(who, task_id, kind).await.ok()??) };
    let events = engine.recent_events(who, task_id, which.before, EVENTS).await?;
    let operations = engine.recent_operations(who, task_id, which.operations, OPERATIONS).await?;
    let decided = engine.ledger_events(who, task_id, DECIDED).await?;
    let decided: Vec<Event> = decided.iter().filter_map(shown).collect();
    let ids = accounts(&decided)
        .chain([found.proposer.as_str()])
        .chain(found.permissions.iter().map(|leave| leave.given_by.as_str()));
    let names = visit.names(ids).await;
    let page = TaskPage {
        project: project.name,
        session,
        operator: visit.has(&found.project, Role::Operator).await,
        approvals: approvals.items.into_iter().filter(|one| one.task == found.id).collect(),
        plan: last(EventType::AgentPlan).await,
        usage: last(EventType::Usage).await,
        files: last(EventType::WorkspaceListed).await,
        summary: last(EventType::AgentReported).await.map(|event| event.text("summary").to_owned()),
        operations: operations.items.iter().filter_map(shown).collect(),
        earlier_operations: operations
            .earlier
            .map(|number| format!("/tasks/{id}?operations={number}#operations")),
        conversation: Conversation {
            events: events.items.iter().filter_map(shown).collect(),
            earlier: events.earlier.map(|seq| format!("/tasks/{id}?before={seq}#conversation")),
            past: which.before.is_some(),
        },
        decided,
        artifacts: artifacts.items,
        window: which.from.zip(which.to).map(|(from, to)| Window { from, to }),
        names,
        task: found,
    };
    let main = task(&visit.cx, &page, &tried.draft);
    Ok(visit.live(&tried.on(Here::Home, "Task"), &mark, &main))
}

/// What is asked of a task: approve, reject, stop, kill, resume, resolve.
pub(super) async fn post(
    visit: Visit,
    Segments((id, verb)): Segments<(String, String)>,
    form: Form,
) -> Result<Response, Refusal> {
    let mut body = json!({});
    match verb.as_str() {
        "approve" | "stop" | "kill" => {}
        "reject" => form.put(&mut body, &["reason"]),
        "resolve" => form.put(&mut body, &["reason", "proof"]),
        "resume" => {
            body["fresh"] = json!(form.ticked("fresh"));
            if form.text("instructions").is_some() {
                body["instructions"] = json!(form.whole("instructions"));
            }
        }
        _ => return Err(Refusal::not_found()),
    }
    let path = format!("/tasks/{}/{verb}", escape(&id));
    match visit.api.post::<Value>(&path, &body, &form.key).await {
        Ok(done) => {
            let next = done.get("id").and_then(Value::as_str).unwrap_or(&id);
            Ok(super::answer::see_other(&format!("/tasks/{}", escape(next))))
        }
        Err(refusal) => whole(&visit, &id, &Which::default(), &Tried::refused(form, refusal)).await,
    }
}
