//! Which folder a home is, whatever its path leads to by now.

use crate::Home;
use std::{
    fmt, fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    str::FromStr,
};

/// The folder of a home by its file system and its number there, written `DEV:INO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomeId {
    device: u64,
    inode: u64,
}

impl fmt::Display for HomeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.device, self.inode)
    }
}

impl FromStr for HomeId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = text.split_once(':').and_then(|(device, inode)| {
            Some(Self { device: device.parse().ok()?, inode: inode.parse().ok()? })
        });
        numbers.ok_or_else(|| "a home is identified as DEV:INO".to_owned())
    }
}

/// A home that must not be used.
#[derive(Debug, thiserror::Error)]
pub enum StrangeHome {
    /// A link can be led elsewhere while the coordinator runs.
    #[error("{0} is a symbolic link: name what it leads to, or put that in its place")]
    Link(PathBuf),
    /// Somebody else may change it.
    #[error(
        "{path} belongs to the user {owner}, and this is the user {user}: `chown` it, or run this as its owner"
    )]
    Foreign {
        /// The home, or its settings.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who would use it.
        user: u32,
    },
    /// The path leads to another folder than before.
    #[error(
        "{0} is not the folder that the coordinator opened: somebody has put another in its place; find the right one, \
         put it back, and start `agent-mate serve` again"
    )]
    Replaced(PathBuf),
    /// The file system does not say.
    #[error("{path}: {error}")]
    Unreadable {
        /// What was looked at.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

fn look(path: &Path) -> Result<fs::Metadata, StrangeHome> {
    fs::symlink_metadata(path).map_err(|error| StrangeHome::Unreadable { path: path.to_owned(), error })
}

impl Home {
    /// Looks at the folder, and at the settings if there are any: both must be what they seem, and this user's. The
    /// settings may be root's.
    ///
    /// # Errors
    /// [`StrangeHome`]; nothing was opened.
    pub fn identify(&self, user: u32) -> Result<HomeId, StrangeHome> {
        let folder = look(self.path())?;
        owned(self.path(), &folder, &[user])?;
        match look(&self.config()) {
            Ok(found) => owned(&self.config(), &found, &[user, 0])?,
            Err(StrangeHome::Unreadable { error, .. }) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(HomeId { device: folder.dev(), inode: folder.ino() })
    }

    /// Makes sure that the path leads to the same folder as before.
    ///
    /// # Errors
    /// [`StrangeHome`].
    pub fn is_still(&self, known: HomeId) -> Result<(), StrangeHome> {
        let folder = look(self.path())?;
        let found = HomeId { device: folder.dev(), inode: folder.ino() };
        if found == known { Ok(()) } else { Err(StrangeHome::Replaced(self.path().to_owned())) }
    }
}

fn owned(path: &Path, found: &fs::Metadata, users: &[u32]) -> Result<(), StrangeHome> {
    if found.is_symlink() {
        return Err(StrangeHome::Link(path.to_owned()));
    }
    match users {
        [user, ..] if !users.contains(&found.uid()) => {
            Err(StrangeHome::Foreign { path: path.to_owned(), owner: found.uid(), user: *user })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn i06_a_home_is_known_by_its_folder_and_neither_a_link_nor_a_strangers() {
        let place = tempfile::tempdir().expect("a folder");
        let at = |name: &str| Home::at(place.path().join(name));
        let user = fs::metadata(place.path()).expect("there").uid();
        fs::create_dir(place.path().join("h")).expect("made");
        let known = at("h").identify(user).expect("it is");
        assert_eq!(known.to_string().parse(), Ok(known));
        assert!("7".parse::<HomeId>().is_err());
        assert!(matches!(at("h").identify(user + 1), Err(StrangeHome::Foreign { .. })));
        symlink(place.path().join("h"), place.path().join("link")).expect("linked");
        assert!(matches!(at("link").identify(user), Err(StrangeHome::Link(_))));
        let elsewhere = place.path().join("settings");
        symlink("/dev/null", &elsewhere).expect("linked");
        assert!(matches!(at("h").configured(elsewhere).identify(user), Err(StrangeHome::Link(_))));
        at("h").is_still(known).expect("the same");
        fs::rename(place.path().join("h"), place.path().join("away")).expect("renamed");
        assert!(matches!(at("h").is_still(known), Err(StrangeHome::Unreadable { .. })));
        fs::create_dir(place.path().join("h")).expect("made");
        assert!(matches!(at("h").is_still(known), Err(StrangeHome::Replaced(_))));
    }
}
