//! Lines of JSON-RPC over any byte stream, such as the relay's socket.

use super::{Served, broken, listen, serve, take};
use crate::{
    core::{
        Answer, Fault, Message, Request,
        era::Declared,
        lines::{Line, Lines},
        message,
    },
    gate::Receipt,
    hub::{Hub, client::Client, lock},
    upstream::ProgressSink,
};
use std::sync::Arc;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    sync::{Semaphore, mpsc},
};
use tokio_util::sync::CancellationToken;

/// Requests of one client that are served at once.
const AT_ONCE: usize = 256;

/// A line to write, and what is handed over with it.
type Written = (String, Receipt);

/// Serves one client until it hangs up, its stream fails, or `closing`.
pub(crate) async fn run<S>(hub: Arc<Hub>, stream: S, closing: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (reader, writer) = tokio::io::split(stream);
    let client = Client::new(format!("stream-{}", hub.next_id()));
    lock(&hub.clients).push(Arc::clone(&client));
    let over = closing.child_token();
    let (out, queue) = mpsc::channel(AT_ONCE);
    let writing = tokio::spawn(write(writer, queue, Arc::clone(&client), over.clone()));
    let mut lines = Lines::new(reader, hub.limits.message);
    let slots = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let line = tokio::select! {
            line = lines.next() => line,
            () = over.cancelled() => break,
        };
        match line {
            Ok(Line::Text(text)) if text.iter().all(u8::is_ascii_whitespace) => {}
            Ok(Line::Text(text)) => match Message::read(&text) {
                Ok(message) => one(&hub, &client, message, &out, &slots).await,
                Err(error) => fault(&out, error.fault()).await,
            },
            Ok(Line::TooLong { .. }) => {
                let why = format!("the message is larger than {} bytes", hub.limits.message);
                fault(&out, Fault::invalid_request(&why)).await;
            }
            Ok(Line::Unfinished(_) | Line::End) | Err(_) => break,
        }
    }
    over.cancel();
    client.hung_up();
    lock(&hub.clients).retain(|c| !Arc::ptr_eq(c, &client));
    writing.await.ok();
}

async fn fault(out: &mpsc::Sender<Written>, fault: Fault) {
    out.send((message::write_response(None, &Answer::Error(fault)), Receipt::none())).await.ok();
}

async fn one(
    hub: &Arc<Hub>,
    client: &Arc<Client>,
    message: Message,
    out: &mpsc::Sender<Written>,
    slots: &Arc<Semaphore>,
) {
    let Some(request) = take(client, message) else { return };
    // Reading stops while too much is being served: the pipe itself pushes back. Cancels wait too, bounded by the calls.
    let Ok(slot) = Arc::clone(slots).acquire_owned().await else { return };
    let notes = out.clone();
    let outlet: ProgressSink = Arc::new(move |text| notes.try_send((text, Receipt::none())).is_ok());
    if request.method == "subscriptions/listen" && is_new(&request) {
        listen_to(hub, client, request, outlet, out.clone());
        return;
    }
    let (task, gone) = serve(hub, client, request, outlet);
    let out = out.clone();
    drop(gone);
    tokio::spawn(async move {
        let Served { text, receipt, .. } = task.await.unwrap_or_else(|_| broken());
        out.send((text, receipt)).await.ok();
        drop(slot);
    });
}

fn is_new(request: &Request) -> bool {
    matches!(Declared::read(request.params.as_deref()), Ok(Some(_)))
}

/// Tells of changes until the client cancels or hangs up. It has no answer but an error.
fn listen_to(
    hub: &Arc<Hub>,
    client: &Arc<Client>,
    request: Request,
    outlet: ProgressSink,
    out: mpsc::Sender<Written>,
) {
    let Some(caller) = client.begin(&request.id, Arc::clone(&outlet), CancellationToken::new(), None) else {
        return;
    };
    let hub = Arc::clone(hub);
    tokio::spawn(async move {
        let fault = listen::over_lines(&hub, &request, outlet, caller.gone.clone()).await;
        caller.client.finish(&request.id);
        if let Some(fault) = fault {
            let text = message::write_response(Some(&request.id), &Answer::Error(fault));
            out.send((text, Receipt::none())).await.ok();
        }
    });
}

/// Writes answers and notifications, in the order in which they come.
async fn write<W: AsyncWrite + Unpin>(
    mut writer: W,
    mut queue: mpsc::Receiver<Written>,
    client: Arc<Client>,
    over: CancellationToken,
) {
    let Some(mut inbox) = client.take_inbox() else { return };
    loop {
        let (mut text, receipt) = tokio::select! {
            biased;
            Some(line) = queue.recv() => line,
            Some(text) = inbox.recv() => (text, Receipt::none()),
            () = over.cancelled() => break,
        };
        text.push('\n');
        let wrote = tokio::select! {
            biased;
            // Whoever hung up reads nothing more, whatever the socket takes.
            () = over.cancelled() => false,
            wrote = async { writer.write_all(text.as_bytes()).await?; writer.flush().await } => wrote.is_ok(),
        };
        if !wrote {
            break;
        }
        receipt.handed_over();
    }
    over.cancel();
    writer.shutdown().await.ok();
}
