//! What lives while a session has a runtime: the container, the agent in it, and its events.

use super::{Worker, activity::Pump};
use crate::launch::stop_evidence;
use anyhow::{Context, Result, anyhow};
use mate_model::{event::EventType, task::StopEvidence};
use mate_runtime::{
    acp::{Agent, AgentOptions, Event, HttpEndpoint, McpEndpoints, StdioEndpoint, Via},
    container::{Container, ContainerSpec},
};
use mate_store::Change;
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
}

impl Worker {
    /// Starts the runtime in a new container and opens its session.
    pub(super) async fn start(&mut self, pump: &mut Pump) -> Result<Live> {
        let spec = ContainerSpec { exe: self.exe.clone(), folder: self.folder.path().to_owned() };
        let container = Arc::new(Container::start(&spec).await?);
        *self.container.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&container));
        mate_fault::point_async!("worker.container_started");
        match self.launch(Arc::clone(&container), pump).await {
            Ok(live) => Ok(live),
            Err(error) => {
                self.end_container(&container).await?;
                Err(error)
            }
        }
    }

    async fn launch(&mut self, container: Arc<Container>, pump: &mut Pump) -> Result<Live> {
        let launch = self.registration.launch(Path::new(&self.session.workspace))?;
        let process = container.spawn(launch).await?;
        let id = process.id;
        mate_fault::point_async!("worker.runtime_started");
        let means = container.record().means;
        self.recorder
            .event(
                EventType::RuntimeStarted,
                json!({ "pid": process.pid, "means": means, "own_tools": self.registration.own_tools }),
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
                let line: String = redactor.redact(line).chars().take(500).collect();
                recorder.diagnostic("runtime_stderr", None, &line);
            })),
            ..AgentOptions::default()
        };
        let (agent, events) = Agent::connect(process, options).await?;
        let mut live = Live { container, agent, process: id, events };
        self.open_session(&mut live, pump).await?;
        Ok(live)
    }

    async fn open_session(&mut self, live: &mut Live, pump: &mut Pump) -> Result<()> {
        let agent = live.agent.clone();
        let bridge = self.bridge.as_ref().ok_or_else(|| anyhow!("the session has no bridge"))?;
        let mcp = McpEndpoints {
            name: "agent-mate".to_owned(),
            http: (!self.registration.shows_headers)
                .then(|| HttpEndpoint { url: bridge.url().to_owned(), bearer: bridge.bearer().to_owned() }),
            stdio: Some(StdioEndpoint {
                command: self.exe.clone(),
                args: vec!["bridge".to_owned(), self.folder.bridge().display().to_string()],
                env: Vec::new(),
            }),
        };
        let workspace = Path::new(&self.session.workspace);
        let earlier = self.runtime_session.clone();
        let opened = match &earlier {
            None => None,
            Some(id) => {
                let again = async {
                    if agent.info().resume {
                        agent.resume_session(id, workspace, &mcp).await
                    } else {
                        agent.load_session(id, workspace, &mcp).await
                    }
                };
                match live.during(pump, again).await {
                    Ok(opened) => Some(opened),
                    Err(error) => {
                        let why = self.clean(&error.to_string());
                        self.recorder
                            .event(EventType::ContextLost, json!({ "session": id, "detail": why }))
                            .await?;
                        None
                    }
                }
            }
        };
        let opened = match opened {
            Some(opened) => opened,
            None => live.during(pump, agent.new_session(workspace, &mcp)).await?,
        };
        mate_fault::point_async!("worker.session_opened");
        if let Some(mode) = &self.registration.mode {
            live.during(pump, agent.set_mode(mode))
                .await
                .context("the runtime does not take the registered mode")?;
        }
        let info = agent.info();
        let ready = self.recorder.draft(
            EventType::RuntimeReady,
            json!({
                "name": info.name.as_deref().map(|text| self.clean(text)),
                "version": info.version.as_deref().map(|text| self.clean(text)),
                "tools_via": match opened.via { Via::Http => "http", Via::Stdio => "stdio" },
                "loaded": earlier.as_deref() == Some(opened.id.as_str()),
            }),
        );
        self.recorder
            .write(vec![
                // One that cannot be written down cannot be loaded again either.
                Change::RuntimeSession { id: Some(opened.id.clone()).filter(|id| !id.contains('\0')) },
                Change::Event(ready),
            ])
            .await?;
        mate_fault::point_async!("worker.session_recorded");
        self.runtime_session = Some(opened.id);
        pump.discard();
        self.wait_until_listed(live, pump).await;
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
        self.listed.send_replace(false);
        Ok(stop_evidence(&evidence, self.engine.clock.as_ref()))
    }

    pub(super) fn clean(&self, text: &str) -> String {
        let text = self.redactor.redact(text);
        text.chars().take(500).map(|c| if c == '\0' { '\u{fffd}' } else { c }).collect()
    }
}
