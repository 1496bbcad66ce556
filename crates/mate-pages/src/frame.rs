//! What is around each page: landmarks, navigation, assets.

use crate::{assets, text::line};
use jiff::Timestamp;
use maud::{DOCTYPE, Markup, html};

/// What every page needs to know.
#[derive(Clone, Debug)]
pub struct Context {
    /// The time.
    pub now: Timestamp,
    /// Who is signed in, by name; empty when nobody is.
    pub name: String,
    /// Whether that is an account administrator.
    pub admin: bool,
    /// The session's token against forged requests.
    pub csrf: String,
    /// The key of this page's forms: a form that is sent twice is done once.
    pub key: String,
}

/// Where in the dashboard a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Here {
    /// The front page.
    Home,
    /// Projects and their members.
    Projects,
    /// Connections.
    Connections,
    /// Grants.
    Grants,
    /// Runtimes.
    Runtimes,
    /// One's own tokens.
    Tokens,
    /// Somewhere else.
    Elsewhere,
}

const PLACES: [(Here, &str, &str); 6] = [
    (Here::Home, "/", "Overview"),
    (Here::Projects, "/projects", "Projects"),
    (Here::Connections, "/connections", "Connections"),
    (Here::Grants, "/grants", "Grants"),
    (Here::Runtimes, "/runtimes", "Runtimes"),
    (Here::Tokens, "/tokens", "Tokens"),
];

/// What keeps a page live.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// The task that it is about; empty: all that the reader sees.
    pub task: String,
    /// What the page shows, as a mark that changes with it.
    pub mark: String,
}

/// A whole page.
#[must_use]
pub fn page(cx: &Context, here: Here, title: &str, live: Option<&Live>, main: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (line(title, 80)) " · Agent Mate" }
                link rel="icon" type="image/svg+xml" href=(assets::ICON.path());
                link rel="stylesheet" href=(assets::STYLE.path());
                script defer src=(assets::SCRIPT.path()) {}
            }
            body {
                a.skip href="#main" { "Skip to the page" }
                (header(cx, here))
                main id="main" tabindex="-1" data-live=[live.map(|live| live.task.as_str())]
                    data-mark=[live.map(|live| live.mark.as_str())] { (main) }
                footer {
                    @if !cx.name.is_empty() { p.keys { kbd { "j" } " " kbd { "k" } " move · " kbd { "Enter" } " open · " kbd { "n" } " new task · " kbd { "/" } " search · " kbd { "?" } " these keys" } }
                    p { "Agent Mate · " a href="/about" { "what is promised" } }
                }
            }
        }
    }
}

fn header(cx: &Context, here: Here) -> Markup {
    html! {
        header.top {
            a.brand href="/" aria-label="Agent Mate, overview" { img src=(assets::ICON.path()) alt="" width="24" height="24"; span { "Agent Mate" } }
            @if !cx.name.is_empty() {
                nav aria-label="Main" {
                    @for (place, address, words) in PLACES {
                        a href=(address) aria-current=[(place == here).then_some("page")] { (words) }
                    }
                }
                form.search action="/search" method="get" role="search" {
                    input type="search" name="q" aria-label="Search tasks and tools" placeholder="Search" autocomplete="off";
                }
                a.button.primary href="/tasks/new" data-key="n" { "New task" }
                form.who method="post" action="/sign-out" {
                    input type="hidden" name="csrf" value=(cx.csrf);
                    span { (line(&cx.name, 30)) }
                    button.quiet type="submit" { "Sign out" }
                }
            }
        }
    }
}
