//! Verbs: what they ask, what they show, what they end with.

use super::coordinator::Fixture;
use crate::cli::Exit;
use serde_json::json;

#[tokio::test]
async fn adding_a_task_asks_once_with_token_and_key_and_says_what_is_next() {
    let fixture = Fixture::answering(&[(201, r#"{"id":"tsk_1","state":"proposed"}"#)]);
    let line = ["task", "add", "--project", "a/b", "--runtime", "r", "--key", "k1", "do\nit"];
    let (done, shown) = fixture.run(&line).await;
    assert_eq!(done, Ok(Exit::Done));
    assert!(shown.contains("next: agent-mate task approve tsk_1"), "{shown}");
    let [asked] = &fixture.asked()[..] else { panic!("asked more than once") };
    assert_eq!(asked.line, "POST /api/v1/projects/a%2Fb/tasks");
    assert_eq!(asked.bearer, format!("Bearer {}", fixture.token));
    assert_eq!(asked.key.as_deref(), Some("k1"));
    let policy = json!({
        "require_report": false, "on_interruption": "hold", "max_resumes": 1, "on_approval": "park",
        "quiet_seconds": null, "deadline_seconds": null,
    });
    let wanted = json!({
        "instructions": "do\nit", "runtime": "r", "approve": false, "queue": true, "policy": policy,
    });
    assert_eq!(asked.body, wanted);
}

#[tokio::test]
async fn json_is_one_document_as_the_coordinator_wrote_it() {
    let page = r#"{"items":[{"id":"prj_1","name":"p","new":{"b":1,"a":2}}],"next":null}"#;
    let fixture = Fixture::answering(&[(200, page)]);
    let (done, shown) = fixture.run(&["--json", "project", "list"]).await;
    assert_eq!((done, shown.as_str()), (Ok(Exit::Done), format!("{page}\n").as_str()));
    assert_eq!(fixture.asked()[0].line, "GET /api/v1/projects?limit=100");
}

#[tokio::test]
async fn an_empty_list_says_what_to_do() {
    let fixture = Fixture::answering(&[(200, r#"{"items":[],"next":null}"#)]);
    let (_, shown) = fixture.run(&["task", "list", "--project", "p"]).await;
    assert_eq!(shown, "No tasks yet. Submit one: agent-mate task add --project P --approve \"...\"\n");
}

#[tokio::test]
async fn a_longer_list_says_how_to_go_on() {
    let fixture = Fixture::answering(&[
        (200, r#"{"items":[{"id":"acc_1","name":"ada"}],"next":"Y3Vyc29y"}"#),
        (200, r#"{"items":[],"next":null}"#),
    ]);
    let (_, shown) = fixture.run(&["account", "list", "--limit", "1"]).await;
    assert!(shown.ends_with("There is more: add --cursor Y3Vyc29y\n"), "{shown}");
    let _ = fixture.run(&["account", "list", "--cursor", "Y3Vyc29y"]).await;
    assert_eq!(fixture.asked()[1].line, "GET /api/v1/accounts?limit=100&cursor=Y3Vyc29y");
}

#[tokio::test]
async fn problems_become_exit_codes_and_name_the_field() {
    let problem =
        r#"{"status":422,"code":"invalid","detail":"tools.0: no","errors":[{"field":"tools.0","why":"no"}]}"#;
    let fixture = Fixture::answering(&[
        (422, problem),
        (404, "{}"),
        (409, r#"{"code":"session_busy","detail":"busy"}"#),
        (500, "<html>"),
    ]);
    let line = ["grant", "add", "--project", "p", "--connection", "c", "--tools", "a b,c"];
    let failure = fixture.run(&line).await.0.expect_err("refused");
    assert_eq!((failure.exit, failure.errors.len()), (Exit::Usage, 1));
    assert_eq!(fixture.asked()[0].body["tools"], json!(["a b", "c"]));
    for exit in [Exit::NotFound, Exit::Refused, Exit::Internal] {
        assert_eq!(fixture.run(&["task", "show", "x"]).await.0.expect_err("refused").exit, exit);
    }
}

#[tokio::test]
async fn names_that_would_change_the_address_are_not_asked_for() {
    let fixture = Fixture::answering(&[]);
    for odd in ["..", ".", ""] {
        assert_eq!(fixture.run(&["task", "show", odd]).await.0.expect_err("refused").exit, Exit::Usage);
    }
    assert!(fixture.asked().is_empty());
    let _ = fixture.run(&["task", "show", "../projects?x=1#y"]).await;
    assert_eq!(fixture.asked()[0].line, "GET /api/v1/tasks/..%2Fprojects%3Fx%3D1%23y");
}

#[tokio::test]
async fn g09_secrets_go_from_a_file_to_the_body_and_nowhere_else() {
    let fixture = Fixture::answering(&[(201, r#"{"id":"con_1","name":"gh","secret_env":["TOKEN"]}"#)]);
    let file = fixture.home.path().join("secret");
    std::fs::write(&file, "hunter2hunter2\n").expect("write");
    let secret = format!("TOKEN=@{}", file.display());
    let (done, shown) =
        fixture.run(&["connection", "add", "gh", "--secret-env", &secret, "--", "mcp", "--flag"]).await;
    assert_eq!(done, Ok(Exit::Done));
    assert!(!shown.contains("hunter2"));
    let body = &fixture.asked()[0].body;
    assert_eq!(body["secret_env"]["TOKEN"], "hunter2hunter2");
    assert_eq!(body["command"], json!(["mcp", "--flag"]));
}

#[tokio::test]
async fn no_coordinator_and_no_home_are_told_apart() {
    let fixture = Fixture::answering(&[]);
    std::fs::remove_file(fixture.home.path().join("agent-mate.sock")).expect("socket");
    let failure = fixture.run(&["project", "list"]).await.0.expect_err("nobody there");
    assert_eq!(failure.exit, Exit::Unreachable);
    assert!(failure.detail.contains("agent-mate serve"), "{}", failure.detail);
    std::fs::write(fixture.home.path().join("token"), "something else").expect("token");
    let failure = fixture.run(&["project", "list"]).await.0.expect_err("no token");
    assert_eq!((failure.exit, failure.code.as_str()), (Exit::NotFound, "bad_token"));
    assert!(!failure.detail.contains("something else"));
}

#[tokio::test]
async fn tasks_of_all_projects_are_listed_newest_first() {
    let fixture = Fixture::answering(&[
        (200, r#"{"items":[{"id":"prj_a"},{"id":"prj_b"}],"next":null}"#),
        (200, r#"{"items":[{"id":"tsk_3","state":"running"},{"id":"tsk_1","state":"failed"}],"next":null}"#),
        (200, r#"{"items":[{"id":"tsk_2","state":"completed"}],"next":null}"#),
    ]);
    let (_, shown) = fixture.run(&["--json", "task", "list"]).await;
    let ids: Vec<_> = serde_json::from_str::<serde_json::Value>(&shown).expect("JSON")["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|task| task["id"].as_str().expect("id").to_owned())
        .collect();
    assert_eq!(ids, ["tsk_3", "tsk_2", "tsk_1"]);
}
