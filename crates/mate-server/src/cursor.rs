//! Cursors: opaque to clients, versioned, and refused when they are not as they were given out.

use crate::problem::Problem;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

/// The longest cursor that is looked at.
const LONGEST: usize = 512;

/// What guards against a cursor of another list, or of another release.
const VERSION: &str = "1";

/// Makes the cursor that resumes `list` after `position`.
pub(crate) fn encode(list: &str, position: &str) -> String {
    let plain = format!("{VERSION}.{list}.{position}");
    let check = check_of(&plain);
    URL_SAFE_NO_PAD.encode(format!("{check}.{plain}"))
}

/// The position in `list` that a cursor names.
///
/// # Errors
/// A problem that names the parameter `field`.
pub(crate) fn decode(list: &str, cursor: &str, field: &'static str) -> Result<String, Problem> {
    let bad =
        || Problem::parameter(field, "not a cursor of this list: take the one that the last answer gave");
    if cursor.len() > LONGEST {
        return Err(bad());
    }
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| bad())?;
    let text = String::from_utf8(bytes).map_err(|_| bad())?;
    let (check, plain) = text.split_once('.').ok_or_else(bad)?;
    if check != check_of(plain) {
        return Err(bad());
    }
    let position = plain.strip_prefix(VERSION).and_then(|rest| rest.strip_prefix('.'));
    let position = position.and_then(|rest| rest.strip_prefix(list)).and_then(|rest| rest.strip_prefix('.'));
    position.map(str::to_owned).ok_or_else(bad)
}

/// Against accidents and guesses; a position is no secret and gives no right.
fn check_of(plain: &str) -> String {
    let hash = blake3::derive_key("agent-mate cursor 1", plain.as_bytes());
    URL_SAFE_NO_PAD.encode(&hash[..6])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g10_only_what_was_given_out_is_read() {
        let cursor = encode("tasks", "tsk_1");
        assert_eq!(decode("tasks", &cursor, "cursor").expect("own"), "tsk_1");
        assert!(decode("task", &cursor, "cursor").is_err() && decode("grants", &cursor, "cursor").is_err());
        for bad in ["", "abc", "-1", "0", "99999999999999999999", "AAAA", &"A".repeat(4_000), &cursor[1..]] {
            let problem = decode("tasks", bad, "after").expect_err("refused");
            assert_eq!(problem.status(), 400, "{bad}");
        }
        for place in 0..cursor.len() {
            let mut changed = cursor.clone().into_bytes();
            changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("ascii");
            assert!(decode("tasks", &changed, "cursor").is_err(), "byte {place}");
        }
    }
}
