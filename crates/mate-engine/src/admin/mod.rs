//! Administration: who there is, what belongs together, what may be used. One noun per file.

pub mod accounts;
mod across;
pub mod check;
mod close;
pub mod connections;
pub mod grants;
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
pub mod tokens;
mod told;

pub use connections::NewConnection;
pub use grants::{NamedGrant, NewGrant, NewTerms};
pub use init::{Initialised, create_home};
pub use members::NamedMember;
pub use page::{Listing, Paging};
pub use policies::{NamedPolicy, PolicyReport};
pub(crate) use projects::same_person;
pub use renew::PinnedGrant;
pub use runtimes::Patience;
pub use sessions::NamedSession;
pub use tokens::{NewToken, Shown};

use crate::{Engine, EngineError};
use mate_model::Micros;

impl Engine {
    /// The time, for a change: refused when the clock stands before what the ledger has seen.
    ///
    /// # Errors
    /// [`EngineError::Unavailable`], and the ledger's.
    pub(crate) async fn writing_time(&self) -> Result<Micros, EngineError> {
        let now = self.clock.now();
        self.ledger.observe_time(now).await?;
        Ok(now)
    }
}
