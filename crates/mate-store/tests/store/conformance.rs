//! What both engines must answer alike.

use crate::support::{INSERT, Store, add, count, insert, number, on_both};
use mate_store::{ConstraintKind, MAX_ROWS, Statement, StoreError, Value};

on_both!(crate::support::sqlite, crate::support::postgres:
    a_guard_that_misses_rolls_everything_back,
    a_script_answers_the_rows_of_each_statement,
    an_empty_script_does_nothing,
    each_kind_of_constraint_is_named_and_nothing_is_written,
    a_missing_or_surplus_parameter_is_a_defect_and_not_null,
    parameters_may_come_in_any_order_and_more_than_once,
    every_value_reads_back_as_written,
    a_nul_character_is_refused_by_both,
    a_fetch_cannot_write,
    a_write_must_write,
    wrong_sql_is_a_defect,
    text_is_ordered_by_bytes,
    too_many_rows_are_refused,
    a_dropped_call_leaves_the_store_usable,
    conflict_clauses_count_alike,
    a_truth_value_reads_as_a_flag,
);

async fn a_guard_that_misses_rolls_everything_back(store: Store) {
    let db = &*store.db;
    db.script(vec![insert("a", 1)]).await.unwrap();
    let script = vec![add("a", 10), insert("b", 1), add("missing", 1), insert("c", 1)];
    let refused = db.script(script).await.unwrap_err();
    assert_eq!(refused, StoreError::Guard { statement: 2, expected: 1, changed: 0 });
    assert_eq!((number(db, "a").await, count(db).await), (Some(1), 1));
    let both = Statement::one("UPDATE boxes SET n = 7", vec![]);
    db.execute(insert("b", 2)).await.unwrap();
    let refused = db.execute(both).await.unwrap_err();
    assert_eq!(refused, StoreError::Guard { statement: 0, expected: 1, changed: 2 });
    assert_eq!((number(db, "a").await, number(db, "b").await), (Some(1), Some(2)));
}

async fn a_script_answers_the_rows_of_each_statement(store: Store) {
    let db = &*store.db;
    let all = Statement::any("UPDATE boxes SET n = n", vec![]);
    let none = Statement::exactly(0, "DELETE FROM boxes WHERE id = $1", vec!["x".into()]);
    let counts = db.script(vec![insert("a", 1), insert("b", 1), all, none]).await.unwrap();
    assert_eq!(counts, [1, 1, 2, 0]);
}

async fn an_empty_script_does_nothing(store: Store) {
    assert_eq!(store.db.script(vec![]).await, Ok(vec![]));
}

async fn each_kind_of_constraint_is_named_and_nothing_is_written(store: Store) {
    let db = &*store.db;
    db.execute(insert("a", 1)).await.unwrap();
    let thing = |of: &str| {
        Statement::one("INSERT INTO things (id, box) VALUES ($1, $2)", vec!["t".into(), of.into()])
    };
    let null = Statement::one(INSERT, vec!["d".into(), Value::Null, Value::Null, Value::Null]);
    let cases = [
        (insert("a", 2), ConstraintKind::Unique),
        (insert("d", -1), ConstraintKind::Check),
        (null, ConstraintKind::NotNull),
        (thing("missing"), ConstraintKind::ForeignKey),
    ];
    for (bad, kind) in cases {
        let refused = db.script(vec![insert("before", 1), bad]).await.unwrap_err();
        assert!(refused.is_constraint(kind), "{kind:?}: {refused}");
        assert_eq!(count(db).await, 1, "{kind:?}");
    }
    db.execute(thing("a")).await.unwrap();
    let gone = db.execute(Statement::one("DELETE FROM boxes WHERE id = $1", vec!["a".into()])).await;
    assert!(gone.unwrap_err().is_constraint(ConstraintKind::ForeignKey));
}

async fn a_missing_or_surplus_parameter_is_a_defect_and_not_null(store: Store) {
    let db = &*store.db;
    for params in
        [vec![], vec!["a".into()], vec!["a".into(), 1i64.into(), Value::Null, Value::Null, Value::Null]]
    {
        let write = db.execute(Statement::any(INSERT, params.clone())).await.unwrap_err();
        assert!(matches!(write, StoreError::Misuse(_)), "{write}");
        let read = db.fetch("SELECT id FROM boxes WHERE id = $1 AND label = $2", params).await.unwrap_err();
        assert!(matches!(read, StoreError::Misuse(_)), "{read}");
    }
    let gap = db.fetch("SELECT id FROM boxes WHERE id = $2", vec!["a".into()]).await.unwrap_err();
    assert!(matches!(gap, StoreError::Misuse(_)), "{gap}");
    assert_eq!(count(db).await, 0);
}

async fn parameters_may_come_in_any_order_and_more_than_once(store: Store) {
    let db = &*store.db;
    let sql = "INSERT INTO boxes (n, label, id) VALUES ($2, $1, $1)";
    db.execute(Statement::one(sql, vec!["x".into(), 5i64.into()])).await.unwrap();
    let sql = "SELECT id, n FROM boxes WHERE n = $2 AND id = $1 AND label = $1";
    let rows = db.fetch(sql, vec!["x".into(), 5i64.into()]).await.unwrap();
    assert_eq!((rows.len(), rows[0].text("id"), rows[0].int("n")), (1, Ok("x"), Ok(5)));
}

