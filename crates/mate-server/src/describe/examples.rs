//! An example of each thing that is sent or shown.

use serde_json::{Map, Value};
use std::sync::LazyLock;

static EXAMPLES: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("examples.json")).unwrap_or_default());

/// The example of what has this name in the document.
pub(super) fn of(name: &str) -> Option<Value> {
    EXAMPLES.get(name).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_can_be_read() {
        assert!(EXAMPLES.len() > 30);
    }
}
