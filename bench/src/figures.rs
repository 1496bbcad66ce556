//! Latencies in, a few honest numbers out.

use std::time::Duration;

use serde::Serialize;

/// One measured run. Times are in milliseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Figures {
    pub(crate) ok: usize,
    pub(crate) errors: usize,
    pub(crate) per_second: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) max_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) first_error: Option<String>,
}

impl Figures {
    /// Sums up the latencies of what succeeded within `elapsed`, and what did not.
    pub(crate) fn new(mut latencies: Vec<Duration>, errors: &[String], elapsed: Duration) -> Self {
        latencies.sort_unstable();
        Self {
            ok: latencies.len(),
            errors: errors.len(),
            per_second: latencies.len() as f64 / elapsed.as_secs_f64(),
            p50_ms: quantile(&latencies, 0.5),
            p99_ms: quantile(&latencies, 0.99),
            max_ms: quantile(&latencies, 1.0),
            first_error: errors.first().map(|error| error.chars().take(300).collect()),
        }
    }
}

fn quantile(sorted: &[Duration], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    // Non-negative and at most `last`.
    let index = (last as f64 * q) as usize;
    sorted.get(index).map_or(f64::NAN, |d| d.as_secs_f64() * 1e3)
}

/// The middle one of several rounds.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
