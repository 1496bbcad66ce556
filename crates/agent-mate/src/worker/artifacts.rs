//! What results leave behind: promised with the outcome, then stored beside the running turn. Nothing waits for it
//! but the turn's end, within a bound, and no call fails for it.

use mate_bridge::{NoContent, Part, PartKind, Place, content, parts};
use mate_engine::{
    Engine,
    artifact::{Keep, NotKept},
};
use mate_guard::{Redactor, media};
use mate_model::{
    OperationId, ProjectId, TurnId,
    records::{Artifact, ArtifactContent, ArtifactOrigin},
};
use mate_store::JournalWriter;
use serde_json::value::RawValue;
use std::{sync::Arc, time::Duration};
use tokio::sync::{Semaphore, watch};

/// How much of results may wait to be stored, in KiB.
const WAITING_KIB: u32 = 128 * 1024;
/// How long the end of a turn waits for what is being stored.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest address that is kept of a resource, in characters.
const ADDRESS: usize = 1_000;
/// The longest claimed media type that is kept, in characters.
const TYPE: usize = 100;

/// Stores what results leave behind.
#[derive(Clone)]
pub(super) struct Shelf {
    engine: Arc<Engine>,
    project: ProjectId,
    journal: JournalWriter,
    redactor: Arc<Redactor>,
    room: Arc<Semaphore>,
    /// One at a time: what is decoded is in memory once.
    turn: Arc<Semaphore>,
    open: watch::Sender<usize>,
}

/// What a result will leave behind: as it is promised, and where its parts stand.
pub(super) struct Plan {
    pub(super) artifacts: Vec<Artifact>,
    pub(super) left_out: usize,
    places: Vec<Place>,
}

impl Shelf {
    pub(super) fn new(
        engine: Arc<Engine>,
        project: ProjectId,
        journal: JournalWriter,
        redactor: Arc<Redactor>,
    ) -> Self {
        Self {
            engine,
            project,
            journal,
            redactor,
            room: Arc::new(Semaphore::new(WAITING_KIB as usize)),
            turn: Arc::new(Semaphore::new(1)),
            open: watch::Sender::new(0),
        }
    }

    /// What the result of a call will leave behind; nothing for most.
    pub(super) fn plan(&self, call: &Called, result: &RawValue) -> Plan {
        let (parts, left_out) = parts(result);
        let artifacts = parts.iter().enumerate().map(|(number, part)| self.promise(call, number, part));
        Plan {
            artifacts: artifacts.collect(),
            left_out,
            places: parts.iter().map(|part| part.place).collect(),
        }
    }

    fn promise(&self, call: &Called, number: usize, part: &Part) -> Artifact {
        let shown = |text: &String, most| self.redactor.shown(text, most).replace('\0', "\u{fffd}");
        let source = part.uri.as_ref().map(|uri| shown(uri, ADDRESS));
        let otherwise = format!("{}-{}-{}", call.tool, call.operation.number, number + 1);
        let given = part.name.as_ref().or(part.uri.as_ref()).map(|name| shown(name, ADDRESS));
        let content = match part.kind {
            PartKind::Link => ArtifactContent::Referenced {
                media_type: part.media_type.as_ref().map(|claimed| shown(claimed, TYPE)),
                size: part.size,
            },
            PartKind::Text | PartKind::Image | PartKind::Audio | PartKind::Resource => {
                ArtifactContent::Promised
            }
        };
        let resource = matches!(part.kind, PartKind::Resource | PartKind::Link);
        Artifact {
            id: self.engine.artifact_id(),
            session: call.operation.session,
            task: call.turn.0,
            operation: Some(call.operation),
            origin: if resource { ArtifactOrigin::Resource } else { ArtifactOrigin::Result },
            name: match given {
                Some(given) => media::file_name(&given, &media::file_name(&otherwise, "artifact")),
                None => {
                    let named = self.redactor.shown(&otherwise, ADDRESS);
                    let ending = part.media_type.as_deref().map_or("txt", media::ending);
                    media::file_name(&format!("{named}.{ending}"), "artifact")
                }
            },
            source,
            content,
            created_at: self.engine.clock.now(),
        }
    }

    /// Stores what was promised, now that the outcome is written or on its way. Does not wait for it.
    pub(super) fn store(&self, turn: TurnId, plan: Plan, result: Box<RawValue>) {
        if plan.artifacts.is_empty() {
            return;
        }
        let kib = u32::try_from(result.get().len() / 1024 + 1).unwrap_or(u32::MAX);
        let place = Arc::clone(&self.room).try_acquire_many_owned(kib).ok();
        // Without a place, nothing of the result is held while its turn comes.
        let result = place.is_some().then(|| Arc::<RawValue>::from(result));
        self.open.send_modify(|open| *open += 1);
        let shelf = self.clone();
        tokio::spawn(async move {
            for (artifact, place) in plan.artifacts.into_iter().zip(plan.places) {
                let id = artifact.id;
                if let Err(error) = shelf.store_one(turn, artifact, place, result.as_ref()).await {
                    tracing::warn!(artifact = %id, %error, "an artifact is left to the session's end, or to recovery");
                }
            }
            drop((result, place));
            shelf.open.send_modify(|open| *open -= 1);
        });
    }

    async fn store_one(
        &self,
        turn: TurnId,
        artifact: Artifact,
        place: Place,
        result: Option<&Arc<RawValue>>,
    ) -> Result<(), mate_engine::EngineError> {
        if artifact.content != ArtifactContent::Promised {
            return self.engine.project_artifact(&self.journal, self.project, &artifact).await;
        }
        let kept = match result {
            Some(result) => self.keep(place, Arc::clone(result)).await,
            None => Err(NotKept::Busy),
        };
        let content = match kept {
            Ok(content) => ArtifactContent::Kept(content),
            Err(why) => ArtifactContent::NotKept {
                reason: self.redactor.shown(&why.to_string(), ADDRESS).replace('\0', "\u{fffd}"),
            },
        };
        let artifact = Artifact { content, ..artifact };
        self.engine.settle_artifact(&self.journal, self.project, turn, artifact).await
    }

    async fn keep(
        &self,
        place: Place,
        result: Arc<RawValue>,
    ) -> Result<mate_model::records::Content, NotKept> {
        // Never closed.
        let _turn = self.turn.acquire().await;
        let bytes = tokio::task::spawn_blocking(move || content(&result, place)).await;
        let bytes = bytes.map_err(|error| NotKept::Failed(error.to_string()))?.map_err(|why| match why {
            NoContent::NotBase64 => NotKept::NotBase64,
            NoContent::Malformed => NotKept::Failed("it is not as the protocol has it".to_owned()),
        })?;
        self.engine.keep_content(self.project, Keep::Bytes(bytes), &self.redactor).await
    }

    /// Waits until everything that was promised is settled, for a while.
    pub(super) async fn settled(&self) {
        let mut open = self.open.subscribe();
        let settled = open.wait_for(|open| *open == 0);
        if tokio::time::timeout(PATIENCE, settled).await.is_err() {
            tracing::warn!("artifacts are still being stored at the turn's end; they are told of later");
        }
    }
}

/// A call whose result is looked at.
pub(super) struct Called {
    pub(super) operation: OperationId,
    pub(super) tool: String,
    pub(super) turn: (mate_model::TaskId, TurnId),
}
