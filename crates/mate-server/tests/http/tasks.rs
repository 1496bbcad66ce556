//! Tasks through the interface, up to where a worker would take over.

use crate::house::House;
use serde_json::json;

const TASKS: &str = "/api/v1/projects/default/tasks";

#[tokio::test]
async fn a_task_is_proposed_approved_listed_and_stopped_before_its_start() {
    let house = House::new().await;
    house.furnish().await;
    let made = house.post(TASKS, json!({ "instructions": "work" })).await.expect(201);
    assert_eq!(
        (&made["state"], &made["instructions"], &made["final"]),
        (&json!("proposed"), &json!("work"), &json!(false))
    );
    assert!(made["created_at"].as_str().expect("a time").ends_with('Z'));
    let path = format!("/api/v1/tasks/{}", made["id"].as_str().expect("an id"));
    assert_eq!(house.get(&path).await.expect(200), made);
    let approved = house.post(&format!("{path}/approve"), json!({})).await.expect(200);
    assert_eq!(approved["state"], "accepted");
    assert_eq!(
        house.post(&format!("{path}/approve"), json!({})).await.expect(200)["state"],
        "accepted",
        "again"
    );
    assert_eq!(house.get(&format!("{TASKS}?state=accepted")).await.expect(200)["items"][0]["id"], made["id"]);
    assert_eq!(house.get(&format!("{TASKS}?state=running")).await.expect(200)["items"], json!([]));
    let stopped = house.post(&format!("{path}/stop"), json!({})).await.expect(200);
    assert_eq!((&stopped["state"], &stopped["final"]), (&json!("stopped"), &json!(true)));
    assert!(stopped["ended_at"].is_string());
    assert_eq!(house.post(&format!("{path}/approve"), json!({})).await.problem(409), "final");
    let report = house.get(&format!("{path}/report")).await.expect(200);
    assert_eq!((&report["task"]["state"], &report["operations"]), (&json!("stopped"), &json!([])));
    assert!(report["task"]["created_at"].is_string());
    assert_eq!(
        house.get(&format!("{path}/operations")).await.expect(200),
        json!({ "items": [], "next": null })
    );
    let session =
        house.get(&format!("/api/v1/sessions/{}", made["session"].as_str().expect("id"))).await.expect(200);
    assert_eq!((&session["state"], &session["epoch"]), (&json!("idle"), &json!(0)));
    let sessions = house.get("/api/v1/sessions?project=default").await.expect(200);
    assert_eq!(sessions["items"][0], session);
}

#[tokio::test]
async fn a_rejected_task_says_why() {
    let house = House::new().await;
    house.furnish().await;
    let made = house.post(TASKS, json!({ "instructions": "work", "approve": true })).await.expect(201);
    assert_eq!(made["state"], "accepted");
    let path = format!("/api/v1/tasks/{}/reject", made["id"].as_str().expect("an id"));
    let rejected = house.post(&path, json!({ "reason": "not today" })).await.expect(200);
    assert_eq!((&rejected["state"], &rejected["reason"]), (&json!("rejected"), &json!("not today")));
}

#[tokio::test]
async fn g02_a_busy_session_refuses_or_queues_as_the_caller_chose() {
    let house = House::new().await;
    house.furnish().await;
    let first = house.post(TASKS, json!({ "instructions": "one", "approve": true })).await.expect(201);
    let session = &first["session"];
    let refused =
        house.post(TASKS, json!({ "instructions": "two", "session": session, "queue": false })).await;
    assert_eq!(refused.problem(409), "session_busy");
    let queued = house.post(TASKS, json!({ "instructions": "two", "session": session })).await.expect(201);
    assert_eq!((&queued["session"], &queued["number"]), (session, &json!(2)));
}

#[tokio::test]
async fn an_archived_project_takes_no_task() {
    let house = House::new().await;
    house.furnish().await;
    house.post("/api/v1/projects/default/archive", json!({})).await.expect(200);
    let refused = house.post(TASKS, json!({ "instructions": "work" })).await;
    assert_eq!(refused.problem(409), "project_archived");
    let list = house.get(TASKS).await.expect(200);
    assert_eq!(list["items"], json!([]));
}

#[tokio::test]
async fn tasks_come_newest_first_in_pages() {
    let house = House::new().await;
    house.furnish().await;
    let mut ids = Vec::new();
    for number in 0..5 {
        let made = house.post(TASKS, json!({ "instructions": format!("task {number}") })).await.expect(201);
        ids.insert(0, made["id"].clone());
    }
    let (mut seen, mut path) = (Vec::new(), format!("{TASKS}?limit=2"));
    loop {
        let page = house.get(&path).await.expect(200);
        seen.extend(page["items"].as_array().expect("items").iter().map(|item| item["id"].clone()));
        match page["next"].as_str() {
            Some(next) => path = format!("{TASKS}?limit=2&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, ids);
}
