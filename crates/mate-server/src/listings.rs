//! Lists of tools between their pages: kept for a short while, a few of them.

use mate_engine::admin::Listing;
use mate_model::ConnectionId;
use serde_json::Value;
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

/// How many lists are kept.
const MOST: usize = 8;

/// The newest lists, by connection.
#[derive(Default)]
pub(crate) struct Listings(Mutex<VecDeque<Kept>>);

struct Kept {
    connection: ConnectionId,
    /// Tells this list from an earlier one of the same connection.
    stamp: String,
    tools: Vec<Value>,
}

impl Listings {
    /// Keeps a new list where it has more than one page; gives its first.
    pub(crate) fn keep(
        &self,
        connection: ConnectionId,
        stamp: String,
        tools: Vec<Value>,
        limit: u32,
    ) -> Listing<Value> {
        let kept = Kept { connection, stamp, tools };
        let first = kept.page(0, limit);
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.retain(|list| list.connection != connection);
        if first.next.is_some() {
            lists.truncate(MOST - 1);
            lists.push_front(kept);
        }
        first
    }

    /// The page of a kept list after `position`; nothing if the list is not kept any more.
    pub(crate) fn page(
        &self,
        connection: ConnectionId,
        position: &str,
        limit: u32,
    ) -> Option<Listing<Value>> {
        let (stamp, from) = position.split_once('.')?;
        let from = from.parse().ok()?;
        let lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let list = lists.iter().find(|list| list.connection == connection && list.stamp == stamp)?;
        Some(list.page(from, limit))
    }
}

impl Kept {
    fn page(&self, from: usize, limit: u32) -> Listing<Value> {
        let end = from.saturating_add(usize::try_from(limit).unwrap_or(usize::MAX)).min(self.tools.len());
        let items = self.tools.get(from..end).unwrap_or_default().to_vec();
        let next = (end < self.tools.len()).then(|| format!("{}.{end}", self.stamp));
        Listing { items, unreadable: Vec::new(), next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use uuid::Uuid;

    #[test]
    fn every_page_is_of_one_list() {
        let (lists, id) = (Listings::default(), ConnectionId::new(Uuid::from_u128(1)));
        let tools: Vec<Value> = (0..5).map(|n| json!(n)).collect();
        let first = lists.keep(id, "a".to_owned(), tools.clone(), 2);
        let second = lists.page(id, first.next.as_deref().expect("more"), 2).expect("kept");
        let third = lists.page(id, second.next.as_deref().expect("more"), 2).expect("kept");
        assert_eq!([first.items, second.items, third.items].concat(), tools);
        assert_eq!(third.next, None);
        lists.keep(id, "b".to_owned(), tools, 2);
        assert!(lists.page(id, "a.2", 2).is_none(), "a cursor of the older list");
        assert!(lists.page(id, "b.99", 2).is_some_and(|page| page.items.is_empty() && page.next.is_none()));
    }

    #[test]
    fn a_few_lists_are_kept() {
        let lists = Listings::default();
        for number in 0..100 {
            let id = ConnectionId::new(Uuid::from_u128(number));
            lists.keep(id, "a".to_owned(), vec![json!(1), json!(2)], 1);
        }
        assert_eq!(lists.0.lock().expect("held").len(), MOST);
    }
}
