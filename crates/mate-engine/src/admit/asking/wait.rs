//! A caller waits for a person, within its own patience.

use super::{AskKey, Entered, Phase};
use crate::{
    EngineError,
    admit::{Admission, Admitted, CurrentTurn, Request, standing::Allowed, twins::TwinKey},
};
use mate_model::{
    Micros,
    words::{DenyReason, EffectClass},
};
use std::{pin::Pin, time::Duration};
use tokio::{sync::watch, time::Sleep};

/// How often a waiting caller is told that it is still being waited for.
const PROGRESS: Duration = Duration::from_secs(5);

/// A call that was judged, and that a person is to be asked about.
pub(in crate::admit) struct Judged<'a> {
    pub(in crate::admit) turn: CurrentTurn,
    pub(in crate::admit) allowed: &'a Allowed<'a>,
    pub(in crate::admit) requested_at: Micros,
    pub(in crate::admit) class: EffectClass,
    pub(in crate::admit) key: TwinKey,
}

impl Admission {
    /// Asks a person, or joins the identical call that waits already; waits for the answer, and lets the call out with it.
    pub(in crate::admit) async fn with_leave(
        &self,
        request: &Request<'_>,
        judged: &Judged<'_>,
    ) -> Result<Admitted, EngineError> {
        let patience = tokio::time::sleep(Duration::from_secs(self.approval.caller_seconds));
        tokio::pin!(patience);
        let key = AskKey::Call(judged.key.clone());
        loop {
            let mut phase = match self.asks.enter(&key) {
                Entered::Joined(phase) => phase,
                Entered::Told(words) => return Ok(Admitted::Refused(words)),
                Entered::Full => {
                    let why = "too many calls of this session wait for a person";
                    let (turn, at) = (judged.turn, judged.requested_at);
                    let reason = DenyReason::NotRecordable;
                    return self.deny(request, turn, at, Some(judged.allowed), reason, why).await;
                }
                Entered::First(place) => match self.begin(request, judged, place).await? {
                    Ok(phase) => phase,
                    Err(answered) => return Ok(answered),
                },
            };
            match self.until_answered(request, &mut phase, patience.as_mut()).await {
                Phase::Again => {}
                Phase::Allowed(id) => match self.asks.take(&key, id) {
                    Some(waiting) => {
                        let answer = self.let_out(request, &key, waiting).await;
                        self.asks.done(&key);
                        return answer;
                    }
                    None => {
                        return Ok(Admitted::Refused(again(&format!(
                            "its approval ({id}) moves at this moment"
                        ))));
                    }
                },
                Phase::Taken(id) => return Ok(Admitted::Refused(taken(&id.to_string()))),
                Phase::Over(words) => return Ok(Admitted::Refused(words)),
                Phase::Asking => return Ok(Admitted::Refused(again("a person is being asked"))),
                Phase::Open(id) => {
                    return Ok(Admitted::Refused(again(&format!("it waits for a person's approval ({id})"))));
                }
            }
        }
    }

    /// The phase in which there is something to do, or the last one when the caller's patience is over.
    async fn until_answered(
        &self,
        request: &Request<'_>,
        phase: &mut watch::Receiver<Phase>,
        mut patience: Pin<&mut Sleep>,
    ) -> Phase {
        let mut tick = tokio::time::interval(PROGRESS);
        loop {
            let now = phase.borrow_and_update().clone();
            match now {
                Phase::Asking | Phase::Open(_) => {}
                Phase::Allowed(_) | Phase::Taken(_) | Phase::Over(_) | Phase::Again => return now,
            }
            tokio::select! {
                biased;
                () = request.until_gone() => return now,
                changed = phase.changed() => {
                    if changed.is_err() {
                        // Its sender is gone with the last news in place.
                        let last = phase.borrow().clone();
                        return if last == now { Phase::Again } else { last };
                    }
                }
                () = patience.as_mut() => return now,
                _ = tick.tick() => request.tell("waiting for a person's approval"),
            }
        }
    }
}

fn again(what: &str) -> String {
    format!(
        "The call was NOT made yet: {what}. Call again with exactly the same arguments to go on waiting; nothing is sent \
         while nobody waits for the answer."
    )
}

fn taken(id: &str) -> String {
    format!(
        "An identical call waited for the same approval ({id}), and that one went on; this one was NOT made. If it is to \
         happen once more, make the call once more."
    )
}
