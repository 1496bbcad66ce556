//! A list over all of the caller's projects, one project after the other.

use super::{Listing, Paging};
use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{ProjectId, records::Project};

/// The most projects that one page looks into.
const PROJECTS: u32 = 500;

impl Engine {
    /// Reads what `fetch` reads of one project (after a position, at most so many) for each of the caller's
    /// projects in turn. A position is a project, and where to go on in it.
    pub(crate) async fn across<T, F>(
        &self,
        who: &Principal,
        page: &Paging,
        fetch: impl Fn(Project, Paging) -> F,
    ) -> Result<Listing<T>, EngineError>
    where
        F: Future<Output = Result<Listing<T>, EngineError>>,
    {
        let mut all = Listing { items: Vec::new(), unreadable: Vec::new(), next: None };
        let (mut project, mut after) = match page.after.as_deref() {
            None => (self.project_after(who, None).await?, None),
            Some(text) => {
                let (id, rest) =
                    text.split_once('/').map_or((text, None), |(id, rest)| (id, Some(rest.to_owned())));
                let id = id
                    .parse::<ProjectId>()
                    .map_err(|_| EngineError::invalid("cursor", "not a cursor of this list"))?;
                (Some(id), rest)
            }
        };
        for _ in 0..PROJECTS {
            let Some(id) = project else { return Ok(all) };
            let room = page.limit.saturating_sub(u32::try_from(all.items.len()).unwrap_or(u32::MAX));
            if room == 0 {
                break;
            }
            // It is a position in this project alone.
            let after = after.take();
            // Left or gone since the last page: there is nothing of it to see.
            let known = match self.project(who, &id.to_string(), Verb::ProjectShow).await {
                Ok(known) => Some(known),
                Err(EngineError::NotFound) => None,
                Err(error) => return Err(error),
            };
            if let Some(known) = known {
                let list = fetch(known, Paging { after, limit: room }).await?;
                all.items.extend(list.items);
                all.unreadable.extend(list.unreadable);
                if let Some(next) = list.next {
                    all.next = Some(format!("{id}/{next}"));
                    return Ok(all);
                }
            }
            project = self.project_after(who, Some(id)).await?;
        }
        all.next = project.map(|id| id.to_string());
        Ok(all)
    }

    async fn project_after(
        &self,
        who: &Principal,
        id: Option<ProjectId>,
    ) -> Result<Option<ProjectId>, EngineError> {
        let page = Paging { after: id.map(|id| id.to_string()), limit: 1 };
        Ok(self.projects(who, &page).await?.items.first().map(|project| project.id))
    }
}
