//! Definitions of tools: pinned at first sight under each grant, and compared from then on.

use super::{Admission, standing::Standing};
use crate::EngineError;
use mate_guard::Definition;
use mate_model::{
    ConnectionId, GrantId, Micros,
    event::{Draft, EventType},
    records::{Pin, PinChange},
};
use serde_json::json;
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, PoisonError, RwLock},
};

/// What the session's upstreams say of their tools, by the list that came last. Bounded by what a bridge takes of them.
#[derive(Debug, Default)]
pub(super) struct Seen(RwLock<BTreeMap<(ConnectionId, String), Said>>);

/// What an upstream said of a tool, and when. What was said before a definition was accepted, or before another session
/// heard something else, says nothing against that.
#[derive(Clone, Debug)]
struct Said {
    definition: Arc<Definition>,
    at: Micros,
}

impl Seen {
    fn all(&self) -> Vec<(ConnectionId, String, Said)> {
        let seen = self.0.read().unwrap_or_else(PoisonError::into_inner);
        seen.iter().map(|((on, tool), said)| (*on, tool.clone(), said.clone())).collect()
    }

    fn at(&self, connection: ConnectionId, tool: &str) -> Option<Micros> {
        let seen = self.0.read().unwrap_or_else(PoisonError::into_inner);
        seen.get(&(connection, tool.to_owned())).map(|said| said.at)
    }
}

/// The pins under the project's grants, kept with the standing. What is added while it lives is added here too.
#[derive(Debug, Default)]
pub(super) struct Pins(RwLock<HashMap<GrantId, HashMap<String, Pin>>>);

impl Pins {
    pub(super) fn of(pins: Vec<Pin>) -> Self {
        let all = Self::default();
        pins.into_iter().for_each(|pin| all.put(pin));
        all
    }

    /// Whether the definition is the pinned one, and no session has seen another since; none when none is pinned.
    pub(super) fn fits(&self, grant: GrantId, tool: &str, definition: &Definition) -> Option<bool> {
        let pins = self.0.read().unwrap_or_else(PoisonError::into_inner);
        pins.get(&grant)?.get(tool).map(|pin| pin.digest == definition.digest && pin.change.is_none())
    }

    /// Whether another definition than the pinned one was seen.
    pub(super) fn changed(&self, grant: GrantId, tool: &str) -> bool {
        self.get(grant, tool).is_some_and(|pin| pin.change.is_some())
    }

    fn get(&self, grant: GrantId, tool: &str) -> Option<Pin> {
        let pins = self.0.read().unwrap_or_else(PoisonError::into_inner);
        pins.get(&grant)?.get(tool).cloned()
    }

    fn put(&self, pin: Pin) {
        let mut pins = self.0.write().unwrap_or_else(PoisonError::into_inner);
        pins.entry(pin.grant).or_default().insert(pin.tool.clone(), pin);
    }
}

impl Admission {
    /// A connection was listed: pins what was never seen under the grants in force, and notes what has changed.
    ///
    /// # Errors
    /// The ledger's: then the tools that are not pinned yet are not to be used.
    pub async fn saw(
        &self,
        connection: ConnectionId,
        tools: Vec<(String, Arc<Definition>)>,
    ) -> Result<(), EngineError> {
        let at = self.now();
        let tools: Vec<_> =
            tools.into_iter().map(|(tool, definition)| (connection, tool, Said { definition, at })).collect();
        {
            let mut seen = self.seen.0.write().unwrap_or_else(PoisonError::into_inner);
            seen.retain(|(known, _), _| *known != connection);
            seen.extend(tools.iter().map(|(on, tool, said)| ((*on, tool.clone()), said.clone())));
        }
        let Some(standing) = self.known_standing() else { return Ok(()) };
        self.pin(&standing, &tools).await
    }

