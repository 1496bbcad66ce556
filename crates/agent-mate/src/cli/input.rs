//! Reading what a command takes: texts, secrets, times.

use super::exit::Failure;
use mate_server::wire::SecretText;
use std::{
    collections::BTreeMap,
    fs::File,
    io::{IsTerminal, Read},
    time::Duration,
};

/// The most that is read from a file or standard input.
const LIMIT: u64 = 1024 * 1024;

/// `TEXT`, `@FILE`, or `-` for standard input.
///
/// # Errors
/// When it cannot be read, is empty, too long, or no text.
pub(crate) fn text(given: &str) -> Result<String, Failure> {
    let text = match given.strip_prefix('@') {
        Some(file) => from_file(file)?,
        None if given == "-" => from_stdin("the instructions")?,
        None => given.to_owned(),
    };
    if text.trim().is_empty() {
        Err(Failure::usage("the text is empty: say what is to be done"))
    } else {
        Ok(text)
    }
}

/// The text of a file, or of standard input for `-`.
///
/// # Errors
/// When it cannot be read, or is too long or no text.
pub(crate) fn document(given: &str, what: &str) -> Result<String, Failure> {
    document_within(given, what, LIMIT)
}

/// The same, of at most so many bytes.
///
/// # Errors
/// As [`document`].
pub(crate) fn document_within(given: &str, what: &str, limit: u64) -> Result<String, Failure> {
    if given == "-" {
        told(what);
        return read_within(std::io::stdin(), "standard input", limit);
    }
    read_within(open(given)?, given, limit)
}

/// Secrets given as `NAME` (from the environment), `NAME=@FILE` or `NAME=-` (standard input).
///
/// # Errors
/// When one cannot be read, or was written into the command itself.
pub(crate) fn secrets(given: &[String]) -> Result<BTreeMap<String, SecretText>, Failure> {
    let mut secrets = BTreeMap::new();
    let mut stdin_taken = false;
    for entry in given {
        let (name, source) = entry.split_once('=').map_or((entry.as_str(), None), |(n, s)| (n, Some(s)));
        let value = match source {
            None => std::env::var(name).map_err(|_| {
                Failure::usage(format!(
                    "the environment has no variable {name}; or say {name}=@FILE or {name}=-"
                ))
            })?,
            Some("-") if stdin_taken => {
                return Err(Failure::usage("only one secret can come from standard input"));
            }
            Some("-") => {
                stdin_taken = true;
                from_stdin(name)?
            }
            Some(source) => match source.strip_prefix('@') {
                Some(file) => from_file(file)?,
                // The value is not repeated: it may be a secret.
                None => {
                    return Err(Failure::usage(format!(
                        "a secret is never an argument, where other programs can see it: say {name}=@FILE, {name}=- or, from the environment, {name}"
                    )));
                }
            },
        };
        let value = value.strip_suffix('\n').map_or(value.as_str(), |v| v.strip_suffix('\r').unwrap_or(v));
        if value.is_empty() {
            return Err(Failure::usage(format!("the secret {name} is empty")));
        }
        if secrets.insert(name.to_owned(), SecretText::new(value.to_owned())).is_some() {
            return Err(Failure::usage(format!("{name} is given twice")));
        }
    }
    Ok(secrets)
}

fn open(path: &str) -> Result<File, Failure> {
    File::open(path).map_err(|error| Failure::usage(format!("{path} cannot be read: {error}")))
}

fn from_file(path: &str) -> Result<String, Failure> {
    read_within(open(path)?, path, LIMIT)
}

fn from_stdin(what: &str) -> Result<String, Failure> {
    told(what);
    read_within(std::io::stdin(), "standard input", LIMIT)
}

fn told(what: &str) {
    if std::io::stdin().is_terminal() {
        super::show::tell(&format!("Reading {what} from standard input; end with Ctrl-D."));
    }
}

fn read_within(source: impl Read, name: &str, limit: u64) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = source.take(limit + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::usage(format!("{name} cannot be read: {error}")))?;
    if bytes.len() as u64 > limit {
        return Err(Failure::usage(format!("{name} is longer than {} MiB", limit >> 20)));
    }
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{name} is not UTF-8 text")))
}

/// A length of time: `90`, `90s`, `5m`, `2h`, `1d`.
///
/// # Errors
/// What would be right.
pub(crate) fn duration(given: &str) -> Result<Duration, String> {
    let wrong = || "a length of time is a number and s, m, h or d, such as 90s or 5m".to_owned();
    let digits = given.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match given.get(digits.len()..).unwrap_or_default() {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let count: u64 = digits.parse().map_err(|_| wrong())?;
    count
        .checked_mul(unit)
        .filter(|seconds| *seconds <= 10 * 365 * 86_400)
        .map(Duration::from_secs)
        .ok_or_else(wrong)
}

/// A size: bytes, or with K, M, G or T.
///
/// # Errors
/// What would be right.
pub(crate) fn size(given: &str) -> Result<i64, String> {
    let wrong = || "a size is a number of bytes, or with K, M, G or T, such as 500M".to_owned();
    let digits = given.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match given.get(digits.len()..).unwrap_or_default() {
        "" | "B" => 0,
        "K" | "KiB" => 10,
        "M" | "MiB" => 20,
        "G" | "GiB" => 30,
        "T" | "TiB" => 40,
        _ => return Err(wrong()),
    };
    let count: i64 = digits.parse().map_err(|_| wrong())?;
    count.checked_mul(1 << shift).filter(|size| *size >= 0).ok_or_else(wrong)
}

/// As [`duration`], in whole seconds as the interface takes them.
///
/// # Errors
/// What would be right.
pub(crate) fn seconds(given: &str) -> Result<u32, String> {
    u32::try_from(duration(given)?.as_secs()).map_err(|_| "a year at most".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        assert_eq!(duration("0"), Ok(Duration::ZERO));
        for bad in ["", "m", "-1s", "1.5h", "5 m", "5w", "99999999999999999999", "99999999999d"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn texts_and_files() {
        let folder = tempfile::tempdir().expect("folder");
        let file = folder.path().join("text");
        let at = format!("@{}", file.display());
        assert!(text(&at).is_err());
        std::fs::write(&file, "do it\n").expect("write");
        assert_eq!(text(&at).expect("read"), "do it\n");
        assert_eq!(text("do it").expect("taken"), "do it");
        std::fs::write(&file, [0xff]).expect("write");
        assert!(text(&at).is_err() && text("  ").is_err() && text("").is_err());
    }

    #[test]
    fn g09_a_secret_is_never_an_argument() {
        let folder = tempfile::tempdir().expect("folder");
        let file = folder.path().join("secret");
        std::fs::write(&file, "hunter2\n").expect("write");
        let read = secrets(&[format!("TOKEN=@{}", file.display())]).expect("read");
        assert_eq!(read.get("TOKEN").map(SecretText::expose), Some("hunter2"));
        assert_eq!(format!("{read:?}"), r#"{"TOKEN": [redacted]}"#);
        let refused = secrets(&["TOKEN=hunter2".to_owned()]).expect_err("an argument");
        assert!(!refused.detail.contains("hunter2"), "{}", refused.detail);
        assert!(secrets(&["AGENT_MATE_NO_SUCH_VARIABLE".to_owned()]).is_err());
    }
}
