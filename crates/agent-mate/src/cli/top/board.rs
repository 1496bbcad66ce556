//! What `top` is at: which line is chosen, what is open, what is being asked. Keys in, wishes out; it does nothing itself.

use super::{
    act::Act,
    keys::Key,
    picture::{Item, Picture, Why},
    words::Detail,
};
use mate_guard::text;

/// How many lines Page Up and Page Down move in the list.
const PAGE: usize = 10;
/// The longest reason that is typed here; characters.
const REASON: usize = 500;
/// So soon after a question a yes was typed before it could be read; microseconds.
const UNREAD: i64 = 300_000;

/// What a key asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Nothing,
    Quit,
    Suspend,
    Redraw,
    /// Look now: something else is open.
    Look,
    Do(Act),
}

/// One line that is open.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) item: Item,
    /// What is known, once it was looked at.
    pub(super) detail: Option<Detail>,
    /// The first line that is shown.
    pub(super) scroll: usize,
}

/// A question before something is done.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) act: Act,
    /// The question. Escaped.
    pub(super) words: String,
    /// What was typed as the reason, where one may be given: then Enter means yes, else `y`.
    pub(super) reason: Option<String>,
    /// When it was asked, on the clock that never goes back.
    asked: i64,
}

/// Everything that is not on the coordinator's side.
#[derive(Debug, Default)]
pub(super) struct Board {
    pub(super) picture: Picture,
    pub(super) open: Option<Open>,
    pub(super) question: Option<Question>,
    pub(super) help: bool,
    /// What was done last, or why it was not. Escaped.
    pub(super) note: String,
    /// Why the coordinator could not be asked at the last look. Escaped.
    pub(super) away: String,
    /// How many lines of what is open fit.
    pub(super) page: usize,
    chosen: String,
    place: usize,
}

impl Board {
    /// Takes how everything stands now. The chosen line stays chosen wherever it is.
    pub(super) fn see(&mut self, picture: Picture) {
        self.picture = picture;
        self.away.clear();
        let found = self.picture.items().position(|item| item.id() == self.chosen);
        self.choose(found.unwrap_or(self.place));
        if let Some(open) = &mut self.open
            && let Some(item) = self.picture.items().find(|item| item.id() == open.item.id())
        {
            open.item = item.clone();
        }
    }

    /// Takes what is known of the open line.
    pub(super) fn know(&mut self, id: &str, detail: Detail) {
        if self.is_open(id)
            && let Some(open) = &mut self.open
        {
            open.detail = Some(detail);
        }
    }

    /// Whether this line is open.
    pub(super) fn is_open(&self, id: &str) -> bool {
        self.open.as_ref().is_some_and(|open| open.item.id() == id)
    }

    /// Which line is chosen, among all.
    pub(super) const fn place(&self) -> usize {
        self.place
    }

    fn choose(&mut self, place: usize) {
        self.place = place.min(self.picture.items().count().saturating_sub(1));
        self.chosen =
            self.picture.items().nth(self.place).map(|item| item.id().to_owned()).unwrap_or_default();
    }

    /// The line that a key is about: the open one, else the chosen one.
    fn subject(&self) -> Option<&Item> {
        self.open.as_ref().map(|open| &open.item).or_else(|| self.picture.items().nth(self.place))
    }

    /// Takes a key that was pressed at a moment of the clock that never goes back.
    pub(super) fn key(&mut self, key: Key, now: i64) -> Wish {
        if key == Key::Interrupt {
            return Wish::Quit;
        }
        if key == Key::Suspend {
            return Wish::Suspend;
        }
        if key == Key::Redraw {
            return Wish::Redraw;
        }
        self.note.clear();
        if let Some(question) = self.question.take() {
            return self.answer(question, key, now);
        }
        if std::mem::take(&mut self.help) {
            return Wish::Nothing;
        }
        match key {
            Key::Char('?') => self.help = true,
            Key::Char('q') | Key::Escape if self.open.is_some() => self.open = None,
            Key::Char('q') => return Wish::Quit,
            Key::Char(letter @ ('a' | 'd' | 's')) => self.ask(letter, now),
            Key::Enter | Key::Char('l') if self.open.is_none() => return self.enter(),
            Key::Char('h') => self.open = None,
            Key::Up | Key::Char('k') => self.walk(|place| place.saturating_sub(1)),
            Key::Down | Key::Char('j') => self.walk(|place| place.saturating_add(1)),
            Key::PageUp => self.leap(false),
            Key::PageDown | Key::Char(' ') => self.leap(true),
            Key::Home | Key::Char('g') => self.walk(|_| 0),
            Key::End | Key::Char('G') => self.walk(|_| usize::MAX),
            Key::Char(_)
            | Key::Enter
            | Key::Escape
            | Key::Backspace
            | Key::Interrupt
            | Key::Suspend
            | Key::Redraw
            | Key::Pasted(_) => {}
        }
        Wish::Nothing
    }

