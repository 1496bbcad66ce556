//! The last part of a task's history, for a page that begins at its end.

use super::{EventView, OperationView, events};
use crate::{Engine, EngineError, Principal, Verb};
use mate_model::{TaskId, event::EventType};

/// Part of a history, in order, from its end backwards.
#[derive(Clone, Debug)]
pub struct Recent<T> {
    /// The items, the earliest first.
    pub items: Vec<T>,
    /// The number that still earlier ones come before, if there are any.
    pub earlier: Option<i64>,
}

impl Engine {
    /// The last `limit` events in the task's journal before the numbered one.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when the task does not exist, or not for this caller.
    pub async fn recent_events(
        &self,
        who: &Principal,
        task: TaskId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Recent<EventView>, EngineError> {
        let task = self.task_for(who, task, Verb::TaskEvents).await?;
        let reader = self.stores.journal_reader(task.session).await?;
        let page = reader.events_before(task.id, before.unwrap_or(i64::MAX), limit).await?;
        let items = page.items.into_iter().map(events::alone).collect();
        Ok(Recent { items, earlier: page.next })
    }

    /// The last event of one type in the task's journal.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when the task does not exist, or not for this caller.
    pub async fn last_event(
        &self,
        who: &Principal,
        task: TaskId,
        kind: EventType,
    ) -> Result<Option<EventView>, EngineError> {
        let task = self.task_for(who, task, Verb::TaskEvents).await?;
        let reader = self.stores.journal_reader(task.session).await?;
        Ok(reader.last_event(task.id, kind).await?.map(events::alone))
    }

    /// What the ledger tells of a task, from its beginning, `limit` events at most.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when the task does not exist, or not for this caller.
    pub async fn ledger_events(
        &self,
        who: &Principal,
        task: TaskId,
        limit: u32,
    ) -> Result<Vec<EventView>, EngineError> {
        let task = self.task_for(who, task, Verb::TaskEvents).await?;
        let page = self.ledger.events_of_task(task.id, 0, limit).await?;
        Ok(page.items.into_iter().map(events::alone).collect())
    }

    /// The last `limit` operations of a task before the numbered one.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when the task does not exist, or not for this caller.
    pub async fn recent_operations(
        &self,
        who: &Principal,
        task: TaskId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Recent<OperationView>, EngineError> {
        let task = self.task_for(who, task, Verb::OperationList).await?;
        let reader = self.stores.journal_reader(task.session).await?;
        let page = reader.operations_before(task.id, before.unwrap_or(i64::MAX), limit).await?;
        let seen = self.see(task.id, page.items).await?;
        let mut items: Vec<_> = seen.into_iter().map(OperationView::from).collect();
        self.mark_held(task.session, &mut items);
        Ok(Recent { items, earlier: page.next })
    }

    /// Where the last events of a task's session and project stand: it changes when there is something new to show.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] when the task does not exist, or not for this caller.
    pub async fn task_heads(&self, who: &Principal, task: TaskId) -> Result<(i64, i64), EngineError> {
        let task = self.task_for(who, task, Verb::TaskEvents).await?;
        let journal = self.stores.journal_reader(task.session).await?.head().await?;
        let ledger = self.ledger.head(task.project).await?;
        Ok((ledger.seq, journal.map_or(0, |head| head.seq)))
    }
}
