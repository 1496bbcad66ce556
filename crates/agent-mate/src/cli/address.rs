//! Paths and queries of requests, with everything odd in them escaped.

use http::uri::{InvalidUri, PathAndQuery};
use std::fmt::Write;

/// `base`, then `/api/v1/`, the parts of the path and the query.
///
/// # Errors
/// It is too long.
pub(super) fn target(
    base: &str,
    path: &[&str],
    query: &[(&str, String)],
) -> Result<PathAndQuery, InvalidUri> {
    let mut target = base.trim_end_matches('/').to_owned();
    for part in ["api", "v1"].iter().chain(path) {
        target.push('/');
        escape(&mut target, part);
    }
    for (n, (name, value)) in query.iter().enumerate() {
        target.push(if n == 0 { '?' } else { '&' });
        escape(&mut target, name);
        target.push('=');
        escape(&mut target, value);
    }
    target.parse()
}

fn escape(target: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            target.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            write!(target, "%{byte:02X}").ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_types_stays_one_part() {
        let query = [("q", "a b&c=d#e".to_owned()), ("é", "%".to_owned())];
        let made = target("/", &["tasks", "../x?y/z"], &query).expect("target");
        assert_eq!(made.as_str(), "/api/v1/tasks/..%2Fx%3Fy%2Fz?q=a%20b%26c%3Dd%23e&%C3%A9=%25");
        assert_eq!(target("/mate/", &["tasks"], &[]).expect("target").as_str(), "/mate/api/v1/tasks");
    }
}
