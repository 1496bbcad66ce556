//! `agent-mate connection-check`: the helper. Prints one report and ends.

use crate::{
    confinement,
    opening::{self, Opened},
    worker::{bridge::spec, spawner::InContainer},
};
use anyhow::{Context, Result};
use mate_bridge::{Finding, Limits, Probe, Spawner};
use mate_engine::{Engine, Home, HomeId, settings::FenceSettings};
use mate_guard::Redactor;
use mate_model::{ConnectionId, records::Connection};
use mate_runtime::{
    container::{Container, ContainerSpec},
    registration::Registration,
};
use std::{
    env,
    io::Write as _,
    path::{Path, PathBuf},
    sync::{Arc, RwLock},
    time::Duration,
};
use tokio::io::AsyncReadExt as _;

/// How long an upstream may take to be ready, and then to list its tools.
const READY: Duration = Duration::from_secs(18);
const LISTED: Duration = Duration::from_secs(10);
/// The longest text of an upstream in a report, in characters.
const TEXT: usize = 500;

/// Looks once.
///
/// # Errors
/// That the home cannot be opened, or that the connection is gone.
pub(crate) async fn run(
    home: Home,
    home_id: HomeId,
    fence: FenceSettings,
    connection: ConnectionId,
    folder: PathBuf,
) -> Result<()> {
    let _ = rustix::process::setsid();
    mate_runtime::confine::shut_to_others().context("this process cannot be closed to others")?;
    home.is_still(home_id)?;
    let Opened { engine, settings } = opening::open(&home).await?;
    let found = engine.ledger.connection(connection).await?;
    let found = found.filter(|found| found.removed_at.is_none()).context("the connection is gone")?;
    let redactor = redactor(&engine, &found).await?;
    let ready = READY.min(Duration::from_secs(settings.session.start_seconds));
    tokio::select! {
        report = look(&engine, &redactor, &found, &fence, &folder, ready) => {
            let report = shown(report?, &redactor);
            let mut out = std::io::stdout().lock();
            out.write_all(&serde_json::to_vec(&report)?)?;
            out.flush()?;
        }
        () = abandoned() => tracing::info!("nobody waits for this look any more"),
    }
    Ok(())
}

/// Waits until the coordinator is gone.
async fn abandoned() {
    let mut byte = [0_u8; 1];
    while matches!(tokio::io::stdin().read(&mut byte).await, Ok(read) if read > 0) {}
}

async fn redactor(engine: &Engine, connection: &Connection) -> Result<Redactor> {
    Redactor::new(engine.known_secrets(connection).await?)
        .context("the connection has too many secrets to redact")
}

async fn look(
    engine: &Arc<Engine>,
    redactor: &Redactor,
    connection: &Connection,
    fence: &FenceSettings,
    folder: &Path,
    ready: Duration,
) -> Result<Probe> {
    let exe = env::current_exe().context("this program does not know where it is")?;
    let workspace = folder.join("workspace");
    let mut confinement = confinement::of_home(&engine.home, &fence.confinement);
    confinement.keep.extend([exe.clone(), workspace.clone()]);
    let means = fence.containment.means;
    let wanted = ContainerSpec { confinement, means, ..ContainerSpec::new(exe, folder.to_owned()) };
    let container = Arc::new(Container::start(&wanted).await?);
    let spawner: Arc<dyn Spawner> = Arc::new(InContainer {
        container: Arc::new(RwLock::new(Some(Arc::clone(&container)))),
        workspace,
        env: Registration::of_command(Vec::new()).base_env(),
    });
    let limits = Limits { start: ready, list: LISTED, ..Limits::default() };
    let probe = mate_bridge::probe(spec(engine, redactor, connection), spawner, limits).await;
    container.kill().await?;
    Ok(probe)
}

/// The report as it may be seen: without secrets, and cut.
fn shown(probe: Probe, redactor: &Redactor) -> Probe {
    let text = |text: &str| redactor.shown(text, TEXT);
    let finding =
        |finding: Finding| Finding { detail: text(&finding.detail), next: text(&finding.next), ..finding };
    let Probe { protocol, problem, notices, mut tools, said } = probe;
    for tool in &mut tools {
        tool.name = text(&tool.name);
        tool.exposed = text(&tool.exposed);
        tool.description = tool.description.as_deref().map(text);
        for argument in &mut tool.arguments {
            *argument = text(argument);
        }
    }
    Probe {
        protocol: protocol.as_deref().map(text),
        problem: problem.map(finding),
        notices: notices.into_iter().take(100).map(finding).collect(),
        tools,
        said: said.iter().map(|line| text(line)).collect(),
    }
}
