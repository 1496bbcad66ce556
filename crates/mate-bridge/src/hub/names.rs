//! Names under which things are exposed: short, of characters that every client takes, without collisions.

use crate::{BridgeError, config::ConnectionSpec};
use std::collections::{HashMap, HashSet};

/// The name that is ours alone.
pub(crate) const OURS: &str = "agent_mate";

pub(super) fn check_connections(specs: &[ConnectionSpec]) -> Result<(), BridgeError> {
    let mut seen = HashSet::new();
    for spec in specs {
        let bad = |why: &str| Err(BridgeError::Connection { name: spec.name.clone(), why: why.into() });
        if spec.name.is_empty() || spec.name.len() > 64 {
            return bad("its name must have 1 to 64 characters");
        }
        if spec.name == OURS {
            return bad("the name agent_mate is Agent Mate's own");
        }
        if !seen.insert(&spec.name) {
            return bad("the name is used twice");
        }
    }
    Ok(())
}

fn allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Gives each item its name; remembers which are taken.
pub(crate) struct Namer {
    longest: usize,
    taken: HashMap<String, (usize, String)>,
    /// What could not have its plain name, in words.
    pub(super) notes: Vec<(usize, String)>,
}

impl Namer {
    pub(crate) fn new(longest: usize) -> Self {
        Self { longest, taken: HashMap::new(), notes: Vec::new() }
    }

    /// The name of `item` of the connection number `conn`; `None` if the same item was named before.
    pub(crate) fn name(
        &mut self,
        conn: usize,
        connection: &str,
        prefixed: bool,
        item: &str,
    ) -> Option<String> {
        let plain = if prefixed { format!("{connection}__{item}") } else { item.to_owned() };
        let fits = !plain.is_empty() && plain.len() <= self.longest && plain.chars().all(allowed);
        let reserved = plain.starts_with(OURS);
        let owner = (conn, item.to_owned());
        match self.taken.get(&plain) {
            Some(other) if *other == owner => {
                self.notes.push((conn, format!("it lists {item:?} twice; only the first is used")));
                return None;
            }
            None if fits && !reserved => {
                self.taken.insert(plain.clone(), owner);
                return Some(plain);
            }
            Some(_) => {
                self.notes.push((conn, format!("{item:?} has a name that another connection uses; renamed")))
            }
            None => self.notes.push((conn, format!("{item:?} has a name that clients may refuse; renamed"))),
        }
        let alias = self.alias(connection, &plain, item);
        if self.taken.contains_key(&alias) {
            self.notes.push((conn, format!("{item:?} cannot be given a name of its own; left out")));
            return None;
        }
        self.taken.insert(alias.clone(), owner);
        Some(alias)
    }

    /// Depends on the connection's and the item's names only, so it is the same in every session.
    fn alias(&self, connection: &str, plain: &str, item: &str) -> String {
        let mut hash = blake3::Hasher::new();
        hash.update(&(connection.len() as u64).to_le_bytes());
        hash.update(connection.as_bytes());
        hash.update(item.as_bytes());
        let digest = hash.finalize().to_hex();
        let room = self.longest.saturating_sub(9);
        let mut text: String = plain.chars().map(|c| if allowed(c) { c } else { '_' }).take(room).collect();
        if text.starts_with(OURS) {
            text = format!("x_{text}").chars().take(room).collect();
        }
        format!("{text}_{}", &digest[..8])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_stay_and_odd_ones_get_a_stable_alias() {
        let mut names = Namer::new(47);
        assert_eq!(names.name(0, "git", true, "log").as_deref(), Some("git__log"));
        assert_eq!(names.name(0, "git", true, "log"), None);
        let long = names.name(0, "git", true, &"x".repeat(80)).unwrap();
        assert_eq!(long.len(), 47);
        assert!(long.starts_with("git__xxx"));
        assert_eq!(Namer::new(47).name(3, "git", true, &"x".repeat(80)).unwrap(), long);
        let odd = names.name(0, "git", true, "a.b/ü").unwrap();
        assert!(odd.chars().all(allowed) && odd.starts_with("git__a_b__"), "{odd}");
    }

    #[test]
    fn a_collision_leaves_the_first_its_name() {
        let mut names = Namer::new(47);
        assert_eq!(names.name(0, "a", false, "x").as_deref(), Some("x"));
        let second = names.name(1, "b", false, "x").unwrap();
        assert!(second.starts_with("x_") && second.len() == 10, "{second}");
        assert_eq!(names.notes.len(), 1);
        assert!(!names.name(1, "b", false, "agent_mate__report").unwrap().starts_with(OURS));
    }
}
