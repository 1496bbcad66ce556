//! The process zoo, in each means of containment, and every way to end it: nothing survives.

use crate::surroundings::{block_on, launch, shell, until};
use mate_model::containment::{Means, MeansChoice};
use mate_runtime::container::{
    Container, ContainerRecord, ContainerSpec, EXIT_FILE, Identity, Living, Proof, end_container, prove_empty,
};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

crate::cases! {
    g06_zoo_pid_namespace_ended,
    g06_zoo_cgroup_ended,
    g06_zoo_subreaper_ended,
    g06_zoo_pid_namespace_worker_killed,
    g06_zoo_cgroup_worker_killed,
    g06_zoo_subreaper_worker_killed,
    g06_zoo_pid_namespace_outer_keeper_killed,
    g06_zoo_cgroup_outer_keeper_killed,
    g06_zoo_subreaper_outer_keeper_killed,
    g06_zoo_pid_namespace_inner_keeper_killed,
    g06_zoo_cgroup_inner_keeper_killed,
    g06_zoo_subreaper_inner_keeper_killed,
    g06_zoo_pid_namespace_whole_keeper_killed,
    g06_zoo_cgroup_whole_keeper_killed,
    g06_zoo_subreaper_whole_keeper_killed,
    g06_zoo_killed_in_each_means_and_the_container_stays,
    g06_an_unproved_end_is_not_an_end,
    g06_a_frozen_container_is_ended_from_outside,
    each_means_says_what_it_is,
}

/// How the zoo is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Asked,
    WorkerKilled,
    OuterKilled,
    InnerKilled,
    KeeperKilled,
}

macro_rules! table {
    ($($name:ident: $means:ident, $end:ident;)*) => {
        $(async fn $name() { ended(MeansChoice::$means, End::$end).await; })*
    };
}

table! {
    g06_zoo_pid_namespace_ended: PidNamespace, Asked;
    g06_zoo_cgroup_ended: Cgroup, Asked;
    g06_zoo_subreaper_ended: Subreaper, Asked;
    g06_zoo_pid_namespace_worker_killed: PidNamespace, WorkerKilled;
    g06_zoo_cgroup_worker_killed: Cgroup, WorkerKilled;
    g06_zoo_subreaper_worker_killed: Subreaper, WorkerKilled;
    g06_zoo_pid_namespace_outer_keeper_killed: PidNamespace, OuterKilled;
    g06_zoo_cgroup_outer_keeper_killed: Cgroup, OuterKilled;
    g06_zoo_subreaper_outer_keeper_killed: Subreaper, OuterKilled;
    g06_zoo_pid_namespace_inner_keeper_killed: PidNamespace, InnerKilled;
    g06_zoo_cgroup_inner_keeper_killed: Cgroup, InnerKilled;
    g06_zoo_subreaper_inner_keeper_killed: Subreaper, InnerKilled;
    g06_zoo_pid_namespace_whole_keeper_killed: PidNamespace, KeeperKilled;
    g06_zoo_cgroup_whole_keeper_killed: Cgroup, KeeperKilled;
    g06_zoo_subreaper_whole_keeper_killed: Subreaper, KeeperKilled;
}

/// A folder for the session's records, and one in which the zoo lives.
struct Grounds {
    folder: tempfile::TempDir,
}

impl Grounds {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let grounds = Self { folder };
        fs::create_dir(grounds.zoo()).unwrap();
        fs::write(grounds.zoo().join("open"), "").unwrap();
        fs::write(grounds.zoo().join("zoo.py"), include_str!("zoo.py")).unwrap();
        grounds
    }

    fn records(&self) -> &Path {
        self.folder.path()
    }

    fn zoo(&self) -> PathBuf {
        self.folder.path().join("zoo")
    }

    /// What lives there: works in the folder, or names it in its command line. Keepers do neither.
    fn survivors(&self) -> Vec<(i32, String)> {
        let zoo = self.zoo();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
                continue;
            };
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            let cwd = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
            if cwd.starts_with(&zoo) || line.contains(zoo.to_str().unwrap()) {
                found.push((pid, line));
            }
        }
        found
    }

    fn record(&self) -> ContainerRecord {
        ContainerRecord::read(self.records()).unwrap().unwrap()
    }
}

impl Drop for Grounds {
    fn drop(&mut self) {
        // A test that fails leaves no storm behind.
        let _ = fs::remove_file(self.zoo().join("open"));
        for _ in 0..100 {
            let left = self.survivors();
            if left.is_empty() {
                return;
            }
            left.iter().filter_map(|(pid, _)| Pid::from_raw(*pid)).for_each(|pid| {
                let _ = kill_process(pid, Signal::KILL);
            });
        }
    }
}

/// More than the animals themselves: the storm is on.
const STORMY: usize = 60;

