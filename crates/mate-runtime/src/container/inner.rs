//! The keeper's inner process: process 1 of the container.
//!
//! It starts what the worker asks for, reaps everything, and leaves when the worker is gone.

use super::{
    Exit, Launch, SignalKind,
    keeper::{CONFINEMENT, Word},
    kernel,
    wire::{self, Report, Request},
};
use crate::confine::{self, Fence};
use rustix::{
    io::Errno,
    mount::{MountFlags, mount},
    process::{
        Pid, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus, kill_process_group,
        set_parent_process_death_signal, wait, waitid,
    },
    thread::{CapabilitySet, CapabilitySets, clear_ambient_capability_set, set_capabilities},
};
use std::{
    collections::HashMap,
    env,
    fs::File,
    io::{self, Write as _},
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    process::{Command, ExitCode, Stdio},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

pub(super) fn main() -> ExitCode {
    let (socket, fence, word) = match prepare() {
        Ok(ready) => ready,
        Err(error) => {
            answer(&Word::Failed(error.to_string()));
            return ExitCode::FAILURE;
        }
    };
    let init = Arc::new(Init { socket, fence, children: Mutex::default(), born: Condvar::new() });
    let reaper = Arc::clone(&init);
    if let Err(error) = thread::Builder::new().stack_size(64 << 10).spawn(move || reaper.reap()) {
        answer(&Word::Failed(error.to_string()));
        return ExitCode::FAILURE;
    }
    answer(&word);
    init.serve();
    // With process 1 everything in the namespace ends.
    ExitCode::SUCCESS
}

/// One word to the outer process, then never anything again.
fn answer(word: &Word) {
    let mut output = io::stdout();
    let word = serde_json::to_vec(word).unwrap_or_default();
    let _ = output.write_all(&word).and_then(|()| output.flush());
    let _ = File::open("/dev/null").map(rustix::stdio::dup2_stdout);
}

fn prepare() -> io::Result<(OwnedFd, Fence, Word)> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    let own_proc = own_proc().is_ok();
    let told = env::var(CONFINEMENT).map_err(io::Error::other)?;
    let (fence, confined) = confine::enter(&serde_json::from_str(&told)?)?;
    if !rustix::process::getuid().is_root() {
        clear_ambient_capability_set()?;
        let none = CapabilitySet::empty();
        set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    }
    confine::shut_to_others()?;
    Ok((socket, fence, Word::Ready { own_proc, confined }))
}

/// A `/proc` that shows the container and nothing else, seen by the container only.
fn own_proc() -> io::Result<()> {
    kernel::own_mounts()?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(mount("proc", "/proc", "proc", flags, None)?)
}

struct Init {
    socket: OwnedFd,
    fence: Fence,
    /// The running programs, by their number here. Held while one is started, so that its end is
    /// never reported before its beginning and nobody else waits for it.
    children: Mutex<HashMap<i32, u64>>,
    born: Condvar,
}