    /// The same for all that is known, under another standing.
    pub(super) async fn pin_all(&self, standing: &Standing) -> Result<(), EngineError> {
        self.pin(standing, &self.seen.all()).await
    }

    /// Pins one tool's definition as a call has it, where no list had it before.
    pub(super) async fn pin_one(
        &self,
        standing: &Standing,
        connection: ConnectionId,
        tool: &str,
        definition: &Definition,
    ) -> Result<(), EngineError> {
        let known = standing.in_force(connection, tool, self.now());
        if known.iter().all(|grant| standing.pins.fits(grant.id, tool, definition) == Some(true)) {
            return Ok(());
        }
        let at = self.seen.at(connection, tool).unwrap_or_else(|| self.now());
        let said = Said { definition: Arc::new(definition.clone()), at };
        self.pin(standing, &[(connection, tool.to_owned(), said)]).await
    }

    async fn pin(
        &self,
        standing: &Standing,
        tools: &[(ConnectionId, String, Said)],
    ) -> Result<(), EngineError> {
        let now = self.now();
        let (mut fresh, mut changed) = (Vec::new(), Vec::new());
        for (connection, tool, said) in tools {
            for grant in standing.in_force(*connection, tool, now) {
                match standing.pins.get(grant.id, tool) {
                    None => fresh.push(Pin {
                        grant: grant.id,
                        tool: tool.clone(),
                        digest: said.definition.digest.clone(),
                        fields: said.definition.fields.clone(),
                        pinned_at: now,
                        change: None,
                    }),
                    Some(pin) => changed.push((pin, said.clone())),
                }
            }
        }
        if !fresh.is_empty() {
            self.engine.ledger.add_pins(&fresh).await?;
            // Another session may have been first, with another definition.
            for pin in self.engine.pins_in_force(self.project).await? {
                standing.pins.put(pin);
            }
            for pin in fresh {
                let seen = Arc::new(Definition { digest: pin.digest, fields: pin.fields });
                if let Some(stands) = standing.pins.get(pin.grant, &pin.tool) {
                    changed.push((stands, Said { definition: seen, at: now }));
                }
            }
        }
        for (pin, seen) in changed {
            self.compare(standing, pin, &seen).await?;
        }
        Ok(())
    }

    /// Notes a definition that is another than the pinned one, once; forgets the note when the upstream says the pinned
    /// one again.
    async fn compare(&self, standing: &Standing, pin: Pin, said: &Said) -> Result<(), EngineError> {
        let seen = &said.definition;
        if pin.digest == seen.digest {
            if pin.change.as_ref().is_some_and(|change| said.at > change.seen_at) {
                self.engine.ledger.forget_change(pin.grant, &pin.tool, &pin.digest).await?;
                standing.pins.put(Pin { change: None, ..pin });
            }
            return Ok(());
        }
        let known = pin.change.as_ref().is_some_and(|change| change.digest == seen.digest);
        if known || said.at < pin.pinned_at {
            return Ok(());
        }
        let at = self.now();
        let names = seen.changed(&pin.fields);
        let fields: Vec<_> = names
            .iter()
            .map(|name| json!({ "field": name, "pinned": pin.fields.get(*name), "seen": seen.fields.get(*name) }))
            .collect();
        let data = json!({
            "grant": pin.grant, "tool": self.clean(&pin.tool), "pinned": pin.digest, "seen": seen.digest,
            "fields": fields,
        });
        let task = self.current().map(|turn| turn.task);
        let draft = Draft { kind: EventType::GrantDefinitionChanged, task, turn: None, at, data };
        let change = PinChange { digest: seen.digest.clone(), fields: seen.fields.clone(), seen_at: at };
        self.engine.ledger.note_change(self.project, (pin.grant, &pin.tool), &change, draft).await?;
        tracing::warn!(grant = %pin.grant, ?names, "a tool's definition has changed: it is not to be used");
        standing.pins.put(Pin { change: Some(change), ..pin });
        Ok(())
    }
}
