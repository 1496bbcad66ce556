//! Times in, a few figures out.

use anyhow::Result;
use serde_json::Value;
use std::io::Write;

/// Times in microseconds, in order.
pub(super) struct Times(Vec<i64>);

impl Times {
    pub(super) fn of(mut micros: Vec<i64>) -> Self {
        micros.sort_unstable();
        Self(micros)
    }

    /// The time below which `share` of them lie, in milliseconds.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an index within the list"
        )]
        let index = (last as f64 * share) as usize;
        self.0.get(index).map_or(f64::NAN, |micros| millis(*micros))
    }
}

/// Microseconds as milliseconds.
pub(super) fn millis(micros: i64) -> f64 {
    micros as f64 / 1e3
}

/// Prints one line at once, also into a pipe.
pub(super) fn say(line: &Value) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
