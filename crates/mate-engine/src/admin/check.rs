//! What a value must be before it is written. Each refusal names the field and what would be right.

use crate::EngineError;
use jiff::Timestamp;
use mate_model::{
    Micros,
    containment::{LimitKind, Limits},
    records::TaskPolicy,
};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The most characters of a path, an address, an argument.
const LONG: usize = 4_096;

/// The most arguments, patterns, fields.
const MANY: usize = 100;

/// A hundred years, in microseconds.
const FAR: i64 = 100 * 366 * 86_400 * 1_000_000;

/// A name: 1 to 64 of `a-z`, `0-9`, `_` and `-`, beginning with a letter or a digit, without `__`.
///
/// # Errors
/// [`EngineError::Invalid`].
pub fn name(field: &'static str, text: &str) -> Result<(), EngineError> {
    if is_name(text) {
        return Ok(());
    }
    Err(EngineError::invalid(
        field,
        "must be 1 to 64 of a-z, 0-9, `_` and `-`, begin with a letter or a digit, and have no `__`",
    ))
}

/// Whether a text could be a name at all.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
    (1..=64).contains(&text.len())
        && text.bytes().all(plain)
        && !text.starts_with(['_', '-'])
        && !text.contains("__")
}

/// A quiet time in seconds: from 1 to a year.
///
/// # Errors
/// [`EngineError::Invalid`].
pub fn quiet(field: &'static str, seconds: Option<u32>) -> Result<(), EngineError> {
    within(field, seconds, 1)
}

/// A deadline in seconds: up to a year; 0 for none.
///
/// # Errors
/// [`EngineError::Invalid`].
pub fn deadline(field: &'static str, seconds: Option<u32>) -> Result<(), EngineError> {
    within(field, seconds, 0)
}

fn within(field: &'static str, seconds: Option<u32>, least: u32) -> Result<(), EngineError> {
    let most = TaskPolicy::MOST_SECONDS;
    if seconds.is_none_or(|seconds| (least..=most).contains(&seconds)) {
        return Ok(());
    }
    Err(EngineError::invalid(field, format!("a number of seconds from {least} to {most}")))
}

/// A connection's name: a name, and not ours.
///
/// # Errors
/// [`EngineError::Invalid`].
pub fn connection_name(text: &str) -> Result<(), EngineError> {
    name("name", text)?;
    if text == "agent_mate" {
        return Err(EngineError::invalid(
            "name",
            "`agent_mate` is the prefix of Agent Mate's own tools: choose another",
        ));
    }
    Ok(())
}

/// The limits of a runtime's sessions: too small ones would only look like a broken runtime.
///
/// # Errors
/// [`EngineError::Invalid`].
pub fn limits(limits: Limits) -> Result<(), EngineError> {
    for (kind, value) in limits.set() {
        let (field, least, most, what) = match kind {
            LimitKind::Memory => ("limits.memory", 16 << 20, 1 << 50, "between 16 MiB and 1 PiB, in bytes"),
            LimitKind::Processes => ("limits.processes", 4, 1_000_000, "between 4 and 1000000"),
            LimitKind::Cpu => ("limits.cpu", 1, 100_000, "between 1 and 100000 percent of one processor"),
        };
        if !(least..=most).contains(&value) {
            return Err(EngineError::invalid(field, format!("must be {what}")));
        }
    }
    Ok(())
}

/// A project's directory: absolute, there, and not within the home. Answers its real path.
///
/// # Errors
/// [`EngineError::Invalid`].
pub async fn workspace(text: &str, home: &Path) -> Result<String, EngineError> {
    let wrong = |why: &str| EngineError::invalid("workspace", why);
    if text.len() > LONG || !Path::new(text).is_absolute() {
        return Err(wrong("must be the absolute path of a directory"));
    }
    let real =
        tokio::fs::canonicalize(text).await.map_err(|error| wrong(&format!("cannot be used: {error}")))?;
    let found =
        tokio::fs::metadata(&real).await.map_err(|error| wrong(&format!("cannot be used: {error}")))?;
    if !found.is_dir() {
        return Err(wrong("is not a directory"));
    }
    let home = tokio::fs::canonicalize(home).await.unwrap_or_else(|_| home.to_owned());
    if real.starts_with(&home) {
        return Err(wrong("is within Agent Mate's own home, which no session may see: choose another"));
    }
    PathBuf::into_os_string(real).into_string().map_err(|_| wrong("its path is not UTF-8: choose another"))
}