async fn open_zoo(container: &Container, zoo: &Path) {
    let animals = launch(zoo, &["python3", zoo.join("zoo.py").to_str().unwrap(), "all", "mark"]);
    drop(container.spawn(animals).await.unwrap());
}

async fn made(records: &Path, means: MeansChoice) -> Container {
    let spec =
        ContainerSpec { means, ..ContainerSpec::new(std::env::current_exe().unwrap(), records.to_owned()) };
    Container::start(&spec).await.unwrap()
}

/// Whether this machine has the means; a test says so when it does not.
async fn offered(means: MeansChoice) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let spec = ContainerSpec {
        means,
        ..ContainerSpec::new(std::env::current_exe().unwrap(), folder.path().to_owned())
    };
    match Container::start(&spec).await {
        Ok(container) => container.kill().await.is_ok(),
        Err(error) => {
            eprintln!("NOT TESTED: this machine does not offer {means}: {error}");
            false
        }
    }
}

fn kill(process: &Identity) {
    // The test has just read it from the container's record.
    let handle = process.open().unwrap().expect("it lives");
    rustix::process::pidfd_send_signal(&handle, Signal::KILL).unwrap();
}

async fn ended(means: MeansChoice, end: End) {
    if !offered(means).await {
        return;
    }
    let grounds = Grounds::new();
    let mut worker = None;
    let mut held = None;
    if end == End::WorkerKilled {
        worker = Some(worker_with_zoo(&grounds, means));
    } else {
        let container = made(grounds.records(), means).await;
        open_zoo(&container, &grounds.zoo()).await;
        held = Some(container);
    }
    until("the storm is on", async || grounds.survivors().len() >= STORMY).await;
    let record = grounds.record();
    assert_eq!(record.means.as_str(), means.as_str());
    assert!(matches!(prove_empty(grounds.records()), Err(Living::Running { .. })));
    match end {
        End::Asked => {}
        End::WorkerKilled => {
            let mut worker = worker.unwrap();
            worker.kill().unwrap();
            worker.wait().unwrap();
        }
        End::OuterKilled => kill(&record.keeper),
        End::InnerKilled => kill(&record.init),
        End::KeeperKilled => {
            // The outer one first, so that it cannot do its work when the inner one ends.
            kill(&record.keeper);
            if let Some(inner) = record.init.open().unwrap() {
                let _ = rustix::process::pidfd_send_signal(&inner, Signal::KILL);
            }
        }
    }
    let evidence = match held {
        Some(container) => container.kill().await.map_err(|error| error.to_string()),
        None => end_container(grounds.records(), Duration::from_secs(30)).map_err(|error| error.to_string()),
    };
    judge(&grounds, &record, end, evidence.map(|evidence| evidence.proof));
    let leaf = record.leaf.filter(|leaf| leaf.path.exists());
    assert!(leaf.is_none(), "a cgroup is left behind: {leaf:?}");
}

/// What was said is true, and as much as could be said.
fn judge(grounds: &Grounds, record: &ContainerRecord, end: End, proof: Result<Proof, String>) {
    let (means, survivors) = (record.means, grounds.survivors());
    match (means, end) {
        (Means::Subreaper, End::KeeperKilled) => {
            let why = proof.expect_err("an end was proved by nobody");
            assert!(why.contains("nothing proves"), "{why}");
            assert!(matches!(prove_empty(grounds.records()), Err(Living::Unwitnessed { .. })));
            return;
        }
        (Means::PidNamespace, End::OuterKilled | End::KeeperKilled) => {
            assert_eq!(proof.unwrap(), Proof::InitGone);
        }
        // Process 1 is seen to be gone a moment before the keeper has written that down.
        (Means::PidNamespace, End::WorkerKilled) => {
            assert!(matches!(proof, Ok(Proof::InitGone | Proof::Witnessed(_))), "{proof:?}");
        }
        // Whether the inner keeper ends all before it is ended itself is a race; either tells the truth.
        (Means::Cgroup, End::OuterKilled) => {
            assert!(matches!(proof, Ok(Proof::CgroupEmpty | Proof::Witnessed(_))), "{proof:?}");
        }
        (Means::Cgroup, End::KeeperKilled) => assert_eq!(proof.unwrap(), Proof::CgroupEmpty),
        (Means::PidNamespace | Means::Cgroup | Means::Subreaper, _) => {
            assert!(matches!(proof, Ok(Proof::Witnessed(_))), "{means} {end:?}: {proof:?}");
            assert!(grounds.records().join(EXIT_FILE).exists());
        }
    }
    assert_eq!(survivors, [], "{means} {end:?}: they live on");
}

/// The part of a worker that matters here: it holds a container, and is killed.
pub(crate) fn play_zoo_worker(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let records = PathBuf::from(args.next().unwrap());
    let means: MeansChoice = args.next().unwrap().to_str().unwrap().parse().unwrap();
    block_on(async {
        let container = made(&records, means).await;
        open_zoo(&container, &records.join("zoo")).await;
        println!("ready");
        tokio::time::sleep(Duration::from_secs(80)).await;
    });
    ExitCode::SUCCESS
}

