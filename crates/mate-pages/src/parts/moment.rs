//! Moments and spans of time.

use crate::view::At;
use jiff::Timestamp;
use maud::{Markup, html};

/// A moment's place on the clock.
pub(crate) fn micros(at: Timestamp) -> i64 {
    at.as_microsecond()
}

/// A moment: how long ago, with the exact time beside it.
pub(crate) fn moment(at: At, now: Timestamp) -> Markup {
    let Some(at) = at else { return html! { span.calm { "–" } } };
    let ahead = micros(at) - micros(now);
    let words = match ahead {
        ..=0 => format!("{} ago", coarse(-ahead)),
        _ => format!("in {}", coarse(ahead)),
    };
    let exact = at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
    html! { time datetime=(at) title=(exact) { (if (0..1_500_000).contains(&-ahead) { "just now".to_owned() } else { words }) } }
}

/// A moment to the millisecond, and how long ago.
pub(crate) fn exactly(at: At, now: Timestamp) -> Markup {
    let Some(found) = at else { return html! { span.calm { "–" } } };
    html! { (found.strftime("%Y-%m-%d %H:%M:%S%.3f UTC")) " " span.calm { (moment(at, now)) } }
}

/// How long it has lasted.
pub(crate) fn since(at: At, now: Timestamp) -> String {
    at.map_or_else(|| "–".to_owned(), |at| coarse(micros(now) - micros(at)))
}

/// A span of microseconds in its largest units.
fn coarse(span: i64) -> String {
    let seconds = span.max(0) / 1_000_000;
    match seconds {
        0..=99 => format!("{seconds} s"),
        100..=5_999 => format!("{} min", seconds / 60),
        6_000..=172_799 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// A span of microseconds with three digits.
pub(crate) fn duration(span: i64) -> String {
    match span {
        ..=0 => "0 s".to_owned(),
        1..=999 => format!("{span} µs"),
        1_000..=999_999 => format!("{} ms", span / 1_000),
        1_000_000..=99_999_999 => format!("{}.{} s", span / 1_000_000, span / 100_000 % 10),
        _ => coarse(span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_in_units_of_people() {
        for (span, words) in [(0, "0 s"), (999, "999 µs"), (12_345, "12 ms"), (1_250_000, "1.2 s")] {
            assert_eq!(duration(span), words);
        }
        assert_eq!([coarse(99_000_000), coarse(7_200_000_000)], ["99 s", "2 h"]);
    }

    #[test]
    fn a_moment_says_the_exact_time_too() {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().expect("a time");
        let shown = moment(Some("2026-01-02T03:03:05Z".parse().expect("a time")), now).into_string();
        assert!(shown.contains("60 s ago") && shown.contains("2026-01-02 03:03:05 UTC"), "{shown}");
    }
}
