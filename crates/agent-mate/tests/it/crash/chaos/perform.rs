//! Carrying out a schedule in a world of its own, and judging what came of it.

use super::{
    disk::Disk,
    random::Random,
    schedule::{Action, Schedule, Step, Who},
};
use crate::{
    crash::{
        checker::assert_holds,
        history::{Disturbance, Promise, Revocation, is_classified},
        records::Records,
    },
    harness::{Process, Store, World, id, stub},
};
use mate_engine::surroundings::SystemClock;
use mate_model::{Clock as _, task::TaskStateWord};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    fs,
    panic::{self, AssertUnwindSafe},
    path::PathBuf,
    process::Stdio,
    thread,
    time::Duration,
};

const SETTINGS: &str = "[session]\nidle_seconds = 1\nlist_seconds = 5\nsettle_seconds = 20\n\
                        [stop]\ncancel_seconds = 1\nclose_seconds = 1\nterm_seconds = 1\n";
/// The most sessions of a round.
const SESSIONS: usize = 4;
/// How long a stop may take to leave a call without its answer; microseconds.
const STOPPING: i64 = 20_000_000;
/// How long everything may take to come to an end once nothing disturbs it; seconds.
const PATIENCE: u64 = 150;

/// Carries out the schedule; the words of what failed.
pub(super) fn attempt(store: Store, schedule: &Schedule) -> Result<(), String> {
    let done = panic::catch_unwind(AssertUnwindSafe(|| Stage::open(store).carry_out(schedule)));
    done.map_err(|why| {
        let text = why.downcast_ref::<String>().cloned();
        text.or_else(|| why.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    })
}

struct Stage {
    records: Records,
    world: World,
    /// Each session with its tasks.
    sessions: Vec<(String, Vec<String>)>,
    paused: Vec<(Process, u64)>,
    grant: Option<String>,
    revoked_since: Option<i64>,
    revocations: Vec<Revocation>,
    full: bool,
    calls: u64,
    // Last, so that what lives on the disk is gone before.
    disk: Option<Disk>,
}

impl Stage {
    fn open(store: Store) -> Self {
        let mut disk = None;
        let mut world = World::prepared(store, "h", SETTINGS, |home| disk = Disk::mount(home));
        let made = world.ok(&["init"]);
        made["project"]["id"].as_str().expect("a project").clone_into(&mut world.project);
        world.start_serve();
        world.scripted("scripted", &[]);
        world.upstream("demo", &[]);
        let reads = ["--connection", "demo", "--tools", "echo,big", "--effect", "read"];
        world.ok(&[&["grant", "add", "--project", "default"], reads.as_slice()].concat());
        fs::create_dir_all(world.path("faults")).expect("made");
        let records = Records::of(&world);
        let mut stage = Self {
            records,
            world,
            sessions: Vec::new(),
            paused: Vec::new(),
            grant: None,
            revoked_since: None,
            revocations: Vec::new(),
            full: false,
            calls: 0,
            disk,
        };
        stage.grant();
        stage
    }

    fn carry_out(mut self, schedule: &Schedule) {
        for Step { after_ms, action } in &schedule.steps {
            thread::sleep(Duration::from_millis(*after_ms));
            self.act(action);
            for (_, steps) in &mut self.paused {
                *steps -= 1;
            }
            self.wake(|steps| steps == 0);
        }
        self.calm();
        self.end();
    }

    fn act(&mut self, action: &Action) {
        match action {
            Action::Submit { fresh, nth, script } => self.submit(*fresh, *nth, *script),
            Action::Kill { who, nth } => {
                if let Some(one) = self.find(*who, *nth) {
                    // A call whose answer was read or that was never sent has its proof; what was between may not.
                    self.disturb(&format!("{who:?} killed"), *who != Who::Runtime, 0, |_| one.kill());
                }
            }
            Action::Pause { who, nth, steps } => {
                if let Some(one) = self.find(*who, *nth) {
                    one.signal(Signal::STOP);
                    self.paused.push((one, *steps + 1));
                }
            }
            Action::KillServe if self.world.serve.is_some() => self.world.kill_serve(),
            Action::EndServe => {
                if let Some(serve) = self.world.serve.take() {
                    serve.signal(Signal::TERM);
                    serve.ended();
                }
            }
            Action::StartServe if self.world.serve.is_none() && !self.full => {
                self.world.start_serve();
            }
            Action::PauseServe { ms } => {
                if let Some(serve) = &self.world.serve {
                    serve.signal(Signal::STOP);
                    thread::sleep(Duration::from_millis(*ms));
                    serve.signal(Signal::CONT);
                }
            }
            Action::KillEverything => {
                self.paused.clear();
                self.disturb("everything killed", true, 0, |world| {
                    drop(world.serve.take());
                    world.processes("").iter().for_each(Process::kill);
                });
            }
            Action::Stop { nth, kill } => self.stop(*nth, *kill),
            Action::Revoke => self.revoke(),
            Action::Grant => self.grant(),
            Action::Follow { nth, ms } => self.follow(*nth, *ms),
            Action::FillDisk | Action::FreeDisk => self.room(*action == Action::FreeDisk),
            Action::SlowDisk { ms } => {
                for point in self.commits() {
                    fs::write(point, ms.to_string()).expect("written");
                }
            }
            Action::QuickDisk => self.commits().iter().for_each(|point| drop(fs::remove_file(point))),
            Action::KillServe | Action::StartServe => {}
        }
    }

    fn submit(&mut self, fresh: bool, nth: u64, script: u64) {
        let old = pick(&self.sessions, nth).filter(|_| !fresh || self.sessions.len() >= SESSIONS);
        let old = old.map(|(session, _)| session.clone());
        let text = self.script(script);
        let mut words = vec!["task", "add", "--project", "default", "--approve", "--timeout", "20s"];
        if let Some(session) = &old {
            words.extend(["--session", session]);
        }
        words.push(&text);
        let Some(task) = self.asked(&words) else { return };
        let session = task["session"].as_str().expect("a session").to_owned();
        let task = id(&task);
        self.records.promises.extend([Promise::Task(task.clone()), Promise::Approved(task.clone())]);
        match self.sessions.iter_mut().find(|(known, _)| *known == session) {
            Some((_, tasks)) => tasks.push(task),
            None => self.sessions.push((session, vec![task])),
        }
    }

    /// The answer to a request, if there is somebody to ask and it was granted.
    fn asked(&self, words: &[&str]) -> Option<Value> {
        self.world.serve.as_ref()?;
        let output = self.world.cli(words);
        (output.code == 0).then(|| output.json())
    }

    /// A mixture of reads and effects, each with arguments of its own.
    fn script(&mut self, seed: u64) -> String {
        let mut random = Random::of(seed, 1);
        let mut steps = Vec::new();
        for _ in 0..random.within(2, 8) {
            steps.push(match random.within(0, 12) {
                0..=4 => self.call("note"),
                5 | 6 => self.call("echo"),
                7 => self.call("slow"),
                8 => json!({"tools": [self.call("slow"), self.call("note"), self.call("echo")]}),
                9 => self.call("fail"),
                _ => json!({"sleep_ms": random.within(10, 300)}),
            });
        }
        match random.within(0, 12) {
            0 => steps.push(json!({"text": "bye", "exit": 3})),
            1 => steps.push(json!({"text": "bye", "crash": true})),
            2 => steps.push(json!({"sleep_ms": 3000})),
            3 => steps.push(json!({"text": "no", "error": "out of order"})),
            _ => {}
        }
        steps.push(json!({"text": "done"}));
        stub(&json!(steps))
    }

    fn call(&mut self, tool: &str) -> Value {
        self.calls += 1;
        let name = format!("call {}", self.calls);
        let args = match tool {
            "slow" => json!({"seconds": 0.4, "key": name}),
            _ => json!({"text": name}),
        };
        json!({"tool": format!("demo__{tool}"), "args": args})
    }

    /// A living process of one of the sessions.
    fn find(&self, who: Who, nth: u64) -> Option<Process> {
        let word = match who {
            Who::Worker => "session-worker ",
            Who::Runtime => "scripted-runtime",
            Who::Upstream => "effect-server",
        };
        pick(&self.world.processes(word), nth).cloned()
    }

    fn disturb(&mut self, what: &str, excuses: bool, lasting: i64, act: impl FnOnce(&mut World)) {
        let from = now();
        let sessions: Vec<String> = self.sessions.iter().map(|(session, _)| session.clone()).collect();
        let settled = sessions.iter().flat_map(|one| self.records.settled(&self.world, one)).collect();
        act(&mut self.world);
        let one = Disturbance { from, until: now() + lasting, excuses, settled, what: what.to_owned() };
        self.records.disturbances.push(one);
    }

    fn stop(&mut self, nth: u64, kill: bool) {
        let Some(task) = pick(&self.sessions, nth).and_then(|(_, tasks)| tasks.last()).cloned() else {
            return;
        };
        let verb = if kill { "kill" } else { "stop" };
        let mut asked = None;
        // The wish may have been written also when nobody could say so.
        let words = ["task", verb, &task, "--no-wait", "--timeout", "20s"];
        if self.world.serve.is_some() {
            self.disturb(verb, true, STOPPING, |world| {
                asked = (world.cli(&words).code == 0).then(|| task.clone());
            });
        }
        self.records.promises.extend(asked.map(Promise::StopAsked));
    }

    fn revoke(&mut self) {
        let Some(grant) = self.grant.clone() else { return };
        if self.asked(&["grant", "revoke", &grant]).is_some() {
            self.grant = None;
            self.revoked_since = Some(now());
        }
    }

    fn grant(&mut self) {
        if self.grant.is_some() {
            return;
        }
        let before = now();
        let words =
            ["grant", "add", "--project", "default", "--connection", "demo", "--tools", "note,slow,fail"];
        // One that is there without an answer ends the time of which anything can be said.
        let asked = self.asked(&words);
        if let Some(from) = self.revoked_since.take() {
            self.revocations.push(Revocation { from, until: before });
        }
        self.grant = asked.map(|grant| id(&grant));
    }

    fn follow(&self, nth: u64, ms: u64) {
        let Some(task) = pick(&self.sessions, nth).and_then(|(_, tasks)| tasks.last()) else { return };
        let mut command = self.world.command(&["--json", "task", "events", task, "--follow"]);
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut follower = command.spawn().expect("it starts");
        thread::sleep(Duration::from_millis(ms));
        let _ = follower.kill();
        let _ = follower.wait();
    }

    fn room(&mut self, free: bool) {
        let Some(disk) = self.disk.take() else { return };
        if free == self.full {
            self.full = !free;
            self.disturb("the disk", true, STOPPING, |_| if free { disk.free() } else { disk.fill() });
        }
        self.disk = Some(disk);
    }

    /// Files that slow commits down while they are there.
    fn commits(&self) -> [PathBuf; 2] {
        ["sqlite.before_commit.slow", "postgres.before_commit.slow"]
            .map(|name| self.world.path("faults").join(name))
    }

    fn wake(&mut self, due: impl Fn(u64) -> bool) {
        let (wake, sleep) = self.paused.drain(..).partition(|(_, steps)| due(*steps));
        self.paused = sleep;
        let wake: Vec<(Process, u64)> = wake;
        wake.iter().for_each(|(one, _)| one.signal(Signal::CONT));
    }

    /// Nothing disturbs any more.
    fn calm(&mut self) {
        self.wake(|_| true);
        self.act(&Action::QuickDisk);
        self.room(true);
        self.act(&Action::StartServe);
        self.grant();
        assert!(self.grant.is_some(), "a grant that is needed is given once nothing disturbs");
    }

    /// Everything comes to an end, every session can be used again, and the record holds.
    fn end(mut self) {
        let (tasks, _) = self.records.tasks();
        for task in &tasks {
            self.until_classified(&task.id.to_string());
        }
        let text = |number: usize| {
            stub(&json!([{"tool": "demo__note", "args": {"text": format!("encore {number}")}}]))
        };
        let sessions = self.sessions.clone();
        let encores: Vec<String> = sessions
            .iter()
            .enumerate()
            .map(|(number, (session, _))| {
                let words = ["task", "add", "--project", "default", "--session", session, "--approve"];
                id(&self.world.ok(&[&words[..], &[text(number).as_str()]].concat()))
            })
            .collect();
        for task in &encores {
            let state = self.until_classified(task);
            assert_eq!(state, TaskStateWord::Completed, "an encore: {}", self.world.task(task));
        }
        self.world.assert_sessions_are_gone();
        for task in tasks.iter().map(|task| task.id.to_string()).chain(encores) {
            self.world.events(&task);
        }
        let mut history = self.records.history(&self.world);
        history.revocations = self.revocations.clone();
        assert_holds("in the end", &history);
    }

    fn until_classified(&self, task: &str) -> TaskStateWord {
        for _ in 0..PATIENCE * 20 {
            if let Some(state) = self.records.state_of(task).filter(|state| is_classified(*state)) {
                return state;
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("{task} has no end after {PATIENCE} s of calm: {}", self.world.task(task));
    }
}

fn now() -> i64 {
    SystemClock::default().now().0
}

fn pick<T>(all: &[T], nth: u64) -> Option<&T> {
    let count = u64::try_from(all.len()).ok().filter(|count| *count > 0)?;
    all.get(usize::try_from(nth % count).ok()?)
}
