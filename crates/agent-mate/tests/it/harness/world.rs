//! One test's own installation.

use super::{Output, Process, Serve, command, processes, program, run, until, watchdog::Watchdog};
use mate_testkit::postgres::TestDatabase;
use rustix::process::Signal;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// Which stores a test runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Sqlite,
    Postgres,
}

/// Bounds that are short enough for tests.
const SETTINGS: &str = "[session]\nlist_seconds = 3\nsettle_seconds = 5\n\
                        [stop]\ncancel_seconds = 1\nclose_seconds = 1\nterm_seconds = 1\n";

/// A home with its coordinator, and everything that runs because of it. Ends all of it when dropped.
pub(crate) struct World {
    pub(crate) serve: Option<Serve>,
    pub(crate) project: String,
    database: Option<TestDatabase>,
    _watchdog: Watchdog,
    home: String,
    folder: TempDir,
}

/// Instructions that carry a script for the scripted runtime and the scripted model.
pub(crate) fn stub(steps: &Value) -> String {
    format!("Please do as the script says. STUB[[ {steps} ]]")
}

impl World {
    /// An initialised home with a running coordinator, and nothing in it.
    pub(crate) fn empty(store: Store) -> Self {
        Self::at(store, "h")
    }

    /// The same, with a name of the home's folder to choose.
    pub(crate) fn at(store: Store, home: &str) -> Self {
        Self::on((store == Store::Postgres).then(TestDatabase::fresh), home)
    }

    /// The same, on this database.
    pub(crate) fn on(database: Option<TestDatabase>, home: &str) -> Self {
        let mut world = Self::laid_out(database, home, SETTINGS, |_| {});
        let made = world.ok(&["init"]);
        made["project"]["id"].as_str().expect("a project").clone_into(&mut world.project);
        world.start_serve();
        world
    }

    /// An initialised home with a running coordinator and settings of its own.
    pub(crate) fn settled(store: Store, settings: &str) -> Self {
        let database = (store == Store::Postgres).then(TestDatabase::fresh);
        let mut world = Self::laid_out(database, "h", settings, |_| {});
        let made = world.ok(&["init"]);
        made["project"]["id"].as_str().expect("a project").clone_into(&mut world.project);
        world.start_serve();
        world
    }

    /// A home with its settings, not initialised yet.
    #[cfg(feature = "faults")]
    pub(crate) fn bare(store: Store, home: &str, settings: &str) -> Self {
        Self::prepared(store, home, settings, |_| {})
    }

    /// The same, after something was done to the home's empty folder.
    #[cfg(feature = "faults")]
    pub(crate) fn prepared(store: Store, home: &str, settings: &str, prepare: impl FnOnce(&Path)) -> Self {
        Self::laid_out((store == Store::Postgres).then(TestDatabase::fresh), home, settings, prepare)
    }

    fn laid_out(
        database: Option<TestDatabase>,
        home: &str,
        settings: &str,
        prepare: impl FnOnce(&Path),
    ) -> Self {
        // Sockets have short names only.
        let folder = tempfile::Builder::new().prefix("am-").tempdir_in("/tmp").expect("a folder");
        let _watchdog = Watchdog::over(folder.path());
        let home = home.to_owned();
        let world = Self { serve: None, project: String::new(), database, _watchdog, home, folder };
        fs::create_dir(world.user()).expect("made");
        let settings = match world.database_url() {
            Some(url) => format!("{settings}[store]\ndatabase = \"{url}\"\n"),
            None => settings.to_owned(),
        };
        use std::os::unix::fs::DirBuilderExt as _;
        fs::DirBuilder::new().mode(0o700).create(world.home()).expect("made");
        prepare(&world.home());
        fs::write(world.home().join("config.toml"), settings).expect("written");
        world
    }

    /// With the scripted runtime, the effect server as the connection `demo`, and a grant of all its tools.
    pub(crate) fn new(store: Store) -> Self {
        Self::empty(store).with_demo()
    }

