//! `agent-mate key`: on the home itself, with or without a coordinator at work.

use crate::{
    cli::{Context, Exit, Failure, KeyVerb},
    here::{broken, failed},
    opening,
};
use mate_engine::{
    EngineError,
    keys::{KeyView, KeysView, Retired, Rotated},
};
use mate_guard::KeySource;
use serde_json::{Value, json};

/// Runs a verb.
///
/// # Errors
/// Why it was not done.
pub(crate) async fn run(context: &Context, verb: KeyVerb) -> Result<Exit, Failure> {
    let engine = opening::open(&context.home).await.map_err(broken)?.engine;
    let (document, lines) = match verb {
        KeyVerb::Show => shown(&engine.keys_view().await.map_err(refused)?),
        KeyVerb::Rotate { prepare, to } => {
            rotated(&engine.rotate_key(prepare, to.as_deref()).await.map_err(refused)?)
        }
        KeyVerb::Retire { to } => retired(&engine.retire_keys(to.as_deref()).await.map_err(refused)?),
    };
    if context.screen.json {
        context.screen.document(&document)?;
    } else {
        for line in lines {
            context.screen.line(&line)?;
        }
    }
    Ok(Exit::Done)
}

fn refused(error: EngineError) -> Failure {
    match error {
        EngineError::Refused { code, detail } => Failure::new(Exit::Refused, code, detail),
        error @ (EngineError::NotFound
        | EngineError::NotAllowed { .. }
        | EngineError::NotAuthenticated
        | EngineError::Invalid { .. }
        | EngineError::KeyReused
        | EngineError::Unavailable(_)
        | EngineError::Damaged(_)
        | EngineError::ClockBehind(_)
        | EngineError::Internal(_)) => failed(error),
    }
}

fn shown(view: &KeysView) -> (Value, Vec<String>) {
    let place = &view.place;
    let mode = place.mode().ok().map(|mode| format!("{mode:04o}"));
    let item = |key: &KeyView| {
        json!({
            "id": key.id.to_string(),
            "state": key.state.as_str(),
            "in_file": key.in_file,
            "sealed": {
                "connections": key.connections,
                "authorizations": key.authorizations,
                "home_secret": key.home_secret,
            },
        })
    };
    let items: Vec<Value> = view.keys.iter().map(item).collect();
    let document = json!({
        "file": place.path,
        "source": place.source.as_str(),
        "mode": mode,
        "writable": place.source != KeySource::Credential,
        "items": items,
        "next": null,
    });
    let mut lines = vec![format!(
        "{}: {}, mode {}",
        place.path.display(),
        place.source,
        mode.as_deref().unwrap_or("unknown")
    )];
    lines.extend(view.keys.iter().map(|key| {
        let file = if key.in_file { "" } else { "   NOT IN THE FILE" };
        format!(
            "  {}  {:<8}  seals {} connections, {} authorizations{}{file}",
            key.id,
            key.state.as_str(),
            key.connections,
            key.authorizations,
            if key.home_secret { ", the home's secret" } else { "" },
        )
    }));
    (document, lines)
}

fn rotated(done: &Rotated) -> (Value, Vec<String>) {
    match done {
        Rotated::Prepared { key, file } => (
            json!({"id": key.to_string(), "state": "prepared", "file": file}),
            vec![
                format!("Key {key} is in {}; nothing is sealed under it yet.", file.display()),
                "Next: see that every host, and the coordinator, has this file, then `agent-mate key rotate`"
                    .to_owned(),
            ],
        ),
        Rotated::Changed { from, to, resealed } => (
            json!({"id": to.to_string(), "state": "current", "before": from.to_string(), "resealed": resealed}),
            vec![
                format!("Key {to} seals now; {resealed} values were sealed anew, nothing is under {from}."),
                format!(
                    "Key {from} stays in the file: backups made until now need it. `agent-mate key retire` lets it go."
                ),
            ],
        ),
        Rotated::Finished { key, resealed } => (
            json!({"id": key.to_string(), "state": "current", "before": null, "resealed": resealed}),
            vec![
                format!(
                    "An earlier rotation to {key} was interrupted; it is done: {resealed} values were sealed anew."
                ),
                "Run `agent-mate key rotate` again for another key.".to_owned(),
            ],
        ),
    }
}

fn retired(done: &Retired) -> (Value, Vec<String>) {
    let keys: Vec<String> = done.keys.iter().map(ToString::to_string).collect();
    let document = json!({"retired": keys, "still_in_file": done.still_in_file});
    let mut lines = match keys.as_slice() {
        [] => vec!["There is no older key.".to_owned()],
        keys => vec![format!("Nothing in this home opens with {} any more.", keys.join(", "))],
    };
    lines.extend(done.still_in_file.clone());
    (document, lines)
}
