//! Which processes belong to a session: those that descend from a keeper, by whatever means it holds them.

use std::{
    collections::{HashMap, HashSet},
    fs, io,
};

/// What keepers are called in the kernel's list of processes. Whoever else takes the name is kept out as well.
pub(crate) const KEEPER_NAME: &std::ffi::CStr = c"mate-keeper";

/// How long a line of parents may be.
const DEEPEST: usize = 4096;

/// The processes of the machine at one moment, as far as they can be seen.
#[derive(Debug)]
pub(super) struct Family {
    /// The parent of each, and whether it is a keeper.
    known: HashMap<i32, (i32, bool)>,
}

impl Family {
    pub(super) fn now() -> io::Result<Self> {
        let (mut known, above) = (HashMap::new(), above_this());
        for entry in fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
            if let Some((parent, keeper)) = look(pid) {
                known.insert(pid, (parent, keeper && !above.contains(&pid)));
            }
        }
        Ok(Self { known })
    }

    /// Those that descend from a keeper, and keepers, the youngest first.
    pub(super) fn inside(&self) -> Vec<i32> {
        self.sorted(true)
    }

    /// The others, the youngest first.
    pub(super) fn outside(&self) -> Vec<i32> {
        self.sorted(false)
    }

    fn sorted(&self, inside: bool) -> Vec<i32> {
        let mut found: Vec<i32> =
            self.known.keys().copied().filter(|pid| self.is_inside(*pid) == inside).collect();
        found.sort_unstable_by(|one, other| other.cmp(one));
        found
    }

    fn is_inside(&self, pid: i32) -> bool {
        let mut seen = HashSet::new();
        let mut at = pid;
        while let Some((parent, keeper)) = self.known.get(&at).filter(|_| seen.insert(at)) {
            if *keeper {
                return true;
            }
            at = *parent;
        }
        false
    }
}

/// Whether a process belongs to a session. One that is gone, or whose parent is, is taken for one.
#[must_use]
pub fn is_of_a_session(pid: i32) -> bool {
    let above = above_this();
    let mut at = pid;
    for _ in 0..DEEPEST {
        match look(at) {
            Some((_, true)) if !above.contains(&at) => return true,
            Some((0, _)) => return false,
            Some((parent, _)) => at = parent,
            None => return true,
        }
    }
    true
}

/// The processes from which this one descends. It may itself be of a session of another Agent Mate; what it starts is
/// told apart by what is below it.
fn above_this() -> HashSet<i32> {
    let mut above = HashSet::new();
    let mut at = i32::try_from(std::process::id()).unwrap_or_default();
    while let Some((parent, _)) = look(at).filter(|(parent, _)| above.insert(*parent)) {
        at = parent;
    }
    above
}

/// The parent of a process, and whether it is a keeper.
fn look(pid: i32) -> Option<(i32, bool)> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, so it ends at the last parenthesis.
    let (start, end) =
        (text.iter().position(|byte| *byte == b'(')?, text.iter().rposition(|byte| *byte == b')')?);
    let name = text.get(start + 1..end)?;
    let rest = std::str::from_utf8(text.get(end + 1..)?).ok()?;
    let parent = rest.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some((parent, name == KEEPER_NAME.to_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_of_a_keeper_are_inside() {
        let known = [
            (1, (0, false)),
            (5, (1, true)),
            (6, (5, false)),
            (7, (6, false)),
            (8, (1, false)),
            (9, (9, false)),
        ];
        let family = Family { known: known.into_iter().collect() };
        assert_eq!(family.inside(), [7, 6, 5]);
        assert_eq!(family.outside(), [9, 8, 1]);
    }

    #[test]
    fn this_process_is_of_no_session_and_a_missing_one_is_not_trusted() {
        assert!(!is_of_a_session(i32::try_from(std::process::id()).unwrap()));
        assert!(is_of_a_session(i32::MAX));
    }
}
