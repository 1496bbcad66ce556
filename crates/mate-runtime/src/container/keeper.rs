//! The keeper's outer process: makes the container, waits for its end, writes the evidence.

use super::{
    ContainerRecord, ContainerSpec, ExitRecord, Identity, Means, identity::namespace_of, inner, kernel, wire,
};
use crate::confine::{self, Confined};
use mate_model::Clock;
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read as _},
    os::{fd::OwnedFd, unix::process::ExitStatusExt as _},
    path::Path,
    process::{Child, Command, ExitCode, ExitStatus, Stdio},
};
use tokio::signal::unix::{SignalKind, signal};

/// What the inner process says on its output, once.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Word {
    /// Programs can be started.
    Ready {
        /// Whether there is a `/proc` of its own.
        own_proc: bool,
        /// How what it starts is confined.
        confined: Confined,
    },
    /// They cannot.
    Failed(String),
}

/// The variable by which the keeper is told how to confine. It names paths and no secrets, and no program gets it.
pub(super) const CONFINEMENT: &str = "AGENT_MATE_CONFINEMENT";
/// The longest word of the inner process.
const LONGEST_WORD: u64 = 64 << 10;
/// The argument that makes the keeper's second process.
pub(super) const INNER: &str = "--inner";

/// The hidden subcommand `keeper FOLDER` (and `keeper --inner`, which it starts itself).
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
        (Some(word), None) if word == INNER => inner::main(),
        (Some(folder), None) => outer(Path::new(&folder), clock),
        _ => {
            eprintln!("the keeper is started by a session worker, not by hand");
            ExitCode::from(2)
        }
    }
}

fn outer(folder: &Path, clock: &dyn Clock) -> ExitCode {
    let Ok(socket) = take_stdin() else {
        eprintln!("the keeper needs a control socket as its standard input");
        return ExitCode::from(2);
    };
    let mut init = match contain(folder, &socket) {
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
    mate_fault::point!("keeper.ended");
    let exit = ExitRecord { container: init.record, ended_at: clock.now(), status: describe(status) };
    match exit.write(folder) {
        Ok(()) => {
            mate_fault::point!("keeper.witnessed");
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    }
}

struct Init {
    child: Child,
    record: ContainerRecord,
}

fn contain(folder: &Path, socket: &OwnedFd) -> io::Result<Init> {
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
    kernel::enter().map_err(explain)?;
    confine::shut_to_others()?;
    let mut child = Command::new("/proc/self/exe")
        .args([super::KEEPER_COMMAND, INNER])
        .stdin(Stdio::from(socket.try_clone()?))
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()?;
    match introduce(folder, &mut child) {
        Ok(record) => {
            mate_fault::point!("keeper.recorded");
            let report = wire::Report::Contained { container: record.clone() };
            wire::send(socket, &report, &[])?;
            Ok(Init { child, record })
        }
        Err(error) => {
            // Not yet on record, so nothing may go on in it.
            let _ = child.kill();
            let _ = child.wait();
            Err(error)
        }
    }
}

/// Waits until process 1 is ready, then writes it down.
fn introduce(folder: &Path, child: &mut Child) -> io::Result<ContainerRecord> {
    let mut word = String::new();
    if let Some(output) = child.stdout.take() {
        output.take(LONGEST_WORD).read_to_string(&mut word)?;
    }
    if word.is_empty() {
        return Err(io::Error::other("process 1 of the container ended at once"));
    }
    let (own_proc, confined) = match serde_json::from_str(&word)? {
        Word::Ready { own_proc, confined } => (own_proc, confined),
        Word::Failed(why) => return Err(io::Error::other(why)),
    };
    let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
    let record = ContainerRecord {
        means: Means::PidNamespace,
        init: Identity::of(pid)?,
        namespace: namespace_of(&pid.to_string())?,
        own_proc,
        confined,
    };
    mate_fault::point!("keeper.contained");
    record.write(folder).map_err(io::Error::other)?;
    Ok(record)
}

/// The control socket, away from descriptor 0, where the inner process must not find a second copy.
fn take_stdin() -> io::Result<OwnedFd> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    rustix::net::sockopt::socket_type(&socket)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(socket)
}

fn explain(error: io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("the kernel refuses a PID namespace ({error}): run as root, or allow user namespaces"),
    )
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
pub(super) fn command(spec: &ContainerSpec, socket: OwnedFd) -> io::Result<Command> {
    let mut command = Command::new(&spec.exe);
    command
        .arg(super::KEEPER_COMMAND)
        .arg(&spec.folder)
        .env_clear()
        .envs(mate_fault::handed_on())
        .env(CONFINEMENT, serde_json::to_string(&spec.confinement)?)
        .current_dir("/")
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    Ok(command)
}