async fn every_value_reads_back_as_written(store: Store) {
    let db = &*store.db;
    let texts = [
        "",
        " ",
        "'; DROP TABLE boxes; --",
        "\u{1}\u{7f}\u{85}\u{feff}",
        "e\u{301}\u{1f9d1}\u{200d}\u{1f680}\u{10ffff}",
        "\r\n\\x00 \\ %s $1 ?1",
    ];
    for (index, text) in texts.into_iter().enumerate() {
        let id = format!("t{index}");
        let params = vec![id.as_str().into(), i64::MAX.into(), text.into(), Value::Blob(vec![])];
        db.execute(Statement::one(INSERT, params)).await.unwrap();
        let rows = db.fetch("SELECT n, label, data FROM boxes WHERE id = $1", vec![id.into()]).await.unwrap();
        assert_eq!((rows[0].int("n"), rows[0].text("label")), (Ok(i64::MAX), Ok(text)));
        assert_eq!(rows[0].blob("data"), Ok(&[][..]));
    }
    let big: Vec<u8> = (0..10_000_000u32).map(|n| n.to_le_bytes()[1] ^ n.to_le_bytes()[0]).collect();
    let params = vec!["big".into(), 0i64.into(), Value::Null, big.clone().into()];
    db.execute(Statement::one(INSERT, params)).await.unwrap();
    let rows = db.fetch("SELECT label, data FROM boxes WHERE id = $1", vec!["big".into()]).await.unwrap();
    assert!(rows[0].blob("data").unwrap() == big && rows[0].opt_text("label") == Ok(None));
}

async fn a_nul_character_is_refused_by_both(store: Store) {
    let db = &*store.db;
    let params = vec!["a".into(), 1i64.into(), "x\0y".into(), Value::Null];
    let refused = db.script(vec![insert("b", 1), Statement::one(INSERT, params)]).await.unwrap_err();
    assert_eq!(refused, StoreError::NulInText { parameter: 3 });
    let refused = db.fetch("SELECT id FROM boxes WHERE id = $1", vec!["\0".into()]).await.unwrap_err();
    assert_eq!(refused, StoreError::NulInText { parameter: 1 });
    assert_eq!(count(db).await, 0);
}

async fn a_fetch_cannot_write(store: Store) {
    let db = &*store.db;
    db.execute(insert("a", 1)).await.unwrap();
    let refused = db.fetch("UPDATE boxes SET n = 9 RETURNING n", vec![]).await.unwrap_err();
    assert!(matches!(refused, StoreError::Misuse(_)), "{refused}");
    assert_eq!(number(db, "a").await, Some(1));
}

async fn a_write_must_write(store: Store) {
    let db = &*store.db;
    db.execute(insert("a", 1)).await.unwrap();
    let refused = db.execute(Statement::any("SELECT id FROM boxes", vec![])).await.unwrap_err();
    assert!(matches!(refused, StoreError::Misuse(_)), "{refused}");
}

async fn wrong_sql_is_a_defect(store: Store) {
    let db = &*store.db;
    for sql in ["SELECT nothing FROM boxes", "SELECT id FROM nowhere", "SELEKT 1"] {
        let refused = db.fetch(sql, vec![]).await.unwrap_err();
        assert!(matches!(refused, StoreError::Misuse(_)), "{sql}: {refused}");
    }
    assert_eq!(count(db).await, 0);
}

async fn text_is_ordered_by_bytes(store: Store) {
    let db = &*store.db;
    let script = ["a", "B", "_", "é", "Z", "b"].map(|id| insert(id, 0)).to_vec();
    db.script(script).await.unwrap();
    let rows = db.fetch("SELECT id FROM boxes ORDER BY id", vec![]).await.unwrap();
    let ids: Vec<&str> = rows.iter().map(|row| row.text("id").unwrap()).collect();
    assert_eq!(ids, ["B", "Z", "_", "a", "b", "é"]);
}

async fn too_many_rows_are_refused(store: Store) {
    let db = &*store.db;
    let sql = "WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 10001) SELECT n FROM t LIMIT $1";
    let most = i64::try_from(MAX_ROWS).unwrap();
    assert_eq!(db.fetch(sql, vec![most.into()]).await.unwrap().len(), MAX_ROWS);
    let refused = db.fetch(sql, vec![(most + 1).into()]).await.unwrap_err();
    assert_eq!(refused, StoreError::TooManyRows { limit: MAX_ROWS });
}

async fn a_dropped_call_leaves_the_store_usable(store: Store) {
    let db = &store.db;
    db.execute(insert("a", 0)).await.unwrap();
    for round in 0..40u64 {
        let script = db.script(vec![add("a", 1), add("a", -1)]);
        let _ = tokio::time::timeout(std::time::Duration::from_micros(round * 50), script).await;
    }
    db.execute(add("a", 5)).await.unwrap();
    assert_eq!(number(&**db, "a").await, Some(5));
}

async fn conflict_clauses_count_alike(store: Store) {
    let db = &*store.db;
    let ignore = |n: i64| {
        Statement::any(
            "INSERT INTO boxes (id, n) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING",
            vec!["a".into(), n.into()],
        )
    };
    let replace = Statement::any(
        "INSERT INTO boxes (id, n) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET n = excluded.n",
        vec!["a".into(), 3i64.into()],
    );
    assert_eq!(db.script(vec![ignore(1), ignore(2), replace]).await, Ok(vec![1, 0, 1]));
    assert_eq!(number(db, "a").await, Some(3));
}

async fn a_truth_value_reads_as_a_flag(store: Store) {
    let db = &*store.db;
    let sql = "SELECT EXISTS (SELECT 1 FROM boxes WHERE id = $1) AS there";
    assert_eq!(db.fetch(sql, vec!["a".into()]).await.unwrap()[0].flag("there"), Ok(false));
    db.execute(insert("a", 1)).await.unwrap();
    assert_eq!(db.fetch(sql, vec!["a".into()]).await.unwrap()[0].flag("there"), Ok(true));
}
