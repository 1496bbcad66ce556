//! Under a service manager: telling it that the coordinator is ready, and seeing that it does not end workers.

use crate::cli::Check;
use mate_engine::{Home, SocketPath};
use std::{
    env,
    os::{
        linux::net::SocketAddrExt as _,
        unix::{
            ffi::OsStrExt as _,
            net::{SocketAddr, UnixDatagram, UnixStream},
        },
    },
    process::Stdio,
    time::Duration,
};

/// Names the socket on which the service manager listens.
pub(crate) const NOTIFY_SOCKET: &str = "NOTIFY_SOCKET";
/// How long the service manager may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
const NAME: &str = "service";

/// Tells the service manager something, if there is one; what it does not hear it does without.
pub(crate) fn tell(word: &str) {
    let Some(name) = env::var_os(NOTIFY_SOCKET) else { return };
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(&name),
    };
    let told = address.and_then(|address| {
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        socket.send_to_addr(word.as_bytes(), &address)
    });
    if let Err(error) = told {
        tracing::warn!(%error, "the service manager cannot be told: {word}");
    }
}

/// A unit of the service manager.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Unit {
    name: String,
    /// Of a user's own manager.
    user: bool,
}

/// Under which unit the coordinator runs, and what becomes of workers when that is restarted; nothing when none answers.
pub(crate) async fn check(home: &Home) -> Option<Check> {
    let socket = SocketPath::of(&home.socket()).ok()?;
    let stream = UnixStream::connect(socket.path()).ok()?;
    let pid = rustix::net::sockopt::socket_peercred(&stream).ok()?.pid.as_raw_pid();
    let cgroups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let Some(unit) = unit_of(&cgroups) else {
        return Some(Check::well(
            NAME,
            format!("the coordinator (process {pid}) runs under no service unit"),
        ));
    };
    let kill_mode = show(&unit, "KillMode").await;
    Some(judge(&unit, kill_mode.as_deref()))
}

/// The innermost service among the parts of a cgroup's path.
fn unit_of(cgroups: &str) -> Option<Unit> {
    let unified = cgroups.lines().find_map(|line| line.strip_prefix("0::"));
    let named = cgroups.lines().find_map(|line| line.split_once(":name=systemd:").map(|(_, path)| path));
    let found = [unified, named].into_iter().flatten().find_map(|path| {
        let mut parts = path.split('/').rev();
        let name = parts.find(|part| part.ends_with(".service"))?;
        let user = parts.any(|part| part.starts_with("user@"));
        // The user's manager itself is no unit of ours: what it started by hand is in a scope below it.
        (!name.starts_with("user@")).then(|| Unit { name: name.to_owned(), user })
    });
    found.filter(|unit| unit.name.len() <= 255)
}

fn judge(unit: &Unit, kill_mode: Option<&str>) -> Check {
    let name = &unit.name;
    match kill_mode {
        Some("process" | "none") => {
            Check::well(NAME, format!("the coordinator runs as {name}; restarting it leaves workers alone"))
        }
        Some(other) => Check::ill(
            NAME,
            format!(
                "the coordinator runs as {name} with KillMode={}: restarting it KILLS every session at work; set \
                 KillMode=process in the unit (see packaging/systemd)",
                if other.is_empty() { "control-group" } else { other }
            ),
        ),
        None => Check::well(
            NAME,
            format!(
                "the coordinator runs as {name}; whether restarting it kills workers is UNKNOWN: no systemctl answers"
            ),
        ),
    }
}

async fn show(unit: &Unit, property: &str) -> Option<String> {
    let mut command = tokio::process::Command::new("systemctl");
    if unit.user {
        command.arg("--user");
    }
    command.args(["show", "--property", property, "--value", "--", &unit.name]);
    command.stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.ok()?.ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_is_the_innermost_service() {
        let unit = |text: &str| unit_of(text).map(|unit| (unit.name, unit.user));
        let own = |name: &str, user| Some((name.to_owned(), user));
        assert_eq!(
            unit("0::/system.slice/agent-mate.service/coordinator\n"),
            own("agent-mate.service", false)
        );
        let user = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/agent-mate.service\n";
        assert_eq!(unit(user), own("agent-mate.service", true));
        let old = "1:name=systemd:/system.slice/am.service\n0::/\n";
        assert_eq!(unit(old), own("am.service", false));
        assert_eq!(unit("0::/user.slice/user-1000.slice/session-3.scope\n"), None);
        assert_eq!(unit("0::/user.slice/user-1000.slice/user@1000.service/app.slice/term.scope\n"), None);
        assert_eq!(unit(""), None);
    }

    #[test]
    fn a_unit_that_would_kill_workers_is_ill_and_an_unknown_one_says_so() {
        let unit = Unit { name: "am.service".to_owned(), user: false };
        assert!(judge(&unit, Some("process")).ok);
        for bad in ["control-group", "mixed", ""] {
            let check = judge(&unit, Some(bad));
            assert!(!check.ok && check.detail.contains("KillMode=process"), "{check:?}");
        }
        assert!(judge(&unit, None).detail.contains("UNKNOWN"));
    }
}
