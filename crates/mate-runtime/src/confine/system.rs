//! What root could change of the whole system: settings by which the kernel runs programs for it outside of every container.

use super::{hide::is_missing, mounts};
use rustix::mount::MountFlags;
use std::{io, path::Path};

const SETTINGS: [&str; 5] = ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"];

fn is_refused(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::PermissionDenied)
}

/// Makes the system's settings read-only, and device files outside `/dev` useless. For root alone: nobody else may
/// change the ones or use the others. Comes before `/dev` is replaced.
pub(super) fn protect() -> io::Result<()> {
    for mount in mounts::all()? {
        if mount.point.starts_with("/sys") {
            mounts::restrict(&mount, MountFlags::RDONLY)?;
        } else if !mount.point.starts_with("/dev") {
            match mounts::restrict(&mount, MountFlags::NODEV) {
                // Mounts that lie under others cannot be reached by anybody, and some are another user's alone. No
                // program can make a device file, so this is a second wall.
                Err(error) if is_missing(&error) || is_refused(&error) => {}
                done => done?,
            }
        }
    }
    for path in SETTINGS.map(Path::new) {
        if path.exists() {
            mounts::make_read_only(path)?;
        }
    }
    Ok(())
}