    /// With the scripted runtime, the effect server as the connection `demo`, and a grant of all its tools.
    pub(crate) fn with_demo(self) -> Self {
        self.scripted("scripted", &[]);
        self.upstream("demo", &[]);
        self.grant("demo", "*");
        self
    }

    /// Registers the scripted runtime under a name.
    pub(crate) fn scripted(&self, name: &str, options: &[&str]) {
        let log = format!("SCRIPTED_LOG={}", self.path("prompts.log").display());
        let told = format!("SCRIPTED_TOLD={}", self.path("told.log").display());
        let mut command =
            vec!["runtime", "add", name, "--", "/usr/bin/env", &log, &told, program(), "scripted-runtime"];
        command.extend(options);
        self.ok(&command);
    }

    /// Links the effect server under a name.
    pub(crate) fn upstream(&self, name: &str, options: &[&str]) {
        let log = self.path("effects.log");
        let log = log.to_str().expect("text");
        let mut command = vec!["connection", "add", name, "--", program(), "effect-server", "--log", log];
        command.extend(options);
        self.ok(&command);
    }

    /// Grants tools of a connection to the project; gives the grant's id.
    pub(crate) fn grant(&self, connection: &str, tools: &str) -> String {
        id(&self.ok(&["grant", "add", "--project", "default", "--connection", connection, "--tools", tools]))
    }

    /// The same, with the class of what the tools may change.
    pub(crate) fn grant_as(&self, connection: &str, tools: &str, class: &str) -> String {
        let words = ["grant", "add", "--project", "default", "--connection", connection, "--tools", tools];
        id(&self.ok(&[words.as_slice(), &["--effect", class]].concat()))
    }

    pub(crate) fn start_serve(&mut self) {
        self.start_serve_with(&[]);
    }

    /// The same, with more in its environment.
    pub(crate) fn start_serve_with(&mut self, env: &[(&str, &str)]) {
        assert!(self.serve.is_none(), "the coordinator runs already");
        self.serve = Some(Serve::start(&self.home(), &self.user(), &self.path("serve.log"), env));
    }

    /// Ends the coordinator with SIGKILL and waits until it is gone.
    pub(crate) fn kill_serve(&mut self) {
        let serve = self.serve.take().expect("a coordinator");
        serve.signal(Signal::KILL);
        serve.ended();
    }

