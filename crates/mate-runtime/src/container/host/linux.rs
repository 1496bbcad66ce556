//! Speaking with the keeper over the control socket.

use crate::container::{
    Breach, ContainerError, ContainerRecord, ContainerSpec, Exit, Launch, Process, SignalKind, SpawnError,
    keeper,
    plan::Plan,
    wire::{self, Report, Request},
};
use mate_model::containment::Means;
use rustix::{
    io::Errno,
    net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socketpair, sockopt},
    pipe::{PipeFlags, pipe_with},
};
use std::{
    collections::HashMap,
    io,
    os::fd::{AsFd as _, OwnedFd},
    process::Child,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};
use tokio::{
    net::unix::pipe,
    sync::{oneshot, watch},
    time::timeout,
};

/// How many reports of a limit that was reached are kept.
const MOST_BREACHES: usize = 8;

#[derive(Debug)]
pub(super) struct Keeper {
    shared: Arc<Shared>,
    ended: watch::Receiver<bool>,
}

#[derive(Debug)]
struct Shared {
    socket: OwnedFd,
    /// Held while a message is written, so that messages do not mix.
    writing: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last_id: u64,
    contained: Option<oneshot::Sender<Result<ContainerRecord, String>>>,
    starting: HashMap<u64, oneshot::Sender<Result<i32, SpawnError>>>,
    running: HashMap<u64, watch::Sender<Option<Exit>>>,
    counting: HashMap<u64, oneshot::Sender<usize>>,
    breaches: Vec<Breach>,
    ended: bool,
}

