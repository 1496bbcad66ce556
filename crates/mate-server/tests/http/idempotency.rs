//! A repeated request gets the first answer.

use crate::house::House;
use serde_json::{Value, json};

fn posts() -> [(&'static str, Value); 5] {
    [
        ("/api/v1/accounts", json!({ "name": "mary" })),
        ("/api/v1/projects", json!({ "name": "web" })),
        ("/api/v1/runtimes", json!({ "name": "other", "command": ["true"] })),
        (
            "/api/v1/connections",
            json!({ "name": "remote", "url": "http://127.0.0.1:9/", "headers": { "X-Key": "s" } }),
        ),
        ("/api/v1/grants", json!({ "project": "default", "connection": "files", "tools": ["*"] })),
    ]
}

#[tokio::test]
async fn g12_a_repeated_post_gets_the_first_answer_also_after_a_restart() {
    let mut house = House::new().await;
    house.furnish().await;
    let mut first = Vec::new();
    for (path, body) in posts() {
        first.push(house.post_keyed("k1", path, body).await.expect(201));
    }
    for round in 0..2 {
        let before = house.fingerprint().await;
        for ((path, body), first) in posts().into_iter().zip(&first) {
            let again = house.post_keyed("k1", path, body).await;
            assert_eq!(again.headers["idempotency-replayed"], "true", "{path} {round}");
            assert_eq!(&again.expect(201), first, "{path} {round}");
        }
        assert_eq!(house.fingerprint().await, before);
        if round == 0 {
            house = house.reopened().await;
        }
    }
}

#[tokio::test]
async fn g12_a_key_belongs_to_one_body_one_route_and_one_account() {
    let house = House::new().await;
    house.post_keyed("k1", "/api/v1/projects", json!({ "name": "web" })).await.expect(201);
    let other = house.post_keyed("k1", "/api/v1/projects", json!({ "name": "app" })).await;
    assert_eq!(other.problem(422), "idempotency_key_reused");
    house.post_keyed("k1", "/api/v1/accounts", json!({ "name": "web" })).await.expect(201);
    for bad in ["", "a b", &"x".repeat(256)] {
        let refused = house.post_keyed(bad, "/api/v1/projects", json!({ "name": "app" })).await;
        assert_eq!(refused.problem(400), "bad_parameter", "{bad}");
        assert_eq!(refused.body["errors"][0]["field"], "Idempotency-Key");
    }
}

#[tokio::test]
async fn g12_a_refused_request_leaves_its_key_free() {
    let house = House::new().await;
    let grant = json!({ "project": "default", "connection": "files", "tools": ["*"] });
    assert_eq!(house.post_keyed("k1", "/api/v1/grants", grant.clone()).await.problem(422), "invalid");
    house.furnish().await;
    house.post_keyed("k1", "/api/v1/grants", grant).await.expect(201);
}

/// A process that died between what it did and its answer.
#[tokio::test]
async fn g12_a_request_that_was_cut_short_is_finished_by_its_repetition() {
    let house = House::new().await;
    house.furnish().await;
    let body = json!({ "project": "default", "connection": "files", "tools": ["*"] });
    let key = mate_store::IdempotencyKey {
        account: house.first.account.id,
        route: "POST /grants".to_owned(),
        key: "k1".to_owned(),
        body_digest: *blake3::hash(body.to_string().as_bytes()).as_bytes(),
    };
    let ledger = &house.engine.ledger;
    let claimed_at = house.engine.clock.now();
    ledger.claim(&key, claimed_at).await.expect("claimed");
    let first = house.post_keyed("k1", "/api/v1/grants", body.clone()).await.expect(201);
    // As if the grant had been made and the answer had not been kept.
    ledger.forget_keys(mate_model::Micros(i64::MAX)).await.expect("forgotten");
    ledger.claim(&key, claimed_at).await.expect("claimed");
    let before = house.fingerprint().await;
    assert_eq!(house.post_keyed("k1", "/api/v1/grants", body).await.expect(201), first);
    assert_eq!(house.fingerprint().await, before, "no second grant");
}

#[tokio::test]
async fn g09_a_replay_never_shows_a_secret_again() {
    let house = House::new().await;
    let made = house.post_keyed("k1", "/api/v1/tokens", json!({})).await.expect(201);
    let secret = made["token"].as_str().expect("a secret").to_owned();
    house.call_as(&secret, "GET", "/api/v1/projects", None).await.expect(200);
    let again = house.post_keyed("k1", "/api/v1/tokens", json!({})).await.expect(201);
    assert_eq!((&again["id"], &again["token"]), (&made["id"], &Value::Null));
}

/// F-25.
#[tokio::test]
async fn g12_a_repeated_submission_is_one_task() {
    let house = House::new().await;
    house.furnish().await;
    let body = json!({ "instructions": "work", "approve": true });
    let path = "/api/v1/projects/default/tasks";
    let mut replies = Vec::new();
    for chunk in [1, 8] {
        let calls = (0..chunk).map(|_| house.post_keyed("k1", path, body.clone()));
        replies.extend(futures_util::future::join_all(calls).await);
    }
    let house_after = house.fingerprint().await;
    let ids: Vec<_> = replies.into_iter().map(|reply| reply.expect(201)["id"].clone()).collect();
    assert!(ids.iter().all(|id| id == &ids[0]), "{ids:?}");
    let house = house.reopened().await;
    assert_eq!(house.post_keyed("k1", path, body).await.expect(201)["id"], ids[0]);
    assert_eq!(house.fingerprint().await, house_after);
    let list = house.get(path).await.expect(200);
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn g12_submissions_at_the_same_moment_are_one_task() {
    let house = House::new().await;
    house.furnish().await;
    let path = "/api/v1/projects/default/tasks";
    let calls = (0..8).map(|_| house.post_keyed("k1", path, json!({ "instructions": "work" })));
    let replies = futures_util::future::join_all(calls).await;
    let ids: Vec<_> = replies.into_iter().map(|reply| reply.expect(201)["id"].clone()).collect();
    assert!(ids.iter().all(|id| id == &ids[0]), "{ids:?}");
    assert_eq!(house.get(path).await.expect(200)["items"].as_array().map(Vec::len), Some(1));
}
