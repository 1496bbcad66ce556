//! What lives while a session has a runtime: the container, the agent in it, and its events.

use super::{
    Worker,
    activity::Pump,
    conversation::{Need, Opened},
};
use crate::launch::stop_evidence;
use anyhow::{Context as _, Result};
use mate_model::{event::EventType, records::Task, task::StopEvidence, words::Context};
use mate_runtime::{
    acp::{Agent, AgentOptions, Event, Via},
    container::Container,
};
use serde_json::json;
use std::{
    future::Future,
    path::Path,
    sync::{Arc, PoisonError},
    time::Duration,
};
use tokio::sync::mpsc;

/// A runtime in its container, ready for a prompt.
pub(super) struct Live {
    pub(super) container: Arc<Container>,
    pub(super) agent: Agent,
    pub(super) process: u64,
    pub(super) events: mpsc::Receiver<Event>,
    /// The runtime's own id of the conversation, where it can be kept.
    pub(super) conversation: Option<String>,
    /// What it knows of the conversation when the next prompt reaches it.
    pub(super) context: Context,
}

impl Live {
    /// Waits for `work` while the runtime's events are taken, as they must be.
    pub(super) async fn during<T>(&mut self, pump: &mut Pump, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                Some(event) = self.events.recv() => pump.take(event),
            }
        }
    }

    /// Whether the runtime tells something of the conversation's history, by now or within `bound`.
    pub(super) async fn hears_history(&mut self, pump: &mut Pump, bound: Duration) -> bool {
        let told = async {
            while pump.history == 0 {
                match self.events.recv().await {
                    Some(event) => pump.take(event),
                    None => return,
                }
            }
        };
        // That it took too long is an answer.
        let _ = tokio::time::timeout(bound, told).await;
        pump.history > 0
    }
}

impl Worker {
    /// Starts the runtime in a new container and opens its session.
    pub(super) async fn start(&mut self, task: &Task, need: &Need, pump: &mut Pump) -> Result<Live> {
        let spec = self.container_spec();
        let container = Arc::new(Container::start(&spec).await?);
        *self.container.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&container));
        mate_fault::point_async!("worker.container_started");
        match self.launch(task, need, Arc::clone(&container), pump).await {
            Ok(live) => Ok(live),
            Err(error) => {
                self.end_container(&container).await?;
                Err(error)
            }
        }
    }

    async fn launch(
        &mut self,
        task: &Task,
        need: &Need,
        container: Arc<Container>,
        pump: &mut Pump,
    ) -> Result<Live> {
        let containment = container.record().containment();
        let (session, epoch) = (self.session.id, self.epoch);
        self.patiently(|| self.engine.ledger.contained(session, epoch, &containment)).await?;
        for limit in containment.limits.iter().filter(|limit| limit.enforced_by.is_none()) {
            let text = format!("nothing on this machine enforces the runtime's {} limit", limit.kind);
            self.recorder.diagnostic("container", None, &text);
        }
        let launch = self.registration.launch(Path::new(&self.session.workspace))?;
        let process = container.spawn(launch).await?;
        let id = process.id;
        mate_fault::point_async!("worker.runtime_started");
        self.recorder
            .event(
                EventType::RuntimeStarted,
                json!({
                    "pid": process.pid,
                    "means": containment.means,
                    "with_cgroup": containment.with_cgroup,
                    "limits": containment.limits,
                    "confined": container.record().confined,
                    "own_tools": self.registration.own_tools,
                }),
            )
            .await?;
        mate_fault::point_async!("worker.runtime_recorded");
        let (recorder, redactor) = (self.recorder.clone(), Arc::clone(&self.redactor));
        let start = Duration::from_secs(self.settings.session.start_seconds);
        let options = AgentOptions {
            auth_method: self.registration.auth_method.clone(),
            initialize_timeout: start,
            session_timeout: start,
            on_stderr: Some(Arc::new(move |line: &str| {
                let line = redactor.shown(line, 500);
                recorder.diagnostic("runtime_stderr", None, &line);
            })),
            ..AgentOptions::default()
        };
        let (agent, events) = Agent::connect(process, options).await?;
        let mut live =
            Live { container, agent, process: id, events, conversation: None, context: Context::New };
        self.open_session(task, need, &mut live, pump).await?;
        Ok(live)
    }

    async fn open_session(
        &mut self,
        task: &Task,
        need: &Need,
        live: &mut Live,
        pump: &mut Pump,
    ) -> Result<()> {
        pump.history = 0;
        let Opened { start, context } = self.converse(task, need, live, pump).await?;
        mate_fault::point_async!("worker.session_opened");
        if let Some(mode) = &self.registration.mode {
            live.during(pump, live.agent.clone().set_mode(mode))
                .await
                .context("the runtime does not take the registered mode")?;
        }
        self.wait_until_listed(live, pump).await;
        live.context = match context {
            Context::Loaded => self.look_for_history(task, need, live, pump).await?,
            Context::New | Context::Lost => context,
        };
        // One that cannot be written down cannot be loaded again either.
        live.conversation = Some(start.id).filter(|id| !id.contains('\0'));
        let info = live.agent.info();
        let ready = json!({
            "name": info.name.as_deref().map(|text| self.clean(text)),
            "version": info.version.as_deref().map(|text| self.clean(text)),
            "tools_via": match start.via { Via::Http => "http", Via::Stdio => "stdio" },
            "context": live.context,
        });
        self.recorder.event(EventType::RuntimeReady, ready).await?;
        mate_fault::point_async!("worker.session_recorded");
        pump.discard();
        Ok(())
    }

    /// Runtimes answer before they have listed their tools; a prompt that comes too early finds none.
    async fn wait_until_listed(&self, live: &mut Live, pump: &mut Pump) {
        let mut listed = self.listed.subscribe();
        let bound = Duration::from_secs(self.settings.session.list_seconds);
        let wait = tokio::time::timeout(bound, async { listed.wait_for(|listed| *listed).await.is_ok() });
        if !live.during(pump, wait).await.unwrap_or(false) {
            self.recorder.diagnostic(
                "bridge",
                None,
                "the runtime did not list the tools in time; the prompt is sent all the same",
            );
        }
    }

    /// Ends the container and everything in it, and records what proves it.
    pub(super) async fn end_container(&self, container: &Container) -> Result<StopEvidence> {
        let evidence = container.kill().await?;
        *self.container.write().unwrap_or_else(PoisonError::into_inner) = None;
        for breach in container.breaches() {
            // Beside the evidence it is only a reason, so nothing waits for it.
            self.recorder.later(EventType::LimitReached, json!(breach)).await?;
        }
        self.listed.send_replace(false);
        Ok(stop_evidence(&evidence, self.engine.clock.as_ref()))
    }

    pub(super) fn clean(&self, text: &str) -> String {
        self.redactor.shown(text, 500).replace('\0', "\u{fffd}")
    }
}
