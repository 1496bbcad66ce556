//! A leaf of the cgroup v2 tree: the kernel counts what is in it, kills it as one, and limits it.

use super::Identity;
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

/// What the name of every leaf begins with.
pub(super) const PREFIX: &str = "agent-mate-";
/// Leaves younger than this are not swept away, in seconds.
const YOUNG: i64 = 60;
/// The most neighbours that are looked at when one is made.
const SWEPT: usize = 1000;
/// A leaf may have leaves of its own, made by what runs in it; not deeper than this.
const DEEPEST: u32 = 32;

/// A leaf, named so that no other folder is taken for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaf {
    /// Its folder.
    pub path: PathBuf,
    /// The folder's inode.
    pub inode: u64,
}

/// What is in a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// The leaf was removed, which the kernel allows for an empty one only.
    Removed,
    /// No process.
    Nothing,
    /// Processes.
    Processes,
}

impl Leaf {
    /// Makes a leaf in `place`.
    pub(super) fn make(place: &Path, name: &str) -> io::Result<Self> {
        let path = place.join(format!("{PREFIX}{name}"));
        fs::create_dir(&path)?;
        let leaf = Self { inode: fs::metadata(&path)?.ino(), path };
        // Older kernels cannot kill a cgroup as one.
        if let Err(error) = fs::metadata(leaf.path.join("cgroup.kill")) {
            leaf.remove();
            return Err(error);
        }
        Ok(leaf)
    }

    /// Removes leaves beside this one that killed keepers have left behind: those that are empty, whose keeper does not
    /// live, and that are so much older that nobody is just about to enter them. Best effort, and bounded.
    pub(super) fn sweep(&self, place: &Path, boot_id: &str) {
        let made = |path: &Path| fs::metadata(path).map(|found| found.ctime()).unwrap_or(i64::MAX);
        let young = made(&self.path).saturating_sub(YOUNG);
        for entry in fs::read_dir(place).into_iter().flatten().flatten().take(SWEPT) {
            let Some(keeper) = keeper_of(&entry.file_name().to_string_lossy(), boot_id) else { continue };
            let path = entry.path();
            if made(&path) < young && matches!(keeper.is_alive(), Ok(false)) {
                // The kernel removes none that has a process in it.
                remove(&path, DEEPEST);
            }
        }
    }

    /// Moves the calling process, with all its threads, into the leaf.
    pub(super) fn enter(&self) -> io::Result<()> {
        enter(&self.path)
    }

    /// Lets frozen processes go on, so that they can end. Best effort: what is frozen can be killed all the same.
    pub(super) fn thaw(&self) {
        let _ = write(&self.path.join("cgroup.freeze"), "0");
    }

    /// Kills every process in the leaf and below it, with what they fork meanwhile.
    pub(super) fn kill(&self) -> io::Result<()> {
        match self.content()? {
            Content::Removed | Content::Nothing => Ok(()),
            Content::Processes => write(&self.path.join("cgroup.kill"), "1"),
        }
    }

    /// What the kernel says of it.
    ///
    /// # Errors
    /// When the tree cannot be seen from here; then nothing is known.
    pub(super) fn content(&self) -> io::Result<Content> {
        match fs::metadata(&self.path) {
            Ok(found) if found.ino() == self.inode => {}
            Ok(_) => return Ok(Content::Removed),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let place = self.path.parent().unwrap_or(&self.path);
                // A tree that is not mounted here says nothing of what is in it.
                fs::metadata(place.join("cgroup.procs"))?;
                return Ok(Content::Removed);
            }
            Err(error) => return Err(error),
        }
        match fs::read_to_string(self.path.join("cgroup.events")) {
            Ok(events) => match counter(&events, "populated") {
                Some(0) => Ok(Content::Nothing),
                Some(_) => Ok(Content::Processes),
                None => Err(io::Error::other("cgroup.events does not say whether the cgroup is populated")),
            },
            Err(error) if removed(&error) => Ok(Content::Removed),
            Err(error) => Err(error),
        }
    }

    /// Whether nothing is in it.
    pub(super) fn is_empty(&self) -> io::Result<bool> {
        Ok(self.content()? != Content::Processes)
    }

    /// Waits until nothing is in it, for `patience` at most.
    pub(super) fn wait_empty(&self, patience: Duration) -> io::Result<bool> {
        let step = Duration::from_millis(2);
        let mut left = patience;
        while !self.is_empty()? {
            if left.is_zero() {
                return Ok(false);
            }
            std::thread::sleep(step);
            left = left.saturating_sub(step);
        }
        Ok(true)
    }

    /// Removes the leaf, and what was made in it. One that is not empty stays.
    pub(super) fn remove(&self) {
        if fs::metadata(&self.path).is_ok_and(|found| found.ino() == self.inode) {
            remove(&self.path, DEEPEST);
        }
    }
}

