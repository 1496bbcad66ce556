//! Which grant, if any, allows a call: the plain matcher.

use mate_model::{ConnectionId, GrantId, Micros, records::Grant};
use std::{cmp::Reverse, fmt};

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
    choose(&ranked(grants, connection, tool), now)
}

/// The same among grants that match, as [`ranked`] puts them.
#[must_use]
pub fn choose<'a>(ranked: &[&'a Grant], now: Micros) -> Decision<'a> {
    if let Some(grant) = ranked.iter().find(|grant| refusal(grant, now).is_none()) {
        return Decision::Allow { grant };
    }
    let why = ranked.first().and_then(|grant| refusal(grant, now));
    Decision::Refuse(why.unwrap_or(RefusedBy::NoGrant))
}

/// The grants that match a tool, in force or not: the most specific pattern first, between equals the older id.
#[must_use]
pub fn ranked<'a>(grants: &'a [Grant], connection: ConnectionId, tool: &str) -> Vec<&'a Grant> {
    let mut matching: Vec<_> = grants
        .iter()
        .filter(|grant| grant.connection == connection)
        .filter_map(|grant| Some((specificity(grant, tool)?, grant)))
        .collect();
    matching.sort_by_key(|(specificity, grant)| (Reverse(*specificity), grant.id));
    matching.into_iter().map(|(_, grant)| grant).collect()
}

/// Why a grant allows nothing at `now`, if it does not.
#[must_use]
pub fn refusal(grant: &Grant, now: Micros) -> Option<RefusedBy> {
    if grant.revoked_at.is_some() {
        Some(RefusedBy::Revoked(grant.id))
    } else if grant.expires_at.is_some_and(|end| end <= now) {
        Some(RefusedBy::Expired(grant.id))
    } else if grant.max_calls.is_some_and(|most| most <= grant.used_calls) {
        Some(RefusedBy::CallsUsedUp(grant.id))
    } else {
        None
    }
}

/// How closely a grant names `tool`: exactly, then by the number of plain characters.
fn specificity(grant: &Grant, tool: &str) -> Option<(bool, usize)> {
    grant.tools.iter().filter(|pattern| matches(pattern, tool)).map(|p| closeness(p)).max()
}

fn closeness(pattern: &str) -> (bool, usize) {
    let plain = pattern.chars().filter(|c| !matches!(c, '*' | '?')).count();
    (!pattern.contains(['*', '?']), plain)
}

/// Whether `pattern` fits the whole of `name`. Time is bounded by the product of the lengths.
#[must_use]
pub fn matches(pattern: &str, name: &str) -> bool {
    if !pattern.contains(['*', '?']) {
        return pattern == name;
    }
    if pattern.is_ascii() && name.is_ascii() {
        return fits(pattern.as_bytes(), name.as_bytes(), b'*', b'?');
    }
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    fits(&pattern, &name, '*', '?')
}

fn fits<T: Copy + PartialEq>(pattern: &[T], name: &[T], star: T, any: T) -> bool {
    let (mut p, mut n) = (0, 0);
    // Where to go on after the last star, if the present reading fails.
    let mut retry: Option<(usize, usize)> = None;
    while let Some(&wanted) = name.get(n) {
        match pattern.get(p) {
            Some(&c) if c == star => {
                p += 1;
                retry = Some((p, n));
            }
            Some(&c) if c == any || c == wanted => {
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
    pattern.get(p..).is_some_and(|rest| rest.iter().all(|c| *c == star))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mate_model::{AccountId, ProjectId, records::Terms, words::ApprovalMode};
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
            approve: ApprovalMode::Never,
            expires_at: None,
            max_calls: None,
            used_calls: 0,
            created_by: AccountId::new(Uuid::from_u128(8)),
            created_at: NOW,
            revoked_at: None,
            terms: Terms::default(),
            project: ProjectId::new(Uuid::from_u128(9)),
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
            (Grant { max_calls: Some(3), used_calls: 3, ..one.clone() }, RefusedBy::CallsUsedUp(id)),
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
