//! The board and its drawing, without a terminal.

use super::{
    act::Act,
    board::{Board, Wish},
    frame::frame,
    keys::Key,
    picture::{Item, Picture, Why},
    words::Detail,
};
use crate::cli::Screen;
use mate_engine::surroundings::SystemClock;
use serde_json::{Value, json};
use std::sync::Arc;
use unicode_width::UnicodeWidthStr;

const LATER: i64 = 1_000_000;

fn item(why: Why, value: Value) -> Item {
    Item { why, value, project: "default".to_owned(), in_flight: None, last: None }
}

fn approval(id: &str) -> Item {
    let value = json!({"id": id, "task": "tsk_1", "connection_name": "demo", "tool": "note", "approve": "always",
        "arguments": {"type": "object", "fields": []}, "requested_at": "2026-11-29T15:04:05Z"});
    item(Why::Approval, value)
}

fn running(id: &str) -> Item {
    let text = "漢字 \u{1b}[2J and then\tquite a long text, which says what is to be done and more of it";
    let value = json!({"id": id, "state": "running", "activity": "working", "runtime_name": "r",
        "instructions": text, "started_at": "2026-11-29T15:04:05Z"});
    item(Why::Running, value)
}

fn board(needs: Vec<Item>, running: Vec<Item>) -> Board {
    let mut board = Board::default();
    board.see(Picture { needs, running, ..Picture::default() });
    board
}

fn screen() -> Screen {
    Screen::new(false, true, Arc::new(SystemClock::default()))
}

fn press(board: &mut Board, keys: &str) {
    for key in keys.chars() {
        assert_eq!(board.key(Key::Char(key), 0), Wish::Nothing, "{key}");
    }
}

#[test]
fn the_chosen_line_stays_chosen_when_others_come_and_go() {
    let mut board = board(vec![], vec![running("tsk_1"), running("tsk_2")]);
    press(&mut board, "j");
    assert_eq!(board.place(), 1);
    let (needs, all) = (vec![approval("op_1"), approval("op_2")], vec![running("tsk_2")]);
    board.see(Picture { needs, running: all, ..Picture::default() });
    assert_eq!(board.place(), 2, "tsk_2 is the third line now");
    press(&mut board, "s");
    assert_eq!(board.key(Key::Char('y'), LATER), Wish::Do(Act::Stop("tsk_2".to_owned())));
    board.see(Picture::default());
    assert_eq!((board.place(), board.key(Key::Enter, LATER)), (0, Wish::Nothing), "nothing is there to open");
}

#[test]
fn a_question_is_about_what_it_names_whatever_moves_meanwhile() {
    let mut board = board(vec![approval("op_1")], vec![]);
    press(&mut board, "a");
    board.see(Picture { needs: vec![approval("op_0")], ..Picture::default() });
    assert_eq!(board.key(Key::Char('y'), 0), Wish::Nothing, "nobody has read it yet");
    assert_eq!(board.key(Key::Char('y'), LATER), Wish::Do(Act::Allow("op_1".to_owned())));
    for no in [Key::Char('n'), Key::Escape, Key::Enter, Key::Pasted("y".to_owned()), Key::Char('q')] {
        press(&mut board, "a");
        assert_eq!(board.key(no.clone(), LATER), Wish::Nothing, "{no:?}");
        assert_eq!(board.key(Key::Char('y'), LATER), Wish::Nothing, "the question is over after {no:?}");
    }
    press(&mut board, "d");
    for key in [Key::Char('n'), Key::Pasted("o\nway\u{1b}".to_owned()), Key::Backspace] {
        assert_eq!(board.key(key, 0), Wish::Nothing);
    }
    let denied = Wish::Do(Act::Deny("op_0".to_owned(), Some("no way".to_owned())));
    assert_eq!(board.key(Key::Enter, LATER), denied);
    press(&mut board, "d");
    assert_eq!(board.key(Key::Enter, LATER), Wish::Do(Act::Deny("op_0".to_owned(), None)));
}

#[test]
fn what_makes_no_sense_for_a_line_is_not_asked() {
    let failed = item(Why::Failed, json!({"id": "tsk_9", "state": "failed"}));
    let mut board = board(vec![failed], vec![]);
    for letter in ["a", "d", "s"] {
        press(&mut board, letter);
        assert!(board.question.is_none() && !board.note.is_empty(), "{letter}");
    }
    assert!(!board.keys().contains("stop") && !board.keys().contains("allow"), "{}", board.keys());
}

#[test]
fn f115_every_screen_fits_and_nothing_on_it_is_raw() {
    let screen = screen();
    let mut boards = [
        board(vec![approval("op_1")], (0..40).map(|n| running(&format!("tsk_{n:02}"))).collect()),
        Board::default(),
    ];
    press(&mut boards[0], "jjjjjjjjjj");
    let all = |boards: &mut [Board]| {
        for board in boards {
            for size in (0..30).flat_map(|rows| [0, 1, 2, 3, 10, 37, 80, 200].map(|columns| (rows, columns)))
            {
                let lines = frame(board, size, &screen);
                assert_eq!(lines.len(), size.0, "{size:?}");
                for line in &lines {
                    assert!(line.text.width() <= size.1.max(2), "{size:?}: {}", line.text);
                    assert!(!line.text.chars().any(char::is_control), "{:?}", line.text);
                }
            }
        }
    };
    all(&mut boards);
    press(&mut boards[0], "?");
    all(&mut boards);
    press(&mut boards[0], " a");
    all(&mut boards);
    press(&mut boards[0], "n");
    assert_eq!(boards[0].key(Key::Enter, LATER), Wish::Look);
    all(&mut boards);
    let chosen = boards[0].open.as_ref().expect("open").item.clone();
    let detail = Detail { task: chosen.value.clone(), ..Detail::default() };
    boards[0].know(chosen.id(), detail);
    assert_eq!(boards[0].key(Key::End, LATER), Wish::Nothing);
    all(&mut boards);
    boards[0].note = "x".repeat(400);
    boards[0].away = "y".repeat(400);
    all(&mut boards);
}

#[test]
fn the_chosen_line_is_seen_however_long_the_list_is() {
    let mut board = board(vec![approval("op_1")], (0..40).map(|n| running(&format!("tsk_{n:02}"))).collect());
    for place in 0..41 {
        assert_eq!(board.place(), place);
        let lines = frame(&mut board, (10, 80), &screen());
        assert_eq!(lines.iter().filter(|line| line.text.starts_with("> ")).count(), 1, "{place}: {lines:?}");
        press(&mut board, "j");
    }
}
