//! Second names of what is hidden: a hard link elsewhere would show it all the same.

use std::{fs, io, os::unix::fs::MetadataExt as _, path::Path};

/// Refuses a hidden file, or a hidden folder with a file directly in it, that has a second name.
///
/// Deeper files are looked at when it is their folder's turn: each session looks at its own.
pub(super) fn refuse(hidden: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(hidden)?;
    if found.is_file() {
        return single(hidden, &found);
    }
    if found.is_dir() {
        for entry in fs::read_dir(hidden)? {
            let entry = entry?;
            match entry.metadata() {
                Ok(found) if found.is_file() => single(&entry.path(), &found)?,
                Ok(_) => {}
                // Stores make and remove files while this looks.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

fn single(path: &Path, found: &fs::Metadata) -> io::Result<()> {
    if found.nlink() <= 1 {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "{} has a second name (a hard link) that cannot be hidden: find it with `find DIR -samefile {0}` and remove it",
        path.display()
    )))
}
