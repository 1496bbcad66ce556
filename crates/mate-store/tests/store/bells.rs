//! Doorbells.

use crate::support::{Store, on_both};
use mate_store::StoreError;
use std::time::Duration;

on_both!(crate::support::sqlite, crate::support::postgres:
    a_ring_is_heard_also_when_it_came_before_the_wait,
    a_channel_is_a_plain_word,
);

const LONG: Duration = Duration::from_secs(30);

async fn a_ring_is_heard_also_when_it_came_before_the_wait(store: Store) {
    let mut bell = store.db.listen("tasks").await.unwrap();
    let mut other = store.db.listen("other").await.unwrap();
    // On PostgreSQL, the first connection rings what it may have missed.
    while other.wait(Duration::from_millis(200)).await {}
    while bell.wait(Duration::from_millis(1)).await {}
    store.db.ring("tasks").await.unwrap();
    assert!(bell.wait(LONG).await);
    assert!(!other.wait(Duration::from_millis(1)).await);
    let (rung, heard) = tokio::join!(store.db.ring("other"), other.wait(LONG));
    assert!(rung.is_ok() && heard);
}

async fn a_channel_is_a_plain_word(store: Store) {
    let long = "x".repeat(64);
    for bad in ["", "A", "a b", "a;b", "a\"b", "ä", long.as_str()] {
        assert!(matches!(store.db.listen(bad).await, Err(StoreError::Misuse(_))), "{bad}");
        assert!(matches!(store.db.ring(bad).await, Err(StoreError::Misuse(_))), "{bad}");
    }
}
