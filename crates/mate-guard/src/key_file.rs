//! The key file of a home: the keys of its ring, 32 random bytes each, that only its owner may read.
//!
//! It is where `AGENT_MATE_KEY_FILE` says, else the credential that the service manager hands over
//! (`$CREDENTIALS_DIRECTORY/agent-mate-key`), else `HOME/key`.

use crate::{
    ring::{KeyRing, MOST, SIZE},
    secret::Key,
};
use mate_model::Entropy;
use std::{
    ffi::OsString,
    fmt,
    fs::{File, OpenOptions},
    io::{ErrorKind, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};
use zeroize::Zeroizing;

/// Names another key file than the home's own.
pub const KEY_FILE_VARIABLE: &str = "AGENT_MATE_KEY_FILE";

/// Where the service manager puts the credentials of a unit.
pub const CREDENTIALS_VARIABLE: &str = "CREDENTIALS_DIRECTORY";

/// The name of our credential.
pub const CREDENTIAL: &str = "agent-mate-key";

/// Who keeps the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// The file that `AGENT_MATE_KEY_FILE` names.
    Variable,
    /// The system's credential store. Never written by us.
    Credential,
    /// The home itself.
    Home,
}

impl KeySource {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Variable => "variable",
            Self::Credential => "credential",
            Self::Home => "home",
        }
    }

    /// The permission bits that the file may not have. A credential may be read by a group: an access control list,
    /// by which systemd gives it to the unit's user alone, shows itself there.
    const fn forbidden(self) -> u32 {
        match self {
            Self::Credential => 0o037,
            Self::Variable | Self::Home => 0o077,
        }
    }
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Variable => "named by AGENT_MATE_KEY_FILE",
            Self::Credential => "a credential of the service manager",
            Self::Home => "the home's own file",
        })
    }
}

/// Where the key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPlace {
    /// The file.
    pub path: PathBuf,
    /// Who keeps it.
    pub source: KeySource,
}

impl KeyPlace {
    /// Where the key of `home` is, in this environment.
    #[must_use]
    pub fn of(home: &Path, variable: Option<OsString>, credentials: Option<OsString>) -> Self {
        if let Some(named) = variable.filter(|named| !named.is_empty()) {
            return Self { path: PathBuf::from(named), source: KeySource::Variable };
        }
        // A service may have other credentials, and its key in the home all the same.
        let credential = credentials
            .filter(|folder| !folder.is_empty())
            .map(|folder| PathBuf::from(folder).join(CREDENTIAL));
        match credential.filter(|path| path.exists()) {
            Some(path) => Self { path, source: KeySource::Credential },
            None => Self { path: home.join("key"), source: KeySource::Home },
        }
    }

    /// The permission bits of the file.
    ///
    /// # Errors
    /// What the file system says.
    pub fn mode(&self) -> std::io::Result<u32> {
        std::fs::metadata(&self.path).map(|found| found.mode() & 0o777)
    }
}

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
    /// Not a file of keys.
    #[error(
        "the key file {path} is not a file of one to {MOST} keys of 32 bytes ({size} found): bring it back from your backup"
    )]
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

