//! A grant's limits: the rate of calls in this session, and what is reserved in the ledger for all.

use super::{
    Admission, Admitted, CurrentTurn,
    deny::{Why, next_step},
    request::Request,
    standing::Allowed,
};
use crate::EngineError;
use mate_guard::Json;
use mate_model::{
    GrantId, Micros,
    limit::{Amount, Rate, Spend},
    records::Grant,
    words::DenyReason,
};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// When the next call of each rated grant would be due at a steady pace, on the monotonic clock. One entry for each
/// grant that was used, so it is bounded by them.
#[derive(Debug, Default)]
pub(super) struct Rates(Mutex<HashMap<GrantId, i64>>);

impl Rates {
    /// Takes one call of a rate: as many at once as it has in a period, then at its pace.
    ///
    /// # Errors
    /// How long to wait for the next one, in microseconds.
    fn take(&self, grant: GrantId, rate: Rate, now: i64) -> Result<(), i64> {
        let calls = i64::from(rate.calls.max(1));
        // Rounded up: rather a little slower than what was said.
        let pace = (rate.per.micros() + calls - 1) / calls;
        let burst = pace.saturating_mul(calls - 1);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let due = all.get(&grant).copied().unwrap_or(now).max(now);
        let early = due - now - burst;
        if early > 0 {
            return Err(early);
        }
        all.insert(grant, due.saturating_add(pace));
        Ok(())
    }
}

/// What stands in a call's way.
#[derive(Debug)]
pub(super) struct Limited {
    reason: DenyReason,
    why: String,
    /// What to do next, where it is not what the reason says.
    next: Option<&'static str>,
}

impl Limited {
    fn new(reason: DenyReason, why: impl Into<String>) -> Self {
        Self { reason, why: why.into(), next: None }
    }

    /// The reason, and the words for it.
    pub(super) fn words(self) -> (DenyReason, String) {
        (self.reason, self.why)
    }
}

/// What a call spends under a grant, by its arguments; nothing where the grant does not limit that.
pub(super) fn spent(grant: &Grant, tool: &str, arguments: &str) -> Result<Amount, Limited> {
    let Some(spend) = &grant.terms.spend else { return Ok(Amount::default()) };
    let amount = match (spend.field(tool), spend.cost) {
        (None, Some(cost)) => return Ok(cost),
        (None, None) => {
            let why = format!(
                "the grant {} limits what is spent, and does not say what a call of `{tool}` spends",
                grant.id
            );
            return Err(Limited::new(DenyReason::LimitReached, why));
        }
        (Some(path), _) => named_amount(path, arguments)?,
    };
    amount.plus(spend.cost.unwrap_or_default()).ok_or_else(|| {
        Limited::new(DenyReason::BadArguments, "what the call spends is more than can be counted")
    })
}

fn named_amount(path: &str, arguments: &str) -> Result<Amount, Limited> {
    let wrong = |what: &str| Limited::new(DenyReason::BadArguments, format!("the argument `{path}` {what}"));
    let arguments = Json::parse(arguments)
        .map_err(|why| Limited::new(DenyReason::BadArguments, format!("the arguments are {why}")))?;
    match arguments.at(path) {
        None => Err(wrong("says what the call spends, and is missing")),
        Some(Json::Number(text) | Json::String(text)) => {
            text.parse().map_err(|why| wrong(&format!("says what the call spends: it {why}")))
        }
        Some(Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_)) => {
            Err(wrong("says what the call spends, and is no number"))
        }
    }
}

impl Admission {
    /// Takes a call of the grant's rate in this session, where it has one.
    ///
    /// # Errors
    /// When the next one is due.
    pub(super) fn take_rate(&self, grant: &Grant) -> Result<(), Limited> {
        let Some(rate) = grant.terms.rate else { return Ok(()) };
        self.rates.take(grant.id, rate, self.engine.clock.monotonic()).map_err(|wait| Limited {
            reason: DenyReason::LimitReached,
            why: format!(
                "the grant allows {rate} calls in this session, and the next one in {}",
                seconds(wait)
            ),
            next: Some("Wait that long, then call again; or go on with something else."),
        })
    }

