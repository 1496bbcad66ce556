//! Rows are read strictly: a bad one is named, and never hides the others.

use crate::support::{World, at, on_both};
use mate_model::OperationId;
use mate_store::{Statement, StoreError};

on_both!(
    a_corrupt_row_is_named_and_the_others_are_read,
    a_corrupt_event_does_not_hide_the_log,
    g11_a_corrupt_look_hides_no_other,
);

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

async fn g11_a_corrupt_look_hides_no_other(world: World) {
    let task = world.submit(world.add_session().await.id).await;
    let id = |number| OperationId { session: task.session, number };
    world.ledger.open_verifications(&task, &[id(1), id(2), id(3)], at(5)).await.unwrap();
    for number in [1, 2] {
        let sql = "UPDATE verifications SET operation = $2, due_at = 1 WHERE operation = $1";
        let nonsense = format!("op_nonsense_{number}");
        let values = vec![id(number).into(), nonsense.as_str().into()];
        world.db.execute(Statement::one(sql, values)).await.unwrap();
    }
    let (mut after, mut named_rows, mut found) = (None, Vec::new(), Vec::new());
    for _ in 0..3 {
        let page = world.ledger.verifications_due(task.session, at(5), after.as_ref(), 1).await.unwrap();
        for corrupt in &page.corrupt {
            let StoreError::Corrupt { table, row, column, .. } = corrupt else { panic!("{corrupt}") };
            assert_eq!((table.as_str(), column.as_str()), ("verifications", "operation"));
            named_rows.push(row.clone());
        }
        found.extend(page.items.iter().map(|look| look.operation));
        after = page.next;
    }
    assert_eq!((found, after), (vec![id(3)], None));
    assert_eq!(named_rows, ["op_nonsense_1", "op_nonsense_2"]);
}
