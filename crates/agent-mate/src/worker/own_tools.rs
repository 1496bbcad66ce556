//! Tools of the runtime's own that it asks leave for: a person is asked, and the answer is recorded before it is told.

use super::recorder::Recorder;
use mate_engine::admit::{Admission, OwnCall, OwnVerdict};
use mate_model::event::EventType;
use mate_runtime::acp::{PermissionAnswer, PermissionOption};
use serde_json::json;
use std::sync::Arc;
use tokio::sync::oneshot;

/// A request that a person is asked about.
pub(super) struct Asked {
    pub(super) request: u64,
    pub(super) call: OwnCall,
    pub(super) allow: Option<PermissionOption>,
    pub(super) reject: Option<PermissionOption>,
    pub(super) answer: oneshot::Sender<PermissionAnswer>,
}

/// Asks in the background: the runtime goes on with other things meanwhile.
pub(super) fn ask(desk: &Arc<Admission>, recorder: &Recorder, asked: Asked) {
    let (desk, recorder) = (Arc::clone(desk), recorder.clone());
    tokio::spawn(async move {
        let Asked { request, call, allow, reject, mut answer } = asked;
        let said = desk.ask_own(&call, answer.closed()).await;
        let (option, allowed) = match said.verdict {
            OwnVerdict::Allowed => (allow, true),
            OwnVerdict::Refused => (reject, false),
            OwnVerdict::Cancelled => (None, false),
        };
        // Leave that cannot be said in the runtime's own words is none.
        let allowed = allowed && option.is_some();
        let data = json!({
            "request": request, "allowed": allowed, "approval": said.approval, "detail": said.why,
        });
        if let Err(error) = recorder.event(EventType::PermissionAnswered, data).await {
            tracing::warn!(%error, "an answer could not be recorded, and is not given");
            return;
        }
        let told = option.map_or(PermissionAnswer::Cancelled, |option| PermissionAnswer::Selected(option.id));
        if answer.send(told).is_err() {
            tracing::info!(request, "the runtime does not wait for the answer any more");
        }
    });
}
