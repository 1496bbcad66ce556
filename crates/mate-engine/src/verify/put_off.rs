//! A look that failed: it counts, and the next one comes after a pause, so that nothing is tried without end.

use super::verified;
use crate::{Engine, EngineError};
use mate_model::{
    records::Session,
    verification::{Look, Said, pause_after},
};
use mate_store::Verification;

/// How much of an error goes into the event, in characters.
const MAX_WHY: usize = 300;

impl Engine {
    /// Writes why a look failed, and when the next one is due; none after the last one.
    pub(super) async fn put_off(
        &self,
        session: &Session,
        look: &Verification,
        error: &EngineError,
    ) -> Result<Option<Look>, EngineError> {
        let Some(now) = self.ledger.verification(look.operation).await? else { return Ok(None) };
        let Some(due_at) = now.due_at else { return Ok(None) };
        let why: String =
            format!("it failed: {error}").chars().filter(|c| *c != '\0').take(MAX_WHY).collect();
        let said = Said { look: Look::CannotTell, why };
        if now.tries == look.tries {
            let next = pause_after(look.tries + 1).map(|pause| self.clock.now().plus_seconds(pause));
            return self.not_asked(session, look, next, said).await;
        }
        // It was taken, and may be due still for what it proved.
        let wait = pause_after(now.tries).map(|pause| self.clock.now().plus_seconds(pause));
        let next = (due_at <= self.clock.now()).then_some(wait);
        let draft = verified(&now, &said, now.tries, self.clock.now());
        self.ledger.note_look(session, &now, next, draft).await?;
        Ok(Some(said.look))
    }
}
