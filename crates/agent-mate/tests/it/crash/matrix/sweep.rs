//! Every single commit of a session: its writer is killed right before it and right after it, whatever it commits.

use super::{
    play::Stage,
    scene::{Plan, Scene},
};
use crate::harness::Store;

/// More commits than any process makes in the scene.
const MOST: u64 = 200;

fn every_commit(store: Store, moment: &str, role: &'static str) {
    let point = match (store, moment) {
        (Store::Sqlite, "before") => "sqlite.before_commit",
        (Store::Sqlite, _) => "sqlite.committed",
        (Store::Postgres, "before") => "postgres.before_commit",
        (Store::Postgres, _) => "postgres.committed",
    };
    let mut stage = Stage::open(store, Plan { point, scene: Scene::Work, role, number: 1 });
    let mut commits = 0;
    while commits < MOST && stage.itself_once(commits + 1) {
        commits += 1;
    }
    assert!((2..MOST).contains(&commits), "{role} made {commits} commits");
    stage.close();
}

macro_rules! sweep {
    ($($test:ident = $store:ident, $moment:literal, $role:literal;)+) => { $(
        #[test]
        fn $test() { every_commit(Store::$store, $moment, $role); }
    )+ };
}

sweep! {
    before_each_commit_of_a_worker_on_sqlite = Sqlite, "before", "session-worker";
    after_each_commit_of_a_worker_on_sqlite = Sqlite, "after", "session-worker";
    before_each_commit_of_a_worker_on_postgres = Postgres, "before", "session-worker";
    after_each_commit_of_a_worker_on_postgres = Postgres, "after", "session-worker";
}
