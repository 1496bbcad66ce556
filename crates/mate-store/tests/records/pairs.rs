//! The two texts of a migration say the same: all but what moves a state is a translation word by word.

use mate_store::{JOURNAL_SCHEMA, LEDGER_SCHEMA};

/// Where the keys differ: a SQLite journal holds one session, and a short key makes each commit smaller.
const OWN_KEYS: [(&str, &str); 6] = [
    (
        "-- A file holds one session, so that the number alone is the key: rows are appended, and no long key is repeated.\n",
        "",
    ),
    (
        "    number BIGINT NOT NULL PRIMARY KEY CHECK (number > 0),",
        "    number BIGINT NOT NULL CHECK (number > 0),",
    ),
    (
        "CHECK (repeat_permitted IN (0, 1)),\n    FOREIGN",
        "CHECK (repeat_permitted IN (0, 1)),\n    PRIMARY KEY (session, number),\n    FOREIGN",
    ),
    ("(number) REFERENCES operations (number)", "(session, number) REFERENCES operations (session, number)"),
    ("    seq BIGINT NOT NULL PRIMARY KEY CHECK (seq > 0),", "    seq BIGINT NOT NULL CHECK (seq > 0),"),
    (
        "    hash BYTEA NOT NULL CHECK (length(hash) = 32)\n);\n\nCREATE INDEX journal",
        "    hash BYTEA NOT NULL CHECK (length(hash) = 32),\n    PRIMARY KEY (session, seq)\n);\n\nCREATE INDEX journal",
    ),
];

/// From here on the engines have words of their own.
const OWN_WORDS: &str = "-- A move starts where the row stands";

#[test]
fn the_pair_of_each_first_migration_is_one_schema() {
    for schema in [LEDGER_SCHEMA, JOURNAL_SCHEMA] {
        let first = schema.migrations[0];
        let (tables, triggers) = first.sqlite.split_once(OWN_WORDS).unwrap();
        let mut translated = tables
            .replace("INTEGER", "BIGINT")
            .replace("BLOB", "BYTEA")
            .replace("TEXT", "TEXT COLLATE \"C\"")
            .replace(") STRICT, WITHOUT ROWID;", ");")
            .replace(") STRICT;", ");");
        if schema.name == JOURNAL_SCHEMA.name {
            for (ours, theirs) in OWN_KEYS {
                assert_ne!(translated.matches(ours).count(), 0, "{ours}");
                translated = translated.replace(ours, theirs);
            }
        }
        let (theirs, functions) = first.postgres.split_once(OWN_WORDS).unwrap();
        assert!(translated == theirs, "the tables of `{}` differ", schema.name);
        let named = |text: &str| text.matches("CREATE TRIGGER").count();
        assert_eq!(named(triggers), named(functions));
    }
}
