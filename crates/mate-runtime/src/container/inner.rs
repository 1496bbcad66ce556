//! The keeper's inner process; of a PID namespace, process 1.
//!
//! It starts what the worker asks for, reaps everything, and leaves when the worker is gone.

use super::{
    ContainerRecord, Exit, ExitRecord, Launch, SignalKind,
    hold::{Hold, Prepared, end_all},
    keeper::CONFINEMENT,
    opened::Opened,
    plan::{Answer, InnerPlan, Witness},
    watch::{Counted, Watch},
    wire::{self, Report, Request},
};
use crate::confine::Fence;
use mate_model::Clock;
use rustix::{
    io::Errno,
    process::{
        Pid, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus, getpid, getppid, kill_process_group,
        wait, waitid,
    },
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
    time::Duration,
};

/// Rounds of killing for one request; a fork storm needs a few.
const ROUNDS: u32 = 500;
const PAUSE: Duration = Duration::from_millis(2);

pub(super) fn main(plan: InnerPlan, clock: &dyn Clock) -> ExitCode {
    match begin(plan) {
        Ok((init, answered, witness)) => {
            answer(&answered);
            init.serve();
            init.finish(witness.as_ref(), clock);
            // With process 1 of a namespace everything in it ends.
            ExitCode::SUCCESS
        }
        Err(error) => {
            answer(&Answer::Failed { why: error.to_string() });
            ExitCode::FAILURE
        }
    }
}

fn begin(plan: InnerPlan) -> io::Result<(Arc<Init>, Answer, Option<Witness>)> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    let told = env::var(CONFINEMENT).map_err(io::Error::other)?;
    let Prepared { hold, fence, witness, own_proc, in_leaf, confined } =
        Hold::prepare(plan.hold, &serde_json::from_str(&told)?)?;
    let most = plan.processes.filter(|_| !(plan.kernel_counts && in_leaf));
    let init = Arc::new(Init { socket, hold, fence, children: Mutex::default(), born: Condvar::new() });
    let reaper = Arc::clone(&init);
    small_thread(move || reaper.reap())?;
    if let Some(mut watch) = Watch::over(init.hold.opened().is_some_and(Opened::has_limits), most) {
        let watched = Arc::clone(&init);
        small_thread(move || watched.watch(&mut watch))?;
    }
    Ok((init, Answer::Ready { own_proc, in_leaf, confined }, witness))
}

fn small_thread(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().stack_size(128 << 10).spawn(work).map(drop)
}

/// One line to the outer process, then never anything again.
fn answer(answer: &Answer) {
    let text = serde_json::to_vec(answer).unwrap_or_default();
    let mut output = io::stdout();
    let _ = output.write_all(&text).and_then(|()| output.flush());
    let _ = File::open("/dev/null").map(rustix::stdio::dup2_stdout);
}

struct Init {
    socket: OwnedFd,
    hold: Hold,
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
                    self.kill_all();
                    Ok(())
                }
                Request::Count { id } => self.report(&Report::Counted { id, processes: self.hold.count() }),
            };
            if done.is_err() {
                return;
            }
        }
    }

    /// Kills until nothing is left, within a bound.
    fn kill_all(&self) {
        for _ in 0..ROUNDS {
            {
                // Nobody is reaped meanwhile, so no number of a child is reused.
                let _children = self.children();
                self.hold.kill_round();
            }
            if self.hold.count() == 0 {
                return;
            }
            thread::sleep(PAUSE);
        }
    }

    fn counted(&self) -> Counted {
        self.hold.opened().map_or_else(Counted::default, |leaf| Counted {
            killed: leaf.killed_for_memory(),
            refused: leaf.refused_processes(),
        })
    }

    fn watch(&self, watch: &mut Watch) {
        loop {
            thread::sleep(Watch::PAUSE);
            let Some(breach) = watch.look(|| self.counted(), || self.hold.count()) else { continue };
            let over = breach.is_for_keeper();
            if self.report(&Report::Breached { breach }).is_err() {
                return;
            }
            if over {
                self.kill_all();
            }
        }
    }

    /// Without a namespace, nothing ends by itself when this process does.
    fn finish(&self, witness: Option<&Witness>, clock: &dyn Clock) {
        let Some(witness) = witness else { return };
        end_all(self.hold.opened());
        // The outer process is the witness, unless somebody killed it.
        if getppid().is_some_and(|parent| parent.as_raw_pid() == witness.outer) {
            return;
        }
        if let Ok(Some(container)) = ContainerRecord::read(&witness.folder)
            && container.init.pid == getpid().as_raw_pid()
        {
            let status = "the keeper's outer process was killed before the end".to_owned();
            // If it cannot be written there is no evidence, and that is what will be said.
            let _ = ExitRecord { container, ended_at: clock.now(), status }.write(&witness.folder);
        }
    }

    fn report(&self, report: &Report) -> io::Result<()> {
        wire::send(&self.socket, report, &[])
    }

    fn spawn(&self, id: u64, launch: &Launch, pipes: Vec<OwnedFd>) -> io::Result<()> {
        let mut children = self.children();
        let report = match self.hold.start(|| {
            self.fence.start(|| start(launch, pipes)).unwrap_or_else(|error| Err(error.to_string()))
        }) {
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
        return Err(format!("the working directory {} does not exist", launch.cwd.display()));
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
        // The PATH itself is long, and that of whoever runs the coordinator.
        Some(Errno::NOENT) => format!("there is no program {program} in the PATH of `agent-mate serve`"),
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
