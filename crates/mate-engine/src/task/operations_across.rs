//! Operations over many tasks: of a project, or of all the caller's projects.

use super::OperationView;
use crate::{
    Engine, EngineError, Principal, Verb,
    admin::{Listing, Paging},
};
use mate_model::{
    ProjectId, TaskId,
    operation::OperationStateWord,
    records::{Project, Task},
};
use std::{fmt, str::FromStr};

/// The most tasks that one page looks into: each may have a journal of its own.
const TASKS: u32 = 100;

/// Where a list goes on: after this task, or within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Position {
    task: TaskId,
    /// The number of the last operation that was shown; none when the task is done with.
    number: Option<i64>,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number {
            Some(number) => write!(f, "{}/{number}", self.task),
            None => write!(f, "{}", self.task),
        }
    }
}

impl FromStr for Position {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (task, number) = match text.split_once('/') {
            Some((task, number)) => (task, Some(number.parse().map_err(|_| ())?)),
            None => (text, None),
        };
        Ok(Self { task: task.parse().map_err(|_| ())?, number })
    }
}

impl Engine {
    /// The operations of a project, or of all the caller's projects: the newest task's first, each task's in request
    /// order. A page may be short, or empty, and yet not be the last: `next` alone says so.
    ///
    /// # Errors
    /// Not a viewer; a cursor of another list; the stores'.
    pub async fn operations(
        &self,
        who: &Principal,
        project: Option<&str>,
        state: Option<OperationStateWord>,
        page: &Paging,
    ) -> Result<Listing<OperationView>, EngineError> {
        match project {
            Some(project) => {
                let project = self.project(who, project, Verb::OperationList).await?;
                self.operations_of(project.id, state, page).await
            }
            None => {
                let fetch = |project: Project, page| async move {
                    self.operations_of(project.id, state, &page).await
                };
                self.across(who, page, fetch).await
            }
        }
    }

    async fn operations_of(
        &self,
        project: ProjectId,
        state: Option<OperationStateWord>,
        page: &Paging,
    ) -> Result<Listing<OperationView>, EngineError> {
        let mut list = Listing { items: Vec::new(), unreadable: Vec::new(), next: None };
        let from: Option<Position> = page.position()?;
        let begun = match from {
            Some(Position { task, number: Some(number) }) => {
                let task = self.ledger.task(task).await?.filter(|task| task.project == project);
                Some((
                    task.ok_or_else(|| EngineError::invalid("cursor", "not a cursor of this list"))?,
                    number,
                ))
            }
            Some(_) | None => None,
        };
        let before = from.map(|from| from.task);
        let tasks = if state.is_some_and(is_unsettled) {
            self.ledger.unsettled_tasks(project, before, TASKS).await?
        } else {
            self.ledger.tasks(project, None, before, TASKS).await?
        };
        let last = tasks.next;
        let all = begun.into_iter().chain(tasks.items.into_iter().map(|task| (task, 0)));
        for (task, after) in all {
            let left = page.limit.saturating_sub(u32::try_from(list.items.len()).unwrap_or(u32::MAX));
            if left == 0 {
                return Ok(list);
            }
            let id = task.id;
            match self.operations_in(&task, state, after, left).await {
                Ok((items, next)) => {
                    list.items.extend(items);
                    list.next = Some(Position { task: id, number: next }.to_string());
                    if next.is_some() {
                        return Ok(list);
                    }
                }
                // One journal that cannot be read hides no others.
                Err(error) => {
                    tracing::warn!(task = %id, %error, "a task's operations could not be read");
                    list.unreadable.push(format!("the operations of {id}"));
                    list.next = Some(Position { task: id, number: None }.to_string());
                }
            }
        }
        if last.is_none() {
            list.next = None;
        }
        Ok(list)
    }

    async fn operations_in(
        &self,
        task: &Task,
        state: Option<OperationStateWord>,
        after: i64,
        limit: u32,
    ) -> Result<(Vec<OperationView>, Option<i64>), EngineError> {
        if task.claim.is_none() {
            return Ok((Vec::new(), None));
        }
        let reader = self.stores.journal_reader(task.session).await?;
        let page = self.seen_operations(&reader, task, state, after, limit).await?;
        let mut items: Vec<_> = page.items.into_iter().map(OperationView::from).collect();
        self.mark_held(task.session, &mut items);
        Ok((items, page.next))
    }
}

/// Whether only tasks that run, or are uncertain, can have operations in the state.
const fn is_unsettled(state: OperationStateWord) -> bool {
    match state {
        OperationStateWord::Requested
        | OperationStateWord::AwaitingApproval
        | OperationStateWord::InFlight
        | OperationStateWord::Unknown => true,
        OperationStateWord::Denied
        | OperationStateWord::Expired
        | OperationStateWord::Withdrawn
        | OperationStateWord::Succeeded
        | OperationStateWord::Failed
        | OperationStateWord::NotSent
        | OperationStateWord::Abandoned => false,
    }
}
