//! `/runtimes`

use super::{
    answer::see_other,
    form::Form,
    inside::escape,
    projects::page,
    refusal::Refusal,
    visit::{Tried, Visit},
};
use crate::extract::{PageQuery, Query, Segments};
use axum::response::Response;
use mate_pages::{
    Here,
    manage::runtimes,
    view::{List, Runtime},
};
use serde_json::{Value, json};

pub(super) async fn list(visit: Visit, query: Query<PageQuery>) -> Result<Response, Refusal> {
    all(&visit, &query.0, &Tried::default()).await
}

async fn all(visit: &Visit, query: &PageQuery, tried: &Tried) -> Result<Response, Refusal> {
    let list: List<Runtime> = visit.api.get(&format!("/runtimes?{}", page(query, 50))).await?;
    let main = runtimes(&visit.cx, &list, &visit.web.state.registrar.presets(), &tried.draft);
    Ok(visit.drafted(&tried.on(Here::Runtimes, "Runtimes"), &main))
}

pub(super) async fn add(visit: Visit, form: Form) -> Result<Response, Refusal> {
    let mut body = json!({});
    form.put(&mut body, &["name", "preset"]);
    let command = form.lines("command");
    if !command.is_empty() {
        body["command"] = json!(command);
    }
    let asked = visit.api.post::<Value>("/runtimes", &body, &form.key).await;
    done(&visit, form, asked).await
}

pub(super) async fn remove(
    visit: Visit,
    Segments(id): Segments<String>,
    form: Form,
) -> Result<Response, Refusal> {
    let asked = visit.api.delete(&format!("/runtimes/{}", escape(&id))).await;
    done(&visit, form, asked).await
}

async fn done(visit: &Visit, form: Form, asked: Result<Value, Refusal>) -> Result<Response, Refusal> {
    match asked {
        Ok(_) => Ok(see_other("/runtimes")),
        Err(refusal) => all(visit, &PageQuery::default(), &Tried::refused(form, refusal)).await,
    }
}
