//! Runs a command with a throw-away PostgreSQL cluster: `throwaway-postgres COMMAND ARG...`.
//!
//! The command finds the cluster's URL in `AGENT_MATE_TEST_POSTGRES`; its exit code is passed on.
#![forbid(unsafe_code)]

use mate_testkit::postgres::{Cluster, VARIABLE};
use std::process::{Command, ExitCode};

fn main() -> Result<ExitCode, String> {
    let mut words = std::env::args_os().skip(1);
    let program = words.next().ok_or("usage: throwaway-postgres COMMAND ARG...")?;
    let cluster = Cluster::start()?;
    let status = Command::new(&program).args(words).env(VARIABLE, cluster.url()).status();
    let status = status.map_err(|why| format!("{}: {why}", program.display()))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
