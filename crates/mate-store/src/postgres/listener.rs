//! The connection that hears doorbells. It may be lost at any time; then every bell is rung once it is back.

use crate::bell::Bells;
use std::{future::poll_fn, sync::Arc, time::Duration};
use tokio::sync::{mpsc, oneshot};
use tokio_postgres::{AsyncMessage, Config, NoTls};

/// The first wait before connecting again; it doubles up to the last.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LAST_WAIT: Duration = Duration::from_secs(5);
/// How long a caller waits until its channel is heard.
const PATIENCE: Duration = Duration::from_secs(5);
/// Channels that may wait to be heard.
const QUEUE: usize = 64;

struct Request {
    channel: String,
    heard: oneshot::Sender<()>,
}

/// Ends when this is dropped.
pub(super) struct Listener(mpsc::Sender<Request>);

impl Listener {
    /// Connects when the first channel is asked for.
    pub(super) fn start(config: Config, bells: Arc<Bells>) -> Self {
        let (requests, queue) = mpsc::channel(QUEUE);
        tokio::spawn(serve(config, bells, queue));
        Self(requests)
    }

    /// Hears `channel` from now on, as far as the server can be reached.
    pub(super) async fn hear(&self, channel: &str) {
        let (heard, answer) = oneshot::channel();
        let ask = async {
            // A bell is a hint: without the connection there are fewer of them.
            let _ = self.0.send(Request { channel: channel.to_owned(), heard }).await;
            let _ = answer.await;
        };
        let _ = tokio::time::timeout(PATIENCE, ask).await;
    }
}

async fn serve(config: Config, bells: Arc<Bells>, mut queue: mpsc::Receiver<Request>) {
    let Some(mut first) = queue.recv().await.map(Some) else { return };
    let mut wait = FIRST_WAIT;
    loop {
        match hear(&config, &bells, &mut queue, &mut first).await {
            Ok(Ended::Closed) => return,
            Ok(Ended::Lost) => wait = FIRST_WAIT,
            Err(why) => tracing::debug!(%why, "doorbells are not heard"),
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = closed(&queue) => return,
        }
        wait = (wait * 2).min(LAST_WAIT);
    }
}

/// Returns when nobody can ask any more.
async fn closed(queue: &mpsc::Receiver<Request>) {
    while !(queue.is_closed() && queue.is_empty()) {
        tokio::time::sleep(FIRST_WAIT).await;
    }
}

enum Ended {
    /// The store was dropped.
    Closed,
    /// The connection was lost.
    Lost,
}

async fn hear(
    config: &Config,
    bells: &Arc<Bells>,
    queue: &mut mpsc::Receiver<Request>,
    first: &mut Option<Request>,
) -> Result<Ended, tokio_postgres::Error> {
    let (client, mut connection) = config.connect(NoTls).await?;
    let ringing = Arc::clone(bells);
    let mut driver = tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(rung) = message {
                ringing.ring(rung.channel());
            }
        }
    });
    for channel in bells.channels() {
        client.batch_execute(&format!("LISTEN {channel}")).await?;
    }
    if let Some(request) = first.take() {
        client.batch_execute(&format!("LISTEN {}", request.channel)).await?;
        let _ = request.heard.send(());
    }
    bells.ring_all();
    loop {
        tokio::select! {
            request = queue.recv() => {
                let Some(Request { channel, heard }) = request else { return Ok(Ended::Closed) };
                client.batch_execute(&format!("LISTEN {channel}")).await?;
                // The caller may have stopped waiting.
                let _ = heard.send(());
            }
            _ = &mut driver => return Ok(Ended::Lost),
        }
    }
}
