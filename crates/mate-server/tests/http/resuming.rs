//! Resuming through the interface, up to where a worker would take over.

use crate::house::House;
use serde_json::{Value, json};

const TASKS: &str = "/api/v1/projects/default/tasks";

async fn made(house: &House) -> String {
    let task = house.post(TASKS, json!({ "instructions": "work", "approve": true })).await.expect(201);
    format!("/api/v1/tasks/{}", task["id"].as_str().expect("an id"))
}

async fn stopped(house: &House) -> String {
    let path = made(house).await;
    house.post(&format!("{path}/stop"), json!({})).await.expect(200);
    path
}

async fn resume(house: &House, path: &str, body: Value) -> crate::house::Reply {
    house.post(&format!("{path}/resume"), body).await
}

#[tokio::test]
async fn a_task_is_continued_by_a_new_one_in_its_session_or_afresh() {
    let house = House::new().await;
    house.furnish().await;
    let path = stopped(&house).await;
    let old = house.get(&path).await.expect(200);
    let new = resume(&house, &path, json!({})).await.expect(201);
    assert_eq!((&new["state"], &new["continues"]), (&json!("accepted"), &old["id"]));
    for same in ["session", "instructions", "policy", "proposer"] {
        assert_eq!(new[same], old[same], "{same}");
    }
    let old = house.get(&path).await.expect(200);
    assert_eq!((&old["state"], &old["continued_by"]), (&json!("stopped"), &new["id"]));

    let path = stopped(&house).await;
    let old = house.get(&path).await.expect(200);
    let wish = json!({ "fresh": true, "instructions": "something else" });
    let new = resume(&house, &path, wish).await.expect(201);
    assert_eq!((&new["instructions"], &new["runtime"]), (&json!("something else"), &old["runtime"]));
    assert!(new["session"] != old["session"]);
    let session = |task: &Value| format!("/api/v1/sessions/{}", task["session"].as_str().expect("a session"));
    let (before, after) =
        (house.get(&session(&old)).await.expect(200), house.get(&session(&new)).await.expect(200));
    assert_eq!(before["workspace"], after["workspace"]);
}

#[tokio::test]
async fn what_cannot_be_resumed_is_refused_and_says_what_to_do() {
    let house = House::new().await;
    house.furnish().await;
    let path = made(&house).await;
    assert_eq!(resume(&house, &path, json!({})).await.problem(409), "still_live");
    house.post(&format!("{path}/reject"), json!({})).await.expect(200);
    assert_eq!(resume(&house, &path, json!({})).await.problem(409), "not_resumable");

    let path = stopped(&house).await;
    let before = house.fingerprint().await;
    for (body, field) in [
        (json!({ "instructions": " " }), "instructions"),
        (json!({ "instructions": 7 }), "instructions"),
        (json!({ "fresh": "yes" }), "fresh"),
        (json!({ "freshly": true }), "freshly"),
    ] {
        let refused = resume(&house, &path, body.clone()).await;
        assert!((400..=422).contains(&refused.status.as_u16()), "{body}: {}", refused.body);
        assert!(refused.body.to_string().contains(field), "{body}: {}", refused.body);
    }
    assert_eq!(house.fingerprint().await, before);

    let next = resume(&house, &path, json!({})).await.expect(201);
    let refused = resume(&house, &path, json!({})).await;
    assert_eq!(refused.problem(409), "already_continued");
    let named = next["id"].as_str().expect("an id");
    assert!(refused.body["detail"].as_str().is_some_and(|said| said.contains(named)), "{}", refused.body);
    // The session is busy with what continues it.
    let session = house.get(&path).await.expect(200)["session"].clone();
    let wish = json!({ "instructions": "x", "approve": true, "session": session });
    let other = house.post(TASKS, wish).await.expect(201);
    let other = format!("/api/v1/tasks/{}", other["id"].as_str().expect("an id"));
    house.post(&format!("{other}/stop"), json!({})).await.expect(200);
    assert_eq!(resume(&house, &other, json!({ "queue": false })).await.problem(409), "session_busy");

    // A continuation that was rejected leaves room for another.
    let rejected = format!("/api/v1/tasks/{named}/reject");
    house.post(&rejected, json!({})).await.expect(200);
    resume(&house, &path, json!({})).await.expect(201);
}

#[tokio::test]
async fn g12_a_repeated_resume_is_one_task() {
    let house = House::new().await;
    house.furnish().await;
    let path = format!("{}/resume", stopped(&house).await);
    let calls = (0..6).map(|_| house.post_keyed("k1", &path, json!({ "fresh": true })));
    let replies = futures_util::future::join_all(calls).await;
    let ids: Vec<_> = replies.into_iter().map(|reply| reply.expect(201)["id"].clone()).collect();
    assert!(ids.iter().all(|id| id == &ids[0]), "{ids:?}");
    assert_eq!(house.post_keyed("k1", &path, json!({ "fresh": true })).await.expect(201)["id"], ids[0]);
    assert_eq!(house.post_keyed("k1", &path, json!({})).await.status.as_u16() / 100, 4, "another body");
    assert_eq!(house.get(TASKS).await.expect(200)["items"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn g08_only_an_operator_resumes() {
    let house = House::new().await;
    house.furnish().await;
    let path = stopped(&house).await;
    let viewer = house.post("/api/v1/tokens", json!({ "role": "viewer" })).await.expect(201);
    let viewer = viewer["token"].as_str().expect("a secret");
    let path = format!("{path}/resume");
    assert_eq!(house.call_as(viewer, "POST", &path, Some(json!({}))).await.status, 403);
    let stranger = house.stranger("mallory").await;
    assert_eq!(house.call_as(&stranger, "POST", &path, Some(json!({}))).await.problem(404), "not_found");
}

#[tokio::test]
async fn a_policy_for_interruptions_is_bounded() {
    let house = House::new().await;
    house.furnish().await;
    let post =
        async |policy: Value| house.post(TASKS, json!({ "instructions": "x", "policy": policy })).await;
    let made = post(json!({ "on_interruption": "resume", "max_resumes": 3 })).await.expect(201);
    assert_eq!((&made["policy"]["on_interruption"], &made["resumes"]), (&json!("resume"), &json!(0)));
    for most in [json!(0), json!(11), json!(-1), json!("many")] {
        let refused = post(json!({ "max_resumes": most })).await;
        assert!((400..=422).contains(&refused.status.as_u16()), "{most}");
        assert!(refused.body.to_string().contains("policy"), "{}", refused.body);
    }
    assert_eq!(post(json!({ "on_interruption": "always" })).await.status.as_u16() / 100, 4);
}
