//! The two texts of a migration say the same: all but what moves a state is a translation word by word.

use mate_store::{JOURNAL_SCHEMA, LEDGER_SCHEMA};

/// From here on the engines have words of their own.
const OWN_WORDS: &str = "-- A move starts where the row stands";

#[test]
fn the_pair_of_each_first_migration_is_one_schema() {
    for schema in [LEDGER_SCHEMA, JOURNAL_SCHEMA] {
        let first = schema.migrations[0];
        let (tables, triggers) = first.sqlite.split_once(OWN_WORDS).unwrap();
        let translated = tables
            .replace("INTEGER", "BIGINT")
            .replace("BLOB", "BYTEA")
            .replace("TEXT", "TEXT COLLATE \"C\"")
            .replace(") STRICT, WITHOUT ROWID;", ");");
        let (theirs, functions) = first.postgres.split_once(OWN_WORDS).unwrap();
        assert!(translated == theirs, "the tables of `{}` differ", schema.name);
        let named = |text: &str| text.matches("CREATE TRIGGER").count();
        assert_eq!(named(triggers), named(functions));
    }
}
