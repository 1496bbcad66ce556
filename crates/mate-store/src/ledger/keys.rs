//! Which keys of the home are in use, and what is sealed under which.

use super::{Ledger, LedgerError, error::Refused};
use crate::{Row, Statement, StoreError, decode, params::params};
use mate_model::Micros;

const KEYS: &str = "SELECT id, seals, added_at FROM root_keys ORDER BY added_at, id";
const RETIRED: &str = "SELECT id, retired_at FROM retired_keys WHERE id = $1";
const ADD: &str = "INSERT INTO root_keys (id, seals, added_at) VALUES ($1, 1, $2)";
const SECRET: &str = "INSERT INTO home_secret (one, sealed) VALUES (1, $1)";
const READ_SECRET: &str = "SELECT sealed FROM home_secret WHERE one = 1";
const AGE: &str = "UPDATE root_keys SET seals = 0 WHERE id = $1 AND seals = 1";
const DROP: &str = "DELETE FROM root_keys WHERE id = $1 AND seals = 0";
const RETIRE: &str = "INSERT INTO retired_keys (id, retired_at) VALUES ($1, $2)";

/// Everything that is sealed under a key of the home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealedIn {
    /// The home's own secret.
    HomeSecret,
    /// The secrets of connections.
    Connections,
    /// The tokens that connections were authorised for.
    Authorizations,
    /// What was asked of a person and is not answered yet.
    Pending,
    /// What the secrets of connections were before: sealed in their name.
    Former,
}

/// A place, its statements: what is there not under a key; how much under one; other bytes for the same.
type Place = (SealedIn, &'static str, &'static str, &'static str);

const PLACES: [Place; 5] = [
    (
        SealedIn::HomeSecret,
        "SELECT '1' AS id, sealed AS sealed FROM home_secret WHERE sealed_key <> $1 AND '1' > $2 LIMIT $3",
        "SELECT COUNT(*) AS n FROM home_secret WHERE sealed_key = $1",
        "UPDATE home_secret SET sealed = $3 WHERE $1 = '1' AND sealed = $2",
    ),
    (
        SealedIn::Connections,
        "SELECT id AS id, sealed AS sealed FROM connections WHERE sealed_key <> $1 AND id > $2 ORDER BY id LIMIT $3",
        "SELECT COUNT(*) AS n FROM connections WHERE sealed_key = $1",
        "UPDATE connections SET sealed = $3 WHERE id = $1 AND sealed = $2",
    ),
    (
        SealedIn::Authorizations,
        "SELECT connection AS id, sealed AS sealed FROM authorizations WHERE sealed_key <> $1 AND connection > $2
            ORDER BY connection LIMIT $3",
        "SELECT COUNT(*) AS n FROM authorizations WHERE sealed_key = $1",
        "UPDATE authorizations SET sealed = $3 WHERE connection = $1 AND sealed = $2",
    ),
    (
        SealedIn::Pending,
        "SELECT connection AS id, pending AS sealed FROM authorizations WHERE pending_key <> $1 AND connection > $2
            ORDER BY connection LIMIT $3",
        "SELECT COUNT(*) AS n FROM authorizations WHERE pending_key = $1",
        "UPDATE authorizations SET pending = $3 WHERE connection = $1 AND pending = $2",
    ),
    (
        SealedIn::Former,
        "SELECT connection || '/' || CAST(number AS TEXT) AS id, sealed AS sealed FROM former_secrets
            WHERE sealed_key <> $1 AND connection || '/' || CAST(number AS TEXT) > $2
            ORDER BY connection || '/' || CAST(number AS TEXT) LIMIT $3",
        "SELECT COUNT(*) AS n FROM former_secrets WHERE sealed_key = $1",
        "UPDATE former_secrets SET sealed = $3
            WHERE connection || '/' || CAST(number AS TEXT) = $1 AND sealed = $2",
    ),
];

impl SealedIn {
    /// Every place.
    pub const ALL: [Self; 5] =
        [Self::HomeSecret, Self::Connections, Self::Authorizations, Self::Pending, Self::Former];

    const fn place(self) -> Place {
        let [secret, connections, authorizations, pending, former] = PLACES;
        match self {
            Self::HomeSecret => secret,
            Self::Connections => connections,
            Self::Authorizations => authorizations,
            Self::Pending => pending,
            Self::Former => former,
        }
    }

    /// The table and the column, as seals are bound to them.
    #[must_use]
    pub const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::HomeSecret => ("home_secret", "sealed"),
            Self::Connections | Self::Former => ("connections", "sealed"),
            Self::Authorizations => ("authorizations", "sealed"),
            Self::Pending => ("authorizations", "pending"),
        }
    }
}

impl Sealed {
    /// The row that it is sealed in the name of.
    #[must_use]
    pub fn named(&self) -> &str {
        self.id.split_once('/').map_or(self.id.as_str(), |(connection, _)| connection)
    }
}

/// A key that is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRow {
    /// Its id.
    pub id: [u8; 4],
    /// Whether it seals what is new; of all keys one does.
    pub seals: bool,
    /// Since when it is in use.
    pub added_at: Micros,
}

