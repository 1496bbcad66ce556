//! An upstream that is a child process: started at first need, and again only for a later request.

use super::{End, Hello, Inbound, Outgoing, Upstream, stdio_link::Link};
use crate::{
    config::{Limits, Spawner, StdioSpec},
    core::message,
};
use async_trait::async_trait;
use serde_json::value::RawValue;
use std::{sync::Arc, time::Duration};
use tokio::sync::Mutex;

pub(crate) struct StdioUpstream {
    name: Arc<str>,
    spec: StdioSpec,
    start: Duration,
    limits: Limits,
    spawner: Arc<dyn Spawner>,
    inbound: Arc<dyn Inbound>,
    state: Mutex<State>,
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
        Self { name, spec, start, limits, spawner, inbound, state: Mutex::default() }
    }

    /// The live link; starts the child if there is none.
    async fn link(&self) -> Result<Arc<Link>, String> {
        let mut state = self.state.lock().await;
        if state.closed {
            return Err("the session is ending".into());
        }
        if let Some(link) = state.link.as_ref().filter(|link| link.alive()) {
            return Ok(Arc::clone(link));
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

    async fn open(&self) -> Result<Arc<Link>, String> {
        let child = self.spawner.spawn(&self.name, &self.spec).await?;
        // Ends the child if the handshake fails or is given up on the way.
        Link::start(child, self.limits.clone(), Arc::clone(&self.inbound)).handshake().await
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

    async fn close(&self) {
        let mut state = self.state.lock().await;
        state.closed = true;
        if let Some(link) = state.link.take() {
            link.end("the session is ending");
        }
    }
}
