//! The keeper's outer process: makes the container, waits for its end, writes the evidence.

use super::{
    ContainerRecord, ContainerSpec, ExitRecord, Identity,
    hold::end_all,
    inner, kernel,
    making::{Init, Made},
    opened::Opened,
    plan::Plan,
    wire,
};
use crate::confine;
use mate_model::{Clock, containment::Means};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::{fd::OwnedFd, unix::process::ExitStatusExt as _},
    path::Path,
    process::{Command, ExitCode, ExitStatus, Stdio},
    time::Duration,
};
use tokio::signal::unix::{SignalKind, signal};

/// The variable by which the keeper is told how to confine. It names paths and no secrets, and no program gets it.
pub(super) const CONFINEMENT: &str = "AGENT_MATE_CONFINEMENT";
/// The argument that makes the keeper's second process.
pub(super) const INNER: &str = "--inner";

/// How long a leaf may take to be empty when everything in it was reaped.
const SETTLED: Duration = Duration::from_secs(10);

/// The hidden subcommand `keeper FOLDER PLAN` (and `keeper --inner PLAN`, which it starts itself).
///
/// Standard input is the worker's control socket. Must be called before any thread is started.
pub fn keeper_main(args: impl IntoIterator<Item = OsString>, clock: &dyn Clock) -> ExitCode {
    let mut args = args.into_iter();
    // By this name everybody knows that what descends from it belongs to a session.
    if let Err(error) = rustix::thread::set_name(confine::KEEPER_NAME) {
        eprintln!("the keeper cannot take its name: {error}");
        return ExitCode::FAILURE;
    }
    if let Err(error) = kernel::close_strangers() {
        eprintln!("the keeper cannot close the descriptors it was started with: {error}");
        return ExitCode::FAILURE;
    }
    match (args.next(), args.next()) {
        (Some(word), Some(plan)) if word == INNER => {
            understand(&plan).map_or_else(by_hand, |plan| inner::main(plan, clock))
        }
        (Some(folder), Some(plan)) => {
            understand(&plan).map_or_else(by_hand, |plan| outer(Path::new(&folder), plan, clock))
        }
        _ => by_hand(),
    }
}

fn understand<T: serde::de::DeserializeOwned>(plan: &OsStr) -> Option<T> {
    serde_json::from_str(plan.to_str()?).ok()
}

fn by_hand() -> ExitCode {
    eprintln!("the keeper is started by a session worker, not by hand");
    ExitCode::from(2)
}

fn outer(folder: &Path, plan: Plan, clock: &dyn Clock) -> ExitCode {
    let Ok(socket) = take_stdin() else {
        eprintln!("the keeper needs a control socket as its standard input");
        return ExitCode::from(2);
    };
    let mut init = match contain(folder, plan, &socket) {
        Ok(init) => init,
        Err(why) => {
            // The worker may be gone; then nobody needs to know.
            let _ = wire::send(&socket, &wire::Report::NotContained { why: why.to_string() }, &[]);
            return ExitCode::FAILURE;
        }
    };
    // From here on the inner process alone holds the socket, so that the worker sees its end.
    drop(socket);
    let status = init.child.wait();
    let empty = is_empty(&init.record);
    mate_fault::point!("keeper.ended");
    if !empty {
        return ExitCode::FAILURE;
    }
    let leaf = init.record.leaf.clone();
    let exit = ExitRecord { container: init.record, ended_at: clock.now(), status: describe(status) };
    let written = exit.write(folder);
    if let Some(leaf) = leaf {
        leaf.remove();
    }
    match written {
        Ok(()) => {
            mate_fault::point!("keeper.witnessed");
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    }
}

/// Makes sure that nothing lives, now that the inner process is gone.
fn is_empty(record: &ContainerRecord) -> bool {
    let leaf = record.leaf.as_ref();
    match record.means {
        // The kernel lets process 1 go last; what it reports of the leaf may come a moment later.
        Means::PidNamespace => leaf.is_none_or(|leaf| leaf.wait_empty(SETTLED).unwrap_or(true)),
        Means::Cgroup | Means::Subreaper => {
            // A leaf that cannot be opened was removed, or it proves nothing.
            let opened = leaf.map(|leaf| Opened::open(leaf, None));
            match opened.transpose() {
                Ok(opened) => {
                    end_all(opened.as_ref());
                    true
                }
                Err(_) => {
                    end_all(None);
                    leaf.is_none_or(|leaf| leaf.is_empty().unwrap_or(false))
                }
            }
        }
    }
}

fn contain(folder: &Path, plan: Plan, socket: &OwnedFd) -> io::Result<Init> {
    // A terminal's or a service manager's signals are for the worker; the keeper must see the end.
    // They are caught and not ignored, because only what is ignored is inherited.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let guard = runtime.enter();
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        drop(signal(kind)?);
    }
    drop(guard);
    // Fails only for the leader of a group, which the worker's child is not.
    let _ = rustix::process::setsid();
    // Signal handlers stay when the runtime goes; its descriptors do not.
    drop(runtime);
    let keeper = Identity::of(rustix::process::getpid().as_raw_pid())?;
    let made = Made::new(plan, keeper)?;
    let init = made.start(folder, socket);
    if init.is_err() {
        made.clear();
    }
    init
}

/// The control socket, away from descriptor 0, where the inner process must not find a second copy.
fn take_stdin() -> io::Result<OwnedFd> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    rustix::net::sockopt::socket_type(&socket)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(socket)
}

fn describe(status: io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "unknown".to_owned(),
        },
        Err(error) => format!("not waited for: {error}"),
    }
}

/// How the worker starts the outer process.
pub(super) fn command(spec: &ContainerSpec, plan: &Plan, socket: OwnedFd) -> io::Result<Command> {
    let mut command = Command::new(&spec.exe);
    command
        .arg(super::KEEPER_COMMAND)
        .arg(&spec.folder)
        .arg(serde_json::to_string(plan)?)
        .env_clear()
        .envs(mate_fault::handed_on())
        .env(CONFINEMENT, serde_json::to_string(&spec.confinement)?)
        .current_dir("/")
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Ok(command)
}