/// The keeper that made the leaf with this name.
fn keeper_of(name: &str, boot_id: &str) -> Option<Identity> {
    let (pid, start_time) = name.strip_prefix(PREFIX)?.split_once('-')?;
    Some(Identity {
        boot_id: boot_id.to_owned(),
        pid: pid.parse().ok()?,
        start_time: start_time.parse().ok()?,
    })
}

fn remove(folder: &Path, depth: u32) {
    if depth > 0 {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                remove(&entry.path(), depth - 1);
            }
        }
    }
    // What is left behind is empty and harmless.
    let _ = fs::remove_dir(folder);
}

/// Moves the calling process into the cgroup with this folder.
pub(super) fn enter(folder: &Path) -> io::Result<()> {
    write(&folder.join("cgroup.procs"), "0")
}

/// Files of the tree are written in one go and never made.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    use io::Write as _;
    fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

pub(super) fn counter(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(key, _)| *key == name)?.1.trim().parse().ok()
}

pub(super) fn removed(error: &io::Error) -> bool {
    // A file of a cgroup that was removed while it was open answers ENODEV (19).
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(19)
}

/// Where this process is in the tree, and where it may make leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The folder of its own cgroup.
    pub(super) own: PathBuf,
    /// The folder for leaves.
    pub(super) leaves: PathBuf,
}

/// Finds the place for leaves.
///
/// Under a service manager only a part of the tree that was delegated to us is ours.
///
/// # Errors
/// Why there is none, in words for people.
pub(super) fn place() -> Result<Place, String> {
    let read = |path: &str| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    let own = own_folder(&read("/proc/self/mountinfo")?, &read("/proc/self/cgroup")?)
        .ok_or("no cgroup v2 tree is mounted here")?;
    let managed = Path::new("/run/systemd/system").is_dir();
    choose(own, managed, is_delegated)
}

fn choose(own: PathBuf, managed: bool, delegated: impl Fn(&Path) -> bool) -> Result<Place, String> {
    let above = own.parent().filter(|above| delegated(above)).map(Path::to_owned);
    let leaves = match above {
        Some(above) => above,
        None if !managed || delegated(&own) => own.clone(),
        None => {
            return Err(format!(
                "the cgroup {} belongs to the service manager; run the coordinator as a unit with Delegate=yes",
                own.display()
            ));
        }
    };
    Ok(Place { own, leaves })
}

/// The folder of this process's cgroup, from what the kernel says of its mounts and of itself.
fn own_folder(mounts: &str, cgroups: &str) -> Option<PathBuf> {
    let own = cgroups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        if !kind.starts_with("cgroup2 ") {
            return None;
        }
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (unescape(fields.next()?)?, unescape(fields.next()?)?);
        let below = Path::new(own).strip_prefix(&root).ok()?;
        Some(if below.as_os_str().is_empty() { point } else { point.join(below) })
    })
}

/// Blanks and the like are written as three octal digits.
fn unescape(field: &str) -> Option<PathBuf> {
    let mut bytes = Vec::new();
    let mut rest = field.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'\\' {
            let digits = std::str::from_utf8(after.get(..3)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 8).ok()?);
            rest = after.get(3..)?;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    use std::os::unix::ffi::OsStringExt as _;
    Some(std::ffi::OsString::from_vec(bytes).into())
}

