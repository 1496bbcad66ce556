//! One point on one kind of store: a run for each kill that can be carried out there.

use super::{
    faults::Faults,
    kill::{Cast, Kill, lives, until_gone},
    scene::{Plan, Scene, cut_short, encore},
};
use crate::{
    crash::{
        checker::assert_holds,
        history::{Disturbance, Promise, is_classified},
        records::Records,
    },
    harness::{Output, Process, Store, World, id, items, program, run, until},
};
use mate_engine::surroundings::SystemClock;
use mate_model::{Clock as _, task::TaskStateWord};
use mate_testkit::{postgres::TableLock, sqlite::WriteLock};
use rustix::process::Signal;
use serde_json::json;
use std::{fs, thread};

/// Workers end with their task, so that a whole life is seen; bounds are short.
const SETTINGS: &str = "[session]\nidle_seconds = 0\nlist_seconds = 3\nsettle_seconds = 5\n\
                        [stop]\ncancel_seconds = 1\nclose_seconds = 1\nterm_seconds = 1\n";

/// The points that a call passes before any byte of it goes out, or after its answer is here: the upstream's
/// death cannot make it uncertain there.
const CERTAIN: [&str; 16] = [
    "leave.journaled",
    "leave.in_inbox",
    "leave.used_up",
    "admit.observed",
    "admit.reserved",
    "admit.intended",
    "admit.admitted",
    "bridge.before_write",
    "bridge.answer_read",
    "settle.committed",
    "resolve.evidence_committed",
    "resolve.journal_written",
    "resolve.task_settled",
    "verify.look_admitted",
    "verify.answered",
    "verify.recorded",
];

/// What came of each kill.
pub(super) type Cells = Vec<(Kill, String)>;

/// A world in which one point is played again and again.
pub(super) struct Stage {
    world: World,
    records: Records,
    faults: Faults,
    plan: Plan,
    runs: Vec<(String, String)>,
    /// First processes of containers: nobody else knows them.
    inner: Vec<Process>,
    /// While it is there, the session's journal takes nothing.
    lock: Option<Lock>,
}

/// Somebody else who writes to a session's journal.
enum Lock {
    #[expect(dead_code, reason = "it does its work by being there")]
    File(WriteLock),
    #[expect(dead_code, reason = "it does its work by being there")]
    Table(TableLock),
}

/// What was begun, and is not acknowledged yet.
struct Begun {
    task: Option<String>,
    session: Option<String>,
    /// The command that somebody waits for, and its words.
    asking: Option<(thread::JoinHandle<Output>, Vec<String>)>,
}

impl Stage {
    pub(super) fn open(store: Store, plan: Plan) -> Self {
        let mut world = World::bare(store, "h", SETTINGS);
        let made = world.ok(&["init"]);
        made["project"]["id"].as_str().expect("a project").clone_into(&mut world.project);
        world.start_serve();
        // Over a pipe it answers what it is asked in the middle of a call.
        world.scripted("scripted", if plan.scene == Scene::Ask { &["--no-http"] } else { &[] });
        if plan.scene == Scene::Verify {
            with_recipe(&world);
        } else {
            world.upstream("demo", &[]);
        }
        let grant = |tools: &str, more: [&str; 2]| {
            let words = ["grant", "add", "--project", "default", "--connection", "demo", "--tools", tools];
            world.ok(&[words.as_slice(), more.as_slice()].concat());
        };
        if plan.scene == Scene::Leave {
            grant("slow", ["--approve", "always"]);
            grant("note", ["--max-calls", "1000"]);
        } else {
            grant("note,slow,job,fail,confirm", ["--max-calls", "1000"]);
        }
        grant("echo,big,was_done", ["--effect", "read"]);
        let (records, faults) = (Records::of(&world), Faults::of(&world));
        Self { world, records, faults, plan, runs: Vec::new(), inner: Vec::new(), lock: None }
    }

