//! Showing answers: tables for people, one JSON document for programs. What agents and tools wrote
//! never reaches the terminal raw.

use super::{
    exit::Failure,
    layout::{self, Strip, hanging},
    words::{self, quoted},
};
use mate_guard::text;
use mate_model::{Clock, Micros};
use serde_json::Value;
use std::{
    fmt,
    io::{ErrorKind, IsTerminal, Write},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

/// The widest cell of a table, in characters, where the width of the terminal is not known.
const CELL: usize = 60;
/// The same where it is: what does not fit is cut.
const WIDE_CELL: usize = 400;
/// A terminal that says it is narrower is not believed.
const NARROWEST: usize = 20;
/// The longest value of a detail view.
const VALUE: usize = 20_000;

/// Where and how answers are written.
#[derive(Clone, Debug)]
pub(crate) struct Screen {
    /// One JSON document instead of tables.
    pub(crate) json: bool,
    /// Colours may be used.
    pub(crate) colour: bool,
    /// Standard output is a terminal.
    pub(crate) terminal: bool,
    /// How many columns a line has; none where lines may be of any length.
    pub(crate) width: Option<usize>,
    /// For ages.
    pub(crate) clock: Arc<dyn Clock>,
    /// Where answers go.
    pub(crate) out: Output,
    /// The home that was named with `--home`, and so has to be named again.
    pub(crate) home: Option<PathBuf>,
}

/// Standard output, or what stands in for it.
#[derive(Clone)]
pub(crate) struct Output(Arc<Mutex<dyn Write + Send>>);

impl Output {
    /// Writes to `sink`.
    pub(crate) fn to(sink: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(sink)))
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Output")
    }
}

impl Screen {
    /// The screen of this process.
    pub(crate) fn new(json: bool, no_color: bool, clock: Arc<dyn Clock>) -> Self {
        let terminal = std::io::stdout().is_terminal();
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()) && !no_color;
        Self {
            json,
            colour: terminal && wanted && !json,
            terminal,
            width: width(terminal),
            clock,
            out: Output::to(std::io::stdout()),
            home: None,
        }
    }

    /// The same screen, for a home that was named with `--home`.
    pub(crate) fn naming(self, home: Option<PathBuf>) -> Self {
        Self { home, ..self }
    }

    /// A command to go on with, as it has to be typed here.
    pub(crate) fn step(&self, step: &str) -> String {
        match (step.strip_prefix("agent-mate "), &self.home) {
            (Some(rest), Some(home)) => {
                format!("agent-mate --home {} {rest}", quoted(&home.to_string_lossy()))
            }
            (_, _) => step.to_owned(),
        }
    }

    /// Bytes as they are. A reader that has gone away is no error.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut out = self.out.0.lock().unwrap_or_else(PoisonError::into_inner);
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(Failure::internal(format!("standard output cannot be written: {error}")))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// A line of our own words; what others wrote must be escaped already.
    pub(crate) fn line(&self, line: &str) -> Result<(), Failure> {
        self.raw(format!("{line}\n").as_bytes())
    }

    /// Whether documents are printed instead of words.
    pub(crate) const fn is_json(&self) -> bool {
        self.json
    }

    /// The document, as `--json` prints it: on one line.
    pub(crate) fn document(&self, document: &Value) -> Result<(), Failure> {
        self.line(&document.to_string())
    }

    /// A list: with `--json` the document, else a table, or what to do when there is nothing.
    pub(crate) fn list(&self, page: &Value, columns: &[Column], empty: &str) -> Result<(), Failure> {
        if self.json {
            return self.document(page);
        }
        let items = page.get("items").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if items.is_empty() {
            return self.line(empty);
        }
        let (table, dropped) = self.laid_out(items, columns);
        self.line(&table)?;
        if !dropped.is_empty() {
            let dropped = dropped.join(", ");
            self.line(&format!("\nNot shown at this width: {dropped}. `--json` has everything."))?;
        }
        match page.get("next").and_then(Value::as_str) {
            Some(next) => self.line(&format!("\nThere is more: add --cursor {}", text::line(next, CELL * 4))),
            None => Ok(()),
        }
    }

    /// The table of some objects.
    pub(crate) fn table(&self, items: &[Value], columns: &[Column]) -> String {
        self.laid_out(items, columns).0
    }

    fn laid_out(&self, items: &[Value], columns: &[Column]) -> (String, Vec<&'static str>) {
        let strip = |(place, column): (usize, &Column)| Strip {
            title: column.title,
            rank: if place == 0 || column.field == "id" { 0 } else { column.rank },
            cells: items.iter().map(|item| self.cell(item, column)).collect(),
        };
        layout::table(columns.iter().enumerate().map(strip).collect(), self.width)
    }

    fn cell(&self, item: &Value, column: &Column) -> String {
        let value = at(item, column.field);
        let shown = if column.field.ends_with("_at") {
            self.age(value)
        } else {
            words::lines(column.field, value).join("; ")
        };
        let most = if self.width.is_some() { WIDE_CELL } else { CELL };
        text::line(&shown, if column.field == "id" { 100 } else { most })
    }

    /// One object: with `--json` the document, else its fields one under the other.
    pub(crate) fn object(&self, object: &Value, fields: &[Column]) -> Result<(), Failure> {
        if self.json {
            return self.document(object);
        }
        self.line(&self.fields(object, fields))
    }

    /// An object's fields one under the other; absent ones are left out.
    pub(crate) fn fields(&self, object: &Value, fields: &[Column]) -> String {
        let width = fields.iter().map(|field| field.title.chars().count()).max().unwrap_or(0);
        let mut lines = Vec::new();
        for field in fields {
            let value = at(object, field.field);
            if value.is_null() || *value == Value::Array(Vec::new()) {
                continue;
            }
            let shown = if field.field.ends_with("_at") {
                self.moment(value)
            } else {
                words::lines(field.field, value).join("\n")
            };
            let shown = hanging(&text::block(&shown, VALUE), width + 2, self.width);
            lines.push(format!("{:width$}  {shown}", field.title).trim_end().to_owned());
        }
        lines.join("\n")
    }

    /// Says that something was made, and what to do next; with `--json` the document alone.
    pub(crate) fn made(&self, document: &Value, what: &str, next: &[String]) -> Result<(), Failure> {
        if self.json {
            return self.document(document);
        }
        self.line(&text::line(what, 500))?;
        for step in next {
            self.line(&format!("  next: {}", text::line(&self.step(step), 500)))?;
        }
        Ok(())
    }

    /// Says that something was taken away, and what was on its way under it; with `--json` the document alone.
    pub(crate) fn revoked(&self, document: &Value, what: &str, next: &[String]) -> Result<(), Failure> {
        self.made(document, what, next)?;
        if self.json {
            return Ok(());
        }
        let calls = at(document, "in_flight.calls").as_array().map(Vec::as_slice).unwrap_or_default();
        let elsewhere = at(document, "in_flight.elsewhere").as_u64().unwrap_or(0);
        let total = calls.len() as u64 + elsewhere;
        if total == 0 {
            return Ok(());
        }
        let (were, they) =
            if total == 1 { ("1 call was", "it") } else { (&*format!("{total} calls were"), "they") };
        self.line(&format!("{were} in flight; {they} may have happened:"))?;
        for call in calls {
            let (connection, tool) = (text_at(call, "connection_name"), text_at(call, "tool"));
            self.line(&text::line(&format!("  {}  {connection}/{tool}", text_at(call, "id")), 400))?;
        }
        if elsewhere > 0 {
            self.line(&format!("  {elsewhere} in projects that you do not see"))?;
        }
        Ok(())
    }

    fn age(&self, value: &Value) -> String {
        moment_of(value).map_or_else(|| plain(value), |at| ago(self.clock.now().since(at)))
    }

    fn moment(&self, value: &Value) -> String {
        match moment_of(value) {
            Some(at) => format!("{} ({})", utc(at), ago(self.clock.now().since(at))),
            None => plain(value),
        }
    }
}

