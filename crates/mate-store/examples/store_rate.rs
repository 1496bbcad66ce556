//! Prints how fast this machine makes things durable, raw and through the driver: `store_rate [FOLDER]`.
//!
//! An operation is two commits of one statement each, as a tool call needs. All with `synchronous=FULL`.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "its figures are its output")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]

use mate_store::{
    Database, Migration, Schema, Statement,
    sqlite::{SqliteDatabase, SqliteOptions},
};
use std::{
    error::Error,
    io::Write,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

type Done<T> = Result<T, Box<dyn Error + Send + Sync>>;

const CREATE: &str =
    "CREATE TABLE operations (number INTEGER PRIMARY KEY, state TEXT NOT NULL, body TEXT NOT NULL)";
static SCHEMA: Schema = Schema {
    name: "rate",
    migrations: &[Migration {
        number: 1,
        name: "operations",
        sqlite: CREATE,
        postgres: CREATE,
        oldest_reader: 1,
    }],
};
const INTENT: &str = "INSERT INTO operations (number, state, body) VALUES ($1, 'in_flight', $2)";
const OUTCOME: &str = "UPDATE operations SET state = 'succeeded' WHERE number = $1 AND state = 'in_flight'";
const SPAN: Duration = Duration::from_secs(3);

fn main() -> Done<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let folder = tempfile::tempdir_in(folder)?;
    println!("fdatasync of 4 KiB more      {:8.1} us", fdatasync(&folder.path().join("raw"))?);
    let raw = raw_sqlite(&folder.path().join("raw.db"))?;
    println!("SQLite itself, sequential    {raw:8.0} ops/s");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    for (files, callers) in [(1, 1), (1, 16), (16, 1), (16, 4)] {
        let mut times = runtime.block_on(driver(folder.path(), files, callers))?;
        times.sort_unstable();
        let rate = times.len() as f64 / SPAN.as_secs_f64();
        let at = |part: usize| times.get(times.len() * part / 100).map_or(0, Duration::as_micros);
        println!(
            "driver, {files:2} files x {callers:2} callers {rate:8.0} ops/s  ({:.2} of SQLite)  p50 {} us  p99 {} us",
            rate / raw,
            at(50),
            at(99)
        );
        if files * callers == 1 {
            println!("this process, one file open  {}", resident()?);
        }
    }
    Ok(())
}

/// The kernel's line about the memory that is in use now.
fn resident() -> Done<String> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    Ok(line.unwrap_or("VmRSS: unknown").split_whitespace().collect::<Vec<_>>().join(" "))
}

fn fdatasync(path: &Path) -> Done<f64> {
    let mut file = std::fs::File::create(path)?;
    let start = Instant::now();
    let mut count = 0u32;
    while start.elapsed() < SPAN {
        file.write_all(&[1; 4096])?;
        file.sync_data()?;
        count += 1;
    }
    Ok(start.elapsed().as_secs_f64() * 1e6 / f64::from(count.max(1)))
}

fn raw_sqlite(path: &Path) -> Done<f64> {
    let db = rusqlite::Connection::open(path)?;
    db.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    db.execute_batch("PRAGMA synchronous = FULL")?;
    db.execute_batch(CREATE)?;
    let body = "x".repeat(300);
    let start = Instant::now();
    let mut count = 0i64;
    while start.elapsed() < SPAN {
        count += 1;
        db.prepare_cached(INTENT)?.execute((count, &body))?;
        db.prepare_cached(OUTCOME)?.execute([count])?;
    }
    Ok(count as f64 / start.elapsed().as_secs_f64())
}

async fn driver(folder: &Path, files: usize, callers: usize) -> Done<Vec<Duration>> {
    let mut tasks = Vec::new();
    for file in 0..files {
        let path = folder.join(format!("{files}-{callers}-{file}.db"));
        let db = Arc::new(SqliteDatabase::open(&path, SqliteOptions::JOURNAL).await?);
        db.migrate(&SCHEMA).await?;
        for caller in 0..callers {
            tasks.push(tokio::spawn(call(Arc::clone(&db), caller as i64 * 1_000_000)));
        }
    }
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await??);
    }
    Ok(times)
}

async fn call(db: Arc<SqliteDatabase>, first: i64) -> Done<Vec<Duration>> {
    let body = "x".repeat(300);
    let (start, mut times, mut number) = (Instant::now(), Vec::new(), first);
    while start.elapsed() < SPAN {
        let begun = Instant::now();
        number += 1;
        db.script(vec![Statement::one(INTENT, vec![number.into(), body.as_str().into()])]).await?;
        db.script(vec![Statement::one(OUTCOME, vec![number.into()])]).await?;
        times.push(begun.elapsed());
    }
    Ok(times)
}
