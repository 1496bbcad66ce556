//! An upstream that is a child process: started at first need, and again only for a later request.

use super::{
    End, Hello, Inbound, Outgoing, Upstream,
    stdio_link::{Link, NotGreeted},
};
use crate::{
    config::{Child, Limits, Spawner, StdioSpec},
    core::message,
};
use async_trait::async_trait;
use serde_json::value::RawValue;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::sync::Mutex;

pub(crate) struct StdioUpstream {
    name: Arc<str>,
    spec: StdioSpec,
    start: Duration,
    limits: Limits,
    spawner: Arc<dyn Spawner>,
    inbound: Arc<dyn Inbound>,
    state: Mutex<State>,
    /// It speaks without sessions; it does not, and is not asked again.
    new: AtomicBool,
    greet_only: AtomicBool,
}

#[derive(Default)]
struct State {
    link: Option<Arc<Link>>,
    closed: bool,
}

impl StdioUpstream {
    pub(crate) fn new(
        name: Arc<str>,
        spec: StdioSpec,
        start: Duration,
        limits: Limits,
        spawner: Arc<dyn Spawner>,
        inbound: Arc<dyn Inbound>,
    ) -> Self {
        let (new, greet_only) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { name, spec, start, limits, spawner, inbound, state: Mutex::default(), new, greet_only }
    }

    /// The live link; starts the child if there is none.
    async fn link(&self) -> Result<Arc<Link>, String> {
        let mut state = self.state.lock().await;
        if state.closed {
            return Err("the session is ending".into());
        }
        if let Some(link) = state.link.as_ref().filter(|link| link.alive()) {
            if link.is_busy() || !self.is_stale().await {
                return Ok(Arc::clone(link));
            }
            link.end("its secrets were replaced");
        }
        state.link = None;
        let started = tokio::time::timeout(self.start, self.open()).await;
        let link = started.unwrap_or_else(|_| {
            Err(format!("it was not ready within {} s of its start", self.start.as_secs()))
        })?;
        state.link = Some(Arc::clone(&link));
        drop(state);
        self.inbound.connected();
        Ok(link)
    }

    /// Whether the child was started with something else than it would be given now.
    async fn is_stale(&self) -> bool {
        match &self.spec.live {
            Some(live) => live.changed().await,
            None => false,
        }
    }

    /// Starts the child with what the connection is given at the moment.
    async fn spawn(&self) -> Result<Child, String> {
        let Some(live) = &self.spec.live else { return self.spawner.spawn(&self.name, &self.spec).await };
        let spec = StdioSpec { env: live.current().await?, ..self.spec.clone() };
        self.spawner.spawn(&self.name, &spec).await
    }

    /// Starts the child, once, and finds out what it speaks. One that goes away when it is asked is not asked again.
    async fn open(&self) -> Result<Arc<Link>, String> {
        let ask = !self.greet_only.load(Ordering::Relaxed);
        let started = self.begin(ask).await;
        match &started {
            Ok(link) if link.hello().is_some_and(|hello| hello.new) => {
                self.new.store(true, Ordering::Relaxed)
            }
            Ok(_) => self.greet_only.store(true, Ordering::Relaxed),
            // Whether the question was too much for it is not known: the next start does without.
            Err(NotGreeted::WhenAsked(_)) => self.greet_only.store(true, Ordering::Relaxed),
            Err(NotGreeted::Failed(_)) => {}
        }
        started.map_err(NotGreeted::into_words)
    }

    async fn begin(&self, ask: bool) -> Result<Arc<Link>, NotGreeted> {
        let child = self.spawn().await?;
        // Ends the child if the handshake fails or is given up on the way.
        Link::start(child, self.limits.clone(), Arc::clone(&self.inbound)).handshake(ask).await
    }
}

impl Drop for StdioUpstream {
    fn drop(&mut self) {
        if let Some(link) = self.state.get_mut().link.take() {
            link.end("the bridge is gone");
        }
    }
}

#[async_trait]
impl Upstream for StdioUpstream {
    async fn hello(&self) -> Result<Arc<Hello>, String> {
        let link = self.link().await?;
        link.hello().ok_or_else(|| "it did not finish its handshake".into())
    }

    async fn send(&self, outgoing: Outgoing) {
        match self.link().await {
            Ok(link) => link.send(outgoing).await,
            Err(why) => outgoing.reply.end(End::NotSent(format!("the upstream could not be started: {why}"))),
        }
    }

    async fn notify(&self, method: &'static str, params: Box<RawValue>) {
        let link = self.state.lock().await.link.clone();
        if let Some(link) = link.filter(|link| link.alive()) {
            link.write(&message::write_notification(method, Some(&params)), || true).await.ok();
        }
    }

    fn is_new(&self) -> bool {
        self.new.load(Ordering::Relaxed)
    }

    async fn watch(&self, uri: &str) -> Option<bool> {
        let link = self.link().await.ok()?;
        if !self.is_new() {
            return None;
        }
        link.watch(uri).await;
        Some(true)
    }

    async fn close(&self) {
        let mut state = self.state.lock().await;
        state.closed = true;
        if let Some(link) = state.link.take() {
            link.end("the session is ending");
        }
    }
}
