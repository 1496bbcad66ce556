//! Looks whether unknown calls have happened, in the upstreams' own records or by the recipes of their connections. Taken while no turn is running.

use super::{
    Worker,
    activity::Pump,
    gate::{result_type, says_read_only},
    live::Live,
};
use anyhow::Result;
use async_trait::async_trait;
use mate_bridge::Bridge;
use mate_engine::Looker;
use mate_guard::Redactor;
use mate_model::{
    ConnectionId,
    record::{Record, Recorded},
    records::Reach,
    verification::Look,
};
use mate_runtime::container::Container;
use mate_store::{OperationFacts, Verification};
use serde_json::{Map, Value, value::RawValue};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// The longest that one look may take.
const BOUND: Duration = Duration::from_secs(15);

/// Asks through the session's bridge.
struct Through {
    bridge: Option<Arc<Bridge>>,
    redactor: Arc<Redactor>,
    /// The result that an upstream's record held.
    fetched: Mutex<Option<String>>,
}

impl Through {
    fn bridge(&self) -> Result<&Bridge, String> {
        self.bridge.as_deref().ok_or_else(|| "the session has no bridge".to_owned())
    }

    fn clean(&self, text: &str) -> String {
        self.redactor.shown(text, 300).replace('\0', "\u{fffd}")
    }

    async fn bounded<T>(&self, work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
        match tokio::time::timeout(BOUND, work).await {
            Ok(done) => done.map_err(|why| self.clean(&why)),
            Err(_) => Err("the upstream took too long".to_owned()),
        }
    }
}

#[async_trait]
impl Looker for Through {
    async fn says_read_only(&self, connection: ConnectionId, tool: &str) -> Result<bool, String> {
        let definition = self.bounded(self.bridge()?.definition(connection, tool)).await?;
        Ok(says_read_only(&definition))
    }

    async fn look(
        &self,
        connection: ConnectionId,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<String, String> {
        let result = self.bounded(self.bridge()?.look(connection, tool, arguments)).await?;
        Ok(result.get().to_owned())
    }

    async fn record(&self, connection: ConnectionId, id: &str) -> Result<Record, String> {
        let record = self.bounded(self.bridge()?.record(connection, id)).await?;
        if let Recorded::Result { text, .. } = &record.recorded {
            *self.fetched.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.clone());
        }
        Ok(record)
    }
}

impl Worker {
    /// Takes looks that are due, at most so many; says whether there were any. What fails is tried again in its time.
    pub(super) async fn take_looks(&mut self, live: &mut Option<Live>, pump: &mut Pump, most: u32) -> bool {
        let looks = match self.engine.looks_due(self.session.id, most).await {
            Ok(looks) => looks,
            Err(error) => {
                tracing::warn!(%error, "the ledger could not be asked for calls to look for");
                return false;
            }
        };
        if looks.is_empty() {
            return false;
        }
        // A worker that does not know the connections as they are now would ask in vain.
        if self.connections_changed().await.unwrap_or(false) {
            return true;
        }
        let own = match self.place_for(&looks, live.is_some()).await {
            Ok(own) => own,
            // An upstream in it cannot be asked then, and the look says so.
            Err(error) => {
                tracing::warn!(error = %format!("{error:#}"), "no container could be started for a look");
                None
            }
        };
        for (taken, look) in looks.iter().enumerate() {
            // A tool server that is slow to answer holds up no task for longer than one look takes.
            if taken > 0 && self.next_task().await.is_ok_and(|waiting| waiting.is_some()) {
                break;
            }
            let work = self.take_look(look);
            let taken = match live.as_mut() {
                Some(live) => live.during(pump, work).await,
                None => work.await,
            };
            if let Err(error) = taken {
                let operation = look.operation;
                tracing::warn!(%operation, error = %format!("{error:#}"), "a look could not be taken or recorded");
            }
        }
        self.apply_resolutions().await;
        if let Some(container) = own
            && let Err(error) = self.end_place(&container).await
        {
            tracing::warn!(error = %format!("{error:#}"), "the end of a look's container could not be recorded");
        }
        true
    }

    async fn take_look(&self, look: &Verification) -> Result<()> {
        let (bridge, redactor) = (self.bridge.clone(), Arc::clone(&self.redactor));
        let through = Through { bridge, redactor, fetched: Mutex::default() };
        let said = self.engine.verify(&self.reader, &self.session, look, &through).await?;
        let Some(said) = said else { return Ok(()) };
        tracing::info!(operation = %look.operation, %said, "looked whether a call has happened");
        let fetched = through.fetched.into_inner().unwrap_or_else(PoisonError::into_inner);
        match fetched.map(RawValue::from_string) {
            Some(Ok(result)) if matches!(said, Look::Happened | Look::Failed) => {
                let facts = OperationFacts {
                    result_size: i64::try_from(result.get().len()).ok(),
                    result_type: Some(result_type(&result)),
                    ..OperationFacts::default()
                };
                Ok(self.desk.fetched(look.operation, result.get(), facts).await?)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// A container for upstreams that are programs, where the session has none at the moment.
    async fn place_for(&self, looks: &[Verification], lives: bool) -> Result<Option<Arc<Container>>> {
        if lives {
            return Ok(None);
        }
        let mut needed = false;
        for look in looks {
            // One that cannot be read needs none, and its look says why.
            needed |= self.is_a_program(look).await.unwrap_or(false);
        }
        if !needed {
            return Ok(None);
        }
        let spec = self.container_spec();
        let container = Arc::new(Container::start(&spec).await?);
        *self.container.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&container));
        Ok(Some(container))
    }

    /// Whether the upstream that a look asks is a program.
    async fn is_a_program(&self, look: &Verification) -> Result<bool> {
        let row = self.reader.operation(look.operation).await?;
        let Some(connection) = row.and_then(|row| row.connection) else { return Ok(false) };
        let connection = self.engine.ledger.connection(connection).await?;
        Ok(connection.is_some_and(|known| matches!(known.reach, Reach::Stdio { .. })))
    }

    async fn end_place(&self, container: &Container) -> Result<()> {
        let evidence = self.end_container(container).await?;
        self.recorder.container_empty(None, &evidence).await?;
        Ok(())
    }
}
