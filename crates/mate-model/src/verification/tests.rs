use super::*;
use serde_json::json;

fn recipe(more: Value) -> Recipe {
    let mut all = json!({"tools": ["*"], "ask": "find", "happened": [{"at": "/done", "equals": true}]});
    all.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    serde_json::from_value(all).expect("a recipe")
}

fn look(recipe: &Recipe, structured: Value) -> Look {
    let result = json!({"content": [], "structuredContent": structured});
    recipe.weigh(&Answer::read(&result.to_string()).expect("an answer"), 30).look
}

fn known(shape: &Value) -> Known<'_> {
    Known { operation: "op1", trace: "t1", requested_at: "2026-01-01T00:00:00Z", shape }
}

#[test]
fn g05_only_an_answer_of_the_right_kind_says_something() {
    let asked = recipe(json!({"did_not_happen": [{"at": "/done", "equals": false}]}));
    assert_eq!(look(&asked, json!({"done": true})), Look::Happened);
    assert_eq!(look(&asked, json!({"done": false})), Look::DidNotHappen);
    for odd in [json!({}), json!({"done": "false"}), json!({"done": 0}), json!({"done": []})] {
        assert_eq!(look(&asked, odd.clone()), Look::CannotTell, "{odd}");
    }
    assert_eq!(look(&asked, json!({"done": null})), Look::CannotTell);
    let failed = r#"{"isError": true, "structuredContent": {"done": false}}"#;
    assert_eq!(Answer::read(failed), Err(BadAnswer::Failed));
    assert_eq!(Answer::read("\"no result\""), Err(BadAnswer::Unreadable));
    let empty = Answer::read(r#"{"content": []}"#).expect("an answer");
    assert_eq!(asked.weigh(&empty, 99).look, Look::CannotTell, "nothing is no `no`");
    let absent = recipe(json!({"happened": [], "did_not_happen": [{"at": "/issue", "exists": false}]}));
    assert_eq!(absent.weigh(&empty, 99).look, Look::CannotTell, "nothing is no `no`");
    assert_eq!(look(&absent, json!({"issue": {}})), Look::CannotTell);
    assert_eq!(look(&absent, json!({"issue": null})), Look::DidNotHappen);
}

#[test]
fn g05_an_answer_that_says_a_member_twice_says_nothing() {
    for twice in [
        r#"{"structuredContent": {"done": false, "done": true}}"#,
        r#"{"structuredContent": {"done": false}, "structuredContent": {"done": true}}"#,
        r#"{"isError": true, "isError": false, "structuredContent": {"done": true}}"#,
        r#"{"structuredContent": {"done": true, "deep": [{"n": 1, "\u006e": 1}]}}"#,
    ] {
        assert_eq!(Answer::read(twice), Err(BadAnswer::Unreadable), "{twice}");
    }
    let text = |inner: &str| json!({"content": [{"type": "text", "text": inner}]}).to_string();
    let weigh =
        |inner: &str| recipe(json!({})).weigh(&Answer::read(&text(inner)).expect("an answer"), 30).look;
    assert_eq!(weigh(r#"{"done": false, "done": true}"#), Look::CannotTell);
    assert_eq!(weigh(r#"{"done": true, "n": [1, -2, 0.5, null, "x"]}"#), Look::Happened);
}

#[test]
fn g05_neither_both_and_too_early_prove_nothing() {
    let both = recipe(json!({"did_not_happen": [{"at": "/done", "exists": true}]}));
    assert_eq!(look(&both, json!({"done": true})), Look::CannotTell);
    let neither = recipe(json!({"did_not_happen": [{"at": "/items", "count": {"at_most": 0}}]}));
    assert_eq!(look(&neither, json!({"done": false, "items": [1]})), Look::CannotTell);
    assert_eq!(look(&neither, json!({"done": false, "items": []})), Look::DidNotHappen);
    assert_eq!(look(&neither, json!({"done": false, "items": {}})), Look::CannotTell);
    let one = recipe(json!({"did_not_happen": [{"contains": "none"}], "happened": [{"contains": "{{"}]}));
    let one = one.fill(&known(&json!({}))).expect("filled");
    let answer = Answer { structured: None, text: Some("none".to_owned()) };
    assert_eq!(one.weigh(&answer, 29).look, Look::TooEarly);
    assert_eq!(one.weigh(&answer, 30).look, Look::DidNotHappen);
    let no = recipe(json!({}));
    assert_eq!(look(&no, json!({"done": false})), Look::CannotTell, "no condition is no verdict");
}

#[test]
fn placeholders_are_filled_with_what_was_recorded_whole() {
    let shape = json!({"type": "object", "fields": [
        {"name": "n", "type": "number", "value": "7"},
        {"name": "title", "type": "string", "size": 4, "value": "päss"},
        {"name": "cut", "type": "string", "size": 900, "value": "päss"},
        {"name": "secret", "type": "string", "size": 10, "value": "[redacted]"},
        {"name": "hidden", "type": "string", "size": 3},
        {"name": "deep", "type": "object", "fields": [{"name": "x", "type": "boolean", "value": true}]}]});
    let fill = |text: &str| {
        recipe(json!({"arguments": {"q": [text]}}))
            .fill(&known(&shape))
            .map(|it| it.arguments["q"][0].clone())
    };
    assert_eq!(fill("{operation}/{trace}/{requested_at}"), Ok(json!("op1/t1/2026-01-01T00:00:00Z")));
    assert_eq!(fill("{field.n}"), Ok(json!(7)));
    assert_eq!(fill("no. {field.n}: {field.title} {{}}"), Ok(json!("no. 7: päss {}")));
    assert_eq!(fill("{field.deep.x}"), Ok(json!(true)));
    for missing in ["cut", "secret", "hidden", "nothing", "deep"] {
        assert_eq!(fill(&format!("{{field.{missing}}}")), Err(Unfillable(missing.to_owned())));
    }
}

#[test]
fn a_recipe_that_cannot_be_used_is_refused_where_it_is_wrong() {
    let at = |more: Value| recipe(more).check(&|field| field == "title").err().map(|bad| bad.at);
    assert_eq!(at(json!({"arguments": {"q": "{operation} {field.title}", "n": 1}})), None);
    for (more, path) in [
        (json!({"ask": ""}), "ask"),
        (json!({"happened": []}), "happened"),
        (json!({"after_seconds": 3601}), "after_seconds"),
        (json!({"about": "a\nb"}), "about"),
        (json!({"arguments": {"q": "{field.body}"}}), "arguments.q"),
        (json!({"arguments": {"q": {"x": ["{who}"]}}}), "arguments.q.x[0]"),
        (json!({"arguments": {"q": "{operation"}}), "arguments.q"),
        (json!({"arguments": {"q": "operation}"}}), "arguments.q"),
        (json!({"happened": [{"at": "/x"}]}), "happened[0]"),
        (json!({"happened": [{"at": "/x", "equals": 1, "exists": true}]}), "happened[0]"),
        (json!({"happened": [{"at": "x", "equals": 1}]}), "happened[0].at"),
        (json!({"happened": [{"at": "/x~2", "equals": 1}]}), "happened[0].at"),
        (json!({"happened": [{"exists": true}]}), "happened[0].at"),
        (json!({"happened": [{"contains": ""}]}), "happened[0].contains"),
        (json!({"did_not_happen": [{"at": "/x", "count": {}}]}), "did_not_happen[0].count"),
        (
            json!({"did_not_happen": [{"at": "/x", "count": {"at_least": 2, "at_most": 1}}]}),
            "did_not_happen[0].count",
        ),
        (json!({"arguments": {"q": "x".repeat(1025)}}), "arguments.q"),
        (json!({"arguments": {"q": vec!["y".repeat(900); 20]}}), "recipe"),
    ] {
        assert_eq!(at(more.clone()).as_deref(), Some(path), "{more}");
    }
    assert!(serde_json::from_value::<Recipe>(json!({"tools": [], "ask": "x", "hapened": []})).is_err());
}

#[test]
fn looks_come_to_an_end() {
    assert_eq!((1..=MAX_TRIES).map(pause_after).collect::<Vec<_>>().last(), Some(&None));
    assert!((1..MAX_TRIES).all(|tries| pause_after(tries).is_some()));
    assert_eq!(pause_after(0), None);
}