    /// Plays the point until every kill is carried out or known to be no other than one that was.
    pub(super) fn every_kill(mut self) -> Cells {
        let mut cells = Cells::new();
        let mut left = Kill::ALL.to_vec();
        while !left.is_empty() {
            let name = format!("{}-{}", self.plan.point, left[0].word());
            let begun = self.begin(&name);
            let held = self.faults.until_held(self.plan.point);
            if self.plan.point == "bridge.written" {
                // So that it is certain that the effect has happened.
                self.until_begun(&format!("first {name}"));
            }
            let cast = Cast::look(&self.world, begun.session.as_deref(), held);
            self.inner.extend(cast.inner.clone());
            left.retain(|kill| {
                let there = cast.target(*kill).is_some();
                if !there {
                    cells.push((*kill, cast.instead(*kill).to_owned()));
                }
                there
            });
            let kill = left.remove(0);
            self.strike(kill, &cast, begun.session.as_deref());
            self.go_on(begun, &name, &cast.held);
            self.judge(&format!("{} x {}", self.plan.point, kill.word()));
            cells.push((kill, "holds".to_owned()));
        }
        self.close();
        cells.sort_by_key(|(kill, _)| *kill);
        cells
    }

    /// Plays the point with its own process killed; says whether the reach that is meant came at all.
    pub(super) fn itself_once(&mut self, number: u64) -> bool {
        self.plan.number = number;
        let name = format!("{}-{}-{number}", self.plan.point, self.plan.role);
        let begun = self.begin(&name);
        let task = begun.task.clone().expect("a task");
        let held = until("the point, or the end of the task and its worker", || {
            match self.faults.held(self.plan.point) {
                Some(held) => Some(Some(held)),
                None => {
                    let over = self.records.state_of(&task) == Some(TaskStateWord::Completed)
                        && self.world.processes("session-worker ").is_empty();
                    over.then_some(None)
                }
            }
        });
        let Some(held) = held else {
            self.faults.clear();
            return false;
        };
        let cast = Cast::look(&self.world, begun.session.as_deref(), held);
        self.inner.extend(cast.inner.clone());
        self.strike(Kill::Itself, &cast, begun.session.as_deref());
        self.go_on(begun, &name, &cast.held);
        self.judge(&name);
        true
    }

    fn begin(&mut self, name: &str) -> Begun {
        // The worker of the run before may be about to end: it must not be the one that is held.
        until("the end of the workers before", || {
            self.world.processes("session-worker ").is_empty().then_some(())
        });
        let Plan { point, scene, role, number } = self.plan;
        let instructions = scene.instructions(name);
        let add = ["task", "add", "--project", "default", "--key", name, instructions.as_str()];
        let arm = |stage: &Self| stage.faults.arm(point, role, number);
        match scene {
            Scene::Init | Scene::Keys => unreachable!("what is done to a home has tests of its own"),
            Scene::Submit => {
                arm(self);
                Begun {
                    task: None,
                    session: None,
                    asking: Some(self.ask(&[&add[..], &["--approve"]].concat())),
                }
            }
            Scene::Approve => {
                let task = self.world.ok(&add);
                self.records.promises.push(Promise::Task(id(&task)));
                arm(self);
                let asking = Some(self.ask(&["task", "approve", &id(&task)]));
                Begun { task: Some(id(&task)), session: task["session"].as_str().map(str::to_owned), asking }
            }
            Scene::Resume => {
                let first = cut_short(name);
                let words =
                    ["task", "add", "--project", "default", "--key", name, "--approve", first.as_str()];
                let old = self.world.ok(&words);
                self.records.promises.push(Promise::Approved(id(&old)));
                self.records.until_classified(&id(&old));
                arm(self);
                let key = format!("{name}-again");
                let words = ["task", "resume", &id(&old), "--key", &key, instructions.as_str()];
                let asking = Some(self.ask(&words));
                Begun { task: None, session: old["session"].as_str().map(str::to_owned), asking }
            }
            Scene::Work
            | Scene::Leave
            | Scene::AsTask
            | Scene::Ask
            | Scene::Artifact
            | Scene::RecoverProof
            | Scene::Lost
            | Scene::Recover
            | Scene::Stop
            | Scene::GiveUp
            | Scene::Resolve
            | Scene::Verify
            | Scene::Hold
            | Scene::TakeIn
            | Scene::RecoverHeld => {
                if matches!(scene, Scene::Work | Scene::AsTask | Scene::Ask | Scene::Artifact | Scene::Leave)
                {
                    arm(self);
                }
                if let Some(before) = scene.held_before() {
                    self.faults.arm(before, "session-worker", 1);
                }
                if scene == Scene::GiveUp {
                    self.break_settings(true);
                    arm(self);
                }
                let task = self.world.ok(&[&add[..], &["--approve"]].concat());
                let session = task["session"].as_str().expect("a session").to_owned();
                let task = id(&task);
                self.records.promises.extend([Promise::Task(task.clone()), Promise::Approved(task.clone())]);
                self.lead_up(&task, &session, name);
                let answered = matches!(point, "leave.answered" | "leave.used_up").then(|| {
                    let asked = until("a call that asks", || self.open_approvals().pop());
                    self.ask(&["approval", "allow", &asked])
                });
                let asking = (scene == Scene::Resolve).then(|| {
                    let operation = self.slow_of(&session);
                    let as_what = ["operation", "resolve", operation.as_str(), "--as", "abandoned"];
                    self.ask(&[&as_what[..], &["--reason", "nobody can tell"]].concat())
                });
                Begun { task: Some(task), session: Some(session), asking: asking.or(answered) }
            }
        }
    }

