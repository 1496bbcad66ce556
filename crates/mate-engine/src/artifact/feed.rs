//! Bytes that come piece by piece: from memory, or from an open file.

use super::{NotKept, bytes::blocking};
use std::{
    fs::File,
    io,
    os::unix::fs::{FileExt, MetadataExt},
    sync::Arc,
};

/// The size of a piece, in bytes.
const PIECE: usize = 256 * 1024;

/// What is to be kept.
pub(super) enum Feed {
    /// Bytes at hand.
    Memory { bytes: Vec<u8>, at: usize },
    /// A file, as long as it was when it was opened.
    File { file: Arc<File>, at: u64, size: u64, stamp: Stamp },
}

/// What an open file is, and when it changed last: the same before and after reading, or what was read may never have
/// been all of the file at one moment. Whoever writes to it cannot set the time of the change back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: (u64, u64),
    size: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(file: &File) -> io::Result<Self> {
        let found = file.metadata()?;
        Ok(Self {
            inode: (found.dev(), found.ino()),
            size: found.len(),
            written: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

impl Feed {
    /// An open file, which had this size when it was looked at.
    pub(super) async fn of_file(file: Arc<File>, size: u64) -> Result<Self, NotKept> {
        let handle = Arc::clone(&file);
        let stamp = blocking(move || Stamp::of(&handle)).await;
        let stamp = stamp.map_err(|error| NotKept::Failed(error.to_string()))?;
        if stamp.size != size {
            return Err(NotKept::Changed);
        }
        Ok(Self::File { file, at: 0, size, stamp })
    }

    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Memory { bytes, .. } => bytes.len() as u64,
            Self::File { size, .. } => *size,
        }
    }

    pub(super) fn rewind(&mut self) {
        match self {
            Self::Memory { at, .. } => *at = 0,
            Self::File { at, .. } => *at = 0,
        }
    }

    /// The next piece; none at the end. A file that has changed since it was opened is refused.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, NotKept> {
        match self {
            Self::Memory { bytes, at } => {
                let piece = bytes[*at..(*at + PIECE).min(bytes.len())].to_vec();
                *at += piece.len();
                Ok((!piece.is_empty()).then_some(piece))
            }
            Self::File { file, at, size, stamp } => {
                let stamp = *stamp;
                let (from, wanted) = (*at, (*size - *at).min(PIECE as u64));
                let handle = Arc::clone(file);
                let piece = blocking(move || {
                    // One byte more than there should be tells whether it has grown.
                    let mut piece = vec![0; usize::try_from(wanted).unwrap_or(PIECE) + 1];
                    let mut read = 0;
                    while read < piece.len() {
                        match handle.read_at(&mut piece[read..], from + read as u64)? {
                            0 => break,
                            more => read += more,
                        }
                    }
                    piece.truncate(read);
                    Ok((piece, Stamp::of(&handle)? == stamp))
                })
                .await;
                let (mut piece, same) = piece.map_err(|error| NotKept::Failed(error.to_string()))?;
                if !same {
                    return Err(NotKept::Changed);
                }
                let (last, length) = (from + wanted == *size, piece.len() as u64);
                if length < wanted || (last && length > wanted) {
                    return Err(NotKept::Changed);
                }
                piece.truncate(usize::try_from(wanted).unwrap_or(PIECE));
                *at += piece.len() as u64;
                Ok((!piece.is_empty()).then_some(piece))
            }
        }
    }

    /// Whether all of it is text: UTF-8. Reads to the end and begins anew.
    pub(super) async fn is_text(&mut self) -> Result<bool, NotKept> {
        let mut tail: Vec<u8> = Vec::new();
        let mut text = true;
        while text && let Some(piece) = self.next().await? {
            tail.extend_from_slice(&piece);
            match split_text(&mut tail) {
                Some(_) => {}
                None => text = false,
            }
        }
        self.rewind();
        Ok(text && tail.is_empty())
    }
}

/// Takes the text at the beginning of `bytes`; what may be the beginning of a character stays. None: it is no text.
pub(super) fn split_text(bytes: &mut Vec<u8>) -> Option<String> {
    let good = match std::str::from_utf8(bytes) {
        Ok(text) => text.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => return None,
    };
    let rest = bytes.split_off(good);
    String::from_utf8(std::mem::replace(bytes, rest)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_that_is_written_to_while_it_is_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![b'a'; 2 * PIECE]).unwrap();
        let open = || Arc::new(File::open(&path).unwrap());
        let mut feed = Feed::of_file(open(), 2 * PIECE as u64).await.unwrap();
        assert!(feed.is_text().await.unwrap());
        assert!(feed.next().await.unwrap().is_some());
        // As long as it was, and its time is set back.
        let before = std::fs::metadata(&path).unwrap().modified().unwrap();
        let writer = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        writer.write_at(b"b", 0).unwrap();
        writer.set_modified(before).unwrap();
        assert!(matches!(feed.next().await, Err(NotKept::Changed)));
        assert!(matches!(Feed::of_file(open(), 1).await, Err(NotKept::Changed)));
    }

    #[tokio::test]
    async fn text_is_known_wherever_it_is_cut() {
        let text = "aß€😀".repeat(50_000);
        let mut feed = Feed::Memory { bytes: text.clone().into_bytes(), at: 0 };
        assert!(feed.is_text().await.unwrap());
        let mut cut = text.into_bytes();
        cut.pop();
        assert!(!Feed::Memory { bytes: cut, at: 0 }.is_text().await.unwrap());
        assert!(!Feed::Memory { bytes: vec![0xff], at: 0 }.is_text().await.unwrap());
        assert!(Feed::Memory { bytes: Vec::new(), at: 0 }.is_text().await.unwrap());
    }
}
