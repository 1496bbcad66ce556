//! Loss of power: what a disk may have kept of a session's life, at any moment, is opened again and judged.
//!
//! A kill leaves the page cache, so weakened syncing would pass every test with kills. Here each write and each sync
//! of the ledger, the journal, the spill file and the folders is recorded; then every moment of the record is
//! replayed onto a disk that keeps what was synced and, of the rest, nothing or what chance says.

#[cfg(test)]
mod disk;
#[cfg(test)]
mod judge;
#[cfg(test)]
mod record;
#[cfg(test)]
mod scenario;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vfs;
