//! A task's timeline, drawn to scale: the turn, the calls of each connection, approvals and stops.

use crate::{
    parts::{duration, micros, tone},
    text::line,
    view::{Event, Operation, Task},
};
use jiff::Timestamp;
use maud::{Markup, html};
use std::collections::BTreeMap;

/// The part of time that is drawn; microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// From when.
    pub from: i64,
    /// To when.
    pub to: i64,
}

/// The most lanes; what has no lane of its own shares the last.
const LANES: usize = 12;
/// The most rows of a lane: what goes on at the same time stands beneath each other.
const ROWS: usize = 4;
/// The height of a lane's name, and of a row of bars.
const NAME: usize = 18;
const ROW: usize = 18;
/// The shortest window; microseconds.
const SHORTEST: i64 = 1_000;

impl Window {
    fn new(from: i64, to: i64) -> Self {
        Self { from, to: to.max(from.saturating_add(SHORTEST)) }
    }

    const fn span(self) -> i64 {
        self.to.saturating_sub(self.from)
    }

    /// The place of a moment, in thousandths of the width.
    fn place(self, at: i64) -> i64 {
        let span = i128::from(self.span().max(1));
        let into = i128::from(at.clamp(self.from, self.to)) - i128::from(self.from);
        i64::try_from(into * 1000 / span).unwrap_or_default()
    }

    fn around(self, by: (i64, i64)) -> Self {
        Self::new(self.from.saturating_add(by.0), self.to.saturating_add(by.1))
    }
}

/// `12.5%`
fn percent(thousandths: i64) -> String {
    format!("{}.{}%", thousandths / 10, thousandths % 10)
}

struct Bar<'a> {
    from: i64,
    to: i64,
    row: usize,
    tone: &'static str,
    words: String,
    link: Option<&'a str>,
}

/// The timeline. `now` bounds what has not ended; `wanted` is a part that was asked for.
#[must_use]
pub(crate) fn timeline(
    task: &Task,
    operations: &[Operation],
    events: &[Event],
    wanted: Option<Window>,
    now: Timestamp,
) -> Markup {
    let Some(begun) = task.started_at.or(task.created_at).map(micros) else { return html! {} };
    let end = task.ended_at.map_or_else(|| micros(now), micros);
    let last = operations.iter().filter_map(|one| one.answered_at.or(one.requested_at)).map(micros).max();
    let all = Window::new(begun, end.max(last.unwrap_or(end)));
    let window = wanted.map_or(all, |wanted| Window::new(wanted.from, wanted.to));
    let lanes = lanes(task, operations, end);
    let mut top = 0;
    let placed: Vec<_> = lanes
        .iter()
        .map(|lane| {
            let y = top;
            top += NAME + ROW * lane.ends.len().max(1) + 2;
            (y, lane)
        })
        .collect();
    let height = top + 26;
    html! {
        figure.timeline aria-labelledby="h-timeline" {
            svg role="group" aria-label={ "Timeline of " (duration(window.span())) ", " (operations.len()) " operations; the table of operations says the same in words" }
                width="100%" height=(height) {
                (ticks(window, height))
                @for (y, lane) in placed {
                    text.lane x="0" y=(y + 13) { (line(&lane.name, 48)) }
                    @for row in 0..lane.ends.len().max(1) {
                        rect.track x="0" y=(y + NAME + row * ROW) width="100%" height="14" rx="3" {}
                    }
                    @for bar in &lane.bars { (draw(bar, window, y + NAME + bar.row * ROW)) }
                }
                @for (at, words) in stops(events) {
                    @if (window.from..=window.to).contains(&at) {
                        g.mark {
                            title { (words) }
                            line x1=(percent(window.place(at))) x2=(percent(window.place(at))) y1="0" y2=(height - 22) {}
                        }
                    }
                }
            }
            figcaption { (legend()) (zoom(&task.id, window, all)) }
        }
    }
}

/// What stands together: the turn, or the calls of one connection.
#[derive(Default)]
struct Lane<'a> {
    name: String,
    bars: Vec<Bar<'a>>,
    /// When the last bar of each row ends.
    ends: Vec<i64>,
}

