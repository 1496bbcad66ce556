//! Untrusted text on pages, and sizes for people.

pub use mate_model::text::{block, line};
use maud::{Markup, html};

/// The most characters of a text that are shown at once; the rest is behind "show more".
const HEAD: usize = 1_200;
/// The most characters of one text on a page.
const MOST: usize = 20_000;

/// A text of somebody else's, as it was written; a long one opens on demand.
#[must_use]
pub fn prose(text: &str) -> Markup {
    let all = text.chars().count();
    if all <= HEAD + HEAD / 4 {
        return html! { div.prose dir="auto" { (block(text, MOST)) } };
    }
    let cut = text.char_indices().nth(HEAD).map_or(text.len(), |(at, _)| at);
    let (head, rest) = text.split_at(cut);
    html! {
        div.prose dir="auto" { (block(head, HEAD)) "…" }
        details.more {
            summary { "Show " @if all - HEAD > MOST { (MOST) " more of " } @else { "the other " } (all - HEAD) " characters" }
            div.prose dir="auto" { (block(rest, MOST)) }
            @if all - HEAD > MOST { p.calm { "The rest is not shown here: task events and operation show have all of it." } }
        }
    }
}

/// A number of bytes, for people.
#[must_use]
pub fn bytes(size: i64) -> String {
    let mut left = u64::try_from(size).unwrap_or_default();
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB"] {
        if left < 10_240 {
            break;
        }
        left /= 1024;
        unit = next;
    }
    format!("{left} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f115_text_of_others_is_text_and_nothing_in_it_hides() {
        let shown = prose("<script>alert(1)</script>\u{202e}gpj\u{0}\u{1b}[31m").into_string();
        assert!(!shown.contains("<script"), "{shown}");
        for visible in ["&lt;script", "\\u{202e}", "\\u{0}", "\\u{1b}"] {
            assert!(shown.contains(visible), "{visible} in {shown}");
        }
        assert_eq!(line("a\nb", 99), "a\\nb");
        assert_eq!(line("Grüße, 世界 👩‍👩‍👧", 99), "Grüße, 世界 👩‍👩‍👧");
    }

    #[test]
    fn a_long_text_opens_on_demand_and_has_an_end() {
        let shown = prose(&"x".repeat(1_000_000)).into_string();
        assert!(shown.contains("<details") && shown.contains("998800"), "{}", &shown[shown.len() - 99..]);
        assert!(shown.len() < 30_000);
    }

    #[test]
    fn sizes_are_for_people() {
        assert_eq!([bytes(0), bytes(10_239), bytes(20_480), bytes(-1)], ["0 B", "10239 B", "20 KiB", "0 B"]);
    }
}
