//! The file itself: slots of one size, written before they are needed, so that a full disk can still take them.

use crate::home::sync_folder;
use mate_fault::disk::{self, Note};
use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// How many outcomes can be held at once; no more calls of a session are let out than that.
pub(super) const SLOTS: usize = 64;
/// The size of a slot in bytes: no two slots share a block of any usual disk.
const SLOT: usize = 4096;
const LENGTH: usize = 4;
/// The longest content of a slot, in bytes.
pub(super) const ROOM: usize = SLOT - LENGTH;

#[derive(Debug)]
pub(super) struct SpillFile {
    file: File,
    path: PathBuf,
}

impl SpillFile {
    /// Opens the file for writing; makes it, or makes it whole, with every block in its place.
    pub(super) fn prepare(path: &Path) -> io::Result<Self> {
        let fresh = !path.exists();
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        let file = Self { file, path: path.to_owned() };
        if fresh {
            disk::note(Note::File(path));
        }
        let found = file.file.metadata()?;
        let whole = (SLOTS * SLOT) as u64;
        if found.len() != whole || found.blocks() * 512 < whole {
            for slot in 0..SLOTS {
                if file.read(slot)?.is_none() {
                    file.fill(slot, &[])?;
                }
            }
            file.file.set_len(whole)?;
            disk::note(Note::Resized { path, length: whole });
            file.sync()?;
            if let Some(folder) = path.parent() {
                sync_folder(folder)?;
            }
        }
        Ok(file)
    }

    /// Opens the file for reading; none when it is not there.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        match File::open(path) {
            Ok(file) => Ok(Some(Self { file, path: path.to_owned() })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What a slot holds; none when it is free. What was torn is given as it is: its seal does not open.
    pub(super) fn read(&self, slot: usize) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = [0; SLOT];
        let mut got = 0;
        while got < SLOT {
            match self.file.read_at(&mut bytes[got..], place(slot) + got as u64)? {
                0 => break,
                more => got += more,
            }
        }
        let Some((length, rest)) = bytes.split_first_chunk::<LENGTH>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length == 0 && rest.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        Ok(Some(rest.get(..length).unwrap_or(rest).to_vec()))
    }

    /// Fills a slot; durable when this returns.
    pub(super) fn write(&self, slot: usize, content: &[u8]) -> io::Result<()> {
        self.fill(slot, content)?;
        self.sync()
    }

    /// Frees a slot; durable when this returns.
    pub(super) fn free(&self, slot: usize) -> io::Result<()> {
        self.write(slot, &[])
    }

    fn fill(&self, slot: usize, content: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(SLOT);
        let length = u32::try_from(content.len()).ok().filter(|_| content.len() <= ROOM);
        let length = length.ok_or_else(|| io::Error::other("longer than a slot"))?;
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(content);
        bytes.resize(SLOT, 0);
        self.file.write_all_at(&bytes, place(slot))?;
        disk::note(Note::Wrote { path: &self.path, at: place(slot), bytes: &bytes });
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_all()?;
        disk::note(Note::Synced(&self.path));
        Ok(())
    }
}

const fn place(slot: usize) -> u64 {
    (slot * SLOT) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_until_it_is_freed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("held");
        let file = SpillFile::prepare(&path).expect("made");
        file.write(3, b"three").expect("written");
        file.write(SLOTS - 1, &[7; ROOM]).expect("written");
        assert!(file.write(4, &[7; ROOM + 1]).is_err());
        drop(file);
        let file = SpillFile::prepare(&path).expect("opened");
        assert_eq!(file.read(3).expect("read").as_deref(), Some(&b"three"[..]));
        assert_eq!(file.read(SLOTS - 1).expect("read").as_deref(), Some(&[7; ROOM][..]));
        assert_eq!(file.read(4).expect("read"), None);
        file.free(3).expect("freed");
        assert_eq!(file.read(3).expect("read"), None);
    }

    #[test]
    fn a_file_that_was_cut_or_has_holes_is_made_whole_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("held");
        SpillFile::prepare(&path).expect("made").write(1, b"kept").expect("written");
        let cut = OpenOptions::new().write(true).open(&path).expect("opens");
        cut.set_len(3 * SLOT as u64).expect("cut");
        cut.set_len((SLOTS * SLOT) as u64).expect("a hole");
        let file = SpillFile::prepare(&path).expect("made whole");
        assert_eq!(file.read(1).expect("read").as_deref(), Some(&b"kept"[..]));
        let found = std::fs::metadata(&path).expect("there");
        assert_eq!(found.len(), (SLOTS * SLOT) as u64);
        assert!(found.blocks() * 512 >= found.len(), "every block has its place");
    }
}
