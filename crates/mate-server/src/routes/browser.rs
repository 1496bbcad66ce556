//! `/browser`

use super::table::Routes;
use crate::{
    ServerState, answer::Answer, describe::Doc, extract::Caller, problem::Problem, time::rfc3339,
    wire::answer::BrowserLink,
};
use axum::extract::State;
use mate_engine::Verb;

pub(super) fn routes(routes: Routes) -> Routes {
    routes.post("/browser/links", Verb::BrowserOpen, open, Doc::shows::<BrowserLink>().unkeyed())
}

/// Each time another link: the secret of an earlier one is not told again.
async fn open(State(state): State<ServerState>, caller: Caller) -> Result<Answer, Problem> {
    let link = state.engine.open_browser(&caller.who).await?;
    let path = format!("/open/{}", link.secret.reveal());
    let url = state.url.as_deref().map(|base| format!("{base}{path}"));
    Ok(Answer::shown(&BrowserLink { url, path, expires_at: rfc3339(link.expires_at) }))
}
