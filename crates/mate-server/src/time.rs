//! Moments as the interface writes them: RFC 3339, UTC, microseconds.

use jiff::Timestamp;
use mate_model::Micros;

/// The moment in RFC 3339; one outside the range of the calendar is written as the nearest in it.
#[must_use]
pub fn rfc3339(at: Micros) -> String {
    let nearest = if at.0 < 0 { Timestamp::MIN } else { Timestamp::MAX };
    let moment = Timestamp::from_microsecond(at.0).unwrap_or(nearest);
    format!("{moment:.6}")
}

/// As [`rfc3339`], for a moment that may not have come.
#[must_use]
pub fn rfc3339_opt(at: Option<Micros>) -> Option<String> {
    at.map(rfc3339)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_always_there() {
        assert_eq!(rfc3339(Micros(0)), "1970-01-01T00:00:00.000000Z");
        assert_eq!(rfc3339(Micros(1_796_000_000_000_001)), "2026-11-30T00:53:20.000001Z");
        assert!(rfc3339(Micros(i64::MAX)).starts_with("9999-12-3"));
        assert!(rfc3339(Micros(i64::MIN)).starts_with('-'));
    }
}
