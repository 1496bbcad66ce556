//! Laying text out in a width: tables whose ids stay whole, and paragraphs that hang.
//!
//! A table that is too wide loses first the ends of long texts, then whole columns, empty ones and those that matter
//! least before the others; never an id. Without a width (a pipe, a file) nothing is lost.

use unicode_width::UnicodeWidthStr;

/// What stands between two columns.
const GAP: usize = 2;
/// How narrow a long text may become before a column is dropped.
const NARROWEST: usize = 20;

/// A column as it is laid out: everything in it is escaped already, and is one line.
#[derive(Clone, Debug)]
pub(super) struct Strip {
    /// What stands above it.
    pub(super) title: &'static str,
    /// How soon it is dropped: the highest first, and of equals the last; 0 never.
    pub(super) rank: u8,
    /// Its cells.
    pub(super) cells: Vec<String>,
}

impl Strip {
    /// Nothing is in it.
    fn is_empty(&self) -> bool {
        self.cells.iter().all(|cell| cell.is_empty() || cell == "-")
    }
}

/// A table in words, and the titles of the columns that found no room.
pub(super) fn table(mut strips: Vec<Strip>, width: Option<usize>) -> (String, Vec<&'static str>) {
    let mut dropped = Vec::new();
    if let Some(width) = width {
        while least(&strips) > width
            && let Some(next) = first_to_go(&strips)
        {
            let gone = strips.remove(next);
            dropped.extend((!gone.is_empty()).then_some(gone.title));
        }
    }
    dropped.reverse();
    let widths = widths(&strips, width);
    let rows = strips.iter().map(|strip| strip.cells.len()).max().unwrap_or(0);
    let line = |cell: &dyn Fn(&Strip) -> String| {
        let mut line = String::new();
        for (strip, width) in strips.iter().zip(&widths) {
            let cell = cut(&cell(strip), *width);
            let pad = (width + GAP).saturating_sub(cell.width());
            line.push_str(&cell);
            line.extend(std::iter::repeat_n(' ', pad));
        }
        line.trim_end().to_owned()
    };
    let mut lines = vec![line(&|strip| strip.title.to_owned())];
    lines.extend((0..rows).map(|row| line(&|strip| strip.cells.get(row).cloned().unwrap_or_default())));
    (lines.join("\n"), dropped)
}

/// Which column is dropped next.
fn first_to_go(strips: &[Strip]) -> Option<usize> {
    let may_go = strips.iter().enumerate().filter(|(_, strip)| strip.rank > 0);
    may_go.max_by_key(|(place, strip)| (strip.is_empty(), strip.rank, *place)).map(|(place, _)| place)
}

/// How wide a column is with all that is in it.
fn natural(strip: &Strip) -> usize {
    strip.cells.iter().map(|cell| cell.width()).chain([strip.title.width()]).max().unwrap_or(0)
}

/// How wide it is at least.
fn narrowest(strip: &Strip) -> usize {
    let whole = strip.rank == 0 || strip.cells.iter().any(|cell| is_id(cell));
    if whole { natural(strip) } else { natural(strip).min(NARROWEST.max(strip.title.width())) }
}

fn least(strips: &[Strip]) -> usize {
    strips.iter().map(|strip| narrowest(strip) + GAP).sum::<usize>().saturating_sub(GAP)
}

/// What room there is goes to the columns whose text is cut, a share to each.
fn widths(strips: &[Strip], width: Option<usize>) -> Vec<usize> {
    let Some(width) = width else { return strips.iter().map(natural).collect() };
    let mut widths: Vec<_> = strips.iter().map(narrowest).collect();
    let mut left = width.saturating_sub(least(strips));
    while left > 0 {
        let before = left;
        for (strip, width) in strips.iter().zip(&mut widths) {
            if left > 0 && *width < natural(strip) {
                (*width, left) = (*width + 1, left - 1);
            }
        }
        if left == before {
            break;
        }
    }
    widths
}

