//! `/projects`

use super::{
    answer::see_other,
    form::Form,
    inside::escape,
    refusal::Refusal,
    visit::{Tried, Visit},
};
use crate::extract::{PageQuery, Query, Segments};
use axum::response::Response;
use mate_model::words::Role;
use mate_pages::{
    Here,
    manage::{ProjectPage, project, projects},
    view::{List, Project},
};
use serde_json::{Value, json};

/// The parameters of a page of a list.
pub(super) fn page(query: &PageQuery, limit: u32) -> String {
    let cursor = query.cursor.as_deref().map(|cursor| format!("&cursor={}", escape(cursor)));
    format!("limit={limit}{}", cursor.unwrap_or_default())
}

pub(super) async fn list(visit: Visit, query: Query<PageQuery>) -> Result<Response, Refusal> {
    all(&visit, &query.0, &Tried::default()).await
}

async fn all(visit: &Visit, query: &PageQuery, tried: &Tried) -> Result<Response, Refusal> {
    let list: List<Project> = visit.api.get(&format!("/projects?{}", page(query, 50))).await?;
    let main = projects(&visit.cx, &list, &tried.draft);
    Ok(visit.drafted(&tried.on(Here::Projects, "Projects"), &main))
}

pub(super) async fn add(visit: Visit, form: Form) -> Result<Response, Refusal> {
    let mut body = json!({ "distinct_approver": form.ticked("distinct_approver") });
    form.put(&mut body, &["name", "workspace"]);
    match visit.api.post::<Project>("/projects", &body, &form.key).await {
        Ok(made) => Ok(see_other(&format!("/projects/{}", escape(&made.id)))),
        Err(refusal) => all(&visit, &PageQuery::default(), &Tried::refused(form, refusal)).await,
    }
}

pub(super) async fn show(
    visit: Visit,
    Segments(id): Segments<String>,
    query: Query<PageQuery>,
) -> Result<Response, Refusal> {
    one(&visit, &id, &query.0, &Tried::default()).await
}

async fn one(visit: &Visit, id: &str, query: &PageQuery, tried: &Tried) -> Result<Response, Refusal> {
    let found: Project = visit.api.get(&format!("/projects/{}", escape(id))).await?;
    let members = visit.api.get(&format!("/projects/{}/members?{}", found.id, page(query, 50))).await?;
    let artifacts = visit.api.get(&format!("/projects/{}/artifacts?limit=30", found.id)).await?;
    let owner = visit.has(&found.id, Role::Owner).await;
    let shown = ProjectPage { project: found, members, artifacts, owner };
    let main = project(&visit.cx, &shown, &tried.draft);
    Ok(visit.drafted(&tried.on(Here::Projects, &shown.project.name), &main))
}

async fn done(
    visit: &Visit,
    id: &str,
    form: Form,
    asked: Result<Value, Refusal>,
) -> Result<Response, Refusal> {
    match asked {
        Ok(_) => Ok(see_other(&format!("/projects/{}", escape(id)))),
        Err(refusal) => one(visit, id, &PageQuery::default(), &Tried::refused(form, refusal)).await,
    }
}

pub(super) async fn archive(
    visit: Visit,
    Segments(id): Segments<String>,
    form: Form,
) -> Result<Response, Refusal> {
    let asked = visit.api.post(&format!("/projects/{}/archive", escape(&id)), &json!({}), &form.key).await;
    done(&visit, &id, form, asked).await
}

pub(super) async fn set_member(
    visit: Visit,
    Segments(id): Segments<String>,
    form: Form,
) -> Result<Response, Refusal> {
    let mut body = json!({});
    form.put(&mut body, &["account", "role"]);
    let asked = visit.api.post(&format!("/projects/{}/members", escape(&id)), &body, &form.key).await;
    done(&visit, &id, form, asked).await
}

pub(super) async fn remove_member(
    visit: Visit,
    Segments((id, account)): Segments<(String, String)>,
    form: Form,
) -> Result<Response, Refusal> {
    let asked = visit.api.delete(&format!("/projects/{}/members/{}", escape(&id), escape(&account))).await;
    done(&visit, &id, form, asked).await
}
