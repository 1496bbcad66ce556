//! One test for each point and each kind of store, so that they run beside each other and say which point it was.

use super::{
    keys,
    play::{Stage, setting_up},
    scene::{Plan, Scene, occurs},
    table,
};
use crate::harness::Store;
use mate_fault::POINTS;

fn every_kill(name: &str, store: Store) {
    let point = POINTS.iter().find(|point| point.name == name).expect("a point of the list");
    if !occurs(name, store) {
        return table::write(name, store, &[]);
    }
    let plan = Plan::of(point);
    let cells = match plan.scene {
        Scene::Init => setting_up(store, plan),
        Scene::Keys => keys::rotating(store, plan),
        Scene::Submit
        | Scene::Approve
        | Scene::Resume
        | Scene::Work
        | Scene::Leave
        | Scene::AsTask
        | Scene::Ask
        | Scene::Artifact
        | Scene::Stop
        | Scene::Lost
        | Scene::Recover
        | Scene::RecoverProof
        | Scene::GiveUp
        | Scene::Resolve
        | Scene::Verify
        | Scene::Hold
        | Scene::TakeIn
        | Scene::RecoverHeld => Stage::open(store, plan).every_kill(),
    };
    table::write(name, store, &cells);
}

macro_rules! matrix {
    ($($test:ident = $point:literal,)+) => {
        $(
            mod $test {
                use crate::harness::Store;
                #[test]
                fn sqlite() { super::every_kill($point, Store::Sqlite); }
                #[test]
                fn postgres() { super::every_kill($point, Store::Postgres); }
            }
        )+

        #[test]
        fn every_point_has_its_tests() {
            let listed: Vec<&str> = POINTS.iter().map(|point| point.name).collect();
            assert_eq!(listed, [$($point),+], "name the same points here, in the same order");
        }
    };
}

matrix! {
    init_home_made = "init.home_made",
    init_account_added = "init.account_added",
    init_project_added = "init.project_added",
    init_token_drafted = "init.token_drafted",
    init_token_written = "init.token_written",
    migrate_table_made = "migrate.table_made",
    migrate_before_commit = "migrate.before_commit",
    migrate_committed = "migrate.committed",
    submit_folder_made = "submit.folder_made",
    submit_journal_made = "submit.journal_made",
    resume_committed = "resume.committed",
    submit_committed = "submit.committed",
    request_observed = "request.observed",
    request_committed = "request.committed",
    host_recorded = "host.recorded",
    launch_started = "launch.started",
    worker_lock_taken = "worker.lock_taken",
    worker_taken_over = "worker.taken_over",
    worker_start_recorded = "worker.start_recorded",
    worker_claimed = "worker.claimed",
    worker_turn_opened = "worker.turn_opened",
    keeper_contained = "keeper.contained",
    record_before_rename = "record.before_rename",
    keeper_recorded = "keeper.recorded",
    worker_container_started = "worker.container_started",
    keeper_spawned = "keeper.spawned",
    worker_runtime_started = "worker.runtime_started",
    worker_runtime_recorded = "worker.runtime_recorded",
    worker_session_opened = "worker.session_opened",
    worker_session_recorded = "worker.session_recorded",
    worker_prompt_intended = "worker.prompt_intended",
    worker_prompt_sent = "worker.prompt_sent",
    leave_journaled = "leave.journaled",
    leave_in_inbox = "leave.in_inbox",
    leave_answered = "leave.answered",
    leave_used_up = "leave.used_up",
    admit_observed = "admit.observed",
    admit_reserved = "admit.reserved",
    admit_intended = "admit.intended",
    admit_admitted = "admit.admitted",
    bridge_before_write = "bridge.before_write",
    bridge_written = "bridge.written",
    answer_observed = "answer.observed",
    answer_intended = "answer.intended",
    answer_admitted = "answer.admitted",
    answer_written = "answer.written",
    bridge_task_made = "bridge.task_made",
    bridge_task_noted = "bridge.task_noted",
    bridge_answer_read = "bridge.answer_read",
    settle_committed = "settle.committed",
    artifact_content_durable = "artifact.content_durable",
    artifact_content_named = "artifact.content_named",
    artifact_settled = "artifact.settled",
    artifact_indexed = "artifact.indexed",
    bridge_told = "bridge.told",
    deny_committed = "deny.committed",
    report_committed = "report.committed",
    turn_answered = "turn.answered",
    turn_closed = "turn.closed",
    turn_settled = "turn.settled",
    stop_step_taken = "stop.step_taken",
    turn_buried = "turn.buried",
    turn_proved = "turn.proved",
    conclude_read = "conclude.read",
    conclude_committed = "conclude.committed",
    worker_anchored = "worker.anchored",
    worker_emptied = "worker.emptied",
    keeper_ended = "keeper.ended",
    keeper_witnessed = "keeper.witnessed",
    worker_end_recorded = "worker.end_recorded",
    worker_released = "worker.released",
    resolve_evidence_committed = "resolve.evidence_committed",
    resolve_journal_written = "resolve.journal_written",
    resolve_task_settled = "resolve.task_settled",
    verify_look_admitted = "verify.look_admitted",
    verify_answered = "verify.answered",
    verify_recorded = "verify.recorded",
    spill_held = "spill.held",
    spill_taken_in = "spill.taken_in",
    spill_recovered = "spill.recovered",
    recover_container_ended = "recover.container_ended",
    recover_taken_over = "recover.taken_over",
    recover_operations_closed = "recover.operations_closed",
    recover_turn_closed = "recover.turn_closed",
    recover_proved = "recover.proved",
    recover_concluded = "recover.concluded",
    recover_recorded = "recover.recorded",
    give_up_claimed = "give_up.claimed",
    give_up_turn_ended = "give_up.turn_ended",
    sqlite_before_commit = "sqlite.before_commit",
    sqlite_committed = "sqlite.committed",
    postgres_before_commit = "postgres.before_commit",
    postgres_committed = "postgres.committed",
    key_ring_written = "key.ring_written",
    key_changed = "key.changed",
    key_resealed = "key.resealed",
    key_retired = "key.retired",
    key_trimmed = "key.trimmed",
}