    /// What waits for a person's answer.
    fn open_approvals(&self) -> Vec<String> {
        items(&self.world.ok(&["approval", "list"])).iter().map(id).collect()
    }

    /// Gives leave to whatever asks, until the task is classified. What was withdrawn meanwhile needs none.
    fn give_leave_until_classified(&mut self, task: &str) {
        until("the end of a task that asks", || {
            for asked in self.open_approvals() {
                self.world.cli(&["approval", "allow", &asked]);
            }
            self.records.state_of(task).filter(|state| is_classified(*state))
        });
    }

    /// What must happen first, so that the point is reached.
    fn lead_up(&mut self, task: &str, session: &str, name: &str) {
        let Plan { point, scene, role, number } = self.plan;
        let slow = format!("slow {name}");
        match scene {
            Scene::Init
            | Scene::Keys
            | Scene::Submit
            | Scene::Approve
            | Scene::Resume
            | Scene::Work
            | Scene::Leave
            | Scene::AsTask
            | Scene::Ask
            | Scene::Artifact
            | Scene::GiveUp => {}
            Scene::Stop => {
                let text = format!("first {name}");
                until("the note", || {
                    let seen = self.world.effects();
                    seen.iter()
                        .any(|line| line["kind"] == "end" && line["key"] == text.as_str())
                        .then_some(())
                });
                self.faults.arm(point, role, number);
                self.world.ok(&["task", "stop", task, "--no-wait"]);
                self.records.promises.push(Promise::StopAsked(task.to_owned()));
            }
            Scene::Lost => {
                self.until_begun(&slow);
                self.faults.arm(point, role, number);
                let runtime = Cast::look(&self.world, Some(session), 0).runtime.expect("a runtime");
                self.disturb("the runtime was killed", false, session, |_| runtime.kill());
            }
            Scene::Recover => {
                self.until_begun(&slow);
                self.faults.arm(point, role, number);
                let worker = Cast::look(&self.world, Some(session), 0).worker.expect("a worker");
                self.disturb("the worker was killed", true, session, |_| worker.kill());
            }
            Scene::RecoverProof | Scene::Verify => {
                let held = self.faults.until_held(scene.held_before().expect("a point"));
                self.faults.arm(point, role, number);
                let worker = Cast::look(&self.world, Some(session), held).held;
                self.disturb("the worker was killed", true, session, |_| worker.kill());
            }
            Scene::Resolve => {
                self.until_begun(&slow);
                let worker = Cast::look(&self.world, Some(session), 0).worker.expect("a worker");
                self.disturb("the worker was killed", true, session, |_| worker.kill());
                assert_eq!(self.records.until_classified(task), TaskStateWord::Unknown);
                self.faults.arm(point, role, number);
            }
            Scene::Hold | Scene::TakeIn | Scene::RecoverHeld => {
                let before = scene.held_before().expect("a point");
                let held = self.faults.until_held(before);
                self.lock = Some(self.lock_journal(session));
                if scene == Scene::Hold {
                    self.faults.arm(point, role, number);
                }
                self.faults.go(before);
                if scene != Scene::Hold {
                    let file = self.world.session_folder(session).join("held");
                    until("a held outcome", || {
                        fs::read(&file).is_ok_and(|all| all.iter().any(|byte| *byte != 0)).then_some(())
                    });
                    self.faults.arm(point, role, number);
                    if scene == Scene::RecoverHeld {
                        let worker = Cast::look(&self.world, Some(session), held).held;
                        self.disturb("the worker was killed", false, session, |_| worker.kill());
                    }
                    self.lock = None;
                }
            }
        }
    }

