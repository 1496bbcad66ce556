//! Where Agent Mate keeps what it keeps.
//!
//! ```text
//! HOME/config.toml           settings
//! HOME/key                   the key that seals secrets (0600)
//! HOME/token                 the first owner's token, for the command line (0600)
//! HOME/ledger.db             the embedded ledger
//! HOME/agent-mate.sock       the coordinator's socket
//! HOME/serve.lock            held by the coordinator
//! HOME/artifacts/PROJECT/     the sealed contents of a project's artifacts
//! HOME/sessions/SESSION/     one session's folder, see [`SessionFolder`]
//! HOME/checks/CHECK/         the container of a look at a connection, for as long as it takes
//! ```

use mate_fault::disk::{self, Note};
use mate_model::SessionId;
use std::{
    fs::{self, File},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{DirBuilderExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

/// The folder of one Agent Mate, and where its settings are.
#[derive(Clone, Debug)]
pub struct Home {
    folder: PathBuf,
    config: PathBuf,
}

impl Home {
    /// The home at an absolute path, with its settings in it; nothing is made.
    #[must_use]
    pub fn at(folder: PathBuf) -> Self {
        let config = folder.join("config.toml");
        Self { folder, config }
    }

    /// The same home with its settings elsewhere.
    #[must_use]
    pub fn configured(self, config: PathBuf) -> Self {
        Self { config, ..self }
    }

    /// Makes the folder, closed to everybody else, where it is missing.
    ///
    /// # Errors
    /// What the file system says; or that others may enter an existing one.
    pub fn create(&self) -> io::Result<()> {
        let fresh: Vec<&Path> = self.folder.ancestors().take_while(|folder| !folder.exists()).collect();
        make_private(&self.folder)?;
        for parent in fresh.iter().filter_map(|folder| folder.parent()) {
            match sync_folder(parent) {
                // Whoever may not list a folder cannot sync it either.
                Err(error) if error.kind() != io::ErrorKind::PermissionDenied => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        // An empty folder that somebody made for this is as good as one made here.
        if fs::read_dir(&self.folder)?.next().is_none() {
            fs::set_permissions(&self.folder, fs::Permissions::from_mode(0o700))?;
        }
        make_private(&self.folder.join("sessions"))?;
        sync_folder(&self.folder)?;
        let mode = fs::metadata(&self.folder)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(io::Error::other(format!(
                "{} may be entered by others (mode {:o}): run `chmod 700` on it",
                self.folder.display(),
                mode & 0o777
            )));
        }
        Ok(())
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// The settings file.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.config.clone()
    }

    /// The first owner's token.
    #[must_use]
    pub fn token(&self) -> PathBuf {
        self.folder.join("token")
    }

    /// The embedded ledger.
    #[must_use]
    pub fn ledger(&self) -> PathBuf {
        self.folder.join("ledger.db")
    }

    /// The coordinator's socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.join("agent-mate.sock")
    }

    /// Held by the one coordinator of this home.
    #[must_use]
    pub fn serve_lock(&self) -> PathBuf {
        self.folder.join("serve.lock")
    }

    /// Where the folders of looks at connections are, for as long as they take.
    #[must_use]
    pub fn checks(&self) -> PathBuf {
        self.folder.join("checks")
    }

    /// Makes the folder of a look at a connection, with an empty workspace in it.
    ///
    /// # Errors
    /// What the file system says.
    pub fn create_check(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.checks().join(name);
        make_private(&folder.join("workspace"))?;
        Ok(folder)
    }

    /// The folder of the sealed contents of artifacts, where the store is embedded.
    #[must_use]
    pub fn artifacts(&self) -> PathBuf {
        self.folder.join("artifacts")
    }

    /// The folder of a session; nothing is made.
    #[must_use]
    pub fn session(&self, session: SessionId) -> SessionFolder {
        SessionFolder(self.folder.join("sessions").join(session.to_string()))
    }

    /// Makes a session's folder and syncs it and its parents, so that the ledger may name it.
    ///
    /// # Errors
    /// What the file system says.
    pub fn create_session(&self, session: SessionId) -> io::Result<SessionFolder> {
        let folder = self.session(session);
        make_private(&folder.0)?;
        make_private(&folder.workspace())?;
        crate::spill::create(&folder)?;
        sync_folder(&folder.0)?;
        sync_folder(&self.folder.join("sessions"))?;
        sync_folder(&self.folder)?;
        Ok(folder)
    }
}

/// One session's folder: a flight recorder that can be copied and read without the rest.
#[derive(Clone, Debug)]
pub struct SessionFolder(PathBuf);

impl SessionFolder {
    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The embedded journal.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.0.join("journal.db")
    }

    /// The file whose lock says that a worker lives.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// Room for outcomes that the journal cannot take at the moment.
    #[must_use]
    pub fn spill(&self) -> PathBuf {
        self.0.join("held")
    }

    /// The worker's own log.
    #[must_use]
    pub fn worker_log(&self) -> PathBuf {
        self.0.join("worker.log")
    }

    /// The worker's doorbell.
    #[must_use]
    pub fn bell(&self) -> PathBuf {
        self.0.join("bell.sock")
    }

    /// Where the stdio relay finds the bridge.
    #[must_use]
    pub fn bridge(&self) -> PathBuf {
        self.0.join("bridge.sock")
    }

    /// The directory of a session whose project has no workspace.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        self.0.join("workspace")
    }
}

/// The longest path of a socket that is used as it is; the kernel takes 107 bytes.
const LONGEST_SOCKET: usize = 95;

/// A socket's path, short enough for the kernel however deep the home is. Keep it while the path is used.
#[derive(Debug)]
pub struct SocketPath {
    path: PathBuf,
    /// Holds the folder through which a deep path is reached.
    _folder: Option<File>,
}

impl SocketPath {
    /// The way to the socket at `path`, which need not be there yet; its folder must.
    ///
    /// # Errors
    /// What the file system says of the folder.
    pub fn of(path: &Path) -> io::Result<Self> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::other("not the path of a socket"));
        };
        if path.as_os_str().len() <= LONGEST_SOCKET || !cfg!(target_os = "linux") {
            return Ok(Self { path: path.to_owned(), _folder: None });
        }
        let folder = File::open(folder)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
        Ok(Self { path, _folder: Some(folder) })
    }

    /// The path to bind or to connect to.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    let fresh = !path.exists();
    match fs::DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        other => other?,
    }
    if fresh {
        disk::note(Note::Folder(path));
    }
    Ok(())
}

/// Makes the entries of a folder durable.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()?;
    disk::note(Note::SyncedFolder(path));
    Ok(())
}
