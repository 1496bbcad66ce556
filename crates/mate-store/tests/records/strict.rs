//! Rows are read strictly: a bad one is named, and never hides the others.

use crate::support::{World, on_both};
use mate_store::{Statement, StoreError};

on_both!(a_corrupt_row_is_named_and_the_others_are_read, a_corrupt_event_does_not_hide_the_log);

fn named(error: &StoreError, wanted: (&str, &str, &str)) {
    let StoreError::Corrupt { table, row, column, .. } = error else { panic!("{error}") };
    assert_eq!((table.as_str(), row.as_str(), column.as_str()), wanted);
}

async fn a_corrupt_row_is_named_and_the_others_are_read(world: World) {
    let session = world.add_session().await;
    let (bad, good) = (world.submit(session.id).await, world.submit(session.id).await);
    let id = bad.id.to_string();
    let policy = "UPDATE tasks SET policy = '{\"surprise\": true}' WHERE id = $1";
    world.db.execute(Statement::one(policy, vec![id.as_str().into()])).await.unwrap();
    named(&world.ledger.task(bad.id).await.unwrap_err(), ("tasks", &id, "policy"));
    let page = world.ledger.tasks(world.project, None, None, 10).await.unwrap();
    assert_eq!(page.items, [good]);
    named(&page.corrupt[0], ("tasks", &id, "policy"));
    let tools = world.grant(None);
    let added = crate::support::draft(mate_model::event::EventType::GrantAdded, None);
    world.ledger.add_grant(&tools, added).await.unwrap();
    let sql = "UPDATE grants SET tools = '[1]' WHERE id = $1";
    world.db.execute(Statement::one(sql, vec![tools.id.into()])).await.unwrap();
    let page = world.ledger.live_grants(world.project, None, 10).await.unwrap();
    assert_eq!((page.items.len(), page.corrupt.len()), (0, 1));
}

async fn a_corrupt_event_does_not_hide_the_log(world: World) {
    let journal = world.journal().await;
    for number in 0..4 {
        let mut draft = crate::support::draft(mate_model::event::EventType::AgentMessage, Some(journal.task));
        draft.data = serde_json::json!({"n": number});
        journal.writer.write(vec![mate_store::Change::Event(draft)]).await.unwrap();
    }
    let sql = "UPDATE journal_events SET type = 'agent.sang' WHERE session = $1 AND seq = 3";
    journal.db.execute(Statement::one(sql, vec![journal.session.into()])).await.unwrap();
    let reader = journal.writer.reader();
    let page = reader.events(None, 1, 3).await.unwrap();
    assert_eq!(page.items.iter().map(|event| event.seq).collect::<Vec<_>>(), [2, 4]);
    named(&page.corrupt[0], ("journal_events", "3", "type"));
    assert_eq!(page.next, Some(4));
    assert_eq!(reader.verify_chain().await.unwrap().broken.map(|broken| broken.seq), Some(3));
}
