//! The chain of a log: each event's hash covers the one before it.

use mate_model::{Epoch, Micros, event::Log};

/// BLAKE3, 32 bytes.
pub type Hash = [u8; 32];

/// What an event's hash covers, as it is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link<'a> {
    pub(crate) seq: i64,
    pub(crate) epoch: Option<Epoch>,
    pub(crate) task: Option<&'a str>,
    pub(crate) turn: Option<&'a str>,
    pub(crate) kind: &'a str,
    pub(crate) at: Micros,
    pub(crate) data: &'a str,
}

/// What a log starts with: differs by owner, so that one log cannot stand in another's place.
pub(crate) fn genesis(log: Log, owner: &str) -> Hash {
    let mut hasher = blake3::Hasher::new();
    put(&mut hasher, b"agent-mate log 1");
    put(&mut hasher, log.as_str().as_bytes());
    put(&mut hasher, owner.as_bytes());
    *hasher.finalize().as_bytes()
}

/// The hash of the event that follows `previous`.
pub(crate) fn link(previous: &Hash, link: &Link<'_>) -> Hash {
    let mut hasher = blake3::Hasher::new();
    put(&mut hasher, previous);
    put(&mut hasher, &link.seq.to_le_bytes());
    put_opt(&mut hasher, link.epoch.map(|e| e.0.to_le_bytes()).as_ref().map(<[u8; 8]>::as_slice));
    put_opt(&mut hasher, link.task.map(str::as_bytes));
    put_opt(&mut hasher, link.turn.map(str::as_bytes));
    put(&mut hasher, link.kind.as_bytes());
    put(&mut hasher, &link.at.0.to_le_bytes());
    put(&mut hasher, link.data.as_bytes());
    *hasher.finalize().as_bytes()
}

fn put(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

/// A missing part is not an empty one.
fn put_opt(hasher: &mut blake3::Hasher, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => put(hasher, bytes),
        None => {
            hasher.update(&u64::MAX.to_le_bytes());
        }
    }
}

/// What a walk along a chain found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainReport {
    /// Events whose numbers and hashes agree, counted from the start.
    pub good: i64,
    /// The hash of the last good event; the log's own start when there is none.
    pub head: Hash,
    /// The first thing that does not agree, if any.
    pub broken: Option<Broken>,
}

/// Where a chain breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The number that the event should have.
    pub seq: i64,
    /// What is wrong.
    pub why: String,
}

/// Walks along a chain, row by row.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) report: ChainReport,
}

impl Walk {
    pub(crate) fn new(log: Log, owner: &str) -> Self {
        Self { report: ChainReport { good: 0, head: genesis(log, owner), broken: None } }
    }

    /// Checks the next row; false when the walk is over.
    pub(crate) fn step(&mut self, row: &crate::Row) -> bool {
        if self.report.broken.is_some() {
            return false;
        }
        match self.check(row) {
            Ok(hash) => {
                self.report.good += 1;
                self.report.head = hash;
                true
            }
            Err(why) => {
                self.report.broken = Some(Broken { seq: self.report.good + 1, why });
                false
            }
        }
    }

    fn check(&self, row: &crate::Row) -> Result<Hash, String> {
        let text = |e: crate::StoreError| e.to_string();
        let seq = row.int("seq").map_err(text)?;
        let wanted = self.report.good + 1;
        if seq != wanted {
            return Err(format!("event {wanted} is missing: the next one is {seq}"));
        }
        let hash = link(
            &self.report.head,
            &Link {
                seq,
                epoch: row.opt_int("epoch").map_err(text)?.map(Epoch),
                task: row.opt_text("task").map_err(text)?,
                turn: row.opt_text("turn").map_err(text)?,
                kind: row.text("type").map_err(text)?,
                at: row.int("at").map(Micros).map_err(text)?,
                data: row.text("data").map_err(text)?,
            },
        );
        let stored = crate::decode::hash(row, "hash").map_err(text)?;
        if stored == hash { Ok(hash) } else { Err("the event is not what its hash says".to_owned()) }
    }

    /// Compares the end of the walk with what the numbering row says.
    pub(crate) fn end(mut self, seq: i64, head: &Hash) -> ChainReport {
        if self.report.broken.is_none() && (self.report.good, &self.report.head) != (seq, head) {
            let why = format!("the log ends at {}, its head says {seq} or another hash", self.report.good);
            self.report.broken = Some(Broken { seq: self.report.good + 1, why });
        }
        self.report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(task: Option<&'static str>, turn: Option<&'static str>, data: &'static str) -> Link<'static> {
        Link { seq: 1, epoch: None, task, turn, kind: "k", at: Micros(1), data }
    }

    #[test]
    fn what_moves_from_one_field_to_the_next_changes_the_hash() {
        let start = genesis(Log::Ledger, "prj_1");
        let hashes = [
            link(&start, &event(None, None, "ab")),
            link(&start, &event(Some(""), None, "ab")),
            link(&start, &event(None, Some(""), "ab")),
            link(&start, &event(Some("a"), None, "b")),
            link(&start, &event(None, Some("a"), "b")),
            link(&genesis(Log::Journal, "prj_1"), &event(None, None, "ab")),
            link(&genesis(Log::Ledger, "prj_2"), &event(None, None, "ab")),
        ];
        for (i, a) in hashes.iter().enumerate() {
            assert!(hashes.iter().skip(i + 1).all(|b| a != b), "{i}");
        }
    }
}