fn worker_with_zoo(grounds: &Grounds, means: MeansChoice) -> std::process::Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["play-zoo-worker".as_ref(), grounds.records().as_os_str(), means.as_str().as_ref()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 5];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    child
}

async fn g06_zoo_killed_in_each_means_and_the_container_stays() {
    for means in [MeansChoice::PidNamespace, MeansChoice::Cgroup, MeansChoice::Subreaper] {
        if !offered(means).await {
            continue;
        }
        let grounds = Grounds::new();
        let container = made(grounds.records(), means).await;
        open_zoo(&container, &grounds.zoo()).await;
        until("the storm is on", async || grounds.survivors().len() >= STORMY).await;
        until("even a storm ends", async || {
            container.kill_all().await.unwrap();
            container.count().await.unwrap() == 0
        })
        .await;
        assert_eq!(grounds.survivors(), []);
        let mut next = container.spawn(shell(&grounds.zoo(), "exit 4")).await.unwrap();
        assert_eq!(next.wait().await.to_string(), "exit code 4", "{means}");
        container.kill().await.unwrap();
    }
}

/// Only with a keeper's word, another boot, or somebody's statement is a subreaper's container empty.
async fn g06_an_unproved_end_is_not_an_end() {
    let grounds = Grounds::new();
    let container = made(grounds.records(), MeansChoice::Subreaper).await;
    let record = grounds.record();
    kill(&record.keeper);
    kill(&record.init);
    container.ended().await;
    assert!(container.kill().await.is_err());
    assert!(matches!(prove_empty(grounds.records()), Err(Living::Unwitnessed { .. })));
    let again = ContainerSpec::new(std::env::current_exe().unwrap(), grounds.records().to_owned());
    assert!(Container::start(&again).await.is_err(), "a second container beside what may live");
    let mut earlier = record.clone();
    earlier.init.boot_id = "an earlier one".to_owned();
    earlier.write(grounds.records()).unwrap();
    assert_eq!(prove_empty(grounds.records()).unwrap().proof, Proof::EarlierBoot);
}

/// As a session can, that has a tree of cgroups of its own: the keeper in the same cgroup does nothing more.
async fn g06_a_frozen_container_is_ended_from_outside() {
    for means in [MeansChoice::PidNamespace, MeansChoice::Cgroup] {
        if !offered(means).await {
            continue;
        }
        let grounds = Grounds::new();
        let container = made(grounds.records(), means).await;
        let Some(leaf) = container.record().leaf.clone() else {
            eprintln!("NOT TESTED: no cgroup besides {means}");
            continue;
        };
        drop(container.spawn(shell(&grounds.zoo(), "sleep 600 & wait")).await.unwrap());
        until("both run", async || container.count().await.unwrap() == 2).await;
        fs::write(leaf.path.join("cgroup.freeze"), "1").unwrap();
        let events = leaf.path.join("cgroup.events");
        until("frozen", async || fs::read_to_string(&events).unwrap().contains("frozen 1")).await;
        let killed = tokio::time::timeout(Duration::from_secs(15), container.kill()).await;
        killed.expect("it is not waited for what is frozen").unwrap();
        assert_eq!(grounds.survivors(), [], "{means}");
        assert!(!leaf.path.exists(), "{means}");
    }
}

async fn each_means_says_what_it_is() {
    for means in [MeansChoice::PidNamespace, MeansChoice::Cgroup, MeansChoice::Subreaper] {
        if !offered(means).await {
            continue;
        }
        let grounds = Grounds::new();
        let container = made(grounds.records(), means).await;
        let mut process = container.spawn(shell(&grounds.zoo(), "sleep 600 & wait")).await.unwrap();
        until("both run", async || container.count().await.unwrap() == 2).await;
        let inside = grounds.survivors();
        assert_eq!(inside.len(), 2, "{inside:?}");
        for (pid, _) in &inside {
            assert!(container.contains(*pid), "{means}");
            assert!(mate_runtime::container::in_any_container(*pid).unwrap(), "{means}");
        }
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(!mate_runtime::container::in_any_container(own).unwrap());
        assert_eq!(container.record(), &grounds.record());
        match means {
            MeansChoice::Cgroup => assert!(container.record().leaf.is_some()),
            MeansChoice::Subreaper => assert!(container.record().leaf.is_none()),
            MeansChoice::Auto | MeansChoice::PidNamespace => {}
        }
        container.signal(process.id, mate_runtime::container::SignalKind::Term).await.unwrap();
        assert_eq!(process.wait().await.to_string(), "signal 15");
        until("the group is gone", async || container.count().await.unwrap() == 0).await;
        container.kill().await.unwrap();
    }
}
