//! The Unix socket in the home: closed to everybody else, and put in place whole.

use super::ListenError;
use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};
use tokio::net::UnixListener;

/// The longest path that a socket can have on Linux, without its final NUL.
const LONGEST: usize = 107;

/// Listens at `path`, in the place of a dead coordinator's socket: the caller holds the coordinator's lock.
pub(super) fn bind(path: &Path) -> Result<UnixListener, ListenError> {
    let draft = draft_of(path);
    let failed = |error, hint| ListenError::Unix { path: path.to_owned(), error, hint };
    if draft.as_os_str().len() > LONGEST {
        return Err(failed(
            io::ErrorKind::InvalidFilename.into(),
            "its path is too long: use a shorter --home",
        ));
    }
    let hint = "check that the home can be written";
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error, hint)),
        Ok(found) if is_socket(&found) => {}
        Ok(_) => {
            return Err(failed(io::ErrorKind::AlreadyExists.into(), "something else is there: move it away"));
        }
    }
    let bound = (|| {
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let listener = UnixListener::bind(&draft)?;
        fs::set_permissions(&draft, fs::Permissions::from_mode(0o600))?;
        fs::rename(&draft, path)?;
        Ok(listener)
    })();
    bound.map_err(|error| failed(error, hint))
}

fn is_socket(found: &fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_socket(&found.file_type())
}

fn draft_of(path: &Path) -> PathBuf {
    let mut draft = path.as_os_str().to_owned();
    draft.push(".new");
    draft.into()
}
