//! Upstream children: started in the session's container, with their secrets in their own environment only.

use async_trait::async_trait;
use mate_bridge::{Child, Spawner, StdioSpec};
use mate_runtime::container::{Container, Launch, SignalKind};
use std::{
    path::PathBuf,
    sync::{Arc, RwLock},
};

/// Starts upstream children in whatever container the session has now.
pub(crate) struct InContainer {
    pub(crate) container: Arc<RwLock<Option<Arc<Container>>>>,
    pub(crate) workspace: PathBuf,
    pub(crate) env: Vec<(String, String)>,
}

#[async_trait]
impl Spawner for InContainer {
    async fn spawn(&self, _connection: &str, spec: &StdioSpec) -> Result<Child, String> {
        let container = self.container.read().ok().and_then(|slot| slot.clone());
        let container = container.ok_or_else(|| "the session has no container at the moment".to_owned())?;
        let mut env = self.env.clone();
        env.extend(spec.env.iter().cloned());
        let launch = Launch {
            argv: std::iter::once(spec.command.clone()).chain(spec.args.iter().cloned()).collect(),
            env,
            cwd: spec.cwd.clone().unwrap_or_else(|| self.workspace.clone()),
        };
        let process = container.spawn(launch).await.map_err(|error| error.to_string())?;
        let mut exited = process.exited.clone();
        let id = process.id;
        Ok(Child {
            stdin: Box::new(process.stdin),
            stdout: Box::new(process.stdout),
            stderr: Some(Box::new(process.stderr)),
            exit: Box::pin(async move {
                match exited.wait_for(Option::is_some).await {
                    Ok(exit) => exit.map_or_else(String::new, |exit| exit.to_string()),
                    Err(_) => "ended with its container".to_owned(),
                }
            }),
            end: Box::new(move || {
                tokio::spawn(async move {
                    if let Err(error) = container.signal(id, SignalKind::Kill).await {
                        tracing::debug!(%error, "an upstream child was gone already");
                    }
                });
            }),
        })
    }
}
