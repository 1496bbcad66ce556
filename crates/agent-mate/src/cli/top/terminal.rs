//! The terminal while `top` has it: keys at once, a screen of its own, and everything as it was afterwards.

use crate::cli::{Failure, Screen};
use anstyle::Style;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::{fmt::Write as _, io};

/// A screen of its own, no cursor, lines that end at the edge, and pasted text marked as such.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h\x1b[2J";
const LEAVE: &str = "\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l";
/// Where a terminal does not say how large it is.
const USUAL: (usize, usize) = (24, 80);
/// The largest that is believed.
const LARGEST: usize = 1_000;

/// A line of the screen: escaped already, and cut to the width.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) style: Style,
    pub(super) text: String,
}

/// The terminal, taken; given back when dropped.
pub(super) struct Terminal {
    screen: Screen,
    before: Termios,
    shown: Vec<Line>,
    size: (usize, usize),
    taken: bool,
}

impl Terminal {
    /// Takes the terminal.
    pub(super) fn take(screen: &Screen) -> Result<Self, Failure> {
        let before = tcgetattr(io::stdin()).map_err(|error| strange(&error.into()))?;
        let mut terminal =
            Self { screen: screen.clone(), before, shown: Vec::new(), size: (0, 0), taken: false };
        terminal.enter()?;
        Ok(terminal)
    }

    /// Takes it, or takes it again. What was typed before is not heard.
    pub(super) fn enter(&mut self) -> Result<(), Failure> {
        let mut raw = self.before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Flush, &raw).map_err(|error| strange(&error.into()))?;
        self.taken = true;
        self.shown.clear();
        self.screen.raw(ENTER.as_bytes())
    }

    /// Gives it back as it was.
    pub(super) fn leave(&mut self) {
        if std::mem::take(&mut self.taken) {
            // Where the terminal is gone there is nothing to put right.
            let _ = self.screen.raw(LEAVE.as_bytes());
            let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
        }
    }

    /// Lines and columns.
    pub(super) fn size() -> (usize, usize) {
        let said = tcgetwinsize(io::stdout()).map_or((0, 0), |size| (size.ws_row.into(), size.ws_col.into()));
        let (rows, columns) = if said.0 == 0 || said.1 == 0 { USUAL } else { said };
        (rows.min(LARGEST), columns.min(LARGEST))
    }

    /// Everything is drawn anew at the next time.
    pub(super) fn forget(&mut self) {
        self.shown.clear();
    }

    /// Draws what is different; in another size, everything.
    pub(super) fn draw(&mut self, lines: Vec<Line>, size: (usize, usize)) -> Result<(), Failure> {
        if size != self.size {
            self.size = size;
            self.forget();
        }
        if lines == self.shown {
            return Ok(());
        }
        let mut bytes = String::from(if self.shown.is_empty() { "\x1b[2J" } else { "" });
        for (place, line) in lines.iter().enumerate() {
            if self.shown.get(place) == Some(line) {
                continue;
            }
            let Line { style, text } = line;
            // Erased first: after a full line the cursor is still on its last character. Writing to a String does not fail.
            let _ = if self.screen.colour {
                write!(bytes, "\x1b[{};1H\x1b[0m\x1b[2K{style}{text}{style:#}", place + 1)
            } else {
                write!(bytes, "\x1b[{};1H\x1b[2K{text}", place + 1)
            };
        }
        self.shown = lines;
        self.screen.raw(bytes.as_bytes())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.leave();
    }
}

fn strange(error: &io::Error) -> Failure {
    Failure::internal(format!("the terminal cannot be used: {error}; --once needs none"))
}
