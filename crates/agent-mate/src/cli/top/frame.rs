//! One picture of the whole terminal: a line of counts, the tables or what is open, a line of keys or a question.

use super::{
    board::Board,
    terminal::Line,
    words::{With, detail, parts, table},
};
use crate::cli::{
    Screen,
    layout::{cut, hanging},
    show::utc,
};
use anstyle::{AnsiColor, Color, Style};
use mate_guard::text;
use unicode_width::UnicodeWidthChar;

const BOLD: Style = Style::new().bold();
const QUIET: Style = Style::new().dimmed();
const CHOSEN: Style = Style::new().invert();
const ASKED: Style = Style::new().bold().fg_color(Some(Color::Ansi(AnsiColor::Yellow)));
/// What stands before the chosen line, and before all others.
const MARKS: (&str, &str) = ("> ", "  ");
/// The most lines of a question.
const QUESTION: usize = 8;

const HELP: [&str; 11] = [
    "j, k, arrows      move, or scroll what is open",
    "Page Up, Page Down, g, G",
    "Enter             open: all that is known of it",
    "Esc, h            back to the list",
    "a                 allow the call, or approve the task: asks before",
    "d                 deny the call, or reject the task: a reason, then Enter",
    "s                 ask the task to stop: asks before",
    "Ctrl-L, Ctrl-Z    draw everything again, suspend",
    "q, Ctrl-C         quit: whatever runs goes on",
    "",
    "What needs somebody comes first: requests for leave, calls and tasks of which nobody knows how they ended, sessions that are \
     set aside, tasks to approve, failures of the last day. Then what runs, with its calls in flight; then what waits for its \
     session or a limit.",
];

/// Draws the board in so many lines and columns.
pub(super) fn frame(board: &mut Board, (rows, columns): (usize, usize), screen: &Screen) -> Vec<Line> {
    let foot = foot(board, columns, rows);
    let room = rows.saturating_sub(foot.len() + 1);
    board.page = room;
    let body = if board.help {
        HELP.iter()
            .flat_map(|line| broken(line, columns))
            .map(|text| Line { text, ..Line::default() })
            .collect()
    } else if board.open.is_some() {
        opened(board, room, columns, screen)
    } else {
        tables(board, room, columns, screen)
    };
    let mut lines = vec![head(board, columns, screen)];
    lines.extend(body);
    lines.truncate(room + 1);
    lines.resize(room + 1, Line::default());
    lines.extend(foot);
    // Where there is no room for both, a question goes before the counts.
    lines.split_off(lines.len().saturating_sub(rows))
}

fn head(board: &Board, columns: usize, screen: &Screen) -> Line {
    let Board { picture, away, .. } = board;
    let more = if picture.more { "+" } else { "" };
    let counts = format!(
        "agent-mate top · {}{more} need you · {}{more} running · {}{more} waiting",
        picture.needs.len(),
        picture.running.len(),
        picture.waiting.len()
    );
    let now = utc(screen.clock.now());
    let text = if away.is_empty() {
        format!("{counts} · {}", now.split(' ').nth(1).unwrap_or_default())
    } else {
        format!("as it was; {away} · {counts}")
    };
    Line { style: if away.is_empty() { BOLD } else { ASKED }, text: cut(&text, columns) }
}

fn foot(board: &Board, columns: usize, rows: usize) -> Vec<Line> {
    if let Some(question) = &board.question {
        let words = match &question.reason {
            None => format!("{} y/n", question.words),
            Some(reason) => {
                let reason = text::line(reason, usize::MAX);
                format!("{} {reason}_  (Enter does it, Esc does not)", question.words)
            }
        };
        let mut lines = fold(&words, columns);
        // The end says what the keys do: the middle gives way.
        let most = QUESTION.min(rows.saturating_sub(1)).max(1);
        if lines.len() > most {
            let end = lines.split_off(lines.len() - most.div_ceil(2));
            lines.truncate(most - end.len());
            lines.extend(end);
        }
        return lines.into_iter().map(|text| Line { style: ASKED, text }).collect();
    }
    let (style, words) =
        if board.note.is_empty() { (QUIET, board.keys()) } else { (ASKED, board.note.clone()) };
    vec![Line { style, text: cut(&words, columns) }]
}

fn tables(board: &Board, room: usize, columns: usize, screen: &Screen) -> Vec<Line> {
    let width = columns.saturating_sub(MARKS.0.len());
    let with = With { ids: false, projects: board.picture.of_several() };
    let (mut lines, mut chosen, mut place) = (Vec::new(), 0, 0);
    for (title, items) in parts(&board.picture) {
        if items.is_empty() {
            continue;
        }
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        let (table, _) = table(title, items, with, Some(width), screen.clock.now());
        for (row, text) in table.into_iter().enumerate() {
            let is_chosen = row > 0 && place == board.place();
            if is_chosen {
                // Its title stays above the first line of a table.
                chosen = lines.len();
            }
            let style = match (row, is_chosen) {
                (0, _) => BOLD,
                (_, true) => CHOSEN,
                (_, false) => Style::new(),
            };
            let mark = if is_chosen { MARKS.0 } else { MARKS.1 };
            lines.push(Line { style, text: cut(&format!("{mark}{text}"), columns) });
            place += usize::from(row > 0);
        }
    }
    if lines.is_empty() {
        let text = cut("  Nothing runs, nothing waits, and nothing needs you.", columns);
        return vec![Line::default(), Line { style: QUIET, text }];
    }
    let from = (chosen + 1).saturating_sub(room / 2).min(lines.len().saturating_sub(room));
    lines.split_off(from)
}

fn opened(board: &mut Board, room: usize, columns: usize, screen: &Screen) -> Vec<Line> {
    let Some(open) = &mut board.open else { return Vec::new() };
    let Some(known) = &open.detail else {
        return vec![Line { style: QUIET, text: cut("  looking ...", columns) }];
    };
    let screen = Screen { width: Some(columns.max(20)), ..screen.clone() };
    let lines = detail(known, open.item.why, &screen);
    let lines: Vec<_> = lines.iter().flat_map(|line| fold(line, columns)).collect();
    open.scroll = open.scroll.min(lines.len().saturating_sub(room));
    let shown = lines.into_iter().skip(open.scroll).take(room);
    shown.map(|text| Line { text, ..Line::default() }).collect()
}

/// Our own words, broken between them.
fn broken(line: &str, columns: usize) -> Vec<String> {
    let hanging = hanging(line, 0, Some(columns));
    hanging.split('\n').flat_map(|line| fold(line, columns)).collect()
}

/// A line in pieces that fit the width: nothing of it is lost.
fn fold(line: &str, width: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for character in line.chars() {
        let wide = character.width().unwrap_or(0);
        if used + wide > width.max(2) {
            pieces.push(String::new());
            used = 0;
        }
        used += wide;
        if let Some(piece) = pieces.last_mut() {
            piece.push(character);
        }
    }
    pieces
}
