//! Doorbells: a hint that it is worth looking. Lose every one, and everything still happens, a little later.

use crate::StoreError;
use std::{collections::HashMap, sync::Mutex, time::Duration};
use tokio::sync::watch;

/// Hears one channel. Rings that come while nobody waits are kept, as one.
#[derive(Debug)]
pub struct Doorbell(watch::Receiver<()>);

impl Doorbell {
    /// Waits for a ring, at most this long. True when it rang; the caller looks in either case.
    pub async fn wait(&mut self, at_most: Duration) -> bool {
        match tokio::time::timeout(at_most, self.0.changed()).await {
            Ok(Ok(())) => true,
            Err(_) => false,
            Ok(Err(_)) => {
                // The store is closed: nothing rings any more, but the caller must not spin.
                tokio::time::sleep(at_most).await;
                false
            }
        }
    }
}

/// The channels that somebody hears in this process.
#[derive(Debug, Default)]
pub(crate) struct Bells(Mutex<HashMap<String, watch::Sender<()>>>);

impl Bells {
    /// Hears `channel`; true when nobody did before.
    pub(crate) fn listen(&self, channel: &str) -> (Doorbell, bool) {
        let mut channels = self.lock();
        channels.retain(|_, sender| sender.receiver_count() > 0);
        let fresh = !channels.contains_key(channel);
        let sender = channels.entry(channel.to_owned()).or_insert_with(|| watch::channel(()).0);
        (Doorbell(sender.subscribe()), fresh)
    }

    pub(crate) fn ring(&self, channel: &str) {
        if let Some(sender) = self.lock().get(channel) {
            sender.send_replace(());
        }
    }

    /// Rings them all: after a time in which rings may have been lost.
    pub(crate) fn ring_all(&self) {
        self.lock().values().for_each(|sender| {
            sender.send_replace(());
        });
    }

    /// The channels that are heard at present.
    pub(crate) fn channels(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, watch::Sender<()>>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Channels become identifiers on PostgreSQL, so they are plain.
pub(crate) fn check_channel(channel: &str) -> Result<(), StoreError> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    if (1..=63).contains(&channel.len()) && channel.bytes().all(plain) {
        return Ok(());
    }
    Err(StoreError::Misuse("a channel is 1 to 63 of a-z, 0-9 and _".to_owned()))
}
