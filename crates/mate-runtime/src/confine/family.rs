//! Which processes belong to a session: those that descend from a keeper, by whatever means it holds them.

use std::{
    collections::{HashMap, HashSet},
    fs, io,
};

/// What keepers are called in the kernel's list of processes. Whoever else takes the name is kept out as well.
pub(crate) const KEEPER_NAME: &std::ffi::CStr = c"mate-keeper";

/// How long a line of parents may be.
const DEEPEST: usize = 4096;

/// What the kernel says of a process to everybody.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    parent: i32,
    name: Vec<u8>,
    /// It waits to be reaped, and holds nothing any more.
    dead: bool,
}

impl Seen {
    fn is_keeper(&self) -> bool {
        self.name == KEEPER_NAME.to_bytes()
    }
}

/// The processes of the machine at one moment, as far as they can be seen.
#[derive(Debug)]
pub(super) struct Family {
    known: HashMap<i32, Seen>,
    /// This process, and those from which it descends.
    above: HashSet<i32>,
}

impl Family {
    pub(super) fn now() -> io::Result<Self> {
        let (mut known, above) = (HashMap::new(), above_this());
        for entry in fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
            if let Some(seen) = look(pid) {
                known.insert(pid, seen);
            }
        }
        Ok(Self { known, above })
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
        while let Some(process) = self.known.get(&at).filter(|_| seen.insert(at)) {
            if process.is_keeper() && !self.above.contains(&at) {
                return true;
            }
            at = process.parent;
        }
        false
    }

    /// Whether it can hold nothing that a client holds: a dead one, a keeper, or a process of Agent Mate itself, which is
    /// closed to others and is nobody's client. But for keepers, those have the name of this one.
    pub(super) fn is_no_client(&self, pid: i32) -> bool {
        let Some(seen) = self.known.get(&pid) else { return true };
        seen.dead || seen.is_keeper() || (!self.is_inside(pid) && self.has_own_name(seen))
    }

    fn has_own_name(&self, seen: &Seen) -> bool {
        let own = i32::try_from(std::process::id()).ok().and_then(|own| self.known.get(&own));
        own.is_some_and(|own| own.name == seen.name)
    }
}

/// Whether a process belongs to a session. One that is gone, or whose parent is, is taken for one.
#[must_use]
pub fn is_of_a_session(pid: i32) -> bool {
    let above = above_this();
    let mut at = pid;
    for _ in 0..DEEPEST {
        match look(at) {
            Some(seen) if seen.is_keeper() && !above.contains(&at) => return true,
            Some(Seen { parent: 0, .. }) => return false,
            Some(seen) => at = seen.parent,
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
    while let Some(seen) = look(at).filter(|seen| above.insert(seen.parent)) {
        at = seen.parent;
    }
    above
}

fn look(pid: i32) -> Option<Seen> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, so it ends at the last parenthesis.
    let (start, end) =
        (text.iter().position(|byte| *byte == b'(')?, text.iter().rposition(|byte| *byte == b')')?);
    let name = text.get(start + 1..end)?;
    let rest = std::str::from_utf8(text.get(end + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let dead = matches!(fields.next()?, "Z" | "X");
    Some(Seen { parent: fields.next()?.parse().ok()?, name: name.to_vec(), dead })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_of_a_keeper_are_inside() {
        let keeper = KEEPER_NAME.to_str().unwrap();
        let known =
            [(1, 0, "init"), (5, 1, keeper), (6, 5, "sh"), (7, 6, "cat"), (8, 1, "sshd"), (9, 9, "odd")];
        let seen = |parent, name: &str| Seen { parent, name: name.as_bytes().to_vec(), dead: false };
        let known = known.into_iter().map(|(pid, parent, name)| (pid, seen(parent, name)));
        let family = Family { known: known.collect(), above: HashSet::new() };
        assert!(family.is_no_client(5) && !family.is_no_client(6) && !family.is_no_client(8));
        assert_eq!(family.inside(), [7, 6, 5]);
        assert_eq!(family.outside(), [9, 8, 1]);
    }

    #[test]
    fn this_process_is_of_no_session_and_a_missing_one_is_not_trusted() {
        assert!(!is_of_a_session(i32::try_from(std::process::id()).unwrap()));
        assert!(is_of_a_session(i32::MAX));
    }
}