impl Init {
    fn children(&self) -> MutexGuard<'_, HashMap<i32, u64>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self) {
        while let Ok(Some((request, pipes))) = wire::receive::<Request>(&self.socket) {
            let done = match request {
                Request::Spawn { id, launch } => self.spawn(id, &launch, pipes),
                Request::Signal { id, signal } => {
                    self.signal(id, signal);
                    Ok(())
                }
                Request::KillAll => {
                    // "Group 1" is the kernel's way to write "all but me".
                    let _ = kill_process_group(Pid::INIT, Signal::KILL);
                    Ok(())
                }
                Request::Count { id } => self.report(&Report::Counted { id, processes: count() }),
            };
            if done.is_err() {
                return;
            }
        }
    }

    fn report(&self, report: &Report) -> io::Result<()> {
        wire::send(&self.socket, report, &[])
    }

    fn spawn(&self, id: u64, launch: &Launch, pipes: Vec<OwnedFd>) -> io::Result<()> {
        let mut children = self.children();
        let report =
            match self.fence.start(|| start(launch, pipes)).unwrap_or_else(|error| Err(error.to_string())) {
                Ok(pid) => {
                    mate_fault::point!("keeper.spawned");
                    children.insert(pid, id);
                    self.born.notify_one();
                    Report::Spawned { id, pid }
                }
                Err(why) => Report::SpawnFailed { id, why },
            };
        self.report(&report)
    }

    fn signal(&self, id: u64, signal: SignalKind) {
        let children = self.children();
        let signal = match signal {
            SignalKind::Term => Signal::TERM,
            SignalKind::Kill => Signal::KILL,
        };
        let found = children.iter().find(|(_, known)| **known == id);
        if let Some(group) = found.and_then(|(pid, _)| Pid::from_raw(*pid)) {
            // Not reaped yet, since it is in the map, so the number is still its own.
            let _ = kill_process_group(group, signal);
        }
    }

    fn reap(&self) {
        loop {
            // Look without taking: a program that could not be started is taken by who started it.
            match waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
                Ok(_) => {
                    if self.collect(&mut self.children()).is_err() {
                        return;
                    }
                }
                Err(Errno::CHILD) => {
                    let mut children = self.children();
                    while children.is_empty() {
                        children = self.born.wait(children).unwrap_or_else(PoisonError::into_inner);
                    }
                }
                Err(_) => {}
            }
        }
    }

    fn collect(&self, children: &mut HashMap<i32, u64>) -> io::Result<()> {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if let Some(id) = children.remove(&pid.as_raw_pid()) {
                self.report(&Report::Exited { id, exit: exit_of(status) })?;
            }
        }
        Ok(())
    }
}

fn exit_of(status: WaitStatus) -> Exit {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Container,
    }
}

fn start(launch: &Launch, pipes: Vec<OwnedFd>) -> Result<i32, String> {
    let Ok([stdin, stdout, stderr]) = <[OwnedFd; 3]>::try_from(pipes) else {
        return Err("the request came without its three pipes".to_owned());
    };
    let Some((program, arguments)) = launch.argv.split_first().filter(|(program, _)| !program.is_empty())
    else {
        return Err("no program is named".to_owned());
    };
    if !launch.cwd.is_dir() {
        return Err(format!(
            "the working directory {} does not exist, or lies in a folder that sessions do not see",
            launch.cwd.display()
        ));
    }
    let spawned = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&launch.cwd)
        .process_group(0)
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr))
        .spawn();
    match spawned {
        Ok(child) => i32::try_from(child.id()).map_err(|error| error.to_string()),
        Err(error) => Err(explain(program, launch, &error)),
    }
}

fn explain(program: &str, launch: &Launch, error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) if program.contains('/') => format!("there is no program {program}"),
        Some(Errno::NOENT) => {
            let path = launch.env.iter().find(|(name, _)| name == "PATH").map_or("", |(_, value)| value);
            format!("there is no program {program} in the PATH {path}")
        }
        Some(Errno::TOOBIG) => {
            let arguments: usize = launch.argv.iter().map(String::len).sum();
            let environment: usize = launch.env.iter().map(|(name, value)| name.len() + value.len()).sum();
            format!(
                "arguments ({arguments} bytes) and environment ({environment} bytes) of {program} are too \
                 long for the kernel: one argument may have 128 KiB; pass long text by standard input or a file"
            )
        }
        Some(Errno::ACCESS) => format!("{program} may not be executed, or the way to it may not be entered"),
        Some(Errno::NOEXEC) => format!("{program} is no program for this machine"),
        Some(_) | None => format!("{program} cannot be started: {error}"),
    }
}

/// How many processes live in the container, process 1 excluded.
fn count() -> usize {
    let own = super::identity::namespace_of("self").unwrap_or_default();
    // Without a /proc of its own, the namespace tells its processes from the others.
    super::proof::count_namespace(own).map_or(0, |all| all.saturating_sub(1))
}
