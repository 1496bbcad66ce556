//! Putting what several logs say in one order: by time, each log staying in its own.

use super::{log::Part, told::Told};
use std::{collections::VecDeque, sync::Arc};

/// An event, and the number of its log.
pub(super) type Next = (usize, Arc<Told>);

/// A log's events, each with the latest time up to it: times may go back within a log, its order does not.
type Queue = VecDeque<(i64, Arc<Told>)>;

/// The events in one order, as far as it is known: what is later than the last of a log that has more waits for the rest
/// of that log. More than `long` bytes only if it is one event.
pub(super) fn merge(parts: Vec<Part>, long: usize) -> Vec<Next> {
    let mut horizon = i64::MAX;
    let mut queues: Vec<Queue> = Vec::with_capacity(parts.len());
    for part in parts {
        let mut latest = i64::MIN;
        let queue: Queue = part
            .events
            .into_iter()
            .map(|told| {
                latest = latest.max(told.at);
                (latest, told)
            })
            .collect();
        if part.more && !queue.is_empty() {
            horizon = horizon.min(latest);
        }
        queues.push(queue);
    }
    let (mut merged, mut size) = (Vec::new(), 0);
    while let Some((log, told)) = earliest(&mut queues, horizon) {
        size += told.size();
        if size > long && !merged.is_empty() {
            break;
        }
        merged.push((log, told));
    }
    merged
}

fn earliest(queues: &mut [Queue], horizon: i64) -> Option<Next> {
    let heads = queues.iter().enumerate().filter_map(|(log, queue)| Some((queue.front()?.0, log)));
    let (_, log) = heads.filter(|(at, _)| *at <= horizon).min()?;
    let (_, told) = queues.get_mut(log)?.pop_front()?;
    Some((log, told))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(events: &[(i64, i64)], more: bool) -> Part {
        let events: Vec<_> = events.iter().map(|(seq, at)| Arc::new(Told::plain(*seq, *at))).collect();
        Part { more, through: events.last().map_or(0, |told| told.seq), events }
    }

    fn order(parts: Vec<Part>, long: usize) -> Vec<(usize, i64)> {
        merge(parts, long).into_iter().map(|(log, told)| (log, told.seq)).collect()
    }

    #[test]
    fn g10_logs_stay_in_their_order_whatever_their_clocks_say() {
        let parts = vec![part(&[(1, 10), (2, 5), (3, 30)], false), part(&[(7, 6), (8, 20)], false)];
        assert_eq!(order(parts, 1_000_000), [(1, 7), (0, 1), (0, 2), (1, 8), (0, 3)]);
    }

    #[test]
    fn g10_what_is_later_than_what_is_known_waits_and_something_always_comes() {
        let parts = vec![part(&[(1, 10), (2, 5)], true), part(&[(7, 9), (8, 20)], false)];
        assert_eq!(order(parts, 1_000_000), [(1, 7), (0, 1), (0, 2)]);
        let long = vec![part(&[(1, 10), (2, 11)], true)];
        assert_eq!(order(long, 1), [(0, 1)], "one at least");
        assert_eq!(order(vec![part(&[], true), part(&[(1, 1)], false)], 1_000), [(1, 1)]);
    }
}
