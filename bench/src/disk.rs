//! What the machine's disk allows, so that every other figure can be read against it.

use std::{
    fs::File,
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{anyhow, ensure};
use rusqlite::{Connection, params};

use crate::figures::Figures;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The file system to measure: a folder is made in it and removed.
    #[arg(long, default_value = ".")]
    dir: PathBuf,
}

/// The disk's own figures.
pub(crate) struct Disk {
    /// Appending 4 KiB and `fdatasync`: the file grows, so its metadata is written as well.
    pub(crate) append: Figures,
    /// Writing 4 KiB over what is there and `fdatasync`: what a settled log pays.
    pub(crate) overwrite: Figures,
    /// Operations of two commits each, one writer, WAL, `synchronous=FULL`.
    pub(crate) sqlite: Figures,
    /// The same by 16 writers at once, each with a file of its own: operations per second of them all.
    pub(crate) sqlite_16: f64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    print(&measure(&args.dir)?);
    Ok(())
}

/// Prints the figures that belong beside all others.
pub(crate) fn print(disk: &Disk) {
    for (what, sync) in [("appended", &disk.append), ("overwritten", &disk.overwrite)] {
        println!("fdatasync, 4 KiB {what:<12} p50 {:.3} ms   p99 {:.3} ms", sync.p50_ms, sync.p99_ms);
    }
    let sqlite = &disk.sqlite;
    println!(
        "SQLite {}, WAL, synchronous=FULL, two commits an operation   {:.0} op/s   p50 {:.3} ms   p99 {:.3} ms",
        rusqlite::version(),
        sqlite.per_second,
        sqlite.p50_ms,
        sqlite.p99_ms
    );
    println!("the same by 16 writers at once, a file each   {:.0} op/s", disk.sqlite_16);
}

pub(crate) fn measure(dir: &Path) -> anyhow::Result<Disk> {
    let dir = tempfile::Builder::new().prefix("mate-bench").tempdir_in(dir)?;
    Ok(Disk {
        append: append(dir.path(), 500)?,
        overwrite: overwrite(dir.path(), 500)?,
        sqlite: two_commits(&dir.path().join("one.sqlite"), 2000)?,
        sqlite_16: at_once(dir.path(), 16, 500)?,
    })
}

const BLOCK: [u8; 4096] = [0x5a; 4096];

fn append(dir: &Path, times: usize) -> anyhow::Result<Figures> {
    let mut file = File::create(dir.join("append"))?;
    timed(times, |_| {
        file.write_all(&BLOCK)?;
        Ok(file.sync_data()?)
    })
}

fn overwrite(dir: &Path, times: usize) -> anyhow::Result<Figures> {
    let mut file = File::create(dir.join("overwrite"))?;
    for _ in 0..256 {
        file.write_all(&BLOCK)?;
    }
    file.sync_all()?;
    timed(times, |id| {
        file.seek(SeekFrom::Start((id % 256 * BLOCK.len()) as u64))?;
        file.write_all(&BLOCK)?;
        Ok(file.sync_data()?)
    })
}

/// An operation is an insert that commits (the intent) and an update that commits (the outcome).
fn two_commits(file: &Path, times: usize) -> anyhow::Result<Figures> {
    let db = Connection::open(file)?;
    let mode: String = db.query_row("PRAGMA journal_mode=WAL", [], |row| row.get(0))?;
    ensure!(mode == "wal", "WAL is not to be had here: {mode}");
    db.execute_batch(
        "PRAGMA synchronous=FULL;
         CREATE TABLE operations (id INTEGER PRIMARY KEY, state TEXT NOT NULL, note TEXT NOT NULL);",
    )?;
    let mut intent = db.prepare("INSERT INTO operations (id, state, note) VALUES (?1, 'in_flight', ?2)")?;
    let mut outcome =
        db.prepare("UPDATE operations SET state = 'succeeded' WHERE id = ?1 AND state = 'in_flight'")?;
    let note = "n".repeat(300);
    timed(times, |id| {
        intent.execute(params![id as i64, note])?;
        ensure!(outcome.execute(params![id as i64])? == 1, "the row is gone");
        Ok(())
    })
}

fn at_once(dir: &Path, writers: usize, times: usize) -> anyhow::Result<f64> {
    let began = Instant::now();
    let files = (0..writers).map(|writer| dir.join(format!("writer-{writer}.sqlite")));
    let threads: Vec<_> = files
        .map(|file| std::thread::spawn(move || two_commits(&file, times).map(|figures| figures.ok)))
        .collect();
    let mut done = 0;
    for thread in threads {
        done += thread.join().map_err(|_| anyhow!("a writer panicked"))??;
    }
    // The calls before the clock of each writer count as well: they were made in the same time.
    Ok((done + done / 10) as f64 / began.elapsed().as_secs_f64())
}

fn timed(times: usize, mut act: impl FnMut(usize) -> anyhow::Result<()>) -> anyhow::Result<Figures> {
    for id in 0..times / 10 {
        act(id)?;
    }
    let began = Instant::now();
    let mut latencies: Vec<Duration> = Vec::with_capacity(times);
    for id in 0..times {
        let one = Instant::now();
        act(times + id)?;
        latencies.push(one.elapsed());
    }
    Ok(Figures::new(latencies, &[], began.elapsed()))
}
