//! `/operations/{operation}`

use super::{
    answer::see_other,
    form::Form,
    gather::shown,
    inside::escape,
    live,
    refusal::Refusal,
    visit::{Tried, Visit},
};
use crate::extract::Segments;
use axum::response::Response;
use mate_model::{TaskId, words::Role};
use mate_pages::{
    Desk, Here, desk,
    view::{Grant, Operation, Task},
};
use serde_json::{Value, json};

/// How many of the task's last operations are looked at for identical calls.
const NEARBY: u32 = 200;

pub(super) async fn show(visit: Visit, Segments(id): Segments<String>) -> Result<Response, Refusal> {
    whole(&visit, &id, &Tried::default()).await
}

async fn whole(visit: &Visit, id: &str, tried: &Tried) -> Result<Response, Refusal> {
    let api = &visit.api;
    let operation: Operation = api.get(&format!("/operations/{}", escape(id))).await?;
    let mark = live::of(visit, &operation.task).await?;
    let task: Task = api.get(&format!("/tasks/{}", operation.task)).await?;
    let grant: Option<Grant> = match &operation.grant {
        Some(grant) => api.find(&format!("/grants/{grant}?limit=1")).await,
        None => None,
    };
    let approval: Option<mate_pages::view::Approval> = api.find(&format!("/approvals/{}", escape(id))).await;
    let task_id: TaskId = operation.task.parse().map_err(|_| Refusal::not_found())?;
    let (engine, who) = (&visit.web.state.engine, &visit.visitor.caller.who);
    let near = engine.recent_operations(who, task_id, None, NEARBY).await?;
    let near = near.items.iter().filter_map(shown::<Operation>);
    let same = |other: &Operation| {
        other.id != operation.id
            && other.digest == operation.digest
            && other.tool == operation.tool
            && other.connection_name == operation.connection_name
    };
    let alike = near.filter(same).take(50).collect();
    let by = [
        grant.as_ref().map(|grant| grant.created_by.as_str()),
        operation.evidence.as_ref().and_then(|evidence| evidence.by.as_deref()),
        operation.contradiction.as_ref().and_then(|other| other.acknowledged_by.as_deref()),
        approval.as_ref().and_then(|one| one.receipt.as_ref()).map(|receipt| receipt.by.as_str()),
    ];
    let names = visit.names(by.into_iter().flatten()).await;
    let operator = visit.has(&task.project, Role::Operator).await;
    let page = Desk { operation, grant, approval, alike, operator, names };
    let main = desk(&visit.cx, &page, &tried.draft);
    Ok(visit.live(&tried.on(Here::Home, "Operation"), &mark, &main))
}

/// Settles it, or has it looked for.
pub(super) async fn post(
    visit: Visit,
    Segments((id, verb)): Segments<(String, String)>,
    form: Form,
) -> Result<Response, Refusal> {
    let mut body = json!({});
    match verb.as_str() {
        "verify" => {}
        "resolve" => {
            form.put(&mut body, &["as", "reason", "proof"]);
            body["permit_repeat"] = json!(form.ticked("permit_repeat"));
        }
        _ => return Err(Refusal::not_found()),
    }
    let address = format!("/operations/{}", escape(&id));
    match visit.api.post::<Value>(&format!("{address}/{verb}"), &body, &form.key).await {
        Ok(_) => Ok(see_other(&address)),
        Err(refusal) => whole(&visit, &id, &Tried::refused(form, refusal)).await,
    }
}