/// A command: a program and its arguments.
///
/// # Errors
/// [`EngineError::Invalid`].
pub fn command(words: &[String]) -> Result<(), EngineError> {
    let wrong = |why: &str| Err(EngineError::invalid("command", why));
    match words.first() {
        None => wrong("must name a program"),
        Some(program) if program.trim().is_empty() => wrong("must begin with the program's name"),
        Some(_) if words.len() > MANY => wrong("has more than 100 words"),
        Some(_) if words.iter().any(|word| word.len() > LONG) => wrong("has a word of more than 4096 bytes"),
        Some(_) => Ok(()),
    }
}

/// Refuses an address that holds a credential: addresses are kept, shown and sent on in clear.
///
/// # Errors
/// What is wrong.
pub fn open_address(text: &str) -> Result<(), &'static str> {
    let query = text.split_once('?').map_or("", |(_, query)| query);
    let named = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        !value.is_empty() && mate_guard::names_secret(name)
    };
    let authority =
        text.split_once("://").map_or("", |(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
    if authority.contains('@') || query.split(['&', ';']).any(named) {
        return Err(
            "holds a credential, and addresses are kept in clear: give it as a header, with --header NAME, where the server \
             takes one",
        );
    }
    Ok(())
}

/// Refuses words of a command that hold a credential: `--token X`, `--api-key=X`, `KEY=X`, an address with one. Other
/// programs see them.
///
/// # Errors
/// What is wrong.
pub fn open_words(words: &[String]) -> Result<(), &'static str> {
    const WHY: &str = "hold a credential, and words of a command are kept in clear and seen by other programs: let the \
        program read it from a variable, with --secret-env NAME";
    let known = mate_guard::Redactor::new(std::iter::empty::<&str>());
    // What is left of a shape that is known: `ghp_...`, a bearer, a key in PEM.
    if known.is_ok_and(|known| words.iter().any(|word| matches!(known.redact(word), Cow::Owned(_)))) {
        return Err(WHY);
    }
    for (at, word) in words.iter().enumerate() {
        let option = word.starts_with('-');
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let value = match value {
            "" if option && !word.contains('=') => words.get(at + 1).map_or("", String::as_str),
            value => value,
        };
        let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        let told = plain && mate_guard::names_secret(name) && is_credential(value);
        if told || (word.contains("://") && open_address(word).is_err()) {
            return Err(WHY);
        }
    }
    Ok(())
}

/// Neither another option, nor a path, nor a name of a variable, nor a word of prose.
fn is_credential(value: &str) -> bool {
    value.len() >= 8
        && !value.starts_with(['-', '/', '.', '~', '$', '@'])
        && value.bytes().any(|b| b.is_ascii_digit())
        && !value.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

/// The address of an upstream: `http` or `https`, a host, and no credentials in it.
///
/// # Errors
/// [`EngineError::Invalid`].
pub fn url(text: &str) -> Result<(), EngineError> {
    let wrong = |why: &str| Err(EngineError::invalid("url", why));
    let Some(rest) = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")) else {
        return wrong("must begin with http:// or https://");
    };
    if text.len() > LONG
        || !text.bytes().all(|b| b.is_ascii_graphic())
        || text.contains(['\\', '"', '<', '>', '`'])
    {
        return wrong("must be at most 4096 printable ASCII characters; percent-encode the others");
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return wrong("must not hold a user name or a password: give them as a header");
    }
    if text.contains('#') {
        return wrong("must not have a fragment");
    }
    open_address(text).or_else(wrong)?;
    match split_port(authority) {
        Some((host, port))
            if !host.is_empty() && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|p| p > 0)) =>
        {
            Ok(())
        }
        Some(_) | None => wrong("must name a host, and a port of 1 to 65535 if any"),
    }
}

