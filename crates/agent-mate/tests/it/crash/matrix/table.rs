//! The table of the matrix, `docs/crash-matrix.md`: written by the runs themselves when `UPDATE=1` is set.

use super::{kill::Kill, scene::occurs};
use crate::harness::Store;
use mate_fault::POINTS;
use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
};

const HEAD: &str = "# The crash matrix\n\n\
    Written by the tests (`UPDATE=1 ./test crash::matrix`). At each fault point, on each kind of store, a real session is\n\
    held at exactly that moment; one process is killed with SIGKILL; whoever is missing is started again; then the whole\n\
    history is judged against the effect server's own log. A run *holds* when there was no effect without a durable\n\
    intent, no effect or prompt twice, no success without its result, no failure of what happened, nothing called unknown\n\
    that has proof, no gap in a log, nothing acknowledged lost, every task classified, nothing left alive, and the session\n\
    ready for its next task.\n\n\
    *= itself*: the held process is the one of that column. *nobody there*: no such process lives at that moment.\n\
    *does not occur*: the other kind of store has that step.\n\n";

const COLUMNS: &str = "| point | it stands where | store | itself | worker | runtime | upstream | everything |\n\
    |---|---|---|---|---|---|---|---|\n";

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/crash-matrix.md")
}

const fn word(store: Store) -> &'static str {
    match store {
        Store::Sqlite => "SQLite",
        Store::Postgres => "PostgreSQL",
    }
}

/// The cells of each row, by point and store.
fn read() -> BTreeMap<(String, String), Vec<String>> {
    let text = fs::read_to_string(file()).unwrap_or_default();
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    rows.filter_map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let (point, rest) = cells.split_first()?;
        let (_, rest) = rest.split_first()?;
        let (store, rest) = rest.split_first()?;
        let key = (point.trim_matches('`').to_owned(), (*store).to_owned());
        Some((key, rest.iter().map(|cell| (*cell).to_owned()).collect()))
    })
    .collect()
}

/// Puts a row into the table, or checks that it is there as it is; no cells: the point does not occur.
pub(super) fn write(point: &str, store: Store, cells: &[(Kill, String)]) {
    let row: Vec<String> = if cells.is_empty() {
        vec!["does not occur".to_owned(); Kill::ALL.len()]
    } else {
        cells.iter().map(|(_, cell)| cell.clone()).collect()
    };
    assert_eq!(row.len(), Kill::ALL.len(), "{point}: a hole");
    if std::env::var_os("UPDATE").is_none() {
        return;
    }
    let lock = std::env::temp_dir().join("agent-mate-crash-matrix.lock");
    let lock = File::create(lock).expect("a lock");
    lock.lock().expect("locked");
    let mut rows = read();
    rows.insert((point.to_owned(), word(store).to_owned()), row);
    let mut text = format!("{HEAD}{COLUMNS}");
    for point in POINTS {
        for store in [Store::Sqlite, Store::Postgres] {
            if let Some(cells) = rows.get(&(point.name.to_owned(), word(store).to_owned())) {
                let cells = cells.join(" | ");
                text.push_str(&format!(
                    "| `{}` | {} | {} | {cells} |\n",
                    point.name,
                    point.between,
                    word(store)
                ));
            }
        }
    }
    fs::write(file(), text).expect("written");
}

#[test]
fn the_table_has_no_hole() {
    let rows = read();
    for point in POINTS {
        for store in [Store::Sqlite, Store::Postgres] {
            let cells = rows.get(&(point.name.to_owned(), word(store).to_owned()));
            let cells =
                cells.unwrap_or_else(|| panic!("{} on {store:?} has no row: run with UPDATE=1", point.name));
            assert_eq!(cells.len(), Kill::ALL.len(), "{} on {store:?}", point.name);
            let fits = |cell: &String| match cell.as_str() {
                "does not occur" => !occurs(point.name, store),
                "holds" | "= itself" | "nobody there" => occurs(point.name, store),
                _ => false,
            };
            assert!(cells.iter().all(fits), "{} on {store:?}: {cells:?}", point.name);
        }
    }
    assert_eq!(rows.len(), POINTS.len() * 2, "the table has rows of points that are gone");
}
