//! Names that were meant, of those that there are.

/// The most names that are suggested.
const MOST: usize = 3;

/// The names most like `wanted`, the nearest first; none that is mostly another.
pub(super) fn nearest<'a>(wanted: &str, names: &[&'a str]) -> Vec<&'a str> {
    let bare = wanted.replace(['*', '?'], "");
    let mut scored: Vec<_> = names
        .iter()
        .map(|name| {
            let within = bare.len() >= 3 && (name.contains(&bare) || bare.contains(*name));
            (if within { 0 } else { distance(&bare, name) }, *name)
        })
        .filter(|(far, name)| *far * 2 <= name.chars().count().max(bare.chars().count()))
        .collect();
    scored.sort_unstable();
    scored.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// How many characters must be put, taken or changed to make one of the other.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().take(128).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.chars().take(128).enumerate() {
        let mut before = i;
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        for (j, r) in right.iter().enumerate() {
            let (Some(above), Some(beside)) = (row.get(j + 1).copied(), row.get(j).copied()) else { break };
            let best = (before + usize::from(l != *r)).min(above + 1).min(beside + 1);
            if let Some(here) = row.get_mut(j + 1) {
                *here = best;
            }
            before = above;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_the_name_that_was_meant() {
        let names = ["create_issue", "list_issues", "delete_repo"];
        assert_eq!(nearest("create_isue", &names), ["create_issue"]);
        assert_eq!(nearest("issue*", &names), ["create_issue", "list_issues"]);
        assert_eq!(nearest("zzz", &names), Vec::<&str>::new());
        assert_eq!((distance("", "abc"), distance("kitten", "sitting")), (3, 3));
    }
}
