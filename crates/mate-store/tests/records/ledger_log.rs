//! A project's log: numbers without gaps, and a chain that shows any change.

use crate::support::{World, draft, on_both};
use mate_model::{event::EventType, records::Member, words::Role};
use mate_store::Statement;

on_both!(
    g10_many_writers_number_one_project_without_gaps,
    a_changed_or_missing_event_breaks_the_chain,
    the_bell_rings_after_a_write,
);

async fn g10_many_writers_number_one_project_without_gaps(world: World) {
    let before = world.ledger.head(world.project).await.unwrap().seq;
    let member = Member {
        project: world.project,
        account: world.account,
        role: Role::Owner,
        added_at: crate::support::at(1),
    };
    let mut writers = Vec::new();
    for _ in 0..8 {
        // Each with a store of its own: nothing in memory keeps them apart.
        let (ledger, member) = (world.other_ledger().await, member.clone());
        writers.push(tokio::spawn(async move {
            for _ in 0..10 {
                ledger.set_member(&member, draft(EventType::MemberSet, None)).await.unwrap();
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let head = world.ledger.head(world.project).await.unwrap();
    assert_eq!(head.seq, before + 80);
    let events = world.ledger.events(world.project, 0, 1_000).await.unwrap().items;
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), (1..=head.seq).collect::<Vec<_>>());
    let page = world.ledger.events(world.project, head.seq - 3, 2).await.unwrap();
    assert_eq!((page.items.len(), page.next), (2, Some(head.seq - 1)));
    let report = world.ledger.verify_chain(world.project).await.unwrap();
    assert_eq!((report.good, report.head, report.broken), (head.seq, head.hash, None));
}

async fn a_changed_or_missing_event_breaks_the_chain(world: World) {
    let session = world.add_session().await;
    let task = world.submit(session.id).await;
    world.submit(session.id).await;
    let seq = world.ledger.events_of_task(task.id, 0, 1).await.unwrap().items[0].seq;
    let good = world.ledger.verify_chain(world.project).await.unwrap();
    assert_eq!(good.broken, None);
    let change = |sql| Statement::one(sql, vec![world.project.into(), seq.into()]);
    world
        .db
        .execute(change("UPDATE ledger_events SET at = at + 1 WHERE project = $1 AND seq = $2"))
        .await
        .unwrap();
    let report = world.ledger.verify_chain(world.project).await.unwrap();
    assert_eq!((report.good, report.broken.map(|broken| broken.seq)), (seq - 1, Some(seq)));
    world.db.execute(change("DELETE FROM ledger_events WHERE project = $1 AND seq = $2")).await.unwrap();
    let report = world.ledger.verify_chain(world.project).await.unwrap();
    assert_eq!(report.broken.map(|broken| broken.seq), Some(seq));
    let rest = "DELETE FROM ledger_events WHERE project = $1 AND seq > $2";
    world.db.execute(Statement::any(rest, vec![world.project.into(), (seq - 1).into()])).await.unwrap();
    let report = world.ledger.verify_chain(world.project).await.unwrap();
    // Cut off at the end: the numbering row knows better.
    assert_eq!(report.broken.map(|broken| broken.seq), Some(seq));
}

async fn the_bell_rings_after_a_write(world: World) {
    let mut bell = world.db.listen(mate_store::ledger::LEDGER_BELL).await.unwrap();
    world.add_session().await;
    assert!(bell.wait(std::time::Duration::from_secs(20)).await);
}