/// How many columns there are: `COLUMNS`, else what the terminal says.
fn width(terminal: bool) -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|said| said.parse().ok());
    let asked = || rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    said.or_else(|| asked().filter(|_| terminal)).filter(|width| *width >= NARROWEST)
}

/// A column of a table, or a field of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// What it is called.
    pub(crate) title: &'static str,
    /// Where it is: a name, or names joined by dots.
    pub(crate) field: &'static str,
    /// How soon it is left out of a table that is too wide: the highest first; 0 never.
    rank: u8,
}

impl Column {
    /// The same, left out so soon. Columns that say nothing else have 4.
    pub(crate) const fn rank(self, rank: u8) -> Self {
        Self { rank, ..self }
    }
}

/// A column.
pub(crate) const fn column(title: &'static str, field: &'static str) -> Column {
    Column { title, field, rank: 4 }
}

/// What is at a path of names; null if nothing is.
pub(crate) fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').try_fold(value, |value, name| value.get(name)).unwrap_or(&Value::Null)
}

/// The text at a path; empty if there is none. Not yet escaped.
pub(crate) fn text_at<'a>(value: &'a Value, path: &str) -> &'a str {
    at(value, path).as_str().unwrap_or_default()
}

/// A value in words. Not yet escaped.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(|item| !item.is_array() && !item.is_object()) => {
            items.iter().map(plain).collect::<Vec<_>>().join(", ")
        }
        Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// A moment as the interface writes it: RFC 3339.
pub(crate) fn moment_of(value: &Value) -> Option<Micros> {
    match value {
        Value::String(text) => {
            text.parse::<jiff::Timestamp>().ok().map(|moment| Micros(moment.as_microsecond()))
        }
        Value::Number(micros) => micros.as_i64().map(Micros),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A moment to the second, in UTC.
pub(crate) fn utc(at: Micros) -> String {
    jiff::Timestamp::from_microsecond(at.0)
        .map_or_else(|_| format!("{} us", at.0), |moment| moment.strftime("%Y-%m-%d %H:%M:%SZ").to_string())
}

/// How long ago, or in how long.
pub(crate) fn ago(micros: i64) -> String {
    let length = span(micros.saturating_abs());
    if micros < -1_000_000 { format!("in {length}") } else { format!("{length} ago") }
}

/// A length of time in its largest units.
pub(crate) fn span(micros: i64) -> String {
    let seconds = micros / 1_000_000;
    match seconds {
        0 if micros > 0 && micros < 1_000_000 => format!("{} ms", micros / 1_000),
        ..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        86_400.. => format!("{} d", seconds / 86_400),
    }
}

/// A note to the person at standard error.
pub(crate) fn tell(note: &str) {
    let mut err = std::io::stderr().lock();
    // Nobody is left to tell when this fails.
    let _ = writeln!(err, "{note}");
}

/// Shows why a command was not done.
pub(crate) fn show_failure(failure: &Failure, screen: &Screen) {
    if screen.json {
        let _ = screen.document(&failure.document());
        return;
    }
    tell(&format!("error: {}", text::block(&failure.detail, 4_000)));
    for (field, why) in &failure.errors {
        if !failure.detail.contains(why.as_str()) {
            tell(&format!("  {}: {}", text::line(field, 200), text::line(why, 500)));
        }
    }
}

#[cfg(test)]
#[path = "show_tests.rs"]
mod tests;
