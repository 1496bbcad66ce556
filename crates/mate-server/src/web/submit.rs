//! `/tasks/new`

use super::{
    answer::see_other,
    form::Form,
    gather::projects,
    inside::escape,
    refusal::Refusal,
    visit::{Tried, Visit},
};
use crate::extract::Query;
use axum::response::Response;
use mate_pages::{
    Here, Submission, submit,
    view::{List, Task},
};
use serde::Deserialize;
use serde_json::json;

#[derive(Default, Deserialize)]
pub(super) struct Which {
    project: Option<String>,
}

pub(super) async fn show(visit: Visit, query: Query<Which>) -> Result<Response, Refusal> {
    whole(&visit, query.0.project.unwrap_or_default(), &Tried::default()).await
}

async fn whole(visit: &Visit, project: String, tried: &Tried) -> Result<Response, Refusal> {
    let runtimes: List<_> = visit.api.find("/runtimes?limit=100").await.unwrap_or_default();
    let shown = Submission { projects: projects(visit).await?, runtimes: runtimes.items, project };
    let main = submit(&visit.cx, &shown, &tried.draft);
    Ok(visit.drafted(&tried.on(Here::Elsewhere, "New task"), &main))
}

pub(super) async fn post(visit: Visit, form: Form) -> Result<Response, Refusal> {
    let project = form.text("project").unwrap_or_default().to_owned();
    let mut body = json!({ "instructions": form.whole("instructions"), "approve": form.ticked("approve") });
    form.put(&mut body, &["runtime"]);
    match visit.api.post::<Task>(&format!("/projects/{}/tasks", escape(&project)), &body, &form.key).await {
        Ok(task) => Ok(see_other(&format!("/tasks/{}", escape(&task.id)))),
        Err(refusal) => whole(&visit, project, &Tried::refused(form, refusal)).await,
    }
}
