//! Arming points, and letting held processes go on.

use crate::harness::{World, until};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The folder in which a world's processes look for armed points.
pub(crate) struct Faults(PathBuf);

impl Faults {
    pub(crate) fn of(world: &World) -> Self {
        let folder = world.path("faults");
        fs::create_dir_all(&folder).expect("made");
        Self(folder)
    }

    /// From now on, the given reach of the point by a process with that role is held.
    pub(crate) fn arm(&self, point: &str, role: &str, number: u64) {
        let draft = self.0.join("draft");
        fs::write(&draft, format!("{role} {number}")).expect("written");
        fs::rename(draft, self.0.join(point)).expect("armed");
    }

    /// The process that is held at the point, by the number that it has in its own namespace.
    pub(crate) fn held(&self, point: &str) -> Option<i32> {
        let wanted = format!("{point}.hit.");
        names(&self.0).iter().find_map(|name| name.strip_prefix(&wanted)?.parse().ok())
    }

    /// Waits until somebody is held.
    pub(crate) fn until_held(&self, point: &str) -> i32 {
        until(&format!("a process that is held at {point}"), || self.held(point))
    }

    /// Whoever is held there goes on.
    pub(crate) fn go(&self, point: &str) {
        fs::write(self.0.join(format!("{point}.go")), "").expect("written");
    }

    /// Nothing is armed, and nobody's leave to go on is left.
    pub(crate) fn clear(&self) {
        for name in names(&self.0) {
            fs::remove_file(self.0.join(name)).expect("removed");
        }
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