fn split_port(authority: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        host.parse::<std::net::Ipv6Addr>().ok()?;
        return if after.is_empty() {
            Some((host, None))
        } else {
            after.strip_prefix(':').map(|p| (host, Some(p)))
        };
    }
    match authority.split_once(':') {
        None => Some((authority, None)),
        Some((host, port)) => (!port.starts_with('+')).then_some((host, Some(port))),
    }
}

/// Patterns over tool names: 1 to 100, each of 1 to 128 printable characters without spaces.
///
/// # Errors
/// [`EngineError::Invalid`].
pub fn globs(patterns: &[String]) -> Result<(), EngineError> {
    let wrong = |why: String| Err(EngineError::invalid("tools", why));
    if patterns.is_empty() || patterns.len() > MANY {
        return wrong("must hold 1 to 100 patterns of tool names; `*` covers them all".to_owned());
    }
    let good = |pattern: &&String| {
        (1..=128).contains(&pattern.len())
            && pattern.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-./:*?".contains(&b))
    };
    match patterns.iter().find(|pattern| !good(pattern)) {
        None => Ok(()),
        Some(bad) => {
            let shown = mate_guard::text::line(bad, 40);
            wrong(format!(
                "`{shown}` is no pattern: letters, digits, `_-./:`, `*` for any run and `?` for one"
            ))
        }
    }
}

