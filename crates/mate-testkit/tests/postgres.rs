//! The throw-away cluster leaves nothing behind, however its user ends.

#![cfg(test)]

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

/// Starts the program with a command that says where the cluster is and waits; answers the cluster's folder.
fn start() -> (Child, PathBuf, u32) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_throwaway-postgres"))
        .args(["sh", "-c", "echo \"$AGENT_MATE_TEST_POSTGRES\"; read -r _; exit 7"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(program.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let folder = url.split_once("host=").and_then(|(_, rest)| rest.split_once('&')).unwrap().0;
    let pid = std::fs::read_to_string(Path::new(folder).join("data/postmaster.pid")).unwrap();
    let pid = pid.lines().next().unwrap().parse().unwrap();
    (program, folder.into(), pid)
}

fn wait_until_gone(folder: &Path, server: u32) {
    let server = PathBuf::from(format!("/proc/{server}"));
    for _ in 0..1800 {
        if !server.exists() && !folder.exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("left behind: {} {}", server.display(), folder.display());
}

#[test]
fn a_cluster_ends_when_its_user_is_killed() {
    let (mut program, folder, server) = start();
    program.kill().unwrap();
    program.wait().unwrap();
    wait_until_gone(&folder, server);
}

#[test]
fn nothing_is_left_when_the_user_is_killed_while_the_cluster_is_made() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_throwaway-postgres")).arg("true").spawn().unwrap();
    let children = format!("/proc/{0}/task/{0}/children", program.id());
    let mut watchdog = String::new();
    while watchdog.trim().is_empty() {
        watchdog = std::fs::read_to_string(&children).unwrap();
        watchdog = watchdog.split_whitespace().find(|pid| folder_of(pid).is_some()).unwrap_or("").to_owned();
    }
    let folder = folder_of(&watchdog).unwrap();
    program.kill().unwrap();
    program.wait().unwrap();
    wait_until_gone(&folder, watchdog.parse().unwrap());
}

/// The folder that a watchdog was started for.
fn folder_of(pid: &str) -> Option<PathBuf> {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = words.split(|byte| *byte == 0).filter_map(|word| std::str::from_utf8(word).ok());
    words.find(|word| word.starts_with("/tmp/mate-pg-")).map(PathBuf::from)
}

#[test]
fn a_cluster_ends_with_its_command_whose_exit_code_is_passed_on() {
    let (mut program, folder, server) = start();
    drop(program.stdin.take());
    assert_eq!(program.wait().unwrap().code(), Some(7));
    wait_until_gone(&folder, server);
}
