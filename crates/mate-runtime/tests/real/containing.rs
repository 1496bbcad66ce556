//! The container: what lives in it ends with it, and the end is proved.

use crate::surroundings::{block_on, container, launch, marked, shell, until};
use mate_runtime::container::{
    Container, ContainerRecord, EXIT_FILE, Exit, ExitRecord, Identity, Launch, Living, Proof, SignalKind,
    SpawnError, end_container, prove_empty,
};
use std::{
    ffi::OsString,
    path::Path,
    process::{Command, ExitCode, Stdio},
    time::Duration,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

crate::cases! {
    a_program_gets_exactly_what_is_named,
    a_program_that_cannot_start_says_why,
    signals_reach_the_group_and_ends_are_told,
    g06_stop_leaves_no_process_of_the_zoo,
    g06_a_killed_worker_leaves_no_process_and_evidence,
    g06_a_killed_keeper_ends_everything,
    g06_the_earlier_container_is_ended_by_identity,
    f125_a_foreign_process_with_the_recorded_number_is_left_alone,
    a_living_container_is_not_proved_empty,
    f139_many_programs_leave_none,
    kill_all_empties_the_container_and_keeps_it,
    a_dropped_container_ends,
}

async fn output(container: &Container, launch: Launch) -> (String, Exit) {
    let mut process = container.spawn(launch).await.unwrap();
    drop(process.stdin);
    let mut text = String::new();
    process.stdout.read_to_string(&mut text).await.unwrap();
    let exit = process.exited.wait_for(Option::is_some).await.unwrap().unwrap();
    (text, exit)
}

async fn a_program_gets_exactly_what_is_named() {
    let home = tempfile::tempdir().unwrap();
    let container = container(home.path()).await;
    let (text, exit) =
        output(&container, shell(home.path(), "env; pwd; ls -l /proc/self/fd; echo /proc/[0-9]*; exit 3"))
            .await;
    assert_eq!(exit, Exit::Code(3));
    let names: Vec<&str> =
        text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    // PWD is the shell's own.
    assert!(names.iter().all(|name| ["PATH", "LANG", "PWD"].contains(name)), "{names:?}");
    assert!(text.contains(home.path().to_str().unwrap()), "{text}");
    // Three pipes, and the folder that `ls` reads.
    assert_eq!(text.matches(" -> ").count(), 4, "descriptors are inherited: {text}");
    assert!(container.record().own_proc, "no /proc of its own");
    let seen = text.lines().last().unwrap().split(' ').count();
    assert!(seen <= 3, "it sees processes of others: {text}");
    let mut cat = container.spawn(launch(home.path(), &["cat"])).await.unwrap();
    cat.stdin.write_all("ünï\u{2028}\0".as_bytes()).await.unwrap();
    drop(cat.stdin);
    let mut echoed = Vec::new();
    cat.stdout.read_to_end(&mut echoed).await.unwrap();
    assert_eq!(echoed, "ünï\u{2028}\0".as_bytes());
    container.kill().await.unwrap();
}

async fn a_program_that_cannot_start_says_why() {
    let home = tempfile::tempdir().unwrap();
    let container = container(home.path()).await;
    let text_file = home.path().join("notes.txt");
    std::fs::write(&text_file, "no program").unwrap();
    let long = "x".repeat(3 << 20);
    let mut elsewhere = launch(home.path(), &["true"]);
    elsewhere.cwd = home.path().join("gone");
    for (what, expected) in [
        (launch(home.path(), &["no-such-program"]), "no-such-program in the PATH of"),
        (launch(home.path(), &["/no/such/program"]), "there is no program /no/such/program"),
        (launch(home.path(), &[text_file.to_str().unwrap()]), "may not be executed"),
        (launch(home.path(), &["echo", &long]), "too long for the kernel"),
        (launch(home.path(), &["a\0b"]), "cannot be started"),
        (launch(home.path(), &[]), "no program is named"),
        (elsewhere, "gone does not exist"),
    ] {
        match container.spawn(what).await {
            Err(SpawnError::Refused(why)) => assert!(why.contains(expected), "{why}"),
            other => panic!("{expected}: {other:?}"),
        }
    }
    // None of them did any harm.
    assert_eq!(
        output(&container, shell(home.path(), "echo fine")).await,
        ("fine\n".to_owned(), Exit::Code(0))
    );
    assert_eq!(container.count().await.unwrap(), 0);
}

async fn signals_reach_the_group_and_ends_are_told() {
    let home = tempfile::tempdir().unwrap();
    let container = container(home.path()).await;
    let mut polite = container.spawn(shell(home.path(), "sleep 600 & wait")).await.unwrap();
    until("both run", async || container.count().await.unwrap() == 2).await;
    container.signal(polite.id, SignalKind::Term).await.unwrap();
    assert_eq!(polite.wait().await, Exit::Signal(15));
    until("the group is gone", async || container.count().await.unwrap() == 0).await;
    let script = "trap '' TERM; echo up; while :; do sleep 600; done";
    let mut rude = container.spawn(shell(home.path(), script)).await.unwrap();
    let mut up = [0; 3];
    rude.stdout.read_exact(&mut up).await.unwrap();
    container.signal(rude.id, SignalKind::Term).await.unwrap();
    container.signal(rude.id, SignalKind::Kill).await.unwrap();
    assert_eq!(rude.wait().await, Exit::Signal(9));
    // Of one that ended nobody is hit.
    container.signal(rude.id, SignalKind::Kill).await.unwrap();
    assert!(container.count().await.is_ok());
}

/// Programs that do not want to end, each marked so that it can be found from outside.
fn zoo(mark: &str) -> Vec<String> {
    let python = |code: &str| format!("exec python3 -c '{code}' {mark}");
    vec![
        python(
            "import os,time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\ntime.sleep(900)",
        ),
        python("import signal,time\nfor s in (1,2,15): signal.signal(s,signal.SIG_IGN)\ntime.sleep(900)"),
        python("import sys,time\nsys.stdin.read()\ntime.sleep(900)"),
        python("import os,time\nwhile True:\n p=os.fork()\n if p==0: time.sleep(900)\n os.waitpid(p,0)"),
        python(
            "import os,time\nfor i in range(60):\n if os.fork()==0: os.setsid(); time.sleep(900)\ntime.sleep(900)",
        ),
        python(
            "import os,sys,time\nos.closerange(0,256)\nos.execve(sys.executable,[\"python3\",\"-c\",\"import time;time.sleep(900)\",sys.argv[1]],{})",
        ),
    ]
}

const ZOO_SIZE: usize = 66;

async fn fill(container: &Container, folder: &Path, mark: &str) {
    for animal in zoo(mark) {
        let process = container.spawn(shell(folder, &animal)).await.unwrap();
        // Their pipes are dropped, which none of them minds.
        drop(process);
    }
    until("the zoo is open", async || marked(mark).len() >= ZOO_SIZE).await;
}

fn fresh_mark(test: &str) -> String {
    format!("zoo-{test}-{}", std::process::id())
}

async fn g06_stop_leaves_no_process_of_the_zoo() {
    let home = tempfile::tempdir().unwrap();
    let mark = fresh_mark("stop");
    let container = container(home.path()).await;
    fill(&container, home.path(), &mark).await;
    let one = marked(&mark).pop().unwrap();
    assert!(container.contains(one.pid));
    assert!(!container.contains(i32::try_from(std::process::id()).unwrap()));
    assert!(mate_runtime::container::other_pid_namespace(one.pid).unwrap());
    let evidence = container.kill().await.unwrap();
    assert!(matches!(evidence.proof, Proof::Witnessed(_)), "{evidence:?}");
    assert_eq!(marked(&mark), []);
}

/// The part of a worker that matters here: it holds a container, and is killed.
pub(crate) fn play_worker(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let folder = args.next().unwrap();
    let mark = args.next().unwrap();
    block_on(async {
        let folder = Path::new(&folder);
        let container = container(folder).await;
        fill(&container, folder, mark.to_str().unwrap()).await;
        println!("ready");
        tokio::time::sleep(Duration::from_secs(80)).await;
    });
    ExitCode::SUCCESS
}

fn worker(folder: &Path, mark: &str) -> std::process::Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["play-worker".as_ref(), folder.as_os_str(), mark.as_ref()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 5];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    child
}

