//! Administration: who there is, what belongs together, what may be used. One noun per file.

pub mod accounts;
mod across;
pub mod check;
mod close;
pub mod connections;
pub mod grants;
mod in_flight;
pub mod init;
pub mod members;
pub mod page;
pub mod policies;
pub mod projects;
mod recipes;
mod renew;
mod rotate;
pub mod runtimes;
pub mod sessions;
mod set_connection;
pub mod tokens;
mod told;

pub use connections::NewConnection;
pub use grants::{NamedGrant, NewGrant, NewTerms};
pub use in_flight::{CallInFlight, InFlight};
pub use init::{Initialised, create_home};
pub use members::NamedMember;
pub use page::{Listing, Paging};
pub use policies::{NamedPolicy, PolicyReport};
pub use projects::ProjectChange;
pub(crate) use projects::same_person;
pub use renew::PinnedGrant;
pub use rotate::{Rotated, Rotation};
pub use runtimes::Patience;
pub use sessions::NamedSession;
pub use set_connection::ConnectionChange;
pub use tokens::{NewToken, RevokedToken, Shown};

use crate::{Engine, EngineError};
use mate_model::Micros;
use mate_store::LedgerError;

impl Engine {
    /// The time, for a change: refused when the clock stands before what the ledger has seen.
    ///
    /// # Errors
    /// [`EngineError::ClockBehind`], and the ledger's.
    pub(crate) async fn writing_time(&self) -> Result<Micros, EngineError> {
        let now = self.clock.now();
        self.ledger.observe_time(now).await?;
        Ok(now)
    }

    /// The time, for what only ends or narrows something: a stop, a revocation, a refusal. With a clock that is behind,
    /// the highest time that the ledger has seen: nobody is kept from it.
    ///
    /// # Errors
    /// The ledger's.
    pub(crate) async fn cautious_time(&self) -> Result<Micros, EngineError> {
        let now = self.clock.now();
        match self.ledger.observe_time(now).await {
            Ok(()) => Ok(now),
            Err(LedgerError::ClockBehind { highest, .. }) => Ok(highest),
            Err(error) => Err(error.into()),
        }
    }
}