    /// The folder of everything in the test.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path(&self.home)
    }

    /// What is `$HOME` for everything in the test.
    pub(crate) fn user(&self) -> PathBuf {
        self.path("user")
    }

    pub(crate) fn database_url(&self) -> Option<&str> {
        self.database.as_ref().map(|database| database.url.as_str())
    }

    pub(crate) fn session_folder(&self, session: &str) -> PathBuf {
        self.home().join("sessions").join(session)
    }

    /// The program with this home, to be run otherwise than by [`World::cli`].
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = command::at_home(&self.home(), &self.user());
        command.args(words);
        command
    }

    /// Runs a command with `--json`.
    pub(crate) fn cli(&self, words: &[&str]) -> Output {
        let mut all = vec!["--json"];
        all.extend(words);
        run(self.command(&all), None)
    }

    /// Runs a command that must succeed; what it printed.
    pub(crate) fn ok(&self, words: &[&str]) -> Value {
        let output = self.cli(words);
        assert_eq!(output.code, 0, "{words:?}: {output:?}");
        output.json()
    }

    /// Runs a command that must end with this code; what it printed.
    pub(crate) fn ok_code(&self, words: &[&str], code: i32) -> Value {
        let output = self.cli(words);
        assert_eq!(output.code, code, "{words:?}: {output:?}");
        output.json()
    }

    /// Adds a section to the settings.
    pub(crate) fn set(&self, section: &str) {
        let path = self.home().join("config.toml");
        let before = fs::read_to_string(&path).expect("settings");
        fs::write(path, format!("{before}{section}")).expect("written");
    }

    /// Adds a setting to those that sessions read when their worker starts: a line of the section `[session]`.
    pub(crate) fn set_session(&self, line: &str) {
        let path = self.home().join("config.toml");
        let before = fs::read_to_string(&path).expect("settings");
        fs::write(path, before.replacen("[session]\n", &format!("[session]\n{line}\n"), 1)).expect("written");
    }

    /// Submits and approves a task in a new session.
    pub(crate) fn submit(&self, steps: &Value) -> Value {
        let mut text = stub(steps);
        // Longer than one argument may be.
        if text.len() > 100_000 {
            let file = self.path("instructions");
            fs::write(&file, &text).expect("written");
            text = format!("@{}", file.display());
        }
        self.ok(&["task", "add", "--project", "default", "--approve", &text])
    }

    /// Submits and approves a task in a session that exists.
    pub(crate) fn submit_in(&self, session: &str, steps: &Value) -> Value {
        self.ok(&["task", "add", "--project", "default", "--session", session, "--approve", &stub(steps)])
    }

    /// Waits until a task has ended; what `task wait` printed, and its exit code.
    pub(crate) fn wait(&self, task: &str) -> (Value, i32) {
        let output = self.cli(&["task", "wait", task, "--timeout", "55s"]);
        assert!((5..=7).contains(&output.code) || output.code == 0, "{output:?}");
        (output.json(), output.code)
    }

    /// Waits until a task that was unknown has taken its end: that is written after what settled its last operation.
    pub(crate) fn until_ended(&self, task: &str, code: i32) {
        until(&format!("{task} to end with {code}"), || {
            let ended = self.wait(task).1;
            assert!(ended == code || ended == 6, "{task} ended with {ended}");
            (ended == code).then_some(())
        });
    }

    /// Submits, waits, and gives what it came to.
    pub(crate) fn carry_out(&self, steps: &Value) -> (Value, i32) {
        self.wait(&id(&self.submit(steps)))
    }

    /// The living processes of this test whose command line has the word; each argument ends with a space there.
    pub(crate) fn processes(&self, word: &str) -> Vec<Process> {
        processes::of(self.folder.path()).into_iter().filter(|one| one.command.contains(word)).collect()
    }

    /// The one living process with the word, once it is there.
    pub(crate) fn the_process(&self, word: &str) -> Process {
        until(&format!("one process {word}"), || {
            let mut found = self.processes(word);
            (found.len() == 1).then(|| found.pop()).flatten()
        })
    }

    /// The worker's process, as recorded in its session.
    pub(crate) fn worker(&self, session: &str) -> Process {
        self.the_process(&format!("session-worker {session}"))
    }

    /// Waits until nothing of any session lives: no worker, keeper, runtime or upstream.
    pub(crate) fn assert_sessions_are_gone(&self) {
        let serve = self.serve.as_ref().map(|serve| serve.pid().as_raw_nonzero().get());
        let all = || -> Vec<Process> {
            processes::of(self.folder.path()).into_iter().filter(|one| Some(one.pid) != serve).collect()
        };
        until("the end of every process of the sessions", || all().is_empty().then_some(()));
    }
}

/// An object's id.
pub(crate) fn id(object: &Value) -> String {
    object["id"].as_str().unwrap_or_else(|| panic!("no id in {object}")).to_owned()
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            show(&self.path("serve.log"));
            for session in fs::read_dir(self.home().join("sessions")).into_iter().flatten().flatten() {
                show(&session.path().join("worker.log"));
            }
        }
        // The coordinator first: it would start new workers.
        self.serve = None;
        for _ in 0..200 {
            let left = processes::of(self.folder.path());
            if left.is_empty() {
                break;
            }
            left.iter().for_each(Process::kill);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

fn show(path: &Path) {
    let text = fs::read_to_string(path).unwrap_or_default();
    eprintln!("--- {}\n{text}", path.display());
}