/// The name of an environment variable.
#[must_use]
pub fn is_variable(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// The name of an HTTP header (RFC 9110 `token`).
#[must_use]
pub fn is_header(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// `TOOL.FIELD`, the tool's name being what is before the last dot.
#[must_use]
pub fn is_tool_field(text: &str) -> bool {
    text.len() <= 256
        && text.rsplit_once('.').is_some_and(|(tool, field)| !tool.is_empty() && !field.is_empty())
        && text.chars().all(|c| !c.is_control() && !c.is_whitespace())
        // For every tool; another pattern would match nothing.
        && !text.strip_prefix("*.").unwrap_or(text).contains('*')
}

/// When something ends: a moment in RFC 3339, or a time from now such as `30d`, `12h`, `90m`, `45s`, `2w`.
///
/// # Errors
/// [`EngineError::Invalid`], also for what is over already.
pub fn expires(text: &str, now: Micros) -> Result<Micros, EngineError> {
    let wrong = |why| EngineError::invalid("expires", why);
    let end = match from_now(text, now) {
        Some(end) => end,
        None => text.parse::<Timestamp>().map(|moment| Micros(moment.as_microsecond())).map_err(|_| {
            wrong("must be a moment such as 2030-01-31T12:00:00Z, or a time from now such as 30d, 12h or 90m")
        })?,
    };
    if end <= now {
        return Err(wrong("is over already"));
    }
    if end.since(now) > FAR {
        return Err(wrong("is more than a hundred years away: leave it out for no end"));
    }
    Ok(end)
}

fn from_now(text: &str, now: Micros) -> Option<Micros> {
    let (count, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return None,
    };
    if count.is_empty() || !count.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // What is too much for the number is too far away, and is refused as such.
    let count = count.parse::<i64>().unwrap_or(i64::MAX);
    Some(now.plus_seconds(count.saturating_mul(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for good in ["a", "0", "my-project_2", "a_b", &"x".repeat(64)] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "A", "-a", "_a", "a__b", "a b", "a/b", "..", "ä", "a\0", "a\n", &"x".repeat(65)] {
            assert!(!is_name(bad), "{bad}");
        }
        assert!(connection_name("agent_mate").is_err() && connection_name("agent-mate").is_ok());
    }

    #[test]
    fn g09_what_is_kept_in_clear_holds_no_credential() {
        for bad in [
            "api_key=S",
            "token=S",
            "key=S",
            "a=b&sig=S",
            "password=S",
            "client_secret=S",
            "access_token=S",
            "accessToken=S",
        ] {
            assert!(url(&format!("http://127.0.0.1:1/mcp?{bad}")).is_err(), "{bad}");
        }
        for good in ["author=a", "design=x", "token=", "max_tokens=5", "region=eu"] {
            assert!(url(&format!("http://127.0.0.1:1/mcp?{good}")).is_ok(), "{good}");
        }
        let words = |text: &str| open_words(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for bad in [
            "x --token hunter2-hunter2",
            "x --api-key=hunter2-hunter2",
            "env API_KEY=hunter2-hunter2 x",
            "x http://127.0.0.1/?sig=a&b=c",
            "x http://u:p@127.0.0.1/",
            "x ghp_0123456789abcdefghij0123456789abcdef",
        ] {
            assert!(words(bad).is_err(), "{bad}");
        }
        for good in [
            "x --key-file /etc/keys/1234567890",
            "x --token API_TOKEN_1",
            "x --token",
            "x --auth oauth",
            "x --token=$TOKEN_12345",
        ] {
            assert!(words(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn addresses() {
        for good in
            ["http://localhost:8000/mcp", "https://mcp.example/a?b=c", "http://[::1]:80/", "http://127.0.0.1"]
        {
            assert!(url(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "ftp://x/",
            "file:///etc/passwd",
            "http://",
            "http:///x",
            "http://user:pw@host/",
            "http://tok@host",
            "http://host:0/",
            "http://host:99999/",
            "http://host:+8/",
            "http://ho st/",
            "http://hóst/",
            "http://[::1",
            "http://host/#x",
            "HTTP//x",
            "http://host\\@evil/",
            "http://host:/",
        ] {
            assert!(url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ends() {
        let now = Micros(1_000_000_000_000);
        assert_eq!(expires("30d", now).expect("read"), now.plus_seconds(30 * 86_400));
        assert_eq!(expires("2w", now).expect("read"), now.plus_seconds(14 * 86_400));
        assert!(expires("2030-01-31T12:00:00Z", now).is_ok());
        let old = "1970-01-01T00:00:00Z";
        for bad in [
            "",
            "d",
            "0d",
            "-1d",
            "1y",
            "30",
            "1.5h",
            "é",
            "99999999999999999999d",
            old,
            "tomorrow",
            "200000d",
        ] {
            assert!(expires(bad, now).is_err(), "{bad}");
        }
    }

    #[test]
    fn patterns_of_tools() {
        let list = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>();
        assert!(globs(&list(&["*", "get_*", "a.b/c-d?"])).is_ok());
        for bad in [&[][..], &[""], &["a b"], &["get_*", "ü"], &["[a]"], &["a\n"]] {
            assert!(globs(&list(bad)).is_err(), "{bad:?}");
        }
    }

    #[tokio::test]
    async fn a_workspace_is_there_and_is_not_the_home() {
        let folder = tempfile::tempdir().expect("folder");
        let home = folder.path().join("home");
        let inside = home.join("sessions");
        std::fs::create_dir_all(&inside).expect("made");
        let file = folder.path().join("file");
        std::fs::write(&file, "").expect("written");
        std::os::unix::fs::symlink(&inside, folder.path().join("link")).expect("linked");
        let text = |path: &Path| path.to_str().expect("utf-8").to_owned();
        assert!(workspace(&text(folder.path()), &home).await.is_ok());
        let nowhere = folder.path().join("nowhere");
        let link = folder.path().join("link");
        for bad in [
            text(&file),
            text(&home),
            text(&inside),
            text(&link),
            text(&nowhere),
            ".".to_owned(),
            String::new(),
        ] {
            assert!(workspace(&bad, &home).await.is_err(), "{bad}");
        }
    }
}
