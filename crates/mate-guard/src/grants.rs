//! Which grant, if any, allows a call: the plain matcher.

use mate_model::{ConnectionId, GrantId, Micros};
use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, fmt};

/// What a tool does to the outside world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Changes nothing; may be interrupted.
    Read,
    /// The same key sent twice has one effect.
    Idempotent,
    /// Anything else, and whatever is not known.
    Effect,
}

/// When a person is asked before a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApproveRule {
    /// Not at all.
    Never,
    /// At the first call of a tool in a task.
    Once,
    /// At each call.
    Always,
}

/// A project's authority to use some tools of a connection, as it stands in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Its id.
    pub id: GrantId,
    /// The connection whose tools it is about.
    pub connection: ConnectionId,
    /// Patterns of tool names: `*` stands for any run of characters, `?` for one.
    pub tools: Vec<String>,
    /// The effect class it sets; `None` leaves that to the connection.
    pub effect: Option<EffectClass>,
    /// Whether a person is asked.
    pub approve: ApproveRule,
    /// From this moment on it allows nothing.
    pub expires_at: Option<Micros>,
    /// How many calls it allows in all.
    pub max_calls: Option<u64>,
    /// How many of them are taken.
    pub used: u64,
    /// When it was revoked.
    pub revoked_at: Option<Micros>,
}

/// The answer to "may this tool be called now?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision<'a> {
    /// Yes, under this grant.
    Allow {
        /// The most specific grant that allows it.
        grant: &'a Grant,
    },
    /// No.
    Refuse(RefusedBy),
}

/// Why a call is refused, in words for the agent and the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedBy {
    /// Nothing names this tool.
    NoGrant,
    /// What named it was revoked.
    Revoked(GrantId),
    /// What named it has ended.
    Expired(GrantId),
    /// All of its calls are taken.
    CallsUsedUp(GrantId),
}

impl RefusedBy {
    /// A stable word for records and events.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::NoGrant => "no_grant",
            Self::Revoked(_) => "grant_revoked",
            Self::Expired(_) => "grant_expired",
            Self::CallsUsedUp(_) => "grant_used_up",
        }
    }
}

impl fmt::Display for RefusedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGrant => f.write_str("no grant of this project allows this tool"),
            Self::Revoked(id) => write!(f, "the grant {id} that allowed this tool was revoked"),
            Self::Expired(id) => write!(f, "the grant {id} that allowed this tool has expired"),
            Self::CallsUsedUp(id) => write!(f, "all calls of the grant {id} for this tool are used"),
        }
    }
}

/// Judges a call of `tool` on `connection` at `now`. `grants` are those of the task's project.
///
/// Among the grants that allow it, the most specific pattern wins; between equals, the older id.
#[must_use]
pub fn judge<'a>(grants: &'a [Grant], connection: ConnectionId, tool: &str, now: Micros) -> Decision<'a> {
    let mut matching: Vec<_> = grants
        .iter()
        .filter(|grant| grant.connection == connection)
        .filter_map(|grant| Some((grant.specificity(tool)?, grant)))
        .collect();
    matching.sort_by_key(|(specificity, grant)| (Reverse(*specificity), grant.id));
    if let Some((_, grant)) = matching.iter().find(|(_, grant)| grant.refusal(now).is_none()) {
        return Decision::Allow { grant };
    }
    let refusal = matching.first().and_then(|(_, grant)| grant.refusal(now));
    Decision::Refuse(refusal.unwrap_or(RefusedBy::NoGrant))
}

impl Grant {
    fn refusal(&self, now: Micros) -> Option<RefusedBy> {
        if self.revoked_at.is_some() {
            Some(RefusedBy::Revoked(self.id))
        } else if self.expires_at.is_some_and(|end| end <= now) {
            Some(RefusedBy::Expired(self.id))
        } else if self.max_calls.is_some_and(|most| most <= self.used) {
            Some(RefusedBy::CallsUsedUp(self.id))
        } else {
            None
        }
    }

    /// How closely this grant names `tool`: exactly, then by the number of plain characters.
    fn specificity(&self, tool: &str) -> Option<(bool, usize)> {
        self.tools.iter().filter(|pattern| matches(pattern, tool)).map(|p| closeness(p)).max()
    }
}

