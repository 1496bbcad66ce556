//! Publishing a file of a task's workspace.

use super::{ArtifactView, Keep, NotKept, record};
use crate::{
    Engine, EngineError, Principal, Verb,
    workspace::{NotThere, Root},
};
use mate_guard::{media, text};
use mate_model::{
    ArtifactId, TaskId,
    event::{Draft, EventType},
    records::{Artifact, ArtifactContent, ArtifactOrigin},
};
use std::{path::Path, sync::Arc};

/// The longest path that is shown, in characters.
const SHOWN: usize = 1_000;

impl Engine {
    /// Makes an artifact of a file beneath a task's workspace, as it is now. Asked again with the same `id`, it answers
    /// with the first one.
    ///
    /// # Errors
    /// A path that is not that of a plain file beneath the workspace, a file that cannot be kept (the first word of the
    /// refusal says why); not an operator; the stores'.
    pub async fn publish(
        &self,
        who: &Principal,
        id: ArtifactId,
        task: TaskId,
        path: &str,
    ) -> Result<ArtifactView, EngineError> {
        let task = self.task_for(who, task, Verb::ArtifactPublish).await?;
        if let Some(first) = self.ledger.artifact(id).await? {
            return Ok(first.into());
        }
        let session = self.ledger.session(task.session).await?.ok_or(EngineError::NotFound)?;
        let (workspace, wanted) = (session.workspace, path.to_owned());
        let opened =
            tokio::task::spawn_blocking(move || Root::open(Path::new(&workspace))?.open_file(&wanted));
        let opened = opened.await.map_err(|error| EngineError::Internal(error.to_string()))?;
        let (file, size) = opened.map_err(|why| match why {
            NotThere::System(error) => EngineError::invalid("path", format!("cannot be opened: {error}")),
            other @ (NotThere::Path(_) | NotThere::Missing | NotThere::Kind(_)) => {
                EngineError::invalid("path", other.to_string())
            }
        })?;
        let redactor = self.redactor_of(task.project, None).await?;
        let at = self.writing_time().await?;
        let kept = self.keep_content(task.project, Keep::File(Arc::new(file), size), &redactor).await;
        let content = kept.map_err(|why| refused(&why))?;
        let artifact = Artifact {
            id,
            session: task.session,
            task: task.id,
            operation: None,
            origin: ArtifactOrigin::Workspace,
            name: media::file_name(&redactor.shown(path, SHOWN), "artifact"),
            source: Some(text::line(&redactor.shown(path, SHOWN), SHOWN)),
            content: ArtifactContent::Kept(content),
            created_at: at,
        };
        let mut data = record::told(&artifact);
        data["by"] = who.account.to_string().into();
        let draft = Draft { kind: EventType::ArtifactPublished, task: Some(task.id), turn: None, at, data };
        self.ledger.publish_artifact(task.project, &artifact, draft).await?;
        Ok(self.ledger.artifact(id).await?.ok_or(EngineError::NotFound)?.into())
    }
}

fn refused(why: &NotKept) -> EngineError {
    let code = match why {
        NotKept::TooLarge { .. } => "too_large",
        NotKept::OverQuota { .. } => "over_quota",
        NotKept::HoldsSecret => "holds_secret",
        NotKept::Changed => "file_changed",
        NotKept::LetGo => "changed_meanwhile",
        NotKept::NotBase64 | NotKept::Busy | NotKept::Interrupted | NotKept::Failed(_) => {
            return EngineError::Unavailable(why.to_string());
        }
    };
    EngineError::refused(code, why.to_string())
}