async fn g06_a_killed_worker_leaves_no_process_and_evidence() {
    let home = tempfile::tempdir().unwrap();
    let mark = fresh_mark("worker");
    let mut worker = worker(home.path(), &mark);
    assert!(matches!(prove_empty(home.path()), Err(Living::Running { .. })));
    worker.kill().unwrap();
    worker.wait().unwrap();
    until("the evidence is there", async || home.path().join(EXIT_FILE).exists()).await;
    assert!(marked(&mark).is_empty());
    let evidence = prove_empty(home.path()).unwrap();
    assert!(matches!(evidence.proof, Proof::Witnessed(_)), "{evidence:?}");
}

async fn g06_a_killed_keeper_ends_everything() {
    let home = tempfile::tempdir().unwrap();
    let mark = fresh_mark("keeper");
    let container = container(home.path()).await;
    fill(&container, home.path(), &mark).await;
    let outer = marked(home.path().to_str().unwrap());
    let [outer] = outer.as_slice() else { panic!("one keeper, not {outer:?}") };
    Command::new("kill").args(["-TERM", &outer.pid.to_string()]).status().unwrap();
    Command::new("kill").args(["-HUP", &outer.pid.to_string()]).status().unwrap();
    assert!(container.count().await.unwrap() >= ZOO_SIZE, "the keeper minds a polite signal");
    Command::new("kill").args(["-KILL", &outer.pid.to_string()]).status().unwrap();
    container.ended().await;
    until("nothing lives", async || marked(&mark).is_empty()).await;
    assert!(matches!(container.spawn(shell(home.path(), "true")).await, Err(SpawnError::Ended)));
    let evidence = container.kill().await.unwrap();
    assert_eq!(evidence.proof, Proof::InitGone);
}

