//! A table in Markdown.

use crate::disk::Disk;

/// One figure, beside what it is measured against and what was hoped for.
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) figure: String,
    pub(crate) against: String,
    pub(crate) reach: String,
    /// Whether the figure reaches that; none where nothing was hoped for.
    pub(crate) met: Option<bool>,
}

#[derive(Default)]
pub(crate) struct Table(Vec<String>);

impl Table {
    /// Adds a row, with the disk as it was right before.
    pub(crate) fn add(&mut self, row: Row, disk: &Disk) {
        let met = match row.met {
            Some(true) => "yes",
            Some(false) => "no",
            None => "",
        };
        self.0.push(format!(
            "| {} | {} | {} | {} | {met} | {:.3} / {:.3} ms |",
            row.what, row.figure, row.against, row.reach, disk.overwrite.p50_ms, disk.append.p50_ms
        ));
    }

    pub(crate) fn print(&self) {
        println!(
            "\nEvery commit with `synchronous=FULL`. Last column: p50 of fdatasync, 4 KiB overwritten / appended.\n"
        );
        println!("| | figure | against | reach | met | fdatasync |");
        println!("|---|---|---|---|---|---|");
        for line in &self.0 {
            println!("{line}");
        }
    }
}
