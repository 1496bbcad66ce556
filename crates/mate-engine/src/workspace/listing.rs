//! Which files of a workspace were changed since a moment: with their lengths and hashes, within bounds of number, depth
//! and time. What changes while it is looked at is told as it was seen.

use super::beneath::{Known, NotThere, Root, look};
use mate_model::Micros;
use rustix::fs::{FileType, OFlags, RawDir};
use std::{
    ffi::OsString,
    fs::File,
    io::Read,
    mem::MaybeUninit,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
    time::Duration,
};

/// How many files are named.
const NAMED: usize = 1_000;
/// How many entries are looked at.
const LOOKED_AT: usize = 200_000;
/// How deep folders are followed.
const DEPTH: usize = 64;
/// The largest file that is hashed.
const HASHED: u64 = 256 << 20;
/// What the kernel's clock for files may lag behind, in microseconds.
const LAG: i64 = 50_000;
/// Folders that hold the bookkeeping of tools, and are not a task's output.
const LEFT_OUT: [&str; 3] = [".git", ".hg", ".svn"];

/// A file that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its path beneath the workspace, as it is; untrusted.
    pub path: PathBuf,
    /// Its length in bytes.
    pub size: u64,
    /// BLAKE3 of its content; none when it is too large, has other names, cannot be read, or time was up.
    pub hash: Option<[u8; 32]>,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The first so many, folder by folder.
    pub files: Vec<Listed>,
    /// How many there are in all, as far as was looked.
    pub total: u64,
    /// Everything was looked at.
    pub complete: bool,
}

/// Lists what was changed since a moment; `elapsed` tells how long it took so far, `bound` how long it may take.
///
/// # Errors
/// The workspace cannot be opened.
pub fn list_changed(
    workspace: &Path,
    since: Micros,
    bound: Duration,
    elapsed: &dyn Fn() -> Duration,
) -> Result<Listing, NotThere> {
    let root = Root::open(workspace)?;
    let mut walk = Walk {
        root: &root,
        since: since.0.saturating_sub(LAG),
        found: Listing { complete: true, ..Listing::default() },
        looked: 0,
        over: &|| elapsed() >= bound,
    };
    let mut folders = vec![(PathBuf::new(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        if walk.is_over() {
            break;
        }
        let mut inner = walk.folder(&folder)?;
        inner.sort_unstable();
        if depth + 1 >= DEPTH {
            walk.found.complete &= inner.is_empty();
            continue;
        }
        folders.extend(inner.into_iter().rev().map(|path| (path, depth + 1)));
    }
    Ok(walk.found)
}

struct Walk<'a> {
    root: &'a Root,
    since: i64,
    found: Listing,
    looked: usize,
    over: &'a dyn Fn() -> bool,
}

impl Walk<'_> {
    fn is_over(&mut self) -> bool {
        let over = self.looked >= LOOKED_AT || (self.over)();
        self.found.complete &= !over;
        over
    }

    /// Looks at what is in a folder; gives the folders in it. One that is gone or closed has nothing in it.
    fn folder(&mut self, path: &Path) -> Result<Vec<PathBuf>, NotThere> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let here = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let folder = match self.root.open_at(here, flags) {
            Ok(folder) => folder,
            Err(_) => {
                self.found.complete = false;
                return Ok(Vec::new());
            }
        };
        let mut buffer = vec![MaybeUninit::uninit(); 32 * 1024];
        let mut entries = RawDir::new(folder, &mut buffer);
        let (mut folders, mut files) = (Vec::new(), Vec::new());
        while let Some(Ok(entry)) = entries.next() {
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            self.looked += 1;
            if self.looked >= LOOKED_AT {
                break;
            }
            let whole = path.join(OsString::from_vec(name.to_vec()));
            match entry.file_type() {
                FileType::Directory if LEFT_OUT.iter().any(|out| out.as_bytes() == name) => {}
                FileType::Directory => folders.push(whole),
                FileType::RegularFile | FileType::Unknown => files.push(whole),
                FileType::Symlink
                | FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice => {}
            }
        }
        files.sort_unstable();
        for file in files {
            if self.is_over() {
                break;
            }
            self.file(file);
        }
        Ok(folders)
    }

    fn file(&mut self, path: PathBuf) {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let Ok(file) = self.root.open_at(&path, flags) else { return };
        let Ok(known) = look(&file) else { return };
        let plain = known.kind == FileType::RegularFile;
        if !plain || known.changed < self.since {
            return;
        }
        self.found.total += 1;
        if self.found.files.len() < NAMED {
            let hash = self.hash(File::from(file), &known);
            self.found.files.push(Listed { path, size: known.size, hash });
        }
    }

    fn hash(&self, mut file: File, known: &Known) -> Option<[u8; 32]> {
        if known.links != 1 || known.size > HASHED {
            return None;
        }
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; 256 * 1024];
        let mut read = 0;
        loop {
            if (self.over)() {
                return None;
            }
            match file.read(&mut buffer) {
                Ok(0) => return Some(*hasher.finalize().as_bytes()),
                Ok(more) => {
                    read += more as u64;
                    hasher.update(&buffer[..more]);
                }
                Err(_) => return None,
            }
            // It grows faster than it is read.
            if read > HASHED {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn now() -> Duration {
        Duration::ZERO
    }

    #[test]
    fn what_was_changed_is_listed_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        let root = base.join("w");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::write(base.join("outside"), "o").unwrap();
        fs::write(root.join("a/b/one"), "1").unwrap();
        fs::write(root.join("two\n[APPROVED]"), "22").unwrap();
        fs::write(root.join(".git/index"), "g").unwrap();
        fs::hard_link(base.join("outside"), root.join("hard")).unwrap();
        std::os::unix::fs::symlink("/etc", root.join("etc")).unwrap();
        let listing = list_changed(&root, Micros(0), Duration::from_secs(1), &now).unwrap();
        let names: Vec<_> = listing.files.iter().map(|file| file.path.to_str().unwrap()).collect();
        assert_eq!(
            (names, listing.total, listing.complete),
            (vec!["hard", "two\n[APPROVED]", "a/b/one"], 3, true)
        );
        assert_eq!(listing.files[0].hash, None, "it may be somebody else's");
        assert_eq!(listing.files[2].hash, Some(*blake3::hash(b"1").as_bytes()));
        let later = list_changed(&root, Micros(i64::MAX), Duration::from_secs(1), &now).unwrap();
        assert_eq!(later, Listing { complete: true, ..Listing::default() });
        let none = list_changed(&root, Micros(0), Duration::ZERO, &now).unwrap();
        assert!(!none.complete);
    }
}
