//! Tools of the runtime's own that it asks for.

use super::asking;
use crate::harness::{Store, id, on_both_stores};
use serde_json::json;

on_both_stores!(a_person_answers_for_the_runtimes_own_tools);

fn a_person_answers_for_the_runtimes_own_tools(store: Store) {
    let world = asking(store, "always", "");
    let task =
        id(&world.submit(&json!([{"permission": "rm -r build"}, {"permission": "curl"}, {"text": "done"}])));
    let first = world.until_asked(1).remove(0);
    assert_eq!((&first["kind"], &first["tool"]), (&json!("own_tool"), &json!("rm -r build")), "{first}");
    assert!(first["operation"].is_null() && first["connection"].is_null());
    assert_eq!(world.task(&task)["activity"], "waiting_approval");
    world.ok(&["approval", "allow", &id(&first)]);
    let second = world.until_asked(1).remove(0);
    world.ok(&["approval", "deny", &id(&second), "--reason", "no network"]);
    let (ended, code) = world.wait(&task);
    assert_eq!(code, 0, "{ended}");
    let events = world.events(&task);
    let answers: Vec<_> = events.iter().filter(|event| event["type"] == "permission.answered").collect();
    assert_eq!(
        (&answers[0]["data"]["allowed"], &answers[1]["data"]["allowed"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(answers[0]["data"]["approval"], first["id"]);
    let said: String = events
        .iter()
        .filter(|event| event["type"] == "agent.message")
        .filter_map(|event| event["data"]["text"].as_str())
        .collect();
    assert!(said.contains("permission for rm -r build: yes"), "{said}");
    assert!(said.contains("permission for curl: no"), "{said}");
    assert_eq!(world.ok(&["approval", "show", &id(&first)])["state"], "used");
}

#[test]
fn g06_a_stop_cancels_what_the_runtime_asked() {
    let world = asking(Store::Sqlite, "always", "");
    let task = id(&world.submit(&json!([{"permission": "rm"}, {"text": "never"}])));
    let asked = id(&world.until_asked(1)[0]);
    assert_eq!(world.cli(&["task", "stop", &task]).code, 0);
    assert_eq!(world.ok(&["approval", "show", &asked])["state"], "withdrawn");
    assert!(world.open_approvals().is_empty());
}

#[test]
fn an_own_tool_that_nobody_answers_for_is_refused_in_time() {
    let world = asking(Store::Sqlite, "always", "expire_seconds = 1");
    let task = id(&world.submit(&json!([{"permission": "rm"}, {"text": "done"}])));
    let (ended, code) = world.wait(&task);
    assert_eq!(code, 0, "{ended}");
    let all = world.ok(&["approval", "list", "--all"]);
    assert_eq!(all["items"][0]["state"], "expired", "{all}");
}
