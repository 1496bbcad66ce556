//! Afterwards: by whose leave each call went out, why others did not, and what became of what nobody answered.

use super::{World, asking, asking_under, id, items, json, note};
use crate::harness::Store;

crate::harness::on_both_stores!(
    g07_the_record_says_by_whose_leave_and_why_not,
    what_nobody_answered_says_why_it_is_over,
);

fn text(world: &World, words: &[&str]) -> String {
    let output = world.command(words).env("COLUMNS", "300").output().expect("it runs");
    String::from_utf8(output.stdout).expect("text")
}

fn g07_the_record_says_by_whose_leave_and_why_not(store: Store) {
    let world = asking(store, "always", "");
    let unlisted = json!({"tool": "demo__slow", "args": {"seconds": 0}});
    let task = id(&world.submit(&json!([note("a"), unlisted, {"text": "done"}])));
    let first = world.until_asked(1).remove(0);
    world.ok(&["approval", "allow", &id(&first)]);
    let second = crate::harness::until("the second to ask", || {
        world.open_approvals().into_iter().find(|one| one["id"] != first["id"])
    });
    world.ok(&["approval", "deny", &id(&second), "--reason", "not today"]);
    world.wait(&task);
    let report = world.ok(&["task", "report", &task]);
    let said = |n: usize| report["operations"][n]["authority"].as_str().unwrap_or_default().to_owned();
    assert!(said(0).starts_with("under grant grt_") && said(0).contains(", given by owner;"), "{report}");
    assert!(said(0).contains("; by leave of owner at 2") && said(0).ends_with(", for this call"), "{report}");
    assert!(said(1).starts_with("refused by owner at 2") && said(1).contains("not today"), "{report}");
    assert!(
        !report["operations"][0]["allowed_at"].is_null() && report["operations"][1]["allowed_by"].is_null()
    );
    assert_eq!(report["task"]["own_tools"], "ask");
    let shown = world.ok(&["operation", "show", &id(&first)]);
    assert_eq!((&shown["authority"], &shown["allowed_by"]), (&json!(said(0)), &json!("owner")));
    let drawn = text(&world, &["task", "report", &task]);
    assert!(drawn.contains("By whose leave:\n  op_") && drawn.contains("refused by owner at"), "{drawn}");
    let list = text(&world, &["approval", "list", "--all"]);
    assert!(list.contains("allowed by owner") && list.contains("denied by owner"), "{list}");
    let grant = &items(&world.ok(&["grant", "list"]))[0];
    assert_eq!((&grant["created_by_name"], &grant["project_name"]), (&json!("owner"), &json!("default")));
}

fn what_nobody_answered_says_why_it_is_over(store: Store) {
    let world = asking_under(store, "always", "expire_seconds = 1", &[]);
    let task = id(&world.submit(&json!([note("a"), {"text": "done"}])));
    world.wait(&task);
    let all = items(&world.ok(&["approval", "list", "--all"]));
    assert_eq!(
        (all[0]["state"].as_str(), all[0]["over_why"].as_str()),
        (Some("expired"), Some("nobody answered in time"))
    );
    assert!(all[0]["over_at"].is_string(), "{all:?}");
    let world = asking(store, "always", "");
    let task = world.submit(&json!([note("a"), {"text": "done"}]));
    world.until_asked(1);
    world.worker(task["session"].as_str().expect("a session")).kill();
    world.wait(&id(&task));
    let over = &world.task(&id(&task))["approvals_over"][0];
    let why = json!("the session's worker or its runtime was lost");
    assert_eq!((&over["state"], &over["over_why"]), (&json!("withdrawn"), &why), "{over}");
    let drawn = text(&world, &["task", "show", &id(&task)]);
    assert!(drawn.contains("demo/note withdrawn, 2") && drawn.contains("was lost"), "{drawn}");
}