fn closeness(pattern: &str) -> (bool, usize) {
    let plain = pattern.chars().filter(|c| !matches!(c, '*' | '?')).count();
    (!pattern.contains(['*', '?']), plain)
}

/// Whether `pattern` fits the whole of `name`. Time is bounded by the product of the lengths.
#[must_use]
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where to go on after the last star, if the present reading fails.
    let mut retry: Option<(usize, usize)> = None;
    while let Some(&wanted) = name.get(n) {
        match pattern.get(p) {
            Some('*') => {
                p += 1;
                retry = Some((p, n));
            }
            Some(&c) if c == '?' || c == wanted => {
                p += 1;
                n += 1;
            }
            Some(_) | None => {
                let Some((after_star, from)) = retry else { return false };
                p = after_star;
                n = from + 1;
                retry = Some((p, n));
            }
        }
    }
    pattern.get(p..).is_some_and(|rest| rest.iter().all(|c| *c == '*'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    const NOW: Micros = Micros(1_000);

    fn github() -> ConnectionId {
        ConnectionId::new(Uuid::from_u128(1))
    }

    fn grant(number: u128, tools: &[&str]) -> Grant {
        Grant {
            id: GrantId::new(Uuid::from_u128(number)),
            connection: github(),
            tools: tools.iter().map(|t| (*t).to_owned()).collect(),
            effect: None,
            approve: ApproveRule::Never,
            expires_at: None,
            max_calls: None,
            used: 0,
            revoked_at: None,
        }
    }

    fn allowed(grants: &[Grant], tool: &str) -> Result<GrantId, RefusedBy> {
        match judge(grants, github(), tool, NOW) {
            Decision::Allow { grant } => Ok(grant.id),
            Decision::Refuse(reason) => Err(reason),
        }
    }

    #[test]
    fn patterns() {
        for (pattern, name) in [
            ("*", ""),
            ("*", "any"),
            ("a*c", "abbc"),
            ("a?c", "aäc"),
            ("*_*", "get_issue"),
            ("a**b", "ab"),
            ("", ""),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("", "a"), ("a", ""), ("a?", "a"), ("a*c", "abcd"), ("get", "GET"), ("[a]", "a")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
        assert!(!matches(&"*a".repeat(200), &"a".repeat(199)), "bounded time");
    }

    #[test]
    fn g07_what_is_revoked_expired_or_used_up_allows_nothing() {
        let one = grant(1, &["get_*"]);
        let id = one.id;
        assert_eq!(allowed(std::slice::from_ref(&one), "get_issue"), Ok(id));
        assert_eq!(allowed(std::slice::from_ref(&one), "set_issue"), Err(RefusedBy::NoGrant));
        for (changed, reason) in [
            (Grant { revoked_at: Some(NOW), ..one.clone() }, RefusedBy::Revoked(id)),
            (Grant { expires_at: Some(NOW), ..one.clone() }, RefusedBy::Expired(id)),
            (Grant { max_calls: Some(3), used: 3, ..one.clone() }, RefusedBy::CallsUsedUp(id)),
        ] {
            assert_eq!(allowed(&[changed], "get_issue"), Err(reason));
        }
        let elsewhere = Grant { connection: ConnectionId::new(Uuid::from_u128(2)), ..one };
        assert_eq!(allowed(&[elsewhere], "get_issue"), Err(RefusedBy::NoGrant));
    }

    #[test]
    fn the_most_specific_grant_wins_whatever_the_order() {
        let grants =
            [grant(1, &["*"]), grant(2, &["get_*"]), grant(3, &["get_issue"]), grant(4, &["get_issue"])];
        let reversed: Vec<_> = grants.iter().rev().cloned().collect();
        for order in [&grants[..], &reversed] {
            assert_eq!(allowed(order, "get_issue"), Ok(grants[2].id));
            assert_eq!(allowed(order, "get_pull"), Ok(grants[1].id));
            assert_eq!(allowed(order, "other"), Ok(grants[0].id));
        }
    }

    #[test]
    fn a_broader_grant_serves_when_the_closer_one_is_used_up() {
        let grants = [grant(1, &["*"]), Grant { max_calls: Some(0), ..grant(2, &["get_issue"]) }];
        assert_eq!(allowed(&grants, "get_issue"), Ok(grants[0].id));
    }
}
