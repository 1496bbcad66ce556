//! The record, replayed: as it is, and with one kind of sync left out.

use crate::{
    disk::{Disk, Fate},
    judge::judge,
    record::{self, Event, Mark},
    scenario, vfs,
};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Disks by chance at each moment of the record.
const CHANCES: u64 = 2;

/// Where disks are made: in memory, where the machine has that.
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::Builder::new().prefix("am-power-").tempdir_in(place).expect("a folder")
}

struct Record {
    root: PathBuf,
    before: Disk,
    events: Vec<Event>,
    _folder: TempDir,
}

/// Lives the life once.
async fn recorded() -> Record {
    vfs::install();
    let folder = folder();
    let root = folder.path().join("home");
    scenario::prepare(&root).await;
    let before = Disk::of(&root).expect("read");
    record::begin(&root);
    scenario::live(&root).await;
    let events = record::events();
    assert!(events.len() > 100, "{} events", events.len());
    Record { root, before, events, _folder: folder }
}

impl Record {
    /// Replays the record up to each event that `stops` wants, and judges what each fate leaves. Gives the number of
    /// disks, and what was wrong with the first bad one.
    async fn replay(
        &self,
        leave_out: impl Fn(&Event) -> bool,
        fates: impl Fn(usize, &Event) -> Vec<Fate>,
    ) -> (usize, Option<String>) {
        let mut disk = self.before.clone();
        let mut said: Vec<Mark> = Vec::new();
        let mut disks = 0;
        for (number, event) in self.events.iter().enumerate() {
            if leave_out(event) {
                continue;
            }
            disk.apply(&self.root, event);
            if let Event::Said(mark) = event {
                said.push(*mark);
            }
            for fate in fates(number, event) {
                disks += 1;
                let place = folder();
                disk.lose_power(fate, place.path()).expect("written");
                let wrong = judge(place.path(), &said).await;
                if !wrong.is_empty() {
                    let what = format!("after event {number} ({fate:?}), {said:?}: {wrong:#?}");
                    return (disks, Some(what));
                }
            }
        }
        (disks, None)
    }
}

fn is_log(path: &Path) -> bool {
    path.to_string_lossy().ends_with("-wal")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g12_what_was_said_holds_after_any_loss_of_power() {
    let record = recorded().await;
    let fates = |number: usize, event: &Event| {
        let seed = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut fates: Vec<_> = (0..CHANCES).map(|chance| Fate::Chance(seed ^ (chance << 32))).collect();
        match event {
            Event::Said(_) | Event::Synced(_) | Event::SyncedFolder(_) => fates.push(Fate::Lost),
            Event::Folder(_)
            | Event::File(_)
            | Event::Wrote(..)
            | Event::Resized(..)
            | Event::Linked(..)
            | Event::Removed(_) => {}
        }
        if number.is_multiple_of(8) {
            fates.push(Fate::Kept);
        }
        fates
    };
    let (disks, wrong) = record.replay(|_| false, fates).await;
    assert_eq!(wrong, None);
    assert!(disks > 300, "only {disks} disks were judged");
}

/// Whether a store that is weaker than ours would have left an event out.
type Forgets<'a> = &'a dyn Fn(&Event) -> bool;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g12_each_sync_that_is_left_out_is_missed() {
    let record = recorded().await;
    let held = |path: &Path| path.ends_with("held");
    let weaker: [(&str, Forgets<'_>); 4] = [
        ("no file of SQLite's", &|event| matches!(event, Event::Synced(path) if !held(path))),
        ("no log of SQLite's", &|event| matches!(event, Event::Synced(path) if is_log(path))),
        ("no folder", &|event| matches!(event, Event::SyncedFolder(_))),
        ("not the spill file", &|event| matches!(event, Event::Synced(path) if held(path))),
    ];
    let at_marks =
        |_: usize, event: &Event| if matches!(event, Event::Said(_)) { vec![Fate::Lost] } else { vec![] };
    let (_, wrong) = record.replay(|_| false, at_marks).await;
    assert_eq!(wrong, None, "with every sync");
    for (what, leave_out) in weaker {
        let (_, wrong) = record.replay(leave_out, at_marks).await;
        assert!(wrong.is_some(), "{what} was synced, and nobody missed it");
    }
}
