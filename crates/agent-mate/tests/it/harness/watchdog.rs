//! Ends what a test started also when the test itself is ended from outside.

use std::{
    io::Write as _,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Stdio},
};

/// Reads until its input ends; unless it was told that all is done, ends every process of the folder, and removes it.
const SCRIPT: &str = r#"
trap '' INT TERM HUP PIPE
read -r word
[ "$word" = done ] && exit
for round in 1 2 3 4 5; do
    for process in /proc/[0-9]*; do
        place=$(readlink "$process/cwd" 2>/dev/null)
        if grep -qsF "$FOLDER" "$process/cmdline" || [ "${place#"$FOLDER"}" != "$place" ]; then
            kill -9 "${process#/proc/}" 2>/dev/null
        fi
    done
    sleep 0.2
done
umount -l "$FOLDER/h" 2>/dev/null
rm -rf "$FOLDER"
"#;

/// A shell that waits for the end of the test.
pub(super) struct Watchdog(Child);

impl Watchdog {
    pub(super) fn over(folder: &Path) -> Self {
        let shell = Command::new("sh")
            .args(["-c", SCRIPT])
            .env("FOLDER", folder)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        Self(shell.expect("a shell"))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        if let Some(mut pipe) = self.0.stdin.take() {
            let _ = writeln!(pipe, "done");
        }
        let _ = self.0.wait();
    }
}
