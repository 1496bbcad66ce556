//! The key file of a home: 32 random bytes that only its owner may read.

use crate::secret::Key;
use mate_model::Entropy;
use std::{
    ffi::OsString,
    fs::{File, OpenOptions},
    io::{ErrorKind, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};
use zeroize::Zeroizing;

/// Names another key file than the home's own.
pub const KEY_FILE_VARIABLE: &str = "AGENT_MATE_KEY_FILE";

const SIZE: u64 = 32;

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// There is no such file.
    #[error(
        "the key file {path} is missing: bring it back from your backup, or run `agent-mate init` for a new home"
    )]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// Others than its owner may read or write it.
    #[error(
        "the key file {path} is open to others (mode {mode:03o}): run `chmod 600 {path}` and consider the key known"
    )]
    OpenToOthers {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Not a file of 32 bytes.
    #[error("the key file {path} is not a file of 32 bytes ({size} found): bring it back from your backup")]
    WrongSize {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
    },
    /// The system refused.
    #[error("the key file {path} could not be used: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Where the key of `home` is; `variable` is the value of [`KEY_FILE_VARIABLE`], if set.
#[must_use]
pub fn path(home: &Path, variable: Option<OsString>) -> PathBuf {
    variable.filter(|v| !v.is_empty()).map_or_else(|| home.join("key"), PathBuf::from)
}

/// Reads the key.
///
/// # Errors
/// When it is missing, open to others, not 32 bytes long, or not readable.
pub fn load(path: &Path) -> Result<Key, KeyFileError> {
    let io = |source: std::io::Error| {
        let path = path.to_owned();
        if source.kind() == ErrorKind::NotFound {
            KeyFileError::Missing { path }
        } else {
            KeyFileError::Io { path, source }
        }
    };
    let mut file = File::open(path).map_err(io)?;
    // Of the opened file, so that nothing can be put in its place in between.
    let found = file.metadata().map_err(io)?;
    let mode = found.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(KeyFileError::OpenToOthers { path: path.to_owned(), mode });
    }
    if !found.is_file() || found.len() != SIZE {
        return Err(KeyFileError::WrongSize { path: path.to_owned(), size: found.len() });
    }
    let mut bytes = Zeroizing::new([0; 32]);
    file.read_exact(&mut bytes[..]).map_err(io)?;
    Ok(Key::new(*bytes))
}

/// Reads the key, or makes one if there is none. Two callers at once get the same key.
///
/// # Errors
/// As [`load`], or when the file cannot be made.
pub fn load_or_create(path: &Path, entropy: &dyn Entropy) -> Result<Key, KeyFileError> {
    match load(path) {
        Err(KeyFileError::Missing { .. }) => {}
        done => return done,
    }
    create(path, entropy).map_err(|source| KeyFileError::Io { path: path.to_owned(), source })?;
    load(path)
}

/// Writes a whole file beside and links it into place, which fails if somebody was faster.
fn create(path: &Path, entropy: &dyn Entropy) -> std::io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let draft = folder.join(format!(".key-{}", entropy.uuid().simple()));
    let made = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        let bytes = Zeroizing::new(entropy.secret());
        file.write_all(&bytes[..])?;
        file.sync_all()?;
        match std::fs::hard_link(&draft, path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    })();
    let removed = std::fs::remove_file(&draft);
    made.and(removed)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        os::unix::fs::PermissionsExt,
        sync::atomic::{AtomicU8, Ordering},
    };

    #[derive(Debug, Default)]
    struct Counting(AtomicU8);

    impl Entropy for Counting {
        fn uuid(&self) -> uuid::Uuid {
            uuid::Uuid::from_u128(self.0.fetch_add(1, Ordering::SeqCst).into())
        }
        fn secret(&self) -> [u8; 32] {
            [self.0.fetch_add(1, Ordering::SeqCst); 32]
        }
    }

    #[test]
    fn a_new_key_is_private_and_stays_the_same() {
        let home = tempfile::tempdir().expect("folder");
        let file = path(home.path(), None);
        let entropy = Counting::default();
        let made = load_or_create(&file, &entropy).expect("made");
        let again = load_or_create(&file, &entropy).expect("read");
        assert_eq!(made.expose(), again.expose());
        assert_eq!(std::fs::metadata(&file).expect("there").mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(home.path()).expect("folder").count(), 1, "no draft is left");
    }

    #[test]
    fn many_starters_agree_on_one_key() {
        let home = tempfile::tempdir().expect("folder");
        let file = path(home.path(), None);
        let entropy = Counting::default();
        let keys: Vec<_> = std::thread::scope(|scope| {
            let starters: Vec<_> =
                (0..8).map(|_| scope.spawn(|| load_or_create(&file, &entropy).expect("key"))).collect();
            starters.into_iter().map(|s| *s.join().expect("thread").expose()).collect()
        });
        assert!(keys.windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn g13_a_bad_key_file_is_refused_with_the_way_out() {
        let home = tempfile::tempdir().expect("folder");
        let file = path(home.path(), Some(home.path().join("other").into()));
        assert!(matches!(load(&file), Err(KeyFileError::Missing { .. })));
        std::fs::write(&file, [0; 31]).expect("write");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("chmod");
        assert!(matches!(load(&file), Err(KeyFileError::WrongSize { size: 31, .. })));
        std::fs::write(&file, [0; 32]).expect("write");
        assert!(load(&file).is_ok());
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).expect("chmod");
        let error = load(&file).expect_err("open to the group");
        assert!(error.to_string().contains("chmod 600"), "{error}");
        assert!(load_or_create(&file, &Counting::default()).is_err(), "never replaced");
    }
}