    /// The unknown call of a session whose worker was killed in it.
    fn slow_of(&mut self, session: &str) -> String {
        let (operations, _) = self.records.operations(&self.world, session.parse().expect("a session"));
        operations.iter().find(|op| op.tool == "slow").expect("the call").id.to_string()
    }

    fn lock_journal(&self, session: &str) -> Lock {
        match self.world.database_url() {
            None => {
                let file = self.world.session_folder(session).join("journal.db");
                Lock::File(WriteLock::take(&file).expect("locked"))
            }
            Some(url) => Lock::Table(TableLock::take(url, "operations").expect("locked")),
        }
    }

    /// Waits until the effect with this key has begun.
    fn until_begun(&self, key: &str) {
        until(&format!("the effect {key}"), || {
            let seen = self.world.effects();
            seen.iter().any(|line| line["kind"] == "begin" && line["key"] == key).then_some(())
        });
    }

    fn ask(&self, words: &[&str]) -> (thread::JoinHandle<Output>, Vec<String>) {
        let mut all = vec!["--json"];
        all.extend(words);
        let command = self.world.command(&all);
        (thread::spawn(move || run(command, None)), words.iter().map(|word| (*word).to_owned()).collect())
    }

    fn disturb(&mut self, what: &str, excuses: bool, session: &str, act: impl FnOnce(&mut World)) {
        let from = now();
        let settled = self.records.settled(&self.world, session);
        act(&mut self.world);
        let one = Disturbance { from, until: now(), excuses, settled, what: what.to_owned() };
        self.records.disturbances.push(one);
    }

    fn strike(&mut self, kill: Kill, cast: &Cast, session: Option<&str>) {
        let serves = self.world.serve.as_ref().map(|serve| serve.pid().as_raw_nonzero().get());
        let excuses = match kill {
            // What is held beside the journal is proof.
            _ if self.plan.point.starts_with("spill.") => false,
            Kill::Itself => Some(cast.held.pid) != serves,
            Kill::Worker | Kill::Everything => true,
            Kill::Runtime => false,
            Kill::Upstream => !CERTAIN.contains(&self.plan.point),
        };
        let target = cast.target(kill).expect("somebody to kill").clone();
        let blow = |world: &mut World| match kill {
            Kill::Everything => {
                world.kill_serve();
                world.processes("").iter().for_each(Process::kill);
            }
            Kill::Itself if Some(target.pid) == serves => world.kill_serve(),
            Kill::Itself | Kill::Worker | Kill::Runtime | Kill::Upstream => target.kill(),
        };
        match session {
            Some(session) => self.disturb(kill.word(), excuses, session, blow),
            None => blow(&mut self.world),
        }
        until_gone(&target);
    }

    /// Lets whoever is held go on, starts what is missing, and waits for the end of it all.
    fn go_on(&mut self, begun: Begun, name: &str, held: &Process) {
        self.faults.go(self.plan.point);
        self.lock = None;
        until("whoever was held goes on, or is gone", || {
            (self.faults.held(self.plan.point).is_none() || !lives(held.pid)).then_some(())
        });
        if self.plan.scene == Scene::GiveUp {
            self.break_settings(false);
        }
        if let Some(before) = self.plan.scene.held_before() {
            self.faults.go(before);
        }
        if self.world.serve.is_none() {
            self.world.start_serve();
        }
        let mut task = begun.task;
        let mut session = begun.session;
        if let Some((asking, words)) = begun.asking {
            let answer = asking.join().expect("it ran");
            // Nobody knows what became of a request without an answer: it is made again, with the same key.
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let answer = if answer.code == 0 { answer.json() } else { self.world.ok(&words) };
            if !matches!(self.plan.scene, Scene::Resolve | Scene::Leave) {
                session = answer["session"].as_str().map(str::to_owned);
                self.records.promises.extend([Promise::Task(id(&answer)), Promise::Approved(id(&answer))]);
                task = Some(id(&answer));
            }
        }
        let (task, session) = (task.expect("a task"), session.expect("a session"));
        if self.plan.scene == Scene::Leave {
            self.give_leave_until_classified(&task);
        }
        if matches!(self.plan.scene, Scene::Resolve | Scene::Verify) {
            self.records.until_settled(&self.world, &session, &task);
        } else {
            self.records.until_classified(&task);
        }
        self.faults.clear();
        let wanted = self.plan.scene.instructions(name);
        let (tasks, _) = self.records.tasks();
        let same = tasks.iter().filter(|task| task.instructions == wanted).count();
        assert_eq!(same, 1, "{name}: submitted once, and there {same} times");
        self.runs.push((session, name.to_owned()));
    }

