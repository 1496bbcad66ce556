//! A command on a pseudo terminal, with keys to press and a screen to read.

use super::{World, until, while_true};
use std::{
    fs,
    io::{Read as _, Write as _},
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// A command that has a terminal; ended when dropped, with what it started.
pub(crate) struct Terminal {
    child: Child,
    keys: ChildStdin,
    written: Arc<Mutex<Vec<u8>>>,
    place: PathBuf,
}

impl World {
    /// Runs a command on a terminal of so many lines and columns (by util-linux's `script`).
    pub(crate) fn on_terminal(&self, words: &[&str], rows: usize, columns: usize) -> Terminal {
        let wanted = self.command(words);
        let quoted = |word: &std::ffi::OsStr| format!("'{}'", word.to_string_lossy());
        let line: Vec<_> = [wanted.get_program()].into_iter().chain(wanted.get_args()).map(quoted).collect();
        let place = self.folder().to_owned();
        let noted = |name: &str| format!("'{}'", place.join(name).display());
        let line = format!(
            "stty rows {rows} cols {columns}; stty -g >{}; tty >{}; {}; code=$?; stty -g >{}; exit $code",
            noted("before"),
            noted("tty"),
            line.join(" "),
            noted("after"),
        );
        let mut command = Command::new("script");
        command.args(["-q", "-e", "-f", "-c", &line, "/dev/null"]);
        command.env_clear().env("TERM", "xterm-256color").env("SHELL", "/bin/sh");
        command.envs(wanted.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(self.user());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("`script` of util-linux is there");
        let keys = child.stdin.take().expect("a pipe");
        let mut out = child.stdout.take().expect("a pipe");
        let written = Arc::new(Mutex::new(Vec::new()));
        let collected = Arc::clone(&written);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut bytes) {
                collected.lock().expect("lock").extend_from_slice(&bytes[..count]);
            }
        });
        Terminal { child, keys, written, place }
    }
}

impl Terminal {
    /// Presses keys, or pastes: whatever a terminal would send.
    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).and_then(|()| self.keys.flush()).expect("it reads keys");
    }

    /// Everything that was written to the terminal.
    pub(crate) fn raw(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().expect("lock")).into_owned()
    }

    /// What a person sees.
    pub(crate) fn screen(&self) -> String {
        seen(&self.raw())
    }

    /// Waits until a person sees this; the whole screen.
    pub(crate) fn until_shows(&self, what: &str) -> String {
        self.until(what, |screen| screen.contains(what))
    }

    /// Waits for a question, as long as a person needs to read it: a yes that comes before is not heard.
    pub(crate) fn until_asked(&self, question: &str) -> String {
        let screen = self.until_shows(question);
        while_true("the question stays", Duration::from_millis(400), || self.screen().contains(question));
        screen
    }

    /// Waits until what a person sees is so; the whole screen.
    pub(crate) fn until(&self, what: &str, is: impl Fn(&str) -> bool) -> String {
        let mut last = String::new();
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until(&format!("the terminal to show: {what}"), || {
                last = self.screen();
                is(&last).then(|| last.clone())
            })
        }));
        found.unwrap_or_else(|_| panic!("not shown: {what}\n{last}"))
    }

    /// Makes the terminal another size.
    pub(crate) fn resize(&self, rows: usize, columns: usize) {
        let tty = fs::read_to_string(self.place.join("tty")).expect("its name");
        let sizes = [rows.to_string(), columns.to_string()];
        let resized = Command::new("stty")
            .args(["-F", tty.trim(), "rows", &sizes[0], "cols", &sizes[1]])
            .status()
            .expect("stty");
        assert!(resized.success());
    }

    /// Waits for the end; the exit code. The terminal has to be as it was before.
    pub(crate) fn ended(mut self) -> i32 {
        let status = until("the command to end", || self.child.try_wait().expect("it can be waited for"));
        let settings =
            |name: &str| fs::read_to_string(self.place.join(name)).expect("settings of the terminal");
        assert_eq!(settings("after"), settings("before"), "the terminal is as it was");
        let raw = until("the rest of what was written", || {
            Some(self.raw()).filter(|raw| raw.contains("\u{1b}[?1049l"))
        });
        assert!(raw.contains("\u{1b}[?25h"), "the cursor is back");
        status.code().unwrap_or(-1)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The screen after all that was written: the few sequences that `top` uses, and no others.
fn seen(raw: &str) -> String {
    let mut lines: Vec<Vec<char>> = Vec::new();
    let (mut row, mut column) = (0, 0);
    let mut rest = raw.chars();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => {
                if rest.next() != Some('[') {
                    continue;
                }
                let mut numbers = String::new();
                let last = rest.by_ref().find(|c| {
                    let is_last = ('\u{40}'..='\u{7e}').contains(c);
                    if !is_last {
                        numbers.push(*c);
                    }
                    is_last
                });
                let number = |at: usize| numbers.split(';').nth(at).and_then(|n| n.parse::<usize>().ok());
                match last {
                    Some('H') => (row, column) = (number(0).unwrap_or(1) - 1, number(1).unwrap_or(1) - 1),
                    Some('J') if numbers == "2" => lines.clear(),
                    Some('J') => lines.truncate(row),
                    Some('K') => {
                        if let Some(line) = lines.get_mut(row) {
                            line.truncate(column);
                        }
                    }
                    _ => {}
                }
            }
            '\n' => row += 1,
            '\r' => column = 0,
            shown => {
                if lines.len() <= row {
                    lines.resize(row + 1, Vec::new());
                }
                if lines[row].len() <= column {
                    lines[row].resize(column + 1, ' ');
                }
                lines[row][column] = shown;
                column += 1;
            }
        }
    }
    lines.into_iter().map(|line| line.into_iter().collect::<String>() + "\n").collect()
}