impl<'a> Lane<'a> {
    /// The first row that is free at a moment; when all are taken, the last.
    fn row(&mut self, from: i64, to: i64) -> usize {
        let free = self.ends.iter().position(|end| *end <= from);
        let row = free.unwrap_or_else(|| self.ends.len().min(ROWS - 1));
        match self.ends.get_mut(row) {
            Some(end) => *end = (*end).max(to),
            None => self.ends.push(to),
        }
        row
    }

    fn draw(&mut self, operation: &'a Operation, end: i64) {
        let Some(from) = operation.requested_at.map(micros) else { return };
        let open = matches!(operation.state.as_str(), "requested" | "awaiting_approval" | "in_flight");
        let last = operation.answered_at.or(operation.recorded_at).map(micros);
        let to = last.unwrap_or(if open { end } else { from });
        let sent = operation.sent_at.or(operation.admitted_at).map(micros);
        let row = self.row(from, to);
        let (tool, link) = (line(&operation.tool, 60), Some(operation.id.as_str()));
        if operation.state == "awaiting_approval" || sent.is_some_and(|sent| sent - from > 200_000) {
            let words = format!("{tool}: waited for leave or a place");
            self.bars.push(Bar { from, to: sent.unwrap_or(to), row, tone: "ask", words, link });
        }
        if operation.state != "awaiting_approval" {
            let words = format!("{tool}: {}, {}", operation.state.replace('_', " "), duration(to - from));
            let from = sent.unwrap_or(from);
            self.bars.push(Bar { from, to, row, tone: tone(&operation.state), words, link });
        }
    }
}

fn lanes<'a>(task: &Task, operations: &'a [Operation], end: i64) -> Vec<Lane<'a>> {
    let mut lanes: Vec<Lane<'a>> = Vec::new();
    if let Some(started) = task.started_at.map(micros) {
        let words = format!("the turn, {}", duration(end - started));
        let bar = Bar { from: started, to: end, row: 0, tone: tone(&task.state), words, link: None };
        lanes.push(Lane { name: format!("turn · {}", task.runtime_name), bars: vec![bar], ends: vec![end] });
    }
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for operation in operations {
        let known = operation.connection_name.as_str();
        let name = if known.is_empty() { "other" } else { known };
        let place = *places.entry(name).or_insert_with(|| {
            if lanes.len() < LANES {
                lanes.push(Lane { name: name.to_owned(), ..Lane::default() });
            } else if let Some(shared) = lanes.last_mut() {
                "and others".clone_into(&mut shared.name);
            }
            lanes.len() - 1
        });
        if let Some(lane) = lanes.get_mut(place) {
            lane.draw(operation, end);
        }
    }
    lanes
}

fn draw(bar: &Bar<'_>, window: Window, y: usize) -> Markup {
    if bar.to < window.from || bar.from > window.to {
        return html! {};
    }
    let (from, to) = (window.place(bar.from), window.place(bar.to));
    let shape = html! {
        rect.bar.{ "t-" (bar.tone) } x=(percent(from)) y=(y) width=(percent((to - from).max(3))) height="14" rx="3" {
            title { (bar.words) }
        }
        @if bar.tone == "bad" || bar.tone == "doubt" {
            text.glyph.{ "t-" (bar.tone) } x=(percent(from)) y=(y - 4) { (if bar.tone == "bad" { "✕" } else { "?" }) }
        }
    };
    match bar.link {
        Some(operation) => {
            html! { a href={ "/operations/" (operation) } tabindex="-1" { (shape) } }
        }
        None => shape,
    }
}

/// A step between marks on the scale, such that there are three to eight.
fn step(span: i64) -> i64 {
    const NICE: [i64; 7] = [1, 2, 5, 10, 15, 30, 60];
    let mut unit = 1_000;
    for next in [10_000, 100_000, 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000] {
        if span / unit < 80 {
            break;
        }
        unit = next;
    }
    NICE.iter().map(|nice| nice * unit).find(|step| span / step <= 6).unwrap_or(span.max(1))
}