    /// Reserves a call, and what it spends, in the ledger. What is reserved stays used, also when the call is never sent.
    ///
    /// # Errors
    /// The ledger's.
    pub(super) async fn reserve_call(
        &self,
        grant: &Grant,
        spend: Amount,
    ) -> Result<Result<(), Limited>, EngineError> {
        if grant.max_calls.is_none() && grant.terms.spend.is_none() {
            return Ok(Ok(()));
        }
        if self.engine.ledger.reserve_call(grant.id, spend).await? {
            return Ok(Ok(()));
        }
        let now = self.engine.ledger.grant(grant.id).await?;
        Ok(Err(Limited::new(DenyReason::LimitReached, used_up(now.as_ref(), spend))))
    }

    /// Takes a call of the grant's rate, and reserves the rest.
    ///
    /// # Errors
    /// The ledger's.
    pub(super) async fn reserve_limits(
        &self,
        request: &Request<'_>,
        grant: &Grant,
    ) -> Result<Result<(), Limited>, EngineError> {
        let spend = match spent(grant, request.tool, request.arguments) {
            Ok(spend) => spend,
            Err(limited) => return Ok(Err(limited)),
        };
        match self.take_rate(grant) {
            Ok(()) => self.reserve_call(grant, spend).await,
            Err(limited) => Ok(Err(limited)),
        }
    }

    /// Records and says that a limit stands in the way.
    pub(super) async fn deny_limited(
        &self,
        request: &Request<'_>,
        turn: CurrentTurn,
        requested_at: Micros,
        allowed: &Allowed<'_>,
        limited: Limited,
    ) -> Result<Admitted, EngineError> {
        let Limited { reason, why, next } = limited;
        let decided = allowed.decided.clone().overruled();
        let next = next.unwrap_or_else(|| next_step(reason));
        let why = Why { reason, text: &why, next, decided };
        self.deny_for(request, turn, requested_at, Some(allowed), why).await
    }
}

fn used_up(grant: Option<&Grant>, spend: Amount) -> String {
    let left = |spend: &Spend| Amount::of_millionths(spend.max.millionths() - spend.used.millionths()).ok();
    match grant {
        Some(grant) if grant.revoked_at.is_some() => "the grant was revoked".to_owned(),
        Some(grant) if grant.max_calls.is_some_and(|most| most <= grant.used_calls) => {
            "the grant's calls are used up".to_owned()
        }
        Some(Grant { terms, .. }) => match terms.spend.as_ref().and_then(left) {
            Some(left) => format!("the call spends {spend}, and the grant has {left} left"),
            None => "the grant's limits are used up".to_owned(),
        },
        None => "the grant is gone".to_owned(),
    }
}

/// A wait in words: never less than it is.
fn seconds(micros: i64) -> String {
    let tenths = (micros + 99_999) / 100_000;
    if tenths < 100 {
        format!("{}.{} s", tenths / 10, tenths % 10)
    } else {
        format!("{} s", (tenths + 9) / 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_rate_lets_its_calls_through_at_once_and_then_at_its_pace() {
        let (rates, grant) = (Rates::default(), GrantId::new(Uuid::from_u128(1)));
        let rate: Rate = "3/min".parse().unwrap();
        let start = 1_000;
        for _ in 0..3 {
            assert_eq!(rates.take(grant, rate, start), Ok(()));
        }
        assert_eq!(rates.take(grant, rate, start), Err(20_000_000));
        assert_eq!(rates.take(grant, rate, start + 19_999_999), Err(1));
        assert_eq!(rates.take(grant, rate, start + 20_000_000), Ok(()));
        assert_eq!(rates.take(grant, rate, start + 20_000_000), Err(20_000_000));
        let other = GrantId::new(Uuid::from_u128(2));
        assert_eq!(rates.take(other, rate, start), Ok(()), "each grant has its own");
        // Whatever was missed does not add up.
        let later = start + 3_600_000_000;
        for _ in 0..3 {
            assert_eq!(rates.take(grant, rate, later), Ok(()));
        }
        assert!(rates.take(grant, rate, later).is_err());
        assert_eq!(
            (seconds(1), seconds(4_000_000), seconds(59_950_001)),
            ("0.1 s".into(), "4.0 s".into(), "60 s".into())
        );
    }
}