/// Reads the keys.
///
/// # Errors
/// When the file is missing, open to others, not made of keys, or not readable.
pub fn load(place: &KeyPlace) -> Result<KeyRing, KeyFileError> {
    let path = &place.path;
    let io = |source: std::io::Error| {
        let path = path.clone();
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
    if mode & place.source.forbidden() != 0 {
        return Err(KeyFileError::OpenToOthers { path: path.clone(), mode });
    }
    let wrong = || KeyFileError::WrongSize { path: path.clone(), size: found.len() };
    if !found.is_file() || found.len() > (MOST * SIZE) as u64 {
        return Err(wrong());
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(MOST * SIZE));
    Read::by_ref(&mut file).take((MOST * SIZE) as u64).read_to_end(&mut bytes).map_err(io)?;
    KeyRing::parse(&bytes).ok_or_else(wrong)
}

/// Reads the keys, or makes one if there is none. Two callers at once get the same key.
///
/// # Errors
/// As [`load`], or when the file cannot be made.
pub fn load_or_create(place: &KeyPlace, entropy: &dyn Entropy) -> Result<KeyRing, KeyFileError> {
    match load(place) {
        Err(KeyFileError::Missing { .. }) => {}
        done => return done,
    }
    let path = &place.path;
    let key = KeyRing::of(Key::random(entropy));
    put(path, &key, entropy, false).map_err(|source| KeyFileError::Io { path: path.clone(), source })?;
    load(place)
}

/// Puts other keys in the place of those that are there: whole or not at all, durable when this returns.
///
/// # Errors
/// When the file or its folder cannot be written.
pub fn replace(path: &Path, ring: &KeyRing, entropy: &dyn Entropy) -> Result<(), KeyFileError> {
    put(path, ring, entropy, true).map_err(|source| KeyFileError::Io { path: path.to_owned(), source })
}

/// Writes the keys to a file that must not be there yet.
///
/// # Errors
/// When there is one, or it cannot be written.
pub fn export(path: &Path, ring: &KeyRing, entropy: &dyn Entropy) -> Result<(), KeyFileError> {
    let io = |source| KeyFileError::Io { path: path.to_owned(), source };
    if path.symlink_metadata().is_ok() {
        return Err(io(ErrorKind::AlreadyExists.into()));
    }
    put(path, ring, entropy, false).map_err(io)
}

/// Writes a whole file beside its place. Without `over`, it is linked there, which fails if somebody was faster.
fn put(path: &Path, ring: &KeyRing, entropy: &dyn Entropy, over: bool) -> std::io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let draft = folder.join(format!(".key-{}", entropy.uuid().simple()));
    let made = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(&ring.bytes())?;
        file.sync_all()?;
        if over {
            return std::fs::rename(&draft, path);
        }
        match std::fs::hard_link(&draft, path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    })();
    match std::fs::remove_file(&draft) {
        Err(error) if error.kind() != ErrorKind::NotFound => made.and(Err(error))?,
        Ok(()) | Err(_) => made?,
    }
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
        let file = KeyPlace::of(home.path(), None, None);
        let entropy = Counting::default();
        let made = load_or_create(&file, &entropy).expect("made");
        let again = load_or_create(&file, &entropy).expect("read");
        assert_eq!(made.bytes(), again.bytes());
        assert_eq!(file.mode().expect("there"), 0o600);
        assert_eq!(std::fs::read_dir(home.path()).expect("folder").count(), 1, "no draft is left");
    }

    #[test]
    fn many_starters_agree_on_one_key() {
        let home = tempfile::tempdir().expect("folder");
        let file = KeyPlace::of(home.path(), None, None);
        let entropy = Counting::default();
        let keys: Vec<_> = std::thread::scope(|scope| {
            let starters: Vec<_> =
                (0..8).map(|_| scope.spawn(|| load_or_create(&file, &entropy).expect("key"))).collect();
            starters.into_iter().map(|s| s.join().expect("thread").bytes()).collect()
        });
        assert!(keys.windows(2).all(|pair| pair[0] == pair[1]));
    }

    #[test]
    fn g13_a_bad_key_file_is_refused_with_the_way_out() {
        let home = tempfile::tempdir().expect("folder");
        let place = KeyPlace::of(home.path(), Some(home.path().join("other").into()), None);
        let file = place.path.clone();
        assert!(matches!(load(&place), Err(KeyFileError::Missing { .. })));
        std::fs::write(&file, [0; 31]).expect("write");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("chmod");
        assert!(matches!(load(&place), Err(KeyFileError::WrongSize { size: 31, .. })));
        std::fs::write(&file, [0; 32]).expect("write");
        assert!(load(&place).is_ok());
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).expect("chmod");
        let error = load(&place).expect_err("open to the group");
        assert!(error.to_string().contains("chmod 600"), "{error}");
        assert!(load_or_create(&place, &Counting::default()).is_err(), "never replaced");
    }

    #[test]
    fn a_credential_comes_before_the_home_and_after_the_variable() {
        let home = tempfile::tempdir().expect("folder");
        let folder = home.path().join("credentials");
        let given = || Some(OsString::from(&folder));
        assert_eq!(KeyPlace::of(home.path(), None, given()).source, KeySource::Home, "it is not there");
        std::fs::create_dir(&folder).expect("made");
        std::fs::write(folder.join(CREDENTIAL), [3; 32]).expect("written");
        let place = KeyPlace::of(home.path(), None, given());
        assert_eq!(place.source, KeySource::Credential);
        // As systemd hands it to the user of a unit: by an access control list, which shows as the group's.
        std::fs::set_permissions(&place.path, PermissionsExt::from_mode(0o440)).expect("chmod");
        assert_eq!(load(&place).expect("reads").ids().count(), 1);
        std::fs::set_permissions(&place.path, PermissionsExt::from_mode(0o444)).expect("chmod");
        assert!(matches!(load(&place), Err(KeyFileError::OpenToOthers { .. })));
        let named = KeyPlace::of(home.path(), Some("/elsewhere".into()), given());
        assert_eq!(named.source, KeySource::Variable);
    }

    #[test]
    fn keys_are_replaced_whole_and_exported_once() {
        let home = tempfile::tempdir().expect("folder");
        let place = KeyPlace::of(home.path(), None, None);
        let entropy = Counting::default();
        let mut ring = load_or_create(&place, &entropy).expect("made");
        let second = ring.grow(&entropy).expect("room");
        replace(&place.path, &ring, &entropy).expect("replaced");
        assert_eq!(load(&place).expect("reads").ids().last(), Some(second));
        assert_eq!(place.mode().expect("there"), 0o600);
        let out = home.path().join("out");
        export(&out, &ring, &entropy).expect("exported");
        assert!(export(&out, &ring, &entropy).is_err(), "nothing is overwritten");
        assert_eq!(std::fs::read_dir(home.path()).expect("folder").count(), 2, "no draft is left");
    }
}