fn ticks(window: Window, height: usize) -> Markup {
    let step = step(window.span());
    let times = (0..9_i64).map(|n| n.saturating_mul(step)).take_while(|at| *at <= window.span());
    html! {
        @for at in times {
            @let x = window.place(window.from.saturating_add(at));
            @if x <= 930 {
                line.tick x1=(percent(x)) x2=(percent(x)) y1="0" y2=(height - 20) {}
                text.tick x=(percent(x)) y=(height - 5) { "+" (duration(at)) }
            }
        }
    }
}

fn stops(events: &[Event]) -> Vec<(i64, String)> {
    let of = |kind: &str| match kind {
        "task.stop_requested" => Some("stop asked"),
        "task.kill_requested" => Some("kill asked"),
        "container.empty" => Some("every process gone"),
        _ => None,
    };
    let marks = events.iter().filter_map(|event| Some((micros(event.at?), of(&event.kind)?.to_owned())));
    marks.take(20).collect()
}

fn legend() -> Markup {
    html! {
        ul.legend {
            @for (tone, words) in [("good", "✓ succeeded"), ("bad", "✕ failed"), ("doubt", "? unknown"), ("ask", "! waited for leave"), ("busy", "▸ at work"), ("calm", "· not done")] {
                li { span.swatch.{ "t-" (tone) } aria-hidden="true" {} (words) }
            }
        }
    }
}

fn zoom(task: &str, window: Window, all: Window) -> Markup {
    let quarter = window.span() / 4;
    let link = |part: Window| format!("/tasks/{task}?from={}&to={}#timeline", part.from, part.to);
    html! {
        p.zoom {
            @if window.span() > SHORTEST * 2 { a.button href=(link(window.around((quarter, -quarter)))) { "Zoom in" } }
            @if window != all {
                a.button href=(link(window.around((-quarter * 2, quarter * 2)))) { "Zoom out" }
                a.button href=(link(window.around((-quarter, -quarter)))) { "Earlier" }
                a.button href=(link(window.around((quarter, quarter)))) { "Later" }
                a.button href={ "/tasks/" (task) "#timeline" } { "All" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Option<Timestamp> {
        Some(text.parse().expect("a time"))
    }

    #[test]
    fn bars_stand_to_scale() {
        let task = Task {
            id: "t".into(),
            state: "completed".into(),
            started_at: at("2026-01-01T00:00:00Z"),
            ended_at: at("2026-01-01T00:01:40Z"),
            ..Task::default()
        };
        let call = Operation {
            id: "o".into(),
            state: "unknown".into(),
            connection_name: "mail".into(),
            requested_at: at("2026-01-01T00:00:25Z"),
            sent_at: at("2026-01-01T00:00:25Z"),
            answered_at: at("2026-01-01T00:00:50Z"),
            ..Operation::default()
        };
        let now = "2026-01-01T01:00:00Z".parse().expect("a time");
        let drawn = timeline(&task, std::slice::from_ref(&call), &[], None, now).into_string();
        assert!(drawn.contains(r#"x="25.0%" y="56" width="25.0%""#), "{drawn}");
        let from = micros(call.requested_at.expect("set"));
        let part = Window { from, to: from + 50_000_000 };
        let drawn = timeline(&task, &[call], &[], Some(part), now).into_string();
        assert!(drawn.contains(r#"x="0.0%" y="56" width="50.0%""#), "{drawn}");
    }

    #[test]
    fn no_window_is_too_wide_or_too_small() {
        for window in [Window::new(i64::MIN, i64::MAX), Window::new(5, 5), Window::new(i64::MAX, i64::MIN)] {
            assert!((0..=1000).contains(&window.place(0)), "{window:?}");
            let marks = ticks(window, 100).into_string().matches("<text").count();
            assert!(marks <= 9, "{window:?}: {marks}");
        }
        for span in [1_000, 50_000, 7_000_000, 3_600_000_000, 400_000_000_000] {
            assert!((1..=60).contains(&(span / step(span))), "{span}: {}", step(span));
        }
    }
}