/// The beginning of a line, in so many columns; `…` where something is missing.
pub(super) fn cut(line: &str, width: usize) -> String {
    if line.width() <= width {
        return line.to_owned();
    }
    let mut kept = String::new();
    for character in line.chars() {
        let mut longer = kept.clone();
        longer.push(character);
        if longer.width() + 1 > width {
            break;
        }
        kept = longer;
    }
    kept.push('…');
    kept
}

/// Whether a text is an id of ours: a prefix, and 32 hexadecimal digits.
pub(super) fn is_id(text: &str) -> bool {
    let hex = |part: &str| part.len() == 32 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.split_once('_').is_some_and(|(_, rest)| hex(rest.split('_').next().unwrap_or_default()))
}

/// A text whose lines are broken between words so that each, with an indent before all but the first, fits the width.
/// A word that is longer stays whole.
pub(super) fn hanging(text: &str, indent: usize, width: Option<usize>) -> String {
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(indent));
    let room = if room < NARROWEST { usize::MAX } else { room };
    let margin = format!("\n{:indent$}", "");
    text.trim_end_matches('\n')
        .split('\n')
        .map(|line| broken(line, room, &margin))
        .collect::<Vec<_>>()
        .join(&margin)
}

fn broken(line: &str, room: usize, margin: &str) -> String {
    if line.width() <= room {
        return line.to_owned();
    }
    let (mut out, mut used) = (String::new(), 0);
    for word in line.split_inclusive(' ') {
        if !out.ends_with(margin) && !out.trim().is_empty() && used + word.trim_end().width() > room {
            out.truncate(out.trim_end().len());
            out.push_str(margin);
            used = 0;
        }
        out.push_str(word);
        used += word.width();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "tsk_01a22fac060476d39991c393be2bf64f";

    fn strips() -> Vec<Strip> {
        let strip = |title, rank, cell: &str| Strip { title, rank, cells: vec![cell.to_owned()] };
        vec![
            strip("ID", 0, ID),
            strip("STATE", 1, "completed"),
            strip("RUNTIME", 3, "scripted"),
            strip(
                "TEXT",
                2,
                "a long text that says what is to be done, and then some more of it, to its end",
            ),
        ]
    }

    #[test]
    fn a_table_without_a_width_loses_nothing() {
        let (table, dropped) = table(strips(), None);
        assert!(table.ends_with("to its end") && dropped.is_empty(), "{table}");
    }

    #[test]
    fn long_texts_are_cut_before_columns_are_dropped_and_ids_stay_whole() {
        let (wide, dropped) = table(strips(), Some(100));
        assert!(dropped.is_empty() && wide.contains("scripted") && wide.ends_with('…'), "{wide}");
        let (narrow, dropped) = table(strips(), Some(78));
        assert_eq!(dropped, ["RUNTIME"]);
        assert!(narrow.contains(ID) && narrow.ends_with('…'), "{narrow}");
        for line in wide.lines().chain(narrow.lines()) {
            assert!(line.width() <= 100, "{line}");
        }
        assert!(narrow.lines().all(|line| line.width() <= 78), "{narrow}");
        let mut empty = strips();
        empty[1].cells = vec!["-".to_owned()];
        assert!(table(empty, Some(70)).1.is_empty(), "an empty column is dropped before, and without a word");
        let (least, dropped) = table(strips(), Some(30));
        assert_eq!(dropped, ["STATE", "TEXT", "RUNTIME"]);
        assert_eq!(least, format!("ID\n{ID}"), "an id is never broken");
    }

    #[test]
    fn characters_of_two_columns_are_counted_as_two() {
        let cells = vec!["漢字漢字漢字漢字漢字漢字漢字".to_owned()];
        let (shown, _) = table(vec![Strip { title: "T", rank: 1, cells }], Some(20));
        assert!(shown.lines().all(|line| line.width() <= 20) && shown.ends_with('…'), "{shown}");
    }

    #[test]
    fn paragraphs_hang_and_long_words_stay_whole() {
        let text = format!("some words and {ID} then more of them\nnext");
        let shown = hanging(&text, 4, Some(30));
        assert_eq!(shown, format!("some words and\n    {ID}\n    then more of them\n    next"));
        assert_eq!(hanging("as it is, however long it may be, in a pipe", 4, None).lines().count(), 1);
    }
}
