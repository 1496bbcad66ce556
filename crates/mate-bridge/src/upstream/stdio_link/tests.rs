//! A write that failed whole is proof that nothing was sent, also while the reader sees the end.

use super::*;
use crate::core::{Answer, Notification, Request, raw};
use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::{io::DuplexStream, sync::Notify};

struct Deaf;

/// Keeps the lines for the log.
#[derive(Default)]
struct Scribe(Mutex<Vec<String>>);

#[async_trait::async_trait]
impl Inbound for Scribe {
    async fn request(&self, _: Option<u64>, _: &Request) -> Answer {
        Answer::Result(raw(&serde_json::json!({})))
    }
    fn notification(&self, _: Option<u64>, _: Notification) {}
    fn connected(&self) {}
    fn diagnostic(&self, text: &str) {
        lock(&self.0).push(text.to_owned());
    }
}

#[async_trait::async_trait]
impl Inbound for Deaf {
    async fn request(&self, _: Option<u64>, _: &Request) -> Answer {
        Answer::Result(raw(&serde_json::json!({})))
    }
    fn notification(&self, _: Option<u64>, _: Notification) {}
    fn connected(&self) {}
    fn diagnostic(&self, _: &str) {}
}

/// An input that takes `taken` bytes, then tells that it is being written to, waits, and is broken.
struct Pipe {
    taken: usize,
    reached: Arc<Notify>,
    go: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl AsyncWrite for Pipe {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.taken > 0 {
            let taken = self.taken.min(bytes.len());
            self.taken -= taken;
            return Poll::Ready(Ok(taken));
        }
        self.reached.notify_one();
        self.go.as_mut().poll(cx).map(|()| Err(io::ErrorKind::BrokenPipe.into()))
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

struct Scene {
    link: Arc<Link>,
    output: DuplexStream,
    reached: Arc<Notify>,
    go: Arc<Notify>,
}

fn scene(taken: usize) -> Scene {
    let (stdout, output) = tokio::io::duplex(1024);
    let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let told = Arc::clone(&go);
    let go_on = Box::pin(async move { told.notified().await });
    let stdin = Box::new(Pipe { taken, reached: Arc::clone(&reached), go: go_on });
    let exit = Box::pin(std::future::pending());
    let child = Child { stdin, stdout: Box::new(stdout), stderr: None, exit, end: Box::new(|| {}) };
    let link = Link::start(child, Limits::default(), Arc::new(Deaf)).0.take().expect("it is there");
    Scene { link, output, reached, go }
}

fn call(link: &Arc<Link>) -> (tokio::task::JoinHandle<()>, tokio::sync::oneshot::Receiver<End>) {
    let (reply, _race, end) = Reply::new(None);
    let params = raw(&serde_json::json!({}));
    let outgoing = Outgoing { id: 7, method: "tools/call", params, mirrored: Vec::new(), reply };
    let link = Arc::clone(link);
    (tokio::spawn(async move { link.send(outgoing).await }), end)
}

#[tokio::test]
async fn g05_a_call_of_which_nothing_was_taken_is_not_sent() {
    let scene = scene(0);
    let (_sending, end) = call(&scene.link);
    scene.reached.notified().await;
    scene.go.notify_one();
    assert!(matches!(end.await, Ok(End::NotSent(_))));
}

#[tokio::test]
async fn g05_the_end_of_the_output_says_nothing_of_a_call_that_is_just_written() {
    let scene = scene(0);
    let (_sending, end) = call(&scene.link);
    scene.reached.notified().await;
    drop(scene.output);
    scene.link.dead.cancelled().await;
    scene.go.notify_one();
    assert!(matches!(end.await, Ok(End::NotSent(_))));
}

#[tokio::test]
async fn g05_a_call_of_which_a_part_was_taken_is_unknown() {
    let scene = scene(5);
    let (_sending, end) = call(&scene.link);
    scene.reached.notified().await;
    drop(scene.output);
    scene.link.dead.cancelled().await;
    assert!(matches!(end.await, Ok(End::Unknown(_))));
}

#[tokio::test]
async fn g05_a_call_whose_writing_was_given_up_has_an_end_all_the_same() {
    let scene = scene(5);
    let (sending, end) = call(&scene.link);
    scene.reached.notified().await;
    sending.abort();
    assert!(matches!(end.await, Ok(End::Unknown(_))));
    assert!(!scene.link.alive(), "half a line poisons the stream");
}

#[tokio::test]
async fn g05_a_call_that_was_written_whole_is_lost_with_the_link() {
    let scene = scene(10_000);
    let (sending, end) = call(&scene.link);
    sending.await.expect("sent");
    drop(scene.output);
    assert!(matches!(end.await, Ok(End::Unknown(_))));
}

#[tokio::test]
async fn g09_a_secret_in_an_odd_line_or_a_complaint_is_handed_on_whole() {
    const CANARY: &str = "cAnArY0123456789zyxwvutsrqponmlkjihgfedc";
    // Across every place where lines were ever cut.
    let cuts = [200_usize, 500, 512, 4096].into_iter().flat_map(|cut| cut - 90..=cut + 1);
    let lines: String = cuts.map(|at| format!("{}{CANARY} end\n", "x".repeat(at))).collect();
    let expected = lines.lines().count();
    for to_stderr in [true, false] {
        let (stdout, mut output) = tokio::io::duplex(1024);
        let (stderr, mut complaints) = tokio::io::duplex(1024);
        let child = Child {
            stdin: Box::new(tokio::io::sink()),
            stdout: Box::new(stdout),
            stderr: Some(Box::new(stderr)),
            exit: Box::pin(std::future::pending()),
            end: Box::new(|| {}),
        };
        let scribe = Arc::new(Scribe::default());
        let inbound: Arc<dyn Inbound> = Arc::clone(&scribe) as _;
        let _link = Link::start(child, Limits::default(), inbound);
        let to = if to_stderr { &mut complaints } else { &mut output };
        to.write_all(lines.as_bytes()).await.expect("read");
        while lock(&scribe.0).len() < expected {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let heard = lock(&scribe.0);
        assert!(heard.iter().all(|line| line.contains(&format!("{CANARY} end"))), "stderr: {to_stderr}");
    }
}
