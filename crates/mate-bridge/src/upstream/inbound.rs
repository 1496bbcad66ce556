//! What an upstream may say unasked.

use crate::core::{Answer, MOST, Message, Notification, Request, message};
use async_trait::async_trait;
use std::sync::Arc;

/// Hears an upstream's own requests and notifications. One per connection.
#[async_trait]
pub(crate) trait Inbound: Send + Sync {
    /// Answers a request of the upstream; `origin` is our request in whose stream it came, if known.
    async fn request(&self, origin: Option<u64>, request: &Request) -> Answer;
    /// Takes a notification.
    fn notification(&self, origin: Option<u64>, notification: Notification);
    /// Whether it is told of roots: said in the greeting.
    fn has_roots(&self) -> bool {
        false
    }
    /// The connection is new; what was known of it may be stale.
    fn connected(&self);
    /// A line for the log.
    fn diagnostic(&self, text: &str);
}

/// Answers `request` and gives the response as text to send back.
pub(crate) async fn answer(inbound: Arc<dyn Inbound>, origin: Option<u64>, request: Request) -> String {
    let answer = inbound.request(origin, &request).await;
    message::write_response(Some(&request.id), &answer)
}

/// Reads a message of the upstream; what cannot be read is noted and `None`.
pub(crate) fn read(inbound: &dyn Inbound, text: &[u8]) -> Option<Message> {
    if text.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    match Message::read(text) {
        Ok(message) => Some(message),
        Err(error) => {
            let shown = String::from_utf8_lossy(&text[..text.len().min(MOST)]);
            inbound.diagnostic(&format!("it sent what is no message ({error}): {shown}"));
            None
        }
    }
}
