//! The session's bridge: made from the project's grants, reached over loopback HTTP or the relay's socket.

use super::{Worker, gate::WorkerGate, spawner::InContainer};
use crate::credentials::LiveCredentials;
use anyhow::{Context, Result};
use mate_bridge::{
    Bridge, BridgeConfig, ConnectionSpec, Credentials, HttpSpec, Limits, Spawner, StdioSpec, Transport,
};
use mate_engine::{Engine, SocketPath};
use mate_guard::Redactor;
use mate_model::{
    ProjectId,
    records::{Connection, Reach},
};
use mate_runtime::{
    container::{Identity, is_inside},
    registration::Registration,
};
use std::{
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    sync::{Arc, RwLock},
    time::Duration,
};
use tokio::net::{UnixListener, UnixStream};

/// Knows every secret that the session's processes are given.
pub(super) async fn redactor(
    engine: &Engine,
    project: ProjectId,
    registration: &Registration,
    bearer: &str,
) -> Result<Redactor> {
    let mut secrets = engine.project_secrets(project, None).await?;
    secrets.push(bearer.to_owned().into());
    secrets.extend(registration.passed_values().into_iter().map(Into::into));
    Redactor::new(secrets).context("the session has too many secrets to redact")
}

impl Worker {
    /// Whether the grants name other connections than the bridge was made with. A new worker is needed then: it gives
    /// the runtime a bridge with all of them, and knows their secrets.
    pub(super) async fn connections_changed(&self) -> Result<bool> {
        let now = self.engine.granted_connections(self.session.project).await?;
        Ok(now.iter().any(|connection| !self.connections.contains(&connection.id)))
    }

    /// Opens the bridge and the relay's socket.
    pub(super) async fn open_bridge(&mut self) -> Result<()> {
        let mut connections = Vec::new();
        self.connections.clear();
        for connection in self.engine.granted_connections(self.session.project).await? {
            self.connections.push(connection.id);
            connections.push(spec(&self.engine, &self.redactor, &connection));
        }
        let workspace = PathBuf::from(&self.session.workspace);
        let limits =
            Limits { call: Duration::from_secs(self.settings.session.call_seconds), ..Limits::default() };
        let config = BridgeConfig { connections, workspace: Some(workspace.clone()), limits };
        let gate = WorkerGate {
            desk: Arc::clone(&self.desk),
            recorder: self.recorder.clone(),
            redactor: Arc::clone(&self.redactor),
            listed: self.listed.clone(),
            definitions: super::gate::Definitions::default(),
            shelf: self.shelf.clone(),
        };
        let spawner = InContainer {
            container: Arc::clone(&self.container),
            workspace,
            env: self.registration.base_env(),
        };
        let spawner: Arc<dyn Spawner> = Arc::new(spawner);
        let (clock, entropy) = (Arc::clone(&self.engine.clock), Arc::clone(&self.engine.entropy));
        let bridge = Arc::new(
            Bridge::start_with(config, self.bearer.clone(), Arc::new(gate), spawner, clock, entropy).await?,
        );
        self.bridge = Some(Arc::clone(&bridge));
        let path = self.folder.bridge();
        let way = SocketPath::of(&path)?;
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(way.path()).with_context(|| path.display().to_string())?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        let relay = tokio::spawn(accept(listener, bridge, Arc::clone(&self.container)));
        if let Some(old) = self.relay.replace(relay) {
            old.abort();
        }
        Ok(())
    }
}

/// Serves relays. What proves one is that its process lives in the session's container.
async fn accept(
    listener: UnixListener,
    bridge: Arc<Bridge>,
    container: Arc<RwLock<Option<Arc<mate_runtime::container::Container>>>>,
) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let init =
            container.read().ok().and_then(|slot| slot.as_ref().map(|known| known.record().init.clone()));
        if init.is_some_and(|init| comes_from(&stream, &init)) {
            bridge.serve_stream(stream);
        } else {
            tracing::warn!("a relay from outside the session's container was refused");
        }
    }
}

fn comes_from(stream: &UnixStream, init: &Identity) -> bool {
    stream.peer_cred().ok().and_then(|peer| peer.pid()).is_some_and(|pid| is_inside(init, pid))
}

/// How the bridge reaches a connection; what it is given is asked for each process and each request.
pub(crate) fn spec(engine: &Arc<Engine>, redactor: &Redactor, connection: &Connection) -> ConnectionSpec {
    let live: Arc<dyn Credentials> = LiveCredentials::of(engine, redactor, connection);
    let transport = match &connection.reach {
        Reach::Stdio { command } => Transport::Stdio(StdioSpec {
            command: command.first().cloned().unwrap_or_default(),
            args: command.iter().skip(1).cloned().collect(),
            env: Vec::new(),
            cwd: None,
            live: Some(live),
        }),
        Reach::Http { url } => {
            Transport::Http(HttpSpec { url: url.clone(), headers: Vec::new(), live: Some(live) })
        }
    };
    ConnectionSpec {
        id: connection.id,
        name: connection.name.clone(),
        prefixed: !connection.settings.bare,
        roots: connection.settings.workspace_root,
        transport,
        call_timeout: None,
        start_timeout: None,
    }
}