impl Keeper {
    pub(super) async fn start(
        spec: &ContainerSpec,
        means: Means,
        patience: Duration,
    ) -> Result<(Self, ContainerRecord), ContainerError> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(io::Error::from)?;
        sockopt::set_socket_timeout(&ours, sockopt::Timeout::Send, Some(patience))
            .map_err(io::Error::from)?;
        let (contained, answer) = oneshot::channel();
        let state = State { contained: Some(contained), ..State::default() };
        let shared = Arc::new(Shared { socket: ours, writing: Mutex::default(), state: Mutex::new(state) });
        let child = keeper::command(spec, &Plan { means, limits: spec.limits }, theirs)?.spawn()?;
        let (end, ended) = watch::channel(false);
        // Dropped on every way out of here, and with it the container.
        let keeper = Self { shared: Arc::clone(&shared), ended };
        thread::Builder::new()
            .name("keeper".to_owned())
            .stack_size(256 << 10)
            .spawn(move || listen(&shared, child, &end))?;
        match timeout(patience, answer).await {
            Ok(Ok(Ok(record))) => Ok((keeper, record)),
            Ok(Ok(Err(why))) => Err(ContainerError::NotContained(why)),
            Ok(Err(_)) => Err(ContainerError::NotContained("the session's keeper ended at once".to_owned())),
            Err(_) => Err(ContainerError::Silent),
        }
    }

    pub(super) async fn spawn(&self, launch: Launch, patience: Duration) -> Result<Process, SpawnError> {
        let Pipes { ours, theirs } = pipes().map_err(|error| SpawnError::Refused(error.to_string()))?;
        let (started, answer) = oneshot::channel();
        let (exit, exited) = watch::channel(None);
        let id = {
            let mut state = self.shared.state();
            if state.ended {
                return Err(SpawnError::Ended);
            }
            state.last_id += 1;
            let id = state.last_id;
            state.starting.insert(id, started);
            state.running.insert(id, exit);
            id
        };
        self.send(Request::Spawn { id, launch }, theirs).await?;
        let pid = match timeout(patience, answer).await {
            Ok(Ok(pid)) => pid?,
            Ok(Err(_)) => return Err(SpawnError::Ended),
            Err(_) => return Err(SpawnError::Silent),
        };
        let (stdin, stdout, stderr) = ours;
        Ok(Process { id, pid, stdin, stdout, stderr, exited })
    }

    pub(super) async fn signal(&self, id: u64, signal: SignalKind) -> Result<(), SpawnError> {
        self.send(Request::Signal { id, signal }, Vec::new()).await
    }

    pub(super) async fn kill_all(&self) -> Result<(), SpawnError> {
        self.send(Request::KillAll, Vec::new()).await
    }

    pub(super) async fn count(&self, patience: Duration) -> Result<usize, SpawnError> {
        let (counted, answer) = oneshot::channel();
        let id = {
            let mut state = self.shared.state();
            if state.ended {
                return Err(SpawnError::Ended);
            }
            state.last_id += 1;
            let id = state.last_id;
            state.counting.insert(id, counted);
            id
        };
        self.send(Request::Count { id }, Vec::new()).await?;
        match timeout(patience, answer).await {
            Ok(Ok(processes)) => Ok(processes),
            Ok(Err(_)) => Err(SpawnError::Ended),
            Err(_) => Err(SpawnError::Silent),
        }
    }

    pub(super) fn breaches(&self) -> Vec<Breach> {
        self.shared.state().breaches.clone()
    }

    /// Lets go of the control socket, which ends the container.
    pub(super) fn close(&self) {
        // It may be closed already, which is as good.
        let _ = shutdown(&self.shared.socket, Shutdown::Both);
    }

    pub(super) async fn ended(&self) {
        // The listener sets it last of all; if the listener is gone, so is the container.
        let _ = self.ended.clone().wait_for(|ended| *ended).await;
    }

    async fn send(&self, request: Request, pipes: Vec<OwnedFd>) -> Result<(), SpawnError> {
        let shared = Arc::clone(&self.shared);
        let written = tokio::task::spawn_blocking(move || shared.write(&request, &pipes)).await;
        match written {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => Err(SpawnError::Silent),
            Ok(Err(error)) if error.kind() == io::ErrorKind::InvalidInput => {
                Err(SpawnError::Refused(error.to_string()))
            }
            Ok(Err(_)) | Err(_) => Err(SpawnError::Ended),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, request: &Request, pipes: &[OwnedFd]) -> io::Result<()> {
        let pipes: Vec<_> = pipes.iter().map(OwnedFd::as_fd).collect();
        let _one_at_a_time = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        wire::send(&self.socket, request, &pipes).inspect_err(|error| {
            if error.kind() != io::ErrorKind::InvalidInput {
                // Half a message may be out, so nothing can follow it.
                let _ = shutdown(&self.socket, Shutdown::Both);
            }
        })
    }

    fn take_note(&self, report: Report) {
        let mut state = self.state();
        match report {
            Report::Contained { container } => {
                if let Some(waiting) = state.contained.take() {
                    let _ = waiting.send(Ok(container));
                }
            }
            Report::NotContained { why } => {
                if let Some(waiting) = state.contained.take() {
                    let _ = waiting.send(Err(why));
                }
            }
            Report::Spawned { id, pid } => {
                let waiting = state.starting.remove(&id);
                drop(state);
                if waiting.is_none_or(|waiting| waiting.send(Ok(pid)).is_err()) {
                    // Whoever asked for it went away; nobody would ever end it.
                    let _ = self.write(&Request::Signal { id, signal: SignalKind::Kill }, &[]);
                }
            }
            Report::SpawnFailed { id, why } => {
                state.running.remove(&id);
                if let Some(waiting) = state.starting.remove(&id) {
                    let _ = waiting.send(Err(SpawnError::Refused(why)));
                }
            }
            Report::Exited { id, exit } => {
                if let Some(watchers) = state.running.remove(&id) {
                    watchers.send_replace(Some(exit));
                }
            }
            Report::Breached { breach } => {
                // Told again and again by a runtime that goes on; the first ones say it all.
                if state.breaches.len() < MOST_BREACHES {
                    state.breaches.push(breach);
                }
            }
            Report::Counted { id, processes } => {
                state.counting.remove(&id).map(|waiting| waiting.send(processes));
            }
        }
    }
}

/// Takes note of what the keeper reports, until the container has ended and the keeper with it.
fn listen(shared: &Shared, mut keeper: Child, end: &watch::Sender<bool>) {
    while let Ok(Some((report, _))) = wire::receive::<Report>(&shared.socket) {
        shared.take_note(report);
    }
    // After a message that cannot be read nothing more is believed.
    let _ = shutdown(&shared.socket, Shutdown::Both);
    let _ = keeper.wait();
    let mut state = shared.state();
    state.ended = true;
    state.contained = None;
    state.starting.clear();
    state.counting.clear();
    for (_, watchers) in state.running.drain() {
        watchers.send_replace(Some(Exit::Container));
    }
    drop(state);
    end.send_replace(true);
}

struct Pipes {
    ours: (pipe::Sender, pipe::Receiver, pipe::Receiver),
    theirs: Vec<OwnedFd>,
}

fn pipes() -> io::Result<Pipes> {
    let make = || pipe_with(PipeFlags::CLOEXEC).map_err(|error: Errno| io::Error::from(error));
    let (stdin, to_stdin) = make()?;
    let (from_stdout, stdout) = make()?;
    let (from_stderr, stderr) = make()?;
    let ours = (
        pipe::Sender::from_owned_fd(to_stdin)?,
        pipe::Receiver::from_owned_fd(from_stdout)?,
        pipe::Receiver::from_owned_fd(from_stderr)?,
    );
    Ok(Pipes { ours, theirs: vec![stdin, stdout, stderr] })
}
