//! Many writers at once.

use crate::support::{Store, add, count, insert, number, on_both};
use mate_store::{Statement, StoreError};
use std::sync::Arc;

on_both!(crate::support::sqlite, crate::support::postgres:
    writers_at_once_lose_nothing,
    of_many_compare_and_sets_one_wins,
    a_failing_script_spoils_no_other,
    a_read_sees_every_write_acknowledged_before_it,
);

const WRITERS: i64 = 32;

async fn writers_at_once_lose_nothing(store: Store) {
    store.db.execute(insert("a", 0)).await.unwrap();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let db = Arc::clone(&store.db);
            tokio::spawn(async move {
                for round in 0..10 {
                    let script = vec![insert(&format!("{writer}-{round}"), writer), add("a", 1)];
                    db.script(script).await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(number(&*store.db, "a").await, Some(WRITERS * 10));
    assert_eq!(count(&*store.db).await, WRITERS * 10 + 1);
}

async fn of_many_compare_and_sets_one_wins(store: Store) {
    store.db.execute(insert("a", 0)).await.unwrap();
    let writers: Vec<_> = (1..=WRITERS)
        .map(|writer| {
            let db = Arc::clone(&store.db);
            let sql = "UPDATE boxes SET n = $1 WHERE id = $2 AND n = 0";
            let set = Statement::one(sql, vec![writer.into(), "a".into()]);
            tokio::spawn(async move { (writer, db.script(vec![set]).await) })
        })
        .collect();
    let mut won = Vec::new();
    for writer in writers {
        match writer.await.unwrap() {
            (writer, Ok(_)) => won.push(writer),
            (_, Err(error)) => {
                assert_eq!(error, StoreError::Guard { statement: 0, expected: 1, changed: 0 });
            }
        }
    }
    assert_eq!(won.len(), 1);
    assert_eq!(number(&*store.db, "a").await, Some(won[0]));
}

async fn a_failing_script_spoils_no_other(store: Store) {
    store.db.execute(insert("a", 0)).await.unwrap();
    let writers: Vec<_> = (0..200)
        .map(|writer| {
            let db = Arc::clone(&store.db);
            let second = match writer % 4 {
                0 => add("missing", 1),
                1 => insert("a", 1),
                _ => insert(&format!("w{writer}"), 1),
            };
            tokio::spawn(async move { (writer % 4, db.script(vec![add("a", 1), second]).await) })
        })
        .collect();
    for writer in writers {
        let (kind, answer) = writer.await.unwrap();
        assert_eq!(answer.is_ok(), kind > 1, "{kind}: {answer:?}");
    }
    assert_eq!(number(&*store.db, "a").await, Some(100));
    assert_eq!(count(&*store.db).await, 101);
}

async fn a_read_sees_every_write_acknowledged_before_it(store: Store) {
    store.db.execute(insert("a", 0)).await.unwrap();
    for round in 1..=300 {
        store.db.execute(add("a", 1)).await.unwrap();
        assert_eq!(number(&*store.db, "a").await, Some(round));
    }
}
