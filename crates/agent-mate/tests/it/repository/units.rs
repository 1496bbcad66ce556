//! The unit files: what must stand in them, and that systemd understands them.

use super::root;
use std::{fs, process::Command};

const UNITS: [&str; 2] =
    ["packaging/systemd/user/agent-mate.service", "packaging/systemd/system/agent-mate.service"];

#[test]
fn g01_restarting_a_unit_leaves_workers_alone() {
    for path in UNITS {
        let text = fs::read_to_string(root().join(path)).expect("a unit file");
        let service: Vec<&str> = text
            .lines()
            .skip_while(|line| *line != "[Service]")
            .skip(1)
            .take_while(|line| !line.starts_with('['))
            .filter(|line| !line.starts_with('#'))
            .collect();
        for wanted in [
            "Type=notify",
            "KillMode=process",
            "Delegate=yes",
            "DelegateSubgroup=coordinator",
            "OOMPolicy=continue",
        ] {
            assert_eq!(service.iter().filter(|line| **line == wanted).count(), 1, "{wanted} in {path}");
        }
        let programs = service.iter().filter(|line| line.starts_with("Exec")).collect::<Vec<_>>();
        assert!(
            matches!(programs.as_slice(), [start] if start.ends_with("/agent-mate serve")),
            "{programs:?}"
        );
    }
}

#[test]
fn systemd_understands_the_units() {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, scope) in UNITS.into_iter().zip(["--user", "--system"]) {
        // The program is not installed where the unit says.
        let text = fs::read_to_string(root().join(path)).expect("a unit file");
        let lines = text.lines().map(|line| match line.starts_with("ExecStart=") {
            true => "ExecStart=/bin/true serve",
            false => line,
        });
        let unit = folder.path().join("agent-mate.service");
        fs::write(&unit, lines.collect::<Vec<_>>().join("\n")).expect("written");
        let verify = Command::new("systemd-analyze").args([scope, "verify"]).arg(&unit).output();
        let Ok(output) = verify else {
            eprintln!("NOT TESTED: there is no systemd-analyze here");
            return;
        };
        let said = String::from_utf8_lossy(&output.stderr);
        let about_us: Vec<&str> = said
            .lines()
            .filter(|line| line.contains("agent-mate.service:") && !line.contains("DelegateSubgroup"))
            .collect();
        assert!(about_us.is_empty(), "{path}: {said}");
    }
}
