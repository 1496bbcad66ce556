//! Each noun: made, shown, listed, changed.

use crate::house::{House, open};
use mate_store::{SqliteDatabase, SqliteOptions, Statement};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;

#[tokio::test]
async fn init_makes_a_home_once() {
    let house = House::new().await;
    let home = house.folder.path().join("home");
    let file = std::fs::read_to_string(home.join("token")).expect("a token file");
    assert_eq!(file.trim_end(), house.token());
    for private in ["token", "key", "ledger.db"] {
        let mode = std::fs::metadata(home.join(private)).expect(private).permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{private}");
    }
    let before = house.fingerprint().await;
    let error = house.engine.initialise().await.expect_err("a second time").to_string();
    assert!(error.contains("already") && error.contains("nothing was changed"), "{error}");
    assert_eq!(house.fingerprint().await, before);
    assert_eq!(std::fs::read_to_string(home.join("token")).expect("a token file"), file);
}

#[tokio::test]
async fn an_init_that_was_cut_short_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = open(folder.path().join("home").as_path()).await;
    let entropy = &engine.entropy;
    let half = mate_model::records::Account {
        id: mate_model::AccountId::new(entropy.uuid()),
        name: "owner".to_owned(),
        admin: true,
        disabled_at: None,
        created_at: engine.clock.now(),
    };
    engine.ledger.add_account(&half).await.expect("the first step");
    let done = engine.initialise().await.expect("goes on");
    assert_eq!(done.account.id, half.id);
    assert!(engine.authenticate(done.token.reveal()).await.expect("works").admin);
}

#[tokio::test]
async fn a_home_with_a_ledger_and_no_key_gets_no_new_one() {
    let house = House::new().await;
    let home = mate_engine::Home::at(house.folder.path().join("home"));
    let key = home.path().join("key");
    std::fs::remove_file(&key).expect("removed");
    let entropy = mate_engine::surroundings::SystemEntropy;
    let place = mate_guard::KeyPlace::of(home.path(), None, None);
    let error = mate_engine::admin::create_home(&home, &place, &entropy).expect_err("refused").to_string();
    assert!(error.contains("missing"), "{error}");
    assert!(!key.exists());
}

#[tokio::test]
async fn projects_and_members() {
    let house = House::new().await;
    let workspace = house.folder.path().join("work");
    std::fs::create_dir(&workspace).expect("made");
    let made =
        house.post("/api/v1/projects", json!({ "name": "web", "workspace": workspace })).await.expect(201);
    assert_eq!((&made["state"], &made["name"]), (&json!("active"), &json!("web")));
    assert!(made["created_at"].as_str().expect("a time").ends_with('Z'));
    let id = made["id"].as_str().expect("an id").to_owned();
    assert_eq!(house.get(&format!("/api/v1/projects/{id}")).await.expect(200), made);
    assert_eq!(house.get("/api/v1/projects/web").await.expect(200), made);
    let list = house.get("/api/v1/projects").await.expect(200);
    assert_eq!((list["items"].as_array().expect("items").len(), &list["next"]), (2, &json!(null)));
    assert_eq!(house.post("/api/v1/projects", json!({ "name": "web" })).await.problem(409), "name_taken");

    house.post("/api/v1/accounts", json!({ "name": "mary" })).await.expect(201);
    let member = json!({ "account": "mary", "role": "viewer" });
    let member = house.post("/api/v1/projects/web/members", member).await.expect(201);
    assert_eq!((&member["account_name"], &member["role"]), (&json!("mary"), &json!("viewer")));
    assert_eq!(house.get("/api/v1/projects/web/members").await.expect(200)["items"][1], member);
    let lower = json!({ "account": "owner", "role": "operator" });
    assert_eq!(house.post("/api/v1/projects/web/members", lower).await.problem(409), "last_owner");
    let gone = "/api/v1/projects/web/members/owner";
    assert_eq!(house.call_as(house.token(), "DELETE", gone, None).await.problem(409), "last_owner");
    house.call_as(house.token(), "DELETE", "/api/v1/projects/web/members/mary", None).await.expect(200);

    let archived = house.post("/api/v1/projects/web/archive", json!({})).await.expect(200);
    assert_eq!(archived["state"], "archived");
    let member = json!({ "account": "mary", "role": "viewer" });
    assert_eq!(house.post("/api/v1/projects/web/members", member).await.problem(409), "project_archived");
}

