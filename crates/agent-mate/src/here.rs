//! Commands that work on the home itself.

use crate::{
    cli::{Check, Command, Context, Exit, Failure, HereCommand, ServeArgs},
    opening, serve as coordinator,
};
use etcetera::{BaseStrategy, choose_base_strategy};
use mate_engine::{EngineError, Home, Settings, admin};
use mate_model::confinement::ConfinementMeans;
use mate_runtime::{
    confine::{Confined, Confinement},
    container::{Container, ContainerRecord, ContainerSpec},
};
use serde_json::json;
use std::{
    env,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

/// The threads that a command needs: few. A session's worker has one, besides those of its stores.
pub(crate) fn runtime(command: &Command) -> io::Result<Runtime> {
    if matches!(command, Command::Here(HereCommand::Serve(_))) {
        Builder::new_multi_thread().worker_threads(2).enable_all().build()
    } else {
        Builder::new_current_thread().enable_all().build()
    }
}

/// The home: given, with its settings in it, or both where the system keeps such things.
pub(crate) fn home(given: Option<PathBuf>) -> Result<Home, String> {
    let Some(path) = given else {
        let usual =
            choose_base_strategy().map_err(|_| "there is no home directory: give --home DIR".to_owned())?;
        let config = usual.config_dir().join("agent-mate").join("config.toml");
        return Ok(Home::at(usual.data_dir().join("agent-mate")).configured(config));
    };
    let path = if path.is_absolute() {
        path
    } else {
        env::current_dir().map_err(|error| format!("the current directory: {error}"))?.join(path)
    };
    Ok(Home::at(path))
}

/// Logs go to standard error; `AGENT_MATE_LOG` chooses what.
pub(crate) fn log_to_stderr(level: &str) {
    let filter = EnvFilter::try_from_env("AGENT_MATE_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_target(false);
    // A log on a full disk loses lines. Complaining about that where the log goes would be a panic.
    let logs = logs.log_internal_errors(false);
    let _ = logs.with_ansi(io::stderr().is_terminal()).try_init();
}

/// `agent-mate init`
pub(crate) async fn init(context: &Context) -> Result<Exit, Failure> {
    let home = &context.home;
    let key = opening::key_place(home);
    admin::create_home(home, &key, context.entropy.as_ref()).map_err(failed)?;
    let opened = opening::open_any(home).await.map_err(broken)?;
    let url = format!("http://{}", opened.settings.serve.listen);
    let made = opened.engine.initialise().await.map_err(failed)?;
    if context.screen.json {
        context.screen.document(&json!({
            "home": home.path(),
            "account": { "id": made.account.id, "name": made.account.name },
            "project": { "id": made.project.id, "name": made.project.name },
            "token": made.token.reveal(),
            "url": url,
        }))?;
    } else {
        context.screen.line(&format!("Agent Mate is set up in {}.", home.path().display()))?;
        context.screen.line(&format!("  account  {}   project  {}", made.account.name, made.project.name))?;
        context.screen.line(&format!("  token    in {} (only you can read it)", home.token().display()))?;
        context.screen.line("")?;
        context.screen.line("Next: `agent-mate serve` in a terminal of its own, then register a runtime:")?;
        context.screen.line("  agent-mate runtime add NAME --preset opencode")?;
    }
    Ok(Exit::Done)
}

/// `agent-mate init --recover`: whoever can write the home and read its key may do this.
pub(crate) async fn recover(context: &Context) -> Result<Exit, Failure> {
    let home = &context.home;
    if home.path().exists() {
        home.identify(rustix::process::geteuid().as_raw()).map_err(strange)?;
    }
    let opened = opening::open(home).await.map_err(broken)?;
    let (account, token) = opened.engine.recover_way_in().await.map_err(failed)?;
    if context.screen.json {
        context.screen.document(&json!({
            "home": home.path(),
            "account": { "id": account.id, "name": account.name },
            "token": token.reveal(),
        }))?;
    } else {
        context.screen.line(&format!("{} has a new token, in {}.", account.name, home.token().display()))?;
    }
    Ok(Exit::Done)
}

/// `agent-mate serve`
pub(crate) async fn serve(context: &Context, arguments: ServeArgs) -> Result<Exit, Failure> {
    log_to_stderr("warn");
    if context.home.path().exists() {
        context.home.identify(rustix::process::geteuid().as_raw()).map_err(strange)?;
    }
    let opened = opening::open(&context.home).await.map_err(broken)?;
    if opened.engine.ledger.accounts(None, 1).await.map_err(|error| broken(error.into()))?.items.is_empty() {
        let words = "the store has no account yet: run `agent-mate init`, which sets it up. If this home was set up on \
                     another store, `store.database` in config.toml points to the wrong one";
        return Err(Failure::new(Exit::Refused, "not_now", words.to_owned()));
    }
    keep_place_of_settings(&context.home);
    let shutdown = CancellationToken::new();
    let asked = shutdown.clone();
    tokio::spawn(async move {
        end_asked().await;
        asked.cancel();
    });
    let screen = context.screen.clone();
    let ready = move |address: std::net::SocketAddr| {
        crate::service::tell("READY=1");
        let url = format!("http://{address}");
        let said = if screen.json {
            screen.document(&json!({ "url": url }))
        } else {
            screen.line(&format!("agent-mate serves {url}  (Ctrl-C ends this; sessions go on without it)"))
        };
        if let Err(failure) = said {
            tracing::debug!(failure.detail, "nobody reads what is printed here");
        }
    };
    let stopping = shutdown.clone();
    tokio::spawn(async move {
        stopping.cancelled().await;
        crate::service::tell("STOPPING=1");
    });
    coordinator::serve(opened, arguments.listen, shutdown, ready).await.map_err(broken)?;
    if !context.screen.json {
        let _ = context.screen.line(
            "\nThe coordinator has ended. Sessions that were at work go on and are recorded. `agent-mate serve` shows them \
             again; then `agent-mate task stop TASK` stops one, and `agent-mate task stop --all` all of them.",
        );
    }
    Ok(Exit::Done)
}

/// A folder that is not there cannot be hidden: a session could make it, with settings for the next start in it.
fn keep_place_of_settings(home: &Home) {
    use std::os::unix::fs::DirBuilderExt as _;
    if let Some(folder) = home.config().parent()
        && let Err(error) = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
    {
        tracing::warn!(%error, folder = %folder.display(), "the folder for settings cannot be made");
    }
}

async fn end_asked() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
}

/// `agent-mate doctor`
pub(crate) async fn doctor(context: &Context) -> Result<Exit, Failure> {
    let mut checks = vec![settings(&context.home.config())];
    checks.push(match mate_store::sqlite::library() {
        Ok(version) => Check::well("sqlite", format!("version {version}")),
        Err(error) => Check::ill("sqlite", error.to_string()),
    });
    checks.push(crate::containment::check(&context.home.config()).await);
    checks.extend(confinement(&context.home).await);
    checks.extend(not_hidden(&context.home.config()));
    checks.extend(crate::service::check(&context.home).await);
    crate::cli::doctor(context, checks).await
}

fn settings(path: &Path) -> Check {
    match Settings::read(path) {
        Ok(_) if path.exists() => Check::well("settings", path.display().to_string()),
        Ok(_) => Check::well("settings", format!("{} is not there: the defaults hold", path.display())),
        Err(error) => Check::ill("settings", error.to_string()),
    }
}

/// Makes a container, as a session would, and ends it; what was recorded of it.
async fn try_container(confinement: Confinement) -> anyhow::Result<ContainerRecord> {
    let folder = tempfile::tempdir()?;
    let exe = env::current_exe()?;
    let spec = ContainerSpec { confinement, ..ContainerSpec::new(exe, folder.path().to_owned()) };
    let container = Container::start(&spec).await?;
    let record = container.record().clone();
    container.kill().await?;
    Ok(record)
}

/// Whether the home can be hidden from sessions, and how.
async fn confinement(home: &Home) -> Option<Check> {
    const NAME: &str = "confinement";
    // What is wrong with the settings is told by their own check.
    let settings = Settings::read(&home.config()).ok()?.confinement;
    Some(match try_container(crate::confinement::of_home(home, &settings)).await {
        Ok(ContainerRecord { confined, .. }) => match confined.means {
            ConfinementMeans::None => Check::ill(
                NAME,
                "SWITCHED OFF in config.toml: whatever a session runs can read this home, its key and its token",
            ),
            means @ (ConfinementMeans::MountNamespace | ConfinementMeans::Landlock) => {
                Check::well(NAME, told(means, &confined))
            }
        },
        Err(error) => Check::ill(NAME, format!("{error:#}")),
    })
}

/// What is to be hidden and is not there, if anything.
fn not_hidden(config: &Path) -> Option<Check> {
    let hide = Settings::read(config).ok()?.confinement.hide;
    let missing: Vec<String> =
        hide.iter().filter(|path| !path.exists()).map(|path| path.display().to_string()).collect();
    (!missing.is_empty()).then(|| {
        let missing = missing.join(", ");
        Check::ill(
            "hide",
            format!("what is not there cannot be hidden, and sessions may make it: make or unname {missing}"),
        )
    })
}

fn told(means: ConfinementMeans, confined: &Confined) -> String {
    let apart = if confined.apart { ", and programs are kept apart" } else { "" };
    let weaker = confined.not_stronger.as_deref();
    let weaker = weaker.map_or_else(String::new, |why| format!(" (not by a stronger means: {why})"));
    format!("sessions cannot see this home, by {means}{apart}{weaker}")
}

pub(crate) fn failed(error: EngineError) -> Failure {
    let exit = match error {
        EngineError::Refused { .. } => Exit::Refused,
        EngineError::NotFound | EngineError::NotAllowed { .. } | EngineError::NotAuthenticated => {
            Exit::NotFound
        }
        EngineError::Invalid { .. } => Exit::Usage,
        EngineError::KeyReused | EngineError::ClockBehind(_) | EngineError::Unavailable(_) => Exit::Refused,
        EngineError::Internal(_) | EngineError::Damaged(_) => Exit::Internal,
    };
    let code = if let EngineError::Refused { code, .. } = &error { code } else { "not_done" };
    Failure::new(exit, code, error.to_string())
}

fn strange(error: mate_engine::StrangeHome) -> Failure {
    Failure::new(Exit::Refused, "not_now", error.to_string())
}

pub(crate) fn broken(error: anyhow::Error) -> Failure {
    let detail = format!("{error:#}");
    if let Some(EngineError::Refused { code, .. }) = error.downcast_ref::<EngineError>() {
        return Failure::new(Exit::Refused, code, detail);
    }
    if error.downcast_ref::<opening::NotNow>().is_some()
        || error.downcast_ref::<mate_server::ListenError>().is_some()
    {
        return Failure::new(Exit::Refused, "not_now", detail);
    }
    if error.downcast_ref::<mate_engine::settings::BadSettings>().is_some() {
        return Failure::usage(detail);
    }
    Failure::internal(detail)
}
