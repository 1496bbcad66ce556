//! Tests that mount: they run in a process of their own, whose mounts nobody else sees.

use std::{
    env, io,
    path::Path,
    process::{Command, Output},
};

/// Set for the process that may mount.
const INSIDE: &str = "MATE_TEST_OWN_MOUNTS";

/// Runs another, ignored test of this program where it may mount.
///
/// # Errors
/// What it said, when it failed, or when neither root nor a user namespace is to be had.
pub fn run_with_own_mounts(test: &str) -> Result<(), String> {
    let run = |user: &[&str]| -> Result<Output, String> {
        let program = env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new("unshare");
        command.args(user).arg("--mount").arg(program).args(["--exact", test, "--ignored", "--nocapture"]);
        let out = command.env(INSIDE, "1").output();
        out.map_err(|error| format!("{error}: `unshare` is part of util-linux: apt-get install util-linux"))
    };
    let mut out = run(&[])?;
    if !out.status.success() && !String::from_utf8_lossy(&out.stdout).contains("running 1 test") {
        out = run(&["--user", "--map-root-user"])?;
    }
    let said = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    if out.status.success() && said.contains("1 passed") {
        return Ok(());
    }
    Err(format!(
        "needs root or user namespaces (sysctl kernel.unprivileged_userns_clone=1) to mount a small tmpfs: {said}"
    ))
}

/// Mounts a file system of this size (`1m`) that lives in memory; for the test that [`run_with_own_mounts`] runs.
///
/// # Errors
/// In any other process, and when it cannot be mounted.
pub fn mount_small_disk(at: &Path, size: &str) -> io::Result<()> {
    if env::var_os(INSIDE).is_none() {
        return Err(io::Error::other("only the child of another test may mount"));
    }
    let options = format!("size={size},mode=700");
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "none"]).arg(at).status()?;
    if mounted.success() { Ok(()) } else { Err(io::Error::other(format!("`mount`: {mounted}"))) }
}
