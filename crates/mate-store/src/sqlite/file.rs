//! The file itself: private from its first moment, and on a file system whose locks can be trusted.
//!
//! No file that SQLite may have open is ever opened here: closing it would drop the locks of this process.

use crate::StoreError;
use mate_fault::disk::{self, Note};
use std::{
    fs, io,
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

/// Makes the file with mode 0600 if it is not there, else takes away what others may do with it.
pub(super) fn prepare(path: &Path) -> Result<(), StoreError> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => return Err(unusable(path, "it is not a file")),
        Ok(found) if found.permissions().mode() & 0o077 != 0 => {
            fs::set_permissions(path, fs::Permissions::from_mode(0o600))
                .map_err(|why| unusable(path, &why.to_string()))?;
        }
        Ok(_) => {}
        Err(why) if why.kind() == io::ErrorKind::NotFound => {
            create(path).map_err(|why| unusable(path, &why.to_string()))?;
        }
        Err(why) => return Err(unusable(path, &why.to_string())),
    }
    check_file_system(path)
}

/// Makes the file under another name and links it into place, so that of many who open at once each finds
/// either no file or a closed one. The folder is made durable as well.
fn create(path: &Path) -> io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new-{}-{number}", std::process::id()));
    let fresh = path.with_file_name(name);
    fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&fresh)?.sync_all()?;
    disk::note(Note::File(&fresh));
    disk::note(Note::Synced(&fresh));
    let linked = fs::hard_link(&fresh, path);
    if linked.is_ok() {
        disk::note(Note::Linked { from: &fresh, to: path });
    }
    fs::remove_file(&fresh)?;
    disk::note(Note::Removed(&fresh));
    match linked {
        Err(why) if why.kind() != io::ErrorKind::AlreadyExists => return Err(why),
        Ok(()) | Err(_) => {}
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::File::open(folder)?.sync_all()?;
    disk::note(Note::SyncedFolder(folder));
    Ok(())
}

/// Refuses network file systems, whose locks and shared memory SQLite's log cannot rely on.
pub(super) fn check_file_system(path: &Path) -> Result<(), StoreError> {
    let found = rustix::fs::statfs(path).map_err(|why| unusable(path, &why.to_string()))?;
    // The numbers of linux/magic.h; the type of the field differs between machines.
    #[expect(clippy::cast_possible_truncation, reason = "a magic number has 32 bits")]
    let name = match found.f_type as u32 {
        0x6969 => "NFS",
        0x517b => "SMB",
        0xff53_4d42 => "CIFS",
        0xfe53_4d42 => "SMB2",
        0x00c3_6400 => "Ceph",
        0x5346_414f => "AFS",
        0x7375_7245 => "Coda",
        _ => return Ok(()),
    };
    Err(unusable(path, &format!("it is on a network file system ({name}); put the home on a local disk")))
}

fn unusable(path: &Path, why: &str) -> StoreError {
    StoreError::Unavailable { why: format!("{}: {why}", path.display()), maybe_committed: false }
}