#[tokio::test]
async fn g09_a_connection_never_shows_its_secrets() {
    let house = House::new().await;
    house.furnish().await;
    let headers = json!({ "Authorization": "Bearer hunter3hunter3" });
    let remote = json!({ "name": "remote", "url": "https://mcp.example/mcp", "headers": headers });
    let made = house.post("/api/v1/connections", remote).await.expect(201);
    assert_eq!((&made["kind"], &made["headers"]), (&json!("http"), &json!(["Authorization"])));
    let shown = house.get("/api/v1/connections/files").await.expect(200);
    assert_eq!((&shown["kind"], &shown["secret_env"]), (&json!("stdio"), &json!(["KEY"])));
    let list = house.get("/api/v1/connections").await.expect(200);
    for answer in [&made, &shown, &list] {
        assert!(!answer.to_string().contains("hunter"), "{answer}");
    }
    for entry in std::fs::read_dir(house.folder.path().join("home")).expect("the home") {
        let path = entry.expect("an entry").path();
        let bytes = if path.is_file() { std::fs::read(&path).expect("read") } else { Vec::new() };
        assert!(
            !bytes.windows(7).any(|window| window == b"hunter2" || window == b"hunter3"),
            "{}",
            path.display()
        );
    }
    let kept = house.engine.ledger.connection_by_name("files").await.expect("read").expect("there");
    let (id, sealed) = (kept.id.to_string(), kept.sealed.expect("sealed"));
    let place = mate_guard::Place { table: "connections", id: &id, column: "sealed" };
    let opened = house.engine.unseal(place, &sealed).expect("opens");
    assert_eq!(opened.expose_text(), Some(r#"{"env":{"KEY":"hunter2hunter2"},"headers":{}}"#));

    house.call_as(house.token(), "DELETE", "/api/v1/connections/files", None).await.expect(200);
    assert_eq!(house.get("/api/v1/connections/files").await.problem(404), "not_found");
}

#[tokio::test]
async fn g07_a_grant_lives_until_it_is_revoked() {
    let house = House::new().await;
    let grant = house.furnish().await;
    assert_eq!((&grant["state"], &grant["connection_name"]), (&json!("active"), &json!("files")));
    assert_eq!((&grant["approve"], &grant["used_calls"]), (&json!("never"), &json!(0)));
    let path = format!("/api/v1/grants/{}", grant["id"].as_str().expect("an id"));
    let mut shown = house.get(&path).await.expect(200);
    let pins = shown.as_object_mut().and_then(|shown| shown.remove("pins"));
    assert_eq!((shown, pins), (grant.clone(), Some(json!({ "items": [], "next": null }))));
    let before = house.engine.ledger.authorisation_version().await.expect("version");
    let revoked = house.post(&format!("{path}/revoke"), json!({})).await.expect(200);
    assert_eq!(revoked["state"], "revoked");
    assert!(house.engine.ledger.authorisation_version().await.expect("version") > before);
    assert_eq!(
        house.post(&format!("{path}/revoke"), json!({})).await.expect(200),
        revoked,
        "again: no change"
    );
    let live = house.get("/api/v1/grants?project=default").await.expect(200);
    let all = house.get("/api/v1/grants?project=default&all=true").await.expect(200);
    assert_eq!(
        (live["items"].as_array().map(Vec::len), all["items"].as_array().map(Vec::len)),
        (Some(0), Some(1))
    );
    let timed = json!({ "project": "default", "connection": "files", "tools": ["*"], "expires": "30d", "max_calls": 3 });
    let timed = house.post("/api/v1/grants", timed).await.expect(201);
    assert_eq!((&timed["max_calls"], timed["expires_at"].is_string()), (&json!(3), true));
}

#[tokio::test]
async fn tokens_show_their_secret_once_and_end_when_revoked() {
    let house = House::new().await;
    let made = house.post("/api/v1/tokens", json!({ "role": "viewer", "expires": "1h" })).await.expect(201);
    let secret = made["token"].as_str().expect("a secret").to_owned();
    let list = house.get("/api/v1/tokens").await.expect(200);
    assert!(!list.to_string().contains(&secret));
    let path = format!("/api/v1/tokens/{}/revoke", made["id"].as_str().expect("an id"));
    house.call_as(&secret, "GET", "/api/v1/projects", None).await.expect(200);
    let refused = house.call_as(&secret, "POST", "/api/v1/tokens", Some(json!({}))).await;
    assert_eq!(refused.problem(403), "not_allowed", "a limited token makes no other");
    assert_eq!(house.post(&path, json!({})).await.expect(200)["state"], "revoked");
    let refused = house.call_as(&secret, "GET", "/api/v1/projects", None).await;
    assert_eq!(refused.problem(401), "not_authenticated");
    assert_eq!(refused.headers["www-authenticate"], "Bearer realm=\"agent-mate\"");
}

#[tokio::test]
async fn a_disabled_account_opens_nothing() {
    let house = House::new().await;
    let token = house.stranger("mary").await;
    house.call_as(&token, "GET", "/api/v1/accounts/mary", None).await.expect(200);
    assert_eq!(
        house.post("/api/v1/accounts/owner/disable", json!({})).await.problem(409),
        "last_administrator"
    );
    let disabled = house.post("/api/v1/accounts/mary/disable", json!({})).await.expect(200);
    assert_eq!(disabled["state"], "disabled");
    assert_eq!(
        house.call_as(&token, "GET", "/api/v1/projects", None).await.problem(401),
        "not_authenticated"
    );
    assert_eq!(
        house.post("/api/v1/tokens", json!({ "account": "mary" })).await.problem(409),
        "account_disabled"
    );
}

#[tokio::test]
async fn lists_come_in_pages() {
    let house = House::new().await;
    for number in 0..5 {
        house
            .post("/api/v1/runtimes", json!({ "name": format!("r{number}"), "command": ["x"] }))
            .await
            .expect(201);
    }
    let (mut names, mut path) = (Vec::new(), "/api/v1/runtimes?limit=2".to_owned());
    loop {
        let page = house.get(&path).await.expect(200);
        let items = page["items"].as_array().expect("items");
        assert!(items.len() <= 2);
        names.extend(items.iter().map(|item| item["name"].as_str().expect("a name").to_owned()));
        match page["next"].as_str() {
            Some(next) => path = format!("/api/v1/runtimes?limit=2&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(names, ["r0", "r1", "r2", "r3", "r4"]);
    house.call_as(house.token(), "DELETE", "/api/v1/runtimes/r3", None).await.expect(200);
    assert_eq!(house.get("/api/v1/runtimes/r3").await.problem(404), "not_found");
}

#[tokio::test]
async fn lists_go_across_the_projects_of_the_caller_alone() {
    let house = House::new().await;
    house.furnish().await;
    let mut ids = vec![house.get("/api/v1/grants").await.expect(200)["items"][0]["id"].clone()];
    for name in ["empty", "web", "void"] {
        house.post("/api/v1/projects", json!({ "name": name })).await.expect(201);
    }
    for _ in 0..3 {
        let grant = json!({ "project": "web", "connection": "files", "tools": ["*"] });
        ids.push(house.post("/api/v1/grants", grant).await.expect(201)["id"].clone());
    }
    for limit in 1..=5 {
        let (mut seen, mut path) = (Vec::new(), format!("/api/v1/grants?limit={limit}"));
        loop {
            let page = house.get(&path).await.expect(200);
            seen.extend(page["items"].as_array().expect("items").iter().map(|item| item["id"].clone()));
            match page["next"].as_str() {
                Some(next) => path = format!("/api/v1/grants?limit={limit}&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(seen, ids, "{limit} at a time");
    }
    let token = house.stranger("mary").await;
    assert_eq!(house.call_as(&token, "GET", "/api/v1/grants", None).await.expect(200)["items"], json!([]));
    let member = json!({ "account": "mary", "role": "viewer" });
    house.post("/api/v1/projects/web/members", member).await.expect(201);
    let list = house.call_as(&token, "GET", "/api/v1/grants", None).await.expect(200);
    assert_eq!(list["items"].as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn what_is_made_under_keys_is_listed_by_age_too() {
    let house = House::new().await;
    let mut ids = Vec::new();
    for number in 0..6 {
        let body = json!({ "name": format!("r{number}"), "command": ["x"] });
        let made = house.post_keyed(&format!("key-{number}"), "/api/v1/runtimes", body).await.expect(201);
        ids.push(made["id"].clone());
        let millisecond = house.engine.clock.now().0 / 1_000;
        while house.engine.clock.now().0 / 1_000 == millisecond {
            tokio::task::yield_now().await;
        }
    }
    let list = house.get("/api/v1/runtimes").await.expect(200);
    let listed: Vec<_> =
        list["items"].as_array().expect("items").iter().map(|item| item["id"].clone()).collect();
    assert_eq!(listed, ids);
}

#[tokio::test]
async fn health_needs_no_token() {
    let house = House::new().await;
    for path in ["/healthz", "/readyz"] {
        house.call_as("", "GET", path, None).await.expect(200);
    }
}

#[tokio::test]
async fn who_can_write_the_home_makes_a_lost_way_in_anew_and_only_then() {
    let house = House::new().await;
    let code = |error: mate_engine::EngineError| error.to_string();
    let refused = house.engine.recover_way_in().await.expect_err("there is one");
    assert!(code(refused).contains("unlimited token in force"));
    // As a backup of another time, or a store that was edited, may have it.
    let file = house.folder.path().join("home/ledger.db");
    let store = SqliteDatabase::open(&file, SqliteOptions::LEDGER).await.expect("the ledger");
    let spoil = "UPDATE tokens SET revoked_at = created_at";
    mate_store::Database::execute(&store, Statement::any(spoil, Vec::new())).await.expect("edited");
    let (account, token) = house.engine.recover_way_in().await.expect("made anew");
    assert_eq!(account.id, house.first.account.id);
    let who = house.engine.authenticate(token.reveal()).await.expect("it opens");
    assert!(who.admin && !who.is_limited());
    let written = std::fs::read_to_string(house.folder.path().join("home/token")).expect("written");
    assert_eq!(written.trim(), token.reveal());
    house.engine.recover_way_in().await.expect_err("there is one again");
}