    /// Every session can be used again, and nothing lives on when nothing is to do.
    pub(super) fn close(mut self) {
        let encores: Vec<String> = self
            .runs
            .iter()
            .map(|(session, name)| {
                let text = encore(name);
                let words = ["task", "add", "--project", "default", "--session", session, "--approve", &text];
                id(&self.world.ok(&words))
            })
            .collect();
        for task in &encores {
            let state = self.records.until_classified(task);
            assert_eq!(state, TaskStateWord::Completed, "{}: {}", self.plan.point, self.world.task(task));
        }
        self.world.assert_sessions_are_gone();
        until("the end of every container", || self.inner.iter().all(|one| !lives(one.pid)).then_some(()));
        self.judge(&format!("{} at the end", self.plan.point));
        let serve = self.world.serve.take().expect("a coordinator");
        serve.signal(Signal::TERM);
        assert!(serve.ended().success(), "the coordinator ends when it is asked to");
    }

    fn judge(&mut self, when: &str) {
        let history = self.records.history(&self.world);
        assert_holds(when, &history);
    }

    /// Workers read the settings when they start; the coordinator that runs has read them.
    fn break_settings(&self, broken: bool) {
        let file = self.world.home().join("config.toml");
        let text = fs::read_to_string(&file).expect("read");
        let mended = text.replace("no_such_setting = 1\n", "");
        let text = if broken {
            mended.replacen("[session]\n", "[session]\nno_such_setting = 1\n", 1)
        } else {
            mended
        };
        fs::write(&file, text).expect("written");
    }
}

/// Links the effect server with a recipe that looks in its own log.
fn with_recipe(world: &World) {
    let recipe = json!([{
        "tools": ["*"], "ask": "was_done", "about": "the server's log", "arguments": {"key": "{operation}"},
        "happened": [{"at": "/done", "equals": true}],
        "did_not_happen": [{"at": "/done", "equals": false}],
    }]);
    let (file, log) = (world.path("recipes.json"), world.path("effects.log"));
    fs::write(&file, recipe.to_string()).expect("written");
    let (file, log) = (file.to_str().expect("text"), log.to_str().expect("text"));
    let add = ["connection", "add", "demo", "--verify", file, "--", program(), "effect-server", "--log", log];
    world.ok(&add);
}

pub(super) fn now() -> i64 {
    SystemClock::default().now().0
}

/// A home whose making was killed is made by the next try, and works.
pub(super) fn setting_up(store: Store, plan: Plan) -> Cells {
    let mut world = World::bare(store, "h", SETTINGS);
    let faults = Faults::of(&world);
    faults.arm(plan.point, plan.role, plan.number);
    let words = ["--json", "init"];
    let command = world.command(&words);
    let asking = thread::spawn(move || run(command, None));
    let held = faults.until_held(plan.point);
    Process { pid: held, command: program().to_owned() }.kill();
    assert_ne!(asking.join().expect("it ran").code, 0);
    faults.clear();
    let made = world.ok(&["init"]);
    made["project"]["id"].as_str().expect("a project").clone_into(&mut world.project);
    world.start_serve();
    world.scripted("scripted", &[]);
    world.upstream("demo", &[]);
    world.grant("demo", "note");
    let task = id(&world.ok(&["task", "add", "--project", "default", "--approve", &encore(plan.point)]));
    let mut records = Records::of(&world);
    assert_eq!(records.until_classified(&task), TaskStateWord::Completed, "{}", world.task(&task));
    records.promises.push(Promise::Task(task));
    assert_holds(plan.point, &records.history(&world));
    let same = "= itself".to_owned();
    let nobody = "nobody there".to_owned();
    let cell = |kill| match kill {
        Kill::Itself => "holds".to_owned(),
        Kill::Everything => same.clone(),
        Kill::Worker | Kill::Runtime | Kill::Upstream => nobody.clone(),
    };
    Kill::ALL.into_iter().map(|kill| (kill, cell(kill))).collect()
}
