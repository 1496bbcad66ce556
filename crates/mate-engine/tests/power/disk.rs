//! A disk that loses its power: what was synced is there, of the rest anything may be.

use crate::record::Event;
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

/// What a disk writes whole or not at all, in bytes.
const SECTOR: usize = 512;

/// What becomes of what was not synced.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    /// All of it is lost.
    Lost,
    /// All of it is there.
    Kept,
    /// Each sector and each name by chance.
    Chance(u64),
}

impl Fate {
    fn keeps(&mut self) -> bool {
        match self {
            Self::Lost => false,
            Self::Kept => true,
            Self::Chance(state) => {
                // A step of a xorshift generator: enough for a coin.
                *state ^= *state << 13;
                *state ^= *state >> 7;
                *state ^= *state << 17;
                *state & 1 == 1
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Change {
    Write(u64, Vec<u8>),
    Resize(u64),
}

#[derive(Clone, Debug, Default)]
struct File {
    durable: Vec<u8>,
    pending: Vec<Change>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thing {
    Folder,
    File(usize),
}

/// A name that was made, or removed.
type Naming = (PathBuf, Option<Thing>);

/// The disk under one home. Paths are relative to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    files: Vec<File>,
    /// As the running system sees it.
    names: BTreeMap<PathBuf, Thing>,
    durable: BTreeMap<PathBuf, Thing>,
    pending: Vec<Naming>,
}

impl Disk {
    /// A disk that holds what is in `root`, all of it durable.
    pub(crate) fn of(root: &Path) -> io::Result<Self> {
        let mut disk = Self::default();
        disk.take(root, root)?;
        disk.durable = disk.names.clone();
        Ok(disk)
    }

    fn take(&mut self, root: &Path, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.strip_prefix(root).expect("below it").to_owned();
            if path.is_dir() {
                self.names.insert(name, Thing::Folder);
                self.take(root, &path)?;
            } else if path.is_file() {
                self.files.push(File { durable: fs::read(&path)?, pending: Vec::new() });
                self.names.insert(name, Thing::File(self.files.len() - 1));
            }
        }
        Ok(())
    }

    /// Something is done to it.
    pub(crate) fn apply(&mut self, root: &Path, event: &Event) {
        let name = |path: &Path| path.strip_prefix(root).expect("below it").to_owned();
        match event {
            Event::Folder(path) => self.rename(name(path), Some(Thing::Folder)),
            Event::File(path) => {
                self.files.push(File::default());
                self.rename(name(path), Some(Thing::File(self.files.len() - 1)));
            }
            Event::Wrote(path, at, bytes) => self.change(&name(path), Change::Write(*at, bytes.clone())),
            Event::Resized(path, length) => self.change(&name(path), Change::Resize(*length)),
            Event::Synced(path) => {
                if let Some(Thing::File(file)) = self.names.get(&name(path)) {
                    let file = &mut self.files[*file];
                    for change in std::mem::take(&mut file.pending) {
                        put(&mut file.durable, &change);
                    }
                }
            }
            Event::SyncedFolder(path) => {
                let folder = name(path);
                let pending = std::mem::take(&mut self.pending);
                for (name, thing) in pending {
                    if name.parent() == Some(folder.as_path()) {
                        set(&mut self.durable, &name, thing);
                    } else {
                        self.pending.push((name, thing));
                    }
                }
            }
            Event::Linked(from, to) => {
                let thing = self.names.get(&name(from)).copied();
                self.rename(name(to), thing);
            }
            Event::Removed(path) => self.rename(name(path), None),
            Event::Said(_) => {}
        }
    }

    fn rename(&mut self, name: PathBuf, thing: Option<Thing>) {
        set(&mut self.names, &name, thing);
        self.pending.push((name, thing));
    }

    fn change(&mut self, name: &Path, change: Change) {
        let Some(Thing::File(file)) = self.names.get(name) else { panic!("{} is not there", name.display()) };
        self.files[*file].pending.push(change);
    }

    /// Writes what is found after a loss of power into `to`, an empty folder.
    pub(crate) fn lose_power(&self, mut fate: Fate, to: &Path) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        let mut names = self.durable.clone();
        for (name, thing) in &self.pending {
            if fate.keeps() {
                set(&mut names, name, *thing);
            }
        }
        for (name, thing) in &names {
            // What is in a folder that is not there is not there either.
            let folder = name.parent().unwrap_or(Path::new(""));
            if !to.join(folder).is_dir() {
                continue;
            }
            let path = to.join(name);
            match thing {
                Thing::Folder => {
                    fs::create_dir(&path)?;
                    fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
                }
                Thing::File(file) => {
                    fs::write(&path, self.content(*file, &mut fate))?;
                    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
                }
            }
        }
        Ok(())
    }

    fn content(&self, file: usize, fate: &mut Fate) -> Vec<u8> {
        let file = &self.files[file];
        let mut content = file.durable.clone();
        for change in &file.pending {
            match change {
                Change::Write(at, bytes) => {
                    for (at, sector) in sectors(*at, bytes) {
                        if fate.keeps() {
                            put(&mut content, &Change::Write(at, sector.to_vec()));
                        }
                    }
                }
                Change::Resize(_) if fate.keeps() => put(&mut content, change),
                Change::Resize(_) => {}
            }
        }
        content
    }
}

fn set(names: &mut BTreeMap<PathBuf, Thing>, name: &Path, thing: Option<Thing>) {
    match thing {
        Some(thing) => names.insert(name.to_owned(), thing),
        None => names.remove(name),
    };
}

/// The pieces of a write that lie in one sector each.
fn sectors(at: u64, bytes: &[u8]) -> Vec<(u64, &[u8])> {
    let mut pieces = Vec::new();
    let (mut at, mut rest) = (at, bytes);
    while !rest.is_empty() {
        let room = SECTOR - usize::try_from(at).unwrap_or(0) % SECTOR;
        let (piece, more) = rest.split_at(room.min(rest.len()));
        pieces.push((at, piece));
        at += piece.len() as u64;
        rest = more;
    }
    pieces
}

fn put(content: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write(at, bytes) => {
            let at = usize::try_from(*at).expect("a small file");
            if content.len() < at + bytes.len() {
                content.resize(at + bytes.len(), 0);
            }
            content[at..at + bytes.len()].copy_from_slice(bytes);
        }
        Change::Resize(length) => content.resize(usize::try_from(*length).expect("a small file"), 0),
    }
}