/// A sealed value and the id of its row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The row.
    pub id: String,
    /// The envelope.
    pub envelope: Vec<u8>,
}

fn id_of(row: &Row) -> Result<[u8; 4], StoreError> {
    row.blob("id")?.try_into().map_err(|_| row.corrupt("id", "no id of a key"))
}

fn key(row: &Row) -> Result<KeyRow, StoreError> {
    Ok(KeyRow { id: id_of(row)?, seals: row.int("seals")? == 1, added_at: decode::micros(row, "added_at")? })
}

impl Ledger {
    /// The keys in use, by age: none in a ledger that nothing was sealed in yet.
    ///
    /// # Errors
    /// The store's, and [`StoreError::Corrupt`].
    pub async fn keys(&self) -> Result<Vec<KeyRow>, StoreError> {
        self.db.fetch(KEYS, params![]).await?.iter().map(key).collect()
    }

    /// When a key was retired, if it was.
    ///
    /// # Errors
    /// The store's.
    pub async fn key_retired(&self, id: [u8; 4]) -> Result<Option<Micros>, StoreError> {
        let rows = self.db.fetch(RETIRED, params![id.to_vec()]).await?;
        decode::first(&rows, |row| decode::micros(row, "retired_at"))
    }

    /// The home's own secret, sealed.
    ///
    /// # Errors
    /// The store's.
    pub async fn home_secret(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let rows = self.db.fetch(READ_SECRET, params![]).await?;
        decode::first(&rows, |row| row.blob("sealed").map(<[u8]>::to_vec))
    }

    /// The first key, with the home's secret sealed under it.
    ///
    /// # Errors
    /// [`LedgerError::Taken`] when there is one already, and the store's.
    pub async fn first_key(&self, id: [u8; 4], secret: &[u8], at: Micros) -> Result<(), LedgerError> {
        let script = vec![
            Statement::one(ADD, params![id.to_vec(), at]),
            Statement::one(SECRET, params![secret.to_vec()]),
        ];
        self.write(script).await.map_err(|refused| refused.adding("key", "key"))
    }

    /// From now on `to` seals, and `from` does no more.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`] when another one seals already, and the store's.
    pub async fn change_key(&self, from: [u8; 4], to: [u8; 4], at: Micros) -> Result<(), LedgerError> {
        let script =
            vec![Statement::one(AGE, params![from.to_vec()]), Statement::one(ADD, params![to.to_vec(), at])];
        self.write(script).await.map_err(|refused| refused.moving("key"))
    }

    /// The next values of a place that are not sealed under `key`, at most `limit`, after the row `after`.
    ///
    /// # Errors
    /// The store's.
    pub async fn not_sealed_under(
        &self,
        place: SealedIn,
        key: [u8; 4],
        after: &str,
        limit: u32,
    ) -> Result<Vec<Sealed>, StoreError> {
        let rows = self.db.fetch(place.place().1, params![key.to_vec(), after, i64::from(limit)]).await?;
        let read =
            |row: &Row| Ok(Sealed { id: row.text("id")?.to_owned(), envelope: row.blob("sealed")?.to_vec() });
        rows.iter().map(read).collect()
    }

    /// How many values of a place are sealed under `key`.
    ///
    /// # Errors
    /// The store's.
    pub async fn count_sealed(&self, place: SealedIn, key: [u8; 4]) -> Result<i64, StoreError> {
        let rows = self.db.fetch(place.place().2, params![key.to_vec()]).await?;
        Ok(decode::first(&rows, |row| row.int("n"))?.unwrap_or_default())
    }

    /// The same values under another key, each if it is still what it was. Nobody is told: nothing has changed.
    ///
    /// # Errors
    /// The store's; [`LedgerError::NotFound`] when the key was retired meanwhile.
    pub async fn reseal(&self, place: SealedIn, values: Vec<(Sealed, Vec<u8>)>) -> Result<(), LedgerError> {
        let sql = place.place().3;
        let other = |(old, new): (Sealed, Vec<u8>)| Statement::any(sql, params![old.id, old.envelope, new]);
        let script = values.into_iter().map(other).collect();
        let done = self.db.script(script).await;
        done.map(drop).map_err(|error| Refused::read(error, 0).changing("key"))
    }

    /// Retires a key under which nothing is sealed any more. Answers false when something is.
    ///
    /// # Errors
    /// [`LedgerError::NotFound`] when it is no older key, and the store's.
    pub async fn retire_key(&self, id: [u8; 4], at: Micros) -> Result<bool, LedgerError> {
        let script = vec![
            Statement::one(DROP, params![id.to_vec()]),
            Statement::one(RETIRE, params![id.to_vec(), at]),
        ];
        match self.db.script(script).await.map_err(|error| Refused::read(error, 0)) {
            Ok(_) => Ok(true),
            Err(Refused::Missing) => Ok(false),
            Err(refused) => Err(refused.changing("key")),
        }
    }
}