async fn g06_the_earlier_container_is_ended_by_identity() {
    let home = tempfile::tempdir().unwrap();
    let mark = fresh_mark("earlier");
    let mut worker = worker(home.path(), &mark);
    let evidence = end_container(home.path(), Duration::from_secs(20)).unwrap();
    assert!(evidence.container.is_some());
    assert_eq!(marked(&mark).iter().filter(|p| i64::from(p.pid) != i64::from(worker.id())).count(), 0);
    worker.kill().unwrap();
    worker.wait().unwrap();
    // The next worker of the session starts afresh, and the old evidence is not taken for its own.
    let next = container(home.path()).await;
    assert!(matches!(prove_empty(home.path()), Err(Living::Running { .. })));
    next.kill().await.unwrap();
}

async fn f125_a_foreign_process_with_the_recorded_number_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    container(home.path()).await.kill().await.unwrap();
    std::fs::remove_file(home.path().join(EXIT_FILE)).unwrap();
    let mut innocent = Command::new("sleep").arg("600").spawn().unwrap();
    let mut record = ContainerRecord::read(home.path()).unwrap().unwrap();
    record.init.pid = i32::try_from(innocent.id()).unwrap();
    // The worst case: a foreign process that even started in the same tick.
    record.init.start_time = Identity::of(record.init.pid).unwrap().start_time;
    record.write(home.path()).unwrap();
    let evidence = end_container(home.path(), Duration::from_secs(5)).unwrap();
    assert_eq!(evidence.proof, Proof::InitGone);
    assert!(innocent.try_wait().unwrap().is_none(), "an innocent process was killed");
    innocent.kill().unwrap();
    innocent.wait().unwrap();
    record.init.boot_id = "an earlier one".to_owned();
    record.write(home.path()).unwrap();
    assert_eq!(prove_empty(home.path()).unwrap().proof, Proof::EarlierBoot);
}

async fn a_living_container_is_not_proved_empty() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(prove_empty(home.path()).unwrap().proof, Proof::NeverStarted);
    let first = container(home.path()).await;
    let spec =
        mate_runtime::container::ContainerSpec::new(std::env::current_exe().unwrap(), home.path().to_owned());
    let second = Container::start(&spec).await;
    assert!(second.is_err(), "two containers for one session");
    first.kill().await.unwrap();
    let ended = ExitRecord::read(home.path()).unwrap().unwrap();
    assert_eq!(ended.status, "exit code 0");
    std::fs::write(home.path().join("container.json"), "{}").unwrap();
    assert!(matches!(prove_empty(home.path()), Err(Living::Record(_))));
}

async fn f139_many_programs_leave_none() {
    let home = tempfile::tempdir().unwrap();
    let container = container(home.path()).await;
    for number in 0..200 {
        let (text, exit) =
            output(&container, shell(home.path(), &format!("(sleep 0 &) ; echo {number}; exit 7"))).await;
        assert_eq!((text.trim(), exit), (number.to_string().as_str(), Exit::Code(7)));
        assert!(container.spawn(launch(home.path(), &["missing"])).await.is_err());
    }
    until("all are reaped", async || container.count().await.unwrap() == 0).await;
}

async fn kill_all_empties_the_container_and_keeps_it() {
    let home = tempfile::tempdir().unwrap();
    let mark = fresh_mark("all");
    let container = container(home.path()).await;
    fill(&container, home.path(), &mark).await;
    until("a fork storm too", async || {
        container.kill_all().await.unwrap();
        container.count().await.unwrap() == 0
    })
    .await;
    assert_eq!(output(&container, shell(home.path(), "echo on")).await.0, "on\n");
}

async fn a_dropped_container_ends() {
    let home = tempfile::tempdir().unwrap();
    let container = container(home.path()).await;
    let mut process = container.spawn(shell(home.path(), "sleep 600")).await.unwrap();
    drop(container);
    assert_eq!(process.wait().await, Exit::Container);
    assert!(prove_empty(home.path()).is_ok());
}
