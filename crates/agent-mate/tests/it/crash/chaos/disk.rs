//! A small disk for a home: a tmpfs, where one may be mounted.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The size of the disk.
const SIZE: &str = "size=48m";
const CHUNK: usize = 64 * 1024;

/// A mounted tmpfs; unmounted when dropped.
pub(super) struct Disk {
    at: PathBuf,
}

impl Disk {
    /// Mounts a small disk there; none where that is not allowed.
    pub(super) fn mount(at: &Path) -> Option<Self> {
        fs::create_dir_all(at).expect("made");
        let mounted = quietly("mount", &["-t", "tmpfs", "-o", &format!("{SIZE},mode=0700"), "tmpfs"], at);
        if !mounted {
            eprintln!(
                "no small disk may be mounted here: the disk is never full in this run (root is needed)"
            );
        }
        mounted.then(|| Self { at: at.to_owned() })
    }

    /// Leaves no room at all.
    pub(super) fn fill(&self) {
        let Ok(mut ballast) = File::create(self.ballast()) else { return };
        let chunk = vec![0; CHUNK];
        while ballast.write_all(&chunk).is_ok() {}
        while ballast.write_all(&chunk[..512]).is_ok() {}
    }

    pub(super) fn free(&self) {
        let _ = fs::remove_file(self.ballast());
    }

    fn ballast(&self) -> PathBuf {
        self.at.join("ballast")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Whoever still works there goes on until its end.
        quietly("umount", &["-l"], &self.at);
    }
}

fn quietly(program: &str, words: &[&str], at: &Path) -> bool {
    let mut command = Command::new(program);
    command.args(words).arg(at).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
