//! Migrations: pairs of SQL texts with one number and name, applied once each and never edited.

use crate::{Engine, Row, StoreError, Value};

/// One step of a schema, in the words of both engines.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    /// Counts from 1 without gaps.
    pub number: u32,
    /// What it brings, in a word or two.
    pub name: &'static str,
    /// The text for SQLite.
    pub sqlite: &'static str,
    /// The text for PostgreSQL.
    pub postgres: &'static str,
    /// The lowest migration that a program must know to work with the schema that this one leaves.
    pub oldest_reader: u32,
}

/// A named list of migrations. One database may hold several schemas.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// The schema's name: `ledger`, `journal`.
    pub name: &'static str,
    /// Its steps, in order.
    pub migrations: &'static [Migration],
}

/// How a store's schema stands after `migrate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemaState {
    /// The highest migration in the store. Higher than this program knows when a newer one shares the store
    /// and still allows this reader.
    pub number: u32,
    /// How many migrations this call applied.
    pub applied: u32,
}

/// What a store records of an applied migration.
#[derive(Clone, Debug)]
pub(crate) struct Applied {
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) digest: String,
    pub(crate) oldest_reader: u32,
}

/// The table in which both engines record what was applied.
pub(crate) const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
    schema TEXT NOT NULL,
    number BIGINT NOT NULL CHECK (number > 0),
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    oldest_reader BIGINT NOT NULL CHECK (oldest_reader > 0),
    PRIMARY KEY (schema, number))";

/// Reads what was applied of schema `$1`.
pub(crate) const SELECT: &str =
    "SELECT number, name, digest, oldest_reader FROM schema_migrations WHERE schema = $1 ORDER BY number";

/// Records an application.
pub(crate) const INSERT: &str =
    "INSERT INTO schema_migrations (schema, number, name, digest, oldest_reader) VALUES ($1, $2, $3, $4, $5)";

impl Applied {
    pub(crate) fn decode(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            number: row.number("number")?,
            name: row.text("name")?.to_owned(),
            digest: row.text("digest")?.to_owned(),
            oldest_reader: row.number("oldest_reader")?,
        })
    }
}

impl Migration {
    /// The parameters of [`INSERT`].
    pub(crate) fn record(&self, schema: &Schema, engine: Engine) -> Vec<Value> {
        let digest = self.digest(engine);
        vec![
            schema.name.into(),
            self.number.into(),
            self.name.into(),
            digest.into(),
            self.oldest_reader.into(),
        ]
    }

    /// The text for an engine.
    pub(crate) const fn text(&self, engine: Engine) -> &'static str {
        match engine {
            Engine::Sqlite => self.sqlite,
            Engine::Postgres => self.postgres,
        }
    }

    /// BLAKE3 of the text for an engine, in hexadecimal digits.
    pub(crate) fn digest(&self, engine: Engine) -> String {
        blake3::hash(self.text(engine).as_bytes()).to_hex().to_string()
    }
}

impl Schema {
    /// The highest migration that this program knows.
    #[must_use]
    pub const fn known(&self) -> u32 {
        match self.migrations.last() {
            Some(last) => last.number,
            None => 0,
        }
    }

    /// Refuses a list with gaps; a defect of this program.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let counts = self.migrations.iter().zip(1u32..).all(|(migration, number)| {
            migration.number == number && (1..=number).contains(&migration.oldest_reader)
        });
        if counts {
            return Ok(());
        }
        Err(StoreError::Misuse(format!("the migrations of `{}` do not count from 1", self.name)))
    }

    /// The next migration to apply, given what the store records; none when there is nothing to do.
    pub(crate) fn next(
        &self,
        engine: Engine,
        applied: &[Applied],
    ) -> Result<Option<&'static Migration>, StoreError> {
        for (row, migration) in applied.iter().zip(self.migrations) {
            self.compare(engine, row, migration)?;
        }
        let found = applied.last().map_or(0, |row| row.number);
        let oldest_reader = applied.iter().map(|row| row.oldest_reader).max().unwrap_or(0);
        let known = self.known();
        if found > known && oldest_reader > known {
            return Err(StoreError::SchemaTooNew {
                schema: self.name.to_owned(),
                found,
                oldest_reader,
                known,
            });
        }
        Ok(self.migrations.get(applied.len()))
    }

    fn compare(&self, engine: Engine, row: &Applied, migration: &Migration) -> Result<(), StoreError> {
        let why = if row.number != migration.number {
            format!("the store records number {} in its place", row.number)
        } else if row.name != migration.name {
            format!("it was named `{}`, here `{}`", row.name, migration.name)
        } else if row.digest != migration.digest(engine) {
            "its text was changed after its release".to_owned()
        } else {
            return Ok(());
        };
        Err(StoreError::SchemaChanged { schema: self.name.to_owned(), number: migration.number, why })
    }
}