/// The service manager marks what it leaves to others.
fn is_delegated(folder: &Path) -> bool {
    ["user.delegate", "trusted.delegate"].iter().any(|name| {
        let mut value = [0_u8; 8];
        rustix::fs::getxattr(folder, *name, &mut value)
            .is_ok_and(|length| value.get(..length) == Some(b"1".as_slice()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "22 1 0:20 / /proc rw - proc proc rw\n\
        30 1 0:26 / /sys/fs/cgroup\\040x rw,nosuid - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_own_folder_is_found_below_the_mount() {
        let found = |mounts: &str, own: &str| own_folder(mounts, own);
        let base = "/sys/fs/cgroup x";
        assert_eq!(found(MOUNTS, "1:name=x:/\n0::/\n"), Some(base.into()));
        assert_eq!(found(MOUNTS, "0::/a/b c\n"), Some(format!("{base}/a/b c").into()));
        let inside = MOUNTS.replace("0:26 / ", "0:26 /pod ");
        assert_eq!(found(&inside, "0::/pod/x\n"), Some(format!("{base}/x").into()));
        assert_eq!(found(&inside, "0::/elsewhere\n"), None);
        assert_eq!(found("22 1 0:20 / /proc rw - proc proc rw\n", "0::/\n"), None);
        assert_eq!(found(MOUNTS, "4:memory:/x\n"), None);
    }

    #[test]
    fn what_belongs_to_the_service_manager_is_left_alone() {
        let own = PathBuf::from("/t/unit/main");
        assert!(choose(own.clone(), true, |_| false).unwrap_err().contains("Delegate=yes"));
        assert_eq!(choose(own.clone(), true, |at| at == own).unwrap().leaves, own);
        let above = Path::new("/t/unit");
        assert_eq!(choose(own.clone(), true, |at| at == above).unwrap().leaves, above);
        assert_eq!(choose(own.clone(), false, |_| false).unwrap().leaves, own);
    }

    fn fake(events: &str) -> (tempfile::TempDir, Leaf) {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("cgroup.procs"), "").unwrap();
        let path = place.path().join("leaf");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("cgroup.events"), events).unwrap();
        fs::write(path.join("cgroup.kill"), "").unwrap();
        let inode = fs::metadata(&path).unwrap().ino();
        (place, Leaf { path, inode })
    }

    #[test]
    fn only_old_leaves_of_dead_keepers_are_swept_away() {
        let place = tempfile::tempdir().unwrap();
        let boot_id = crate::container::boot_id().unwrap();
        let own = Identity::of(i32::try_from(std::process::id()).unwrap()).unwrap();
        let alive = format!("{PREFIX}{}-{}", own.pid, own.start_time);
        // The number lives, and is somebody else's.
        let reused = format!("{PREFIX}{}-{}", own.pid, own.start_time + 1);
        let strange = format!("{PREFIX}notes");
        for name in [&alive, &reused, &strange, "other"] {
            fs::create_dir(place.path().join(name)).unwrap();
        }
        fs::create_dir(place.path().join(&reused).join("below")).unwrap();
        let inode = fs::metadata(place.path()).unwrap().ino();
        let there = |name: &str| place.path().join(name).exists();
        let leaf = |path: &Path| Leaf { path: path.to_owned(), inode };
        leaf(place.path()).sweep(place.path(), &boot_id);
        assert!(there(&reused), "it may be about to be entered");
        // One whose age cannot be told counts as made at the end of time.
        leaf(Path::new("/nowhere")).sweep(place.path(), &boot_id);
        assert!(!there(&reused));
        assert!(there(&alive) && there(&strange) && there("other"));
    }

    #[test]
    fn g06_a_populated_leaf_is_never_empty() {
        let (place, leaf) = fake("frozen 0\npopulated 1\n");
        assert_eq!(leaf.content().unwrap(), Content::Processes);
        leaf.kill().unwrap();
        assert_eq!(fs::read_to_string(leaf.path.join("cgroup.kill")).unwrap(), "1");
        assert!(!leaf.wait_empty(Duration::from_millis(5)).unwrap());
        fs::write(leaf.path.join("cgroup.events"), "populated 0\nfrozen 0\n").unwrap();
        assert_eq!(leaf.content().unwrap(), Content::Nothing);
        fs::write(leaf.path.join("cgroup.events"), "frozen 0\n").unwrap();
        assert!(leaf.content().is_err(), "what is not said is not known");
        fs::remove_dir_all(&leaf.path).unwrap();
        assert_eq!(leaf.content().unwrap(), Content::Removed);
        fs::create_dir(&leaf.path).unwrap();
        fs::create_dir(place.path().join("holds the inode")).unwrap();
        fs::remove_dir_all(place.path().join("cgroup.procs")).ok();
        drop(place);
        assert!(leaf.content().is_err(), "a tree that cannot be seen proves nothing");
    }
}
