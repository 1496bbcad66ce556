//! Secrets that can be told by their looks, known to us or not.

use regex::{Error, Regex, RegexSet};
use std::ops::Range;

/// What may stand between a key's name and its value, quoted or not, in JSON within JSON too.
const GAP: &str = r#"["'\\]{0,3}\s{0,4}[:=]\s{0,4}["'\\]{0,3}"#;
const KEY_NAMES: &str = "authorization|api[-_]?key|access[-_]?key|secret[-_]?key|access[-_]?token|auth[-_]?token|refresh[-_]?token|client[-_]?secret|password|passwd";

/// Each shape; its first group, if it has one, is the part to hide.
fn shapes() -> Vec<String> {
    let word = r"(?-u:\b)";
    vec![
        format!(r"{word}eyJ[A-Za-z0-9_-]{{8,}}\.[A-Za-z0-9_-]{{8,}}(?:\.[A-Za-z0-9_-]*){{0,3}}"),
        format!(r"{word}A[KS]IA[A-Z0-9]{{16,}}"),
        format!(r"{word}(?:gh[pousr]_|github_pat_|glpat-|npm_)[A-Za-z0-9_-]{{20,}}"),
        format!(r"{word}(?:xox[a-z]-|xapp-)[A-Za-z0-9-]{{10,}}"),
        format!(r"{word}(?:sk-[A-Za-z0-9_-]{{20,}}|[sr]k_(?:live|test)_[A-Za-z0-9]{{16,}})"),
        format!(r"{word}AIza[A-Za-z0-9_-]{{30,}}"),
        format!(r"{word}ams?_[A-Za-z0-9_-]{{43}}"),
        format!(r#"(?i)authorization{GAP}(?:bearer|basic|token)\s{{1,4}}([^\s"'\\,;<>]{{6,}})"#),
        format!(r#"(?i)(?:{KEY_NAMES}){GAP}([^\s"'\\,;<>]{{12,}})"#),
        format!(r"(?i){word}bearer\s{{1,4}}([A-Za-z0-9._~+/=-]{{16,}})"),
        r#"[A-Za-z][A-Za-z0-9+.-]{0,31}://([^\s/?#"'<>\\:@]*:[^\s/?#"'<>\\]+|[^\s/?#"'<>\\@]{16,})@"#
            .to_owned(),
    ]
}

/// Where one of the shapes may have begun and not ended, up to the end of the text.
fn unfinished() -> String {
    let parts = [
        // The beginning of a prefix, a key's name, a URL's scheme or a PEM marker.
        r"[A-Za-z0-9_+.\-]{1,40}".to_owned(),
        r"(?-u:\b)(?:eyJ|A[KS]IA|gh[pousr]_|github_pat_|glpat-|npm_|xox[a-z]-|xapp-|sk-|[sr]k_|AIza|ams?_)[A-Za-z0-9_.-]*".to_owned(),
        format!(r#"(?i:{KEY_NAMES})["'\\]{{0,3}}\s{{0,4}}"#),
        format!(r#"(?i:{KEY_NAMES}){GAP}(?i:(?:bearer|basic|token)\s{{1,4}})?[^\s"'\\,;<>]*"#),
        r"(?i:bearer)\s{1,4}[A-Za-z0-9._~+/=-]*".to_owned(),
        r#"[A-Za-z][A-Za-z0-9+.-]{0,31}:(?:/(?:/[^\s/?#"'<>\\]*)?)?"#.to_owned(),
        r"-----[A-Z0-9 -]{0,70}".to_owned(),
    ];
    format!(r"(?:{})\z", parts.join("|"))
}

/// An escape that may not have ended, up to the end of the text.
fn unfinished_escape() -> String {
    let slash = r"(?:\\|%(?:25){0,4}5[Cc]){1,64}";
    let parts = [
        r"%(?:25){0,4}[0-9A-Fa-f]?".to_owned(),
        r"%25(?:25){0,4}(?:%[0-9A-Fa-f]{0,2}|[0-9A-Fa-f]){0,2}".to_owned(),
        format!(
            "{slash}(?:u[0-9A-Fa-f]{{0,3}}|u[dD][89abAB][0-9A-Fa-f]{{2}}(?:{slash}(?:u[0-9A-Fa-f]{{0,3}})?)?)?"
        ),
        r"&(?:amp;){0,4}[A-Za-z0-9#]{0,8}".to_owned(),
    ];
    format!(r"(?:{})\z", parts.join("|"))
}

const PEM_BEGIN: &str = "-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----";
const PEM_END: &str = "-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----";
/// A PEM end marker is not longer than this.
pub(crate) const PEM_END_LENGTH: usize = 80;

/// The compiled shapes.
#[derive(Debug)]
pub(crate) struct Shapes {
    set: RegexSet,
    each: Vec<Regex>,
    unfinished: Regex,
    unfinished_escape: Regex,
    pem_begin: Regex,
    pem_end: Regex,
}

impl Shapes {
    pub(crate) fn new() -> Result<Self, Error> {
        let shapes = shapes();
        Ok(Self {
            set: RegexSet::new(&shapes)?,
            each: shapes.iter().map(|shape| Regex::new(shape)).collect::<Result<_, _>>()?,
            unfinished: Regex::new(&unfinished())?,
            unfinished_escape: Regex::new(&unfinished_escape())?,
            pem_begin: Regex::new(PEM_BEGIN)?,
            pem_end: Regex::new(PEM_END)?,
        })
    }

    /// Adds what is to hide in `text`, private keys in PEM apart.
    pub(crate) fn find(&self, text: &str, found: &mut Vec<Range<usize>>) {
        for shape in self.set.matches(text).iter().filter_map(|index| self.each.get(index)) {
            found.extend(
                shape.captures_iter(text).filter_map(|c| c.get(1).or_else(|| c.get(0))).map(|m| m.range()),
            );
        }
    }

    /// Adds the private keys in PEM; returns where one begins that has not ended.
    pub(crate) fn find_pem(&self, text: &str, found: &mut Vec<Range<usize>>) -> Option<usize> {
        let mut from = 0;
        while let Some(begin) = self.pem_begin.find_at(text, from) {
            let Some(end) = self.pem_end(text, begin.end()) else {
                found.push(begin.start()..text.len());
                return Some(begin.start());
            };
            found.push(begin.start()..end);
            from = end;
        }
        None
    }

    /// Where the body of a private key ends that goes on at `from`: after its end marker, or at
    /// the first character that no such body holds, with line numbers and quotes around it.
    pub(crate) fn pem_end(&self, text: &str, from: usize) -> Option<usize> {
        let body =
            |c: char| c.is_ascii_alphanumeric() || c.is_ascii_whitespace() || "+/=\\:,-|>\"'".contains(c);
        let stop = text.get(from..)?.find(|c| !body(c)).map(|at| from + at);
        match (self.pem_end.find_at(text, from), stop) {
            (Some(end), Some(stop)) if stop < end.start() => Some(stop),
            (Some(end), _) => Some(end.end()),
            (None, stop) => stop,
        }
    }

    /// From where on a shape may be unfinished in `text`, looking from `from` on.
    pub(crate) fn unfinished_from(&self, text: &str, from: usize) -> Option<usize> {
        self.unfinished.find_at(text, from).map(|m| m.start())
    }

    /// From where on an escape may be unfinished in `text`, looking from `from` on.
    pub(crate) fn unfinished_escape_from(&self, text: &str, from: usize) -> Option<usize> {
        self.unfinished_escape.find_at(text, from).map(|m| m.start())
    }
}