    fn enter(&mut self) -> Wish {
        let Some(item) = self.subject().cloned() else { return Wish::Nothing };
        self.open = Some(Open { item, detail: None, scroll: 0 });
        Wish::Look
    }

    fn walk(&mut self, step: impl Fn(usize) -> usize) {
        match &mut self.open {
            // Drawing knows where the end is.
            Some(open) => open.scroll = step(open.scroll),
            None => self.choose(step(self.place)),
        }
    }

    fn leap(&mut self, down: bool) {
        let far = if self.open.is_some() { self.page.saturating_sub(1).max(1) } else { PAGE };
        self.walk(|place| if down { place.saturating_add(far) } else { place.saturating_sub(far) });
    }

    /// Asks before anything is done.
    fn ask(&mut self, letter: char, now: i64) {
        let Some(item) = self.subject() else { return };
        match Act::of(letter, item) {
            Ok((act, words)) => {
                let reason = act.takes_reason().then(String::new);
                self.question = Some(Question { act, words, reason, asked: now });
            }
            Err(why) => why.clone_into(&mut self.note),
        }
    }

    fn answer(&mut self, mut question: Question, key: Key, now: i64) -> Wish {
        let decides =
            if question.reason.is_some() { key == Key::Enter } else { matches!(key, Key::Char('y' | 'Y')) };
        if decides && now - question.asked < UNREAD {
            self.question = Some(question);
            return Wish::Nothing;
        }
        let Some(reason) = &mut question.reason else {
            if matches!(key, Key::Char('y' | 'Y')) {
                return Wish::Do(question.act);
            }
            "Nothing was done.".clone_into(&mut self.note);
            return Wish::Nothing;
        };
        match key {
            Key::Enter => return Wish::Do(question.act.because(reason.trim())),
            Key::Escape => {
                "Nothing was done.".clone_into(&mut self.note);
                return Wish::Nothing;
            }
            Key::Backspace => {
                reason.pop();
            }
            Key::Char(letter) => reason.push(letter),
            Key::Pasted(more) => reason.extend(more.chars().map(|c| if c.is_control() { ' ' } else { c })),
            Key::Up
            | Key::Down
            | Key::PageUp
            | Key::PageDown
            | Key::Home
            | Key::End
            | Key::Interrupt
            | Key::Suspend
            | Key::Redraw => {}
        }
        *reason = reason.chars().take(REASON).collect();
        self.question = Some(question);
        Wish::Nothing
    }

    /// Takes what became of something that was done.
    pub(super) fn done(&mut self, said: &str) {
        self.note = text::line(said, 500);
    }

    /// The keys that do something at the moment.
    pub(super) fn keys(&self) -> String {
        let mut keys = match self.open {
            Some(_) => vec!["j/k scroll", "Esc back"],
            None => vec!["j/k move", "Enter open"],
        };
        match self.subject().map(|item| item.why) {
            Some(Why::Approval | Why::Proposed) => keys.extend(["a allow", "d deny"]),
            Some(
                Why::UnknownCall
                | Why::UnknownTask
                | Why::SetAside
                | Why::Failed
                | Why::Running
                | Why::Waiting,
            )
            | None => {}
        }
        if self.subject().is_some_and(|item| Act::of('s', item).is_ok()) {
            keys.push("s stop");
        }
        keys.push(if self.open.is_some() { "? help" } else { "? help · q quit" });
        keys.join(" · ")
    }
}
