//! Keeping the way to what is hidden as it is: a folder above it that could be renamed would let a session put a home of
//! its own making at the same path, and let the next session believe in it.

use super::{hide, mounts};
use rustix::mount::mount_bind_recursive;
use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
};

/// Makes every folder above these a mount point, which nobody who sees the mount can rename or remove. Moving and linking
/// files between two of them is like between two file systems from then on.
pub(super) fn set(paths: &[PathBuf]) -> io::Result<()> {
    let known: BTreeSet<PathBuf> = mounts::all()?.into_iter().map(|mount| mount.point).collect();
    for folder in above(paths).into_iter().filter(|folder| !known.contains(folder)) {
        mount_bind_recursive(&folder, &folder).map_err(|error| hide::named(&folder, error.into()))?;
    }
    Ok(())
}

/// Each folder above, the highest first, without the root of all.
fn above(paths: &[PathBuf]) -> BTreeSet<PathBuf> {
    let above = paths.iter().flat_map(|path| path.ancestors().skip(1));
    above.filter(|folder| *folder != Path::new("/")).map(Path::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_above_come_before_those_below() {
        let found = above(&["/a/b/home".into(), "/a/key".into(), "/".into()]);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [PathBuf::from("/a"), "/a/b".into()]);
    }
}
