use super::*;
use serde_json::json;

#[derive(Debug)]
struct Noon;

impl Clock for Noon {
    fn now(&self) -> Micros {
        Micros(1_796_000_000_000_000)
    }
    fn monotonic(&self) -> i64 {
        0
    }
}

fn screen() -> Screen {
    let out = Output::to(Vec::new());
    Screen {
        json: false,
        colour: false,
        terminal: false,
        width: None,
        clock: Arc::new(Noon),
        out,
        home: None,
    }
}

#[test]
fn f115_what_agents_write_cannot_forge_a_row() {
    let items = [
        json!({"id": "tsk_1", "text": "a\n[APPROVED] b\u{1b}[2J", "n": 3, "created_at": "2026-11-30T00:53:05Z"}),
    ];
    let columns = [column("ID", "id"), column("TEXT", "text"), column("N", "n"), column("AGE", "created_at")];
    let table = screen().table(&items, &columns);
    assert_eq!(table.lines().count(), 2, "{table}");
    assert!(table.contains("a\\n[APPROVED] b\\u{1b}[2J") && table.contains("15 s ago"), "{table}");
}

#[test]
fn fields_stand_one_under_the_other_and_absent_ones_are_left_out() {
    let object = json!({"id": "x", "reason": null, "text": "one\ntwo\u{1b}", "tools": ["a", "b"], "started_at": "2026-11-29T00:53:20Z"});
    let fields = [
        column("id", "id"),
        column("reason", "reason"),
        column("text", "text"),
        column("tools", "tools"),
        column("started", "started_at"),
    ];
    let shown = screen().fields(&object, &fields);
    let wanted = "id       x\ntext     one\n         two\\u{1b}\ntools    a, b\nstarted  2026-11-29 00:53:20Z (1 d ago)";
    assert_eq!(shown, wanted);
}

#[test]
fn times_in_words() {
    assert_eq!(span(1_500), "1 ms");
    assert_eq!(span(59_999_999), "59 s");
    assert_eq!(span(3_599_000_000), "59 min");
    assert_eq!(ago(-7_200_000_000), "in 2 h");
    assert_eq!(moment_of(&json!("no time")), None);
}

#[test]
fn a_command_to_go_on_with_names_the_home_that_was_named() {
    assert_eq!(screen().step("agent-mate task watch t"), "agent-mate task watch t");
    let named = |home: &str| screen().naming(Some(home.into()));
    assert_eq!(named("/srv/h").step("agent-mate task watch t"), "agent-mate --home /srv/h task watch t");
    assert_eq!(named("/a b's").step("agent-mate serve"), r"agent-mate --home '/a b'\''s' serve");
    assert_eq!(named("/srv/h").step("keep it now"), "keep it now");
}
