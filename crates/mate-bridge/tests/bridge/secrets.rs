//! Secrets in an upstream's words: whole where they reach whoever takes them out, and never cut in half before.

use crate::support::{Children, Rig, connection, rig, scripted, task_upstream, until};
use mate_bridge::Limits;
use serde_json::json;

const CANARY: &str = "cAnArY0123456789zyxwvutsrqponmlkjihgfedc";

/// Whether eight or more characters of the secret are left in clear when it is taken out where it is whole.
fn leaks(text: &str) -> bool {
    let clean = text.replace(CANARY, "[redacted]");
    (0..=CANARY.len() - 8).any(|at| clean.contains(&CANARY[at..at + 8]))
}

fn assert_nothing_leaks(rig: &Rig, what: &str) {
    for line in rig.notes.diagnostics.lock().unwrap().iter() {
        assert!(!leaks(line), "{what}: {}", &line[..line.len().min(700)]);
    }
}

/// Paddings that put the secret across every place where texts were ever cut.
fn paddings() -> impl Iterator<Item = usize> {
    [40_usize, 80, 100, 200, 300, 500, 512, 2000, 4000, 4096]
        .into_iter()
        .flat_map(|cut| (cut.saturating_sub(120)..=cut + 1).step_by(30))
}

#[tokio::test]
async fn g09_a_refused_handshake_is_told_with_secrets_whole() {
    for padding in paddings() {
        let message = format!("{}{CANARY} end", "x".repeat(padding));
        let server = move |asked: &serde_json::Value| {
            (asked["method"] == "initialize")
                .then(|| format!("error:{}", json!({ "code": -32000, "message": message })))
        };
        let spec = connection("up", task_upstream());
        let rig = rig(vec![spec], Children::task(scripted(server)), Limits::default()).await;
        *rig.notes.secret.lock().unwrap() = Some(CANARY.to_owned());
        let mut client = rig.client().await;
        let told = client.call(1, "up__get", &json!({})).await.to_string();
        assert!(!leaks(&told) && !told.contains(CANARY), "{told}");
        until("it cannot be listed", || !rig.notes.diagnostics.lock().unwrap().is_empty()).await;
        assert_nothing_leaks(&rig, "handshake");
    }
}

#[tokio::test]
async fn g09_the_reason_of_an_unknown_call_is_told_with_secrets_whole() {
    for padding in paddings() {
        let message = format!("{}{CANARY} end", "x".repeat(padding));
        let error = format!("error:{}", json!({ "code": -32602, "message": message }));
        let server = move |asked: &serde_json::Value| match asked["method"].as_str()? {
            "tools/call" => Some(
                json!({ "task": { "taskId": "t/1", "status": "working", "pollInterval": 1 } }).to_string(),
            ),
            "tasks/get" => Some(error.clone()),
            _ => None,
        };
        let spec = connection("up", task_upstream());
        let rig = rig(vec![spec], Children::task(scripted(server)), Limits::default()).await;
        *rig.notes.secret.lock().unwrap() = Some(CANARY.to_owned());
        let mut client = rig.client().await;
        let told = client.call(1, "up__get", &json!({})).await.to_string();
        assert!(!leaks(&told) && !told.contains(CANARY), "{told}");
        assert_eq!(rig.notes.outcomes(), ["unknown"]);
        assert!(!leaks(&format!("{:?}", rig.notes.settled.lock().unwrap())));
    }
}
