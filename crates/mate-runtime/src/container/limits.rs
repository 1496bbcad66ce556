//! What a leaf holds its processes to.

use super::cgroup::{Leaf, write};
use mate_model::containment::{Enforcer, HeldLimit, LimitKind, Limits};
use std::{fs, io, path::Path};

/// The keeper's own threads and a program that is just being started count, too.
const KEEPERS_OWN: u64 = 8;
/// The span over which processor time is shared out; microseconds.
const PERIOD: u64 = 100_000;

/// Sets the limits on a leaf as far as the kernel lets us; the keeper counts processes where it does not.
pub(super) fn hold(leaf: Option<&Leaf>, limits: Limits) -> Vec<HeldLimit> {
    let one = |(kind, value)| {
        let by_kernel = leaf.is_some_and(|leaf| set(leaf, kind, value).is_ok());
        let enforced_by = match kind {
            _ if by_kernel => Some(Enforcer::Cgroup),
            LimitKind::Processes => Some(Enforcer::Keeper),
            LimitKind::Memory | LimitKind::Cpu => None,
        };
        HeldLimit { kind, value, enforced_by }
    };
    limits.set().map(one).collect()
}

fn set(leaf: &Leaf, kind: LimitKind, value: u64) -> io::Result<()> {
    let (controller, text) = match kind {
        LimitKind::Memory => ("memory", value.to_string()),
        LimitKind::Processes => ("pids", value.saturating_add(KEEPERS_OWN).to_string()),
        LimitKind::Cpu => ("cpu", format!("{} {PERIOD}", value.saturating_mul(PERIOD / 100).max(1000))),
    };
    if let Some(place) = leaf.path.parent() {
        offer(place, controller)?;
    }
    write(&leaf.path.join(format!("{controller}.max")), &text)?;
    if kind == LimitKind::Memory {
        // Memory that is written out instead would not be limited. Without swap there is no such file.
        let _ = write(&leaf.path.join("memory.swap.max"), "0");
    }
    Ok(())
}

/// Lets the leaves in `place` use a controller. The kernel refuses while processes are in `place` itself.
fn offer(place: &Path, controller: &str) -> io::Result<()> {
    let offered = fs::read_to_string(place.join("cgroup.subtree_control"))?;
    if offered.split_ascii_whitespace().any(|word| word == controller) {
        return Ok(());
    }
    write(&place.join("cgroup.subtree_control"), &format!("+{controller}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    const WANTED: Limits = Limits { memory: Some(1 << 30), processes: Some(100), cpu: Some(150) };

    #[test]
    fn the_kernel_is_told_in_its_own_words() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("cgroup.subtree_control"), "cpu memory pids").unwrap();
        let path = place.path().join("leaf");
        fs::create_dir(&path).unwrap();
        for file in ["memory.max", "pids.max", "cpu.max"] {
            fs::write(path.join(file), "").unwrap();
        }
        let leaf = Leaf { inode: fs::metadata(&path).unwrap().ino(), path };
        let held = hold(Some(&leaf), WANTED);
        assert!(held.iter().all(|limit| limit.enforced_by == Some(Enforcer::Cgroup)), "{held:?}");
        let said = |file: &str| fs::read_to_string(leaf.path.join(file)).unwrap();
        assert_eq!(
            (said("memory.max"), said("pids.max"), said("cpu.max")),
            ("1073741824".to_owned(), "108".to_owned(), "150000 100000".to_owned())
        );
        fs::write(place.path().join("cgroup.subtree_control"), "").unwrap();
        offer(place.path(), "pids").unwrap();
        assert_eq!(fs::read_to_string(place.path().join("cgroup.subtree_control")).unwrap(), "+pids");
    }

    #[test]
    fn what_nobody_enforces_is_not_said_to_be() {
        let by = |held: Vec<HeldLimit>| held.iter().map(|limit| limit.enforced_by).collect::<Vec<_>>();
        assert_eq!(by(hold(None, WANTED)), [None, Some(Enforcer::Keeper), None]);
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("leaf");
        fs::create_dir(&path).unwrap();
        let leaf = Leaf { inode: 0, path };
        assert_eq!(by(hold(Some(&leaf), WANTED)), [None, Some(Enforcer::Keeper), None]);
        assert!(hold(None, Limits::default()).is_empty());
    }
}
