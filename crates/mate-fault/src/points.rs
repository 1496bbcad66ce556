//! Every point, by name.

/// Which process gets to a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// `agent-mate init`.
    Init,
    /// `agent-mate serve`.
    Serve,
    /// A session's worker.
    Worker,
    /// The outer process of a session's keeper.
    Keeper,
    /// Process 1 of a session's container.
    Inner,
    /// `agent-mate key`.
    Key,
}

/// A place at which a process can be held.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// `part.moment`.
    pub name: &'static str,
    /// Who gets there; a driver's points are reached by whoever writes, and this is who is held there in tests.
    pub process: Process,
    /// Between which two things it stands.
    pub between: &'static str,
}

const fn at(name: &'static str, process: Process, between: &'static str) -> Point {
    Point { name, process, between }
}

use Process::{Init, Inner, Keeper, Key, Serve, Worker};

/// Every point, in the order in which a session meets them.
pub const POINTS: &[Point] = &[
    at("init.home_made", Init, "the home's folder and key are there; the stores are not"),
    at("init.account_added", Init, "the first account is in the ledger; its project is not"),
    at("init.project_added", Init, "the first project is in the ledger; the token's file is not written"),
    at("init.token_drafted", Init, "the token's file is written beside its place; it is not moved there"),
    at("init.token_written", Init, "the token's file is in its place; the ledger does not know the token"),
    at("migrate.table_made", Init, "the table of migrations is there (PostgreSQL); no migration is applied"),
    at("migrate.before_commit", Init, "a migration's statements have run; they are not committed"),
    at("migrate.committed", Init, "a migration is committed; the next one has not begun"),
    at("submit.folder_made", Serve, "a new session's folder is synced; it has no journal"),
    at(
        "submit.journal_made",
        Serve,
        "a new session's journal is there; the ledger does not name the session",
    ),
    at("resume.committed", Serve, "the ledger has the continuing task; nobody was told of it"),
    at("submit.committed", Serve, "the ledger has the task; the caller has no answer"),
    at(
        "request.observed",
        Serve,
        "the ledger has seen the time of a request; the request's move is not written",
    ),
    at("request.committed", Serve, "the move that was asked for is written; the caller has no answer"),
    at("host.recorded", Serve, "the ledger has the session's next epoch; nobody uses it yet"),
    at("launch.started", Serve, "a worker's process was started with the lock; it has done nothing"),
    at("worker.lock_taken", Worker, "the worker has the lock; it has opened no store"),
    at("worker.taken_over", Worker, "the journal has the worker's epoch; it has no event of the worker"),
    at("worker.start_recorded", Worker, "the journal says that the worker started; no task is claimed"),
    at("worker.claimed", Worker, "the ledger says that the task runs; the journal has no turn of it"),
    at("worker.turn_opened", Worker, "the journal has the turn; no process was started for it"),
    at("keeper.contained", Keeper, "process 1 of the container lives; it is not on record"),
    at(
        "record.before_rename",
        Keeper,
        "a file of the container is written beside its place; it is not moved there",
    ),
    at("keeper.recorded", Keeper, "the container is on record; the worker was not told"),
    at("worker.container_started", Worker, "the container is on record; the runtime was not started"),
    at("keeper.spawned", Inner, "a program runs in the container; the worker was not told"),
    at("worker.runtime_started", Worker, "the runtime runs; the journal does not say so"),
    at("worker.runtime_recorded", Worker, "the journal says that the runtime runs; it was told nothing"),
    at(
        "worker.session_opened",
        Worker,
        "the runtime has opened its session; the journal does not know its id",
    ),
    at(
        "worker.session_recorded",
        Worker,
        "the journal says that the runtime is ready; no prompt is intended",
    ),
    at("worker.prompt_intended", Worker, "the prompt's intent is durable; no byte of it went out"),
    at("worker.prompt_sent", Worker, "the prompt was given to the transport; no answer came"),
    at("leave.journaled", Worker, "the journal says that a call waits for a person; the inbox does not"),
    at("leave.in_inbox", Worker, "a call waits in the inbox; nobody was told of it"),
    at("leave.answered", Serve, "the ledger has a person's answer; who gave it has none"),
    at("leave.used_up", Worker, "leave is used up in the ledger; the call's intent is not written"),
    at("admit.observed", Worker, "the ledger has seen the time of a call; its limit is not reserved"),
    at("admit.reserved", Worker, "the call's limit is reserved in the ledger; its intent is not written"),
    at("admit.intended", Worker, "the call's intent is durable; the ledger was not read again"),
    at("admit.admitted", Worker, "the call is admitted; it was not given to the bridge"),
    at("bridge.before_write", Worker, "the call is next at the upstream; no byte of it went out"),
    at("bridge.written", Worker, "the call's last byte went out; no answer was read"),
    at(
        "answer.observed",
        Worker,
        "the ledger has seen the time of an answer to the upstream's question; its intent is not written",
    ),
    at("answer.intended", Worker, "the answer's intent is durable; the ledger was not read again"),
    at("answer.admitted", Worker, "the answer is admitted; no byte of it went out"),
    at("answer.written", Worker, "the answer's last byte went out; the call goes on"),
    at(
        "bridge.task_made",
        Worker,
        "the upstream has named the task that it made of a call; the name is not written",
    ),
    at(
        "bridge.task_noted",
        Worker,
        "the name of an upstream's task is durable; the task was not asked for its result",
    ),
    at("bridge.answer_read", Worker, "the upstream's answer is in memory; no outcome is written"),
    at("settle.committed", Worker, "the call's outcome is durable; the runtime was not told"),
    at("artifact.content_durable", Worker, "an artifact's content is synced; nothing names it"),
    at(
        "artifact.content_named",
        Worker,
        "the content counts against the quota; the journal has only its promise",
    ),
    at("artifact.settled", Worker, "the journal has what became of the promise; the index does not"),
    at("artifact.indexed", Worker, "the index has the artifact; the journal does not know that"),
    at("bridge.told", Worker, "the runtime was told the result; the turn goes on"),
    at("deny.committed", Worker, "a refusal is durable; the runtime was not told"),
    at("report.committed", Worker, "the agent's report is durable; the runtime was not told"),
    at("turn.answered", Worker, "the runtime ended its turn; the journal does not say so"),
    at("turn.closed", Worker, "the journal has the turn's end; the ledger says that the task runs"),
    at(
        "turn.settled",
        Worker,
        "nothing of the turn is in flight any more; the ledger says that the task runs",
    ),
    at("stop.step_taken", Worker, "a step of a stop was taken; the journal does not say so"),
    at("turn.buried", Worker, "the container has ended; the journal has no proof of it"),
    at("turn.proved", Worker, "the journal has the proof of the container's end; the task is not concluded"),
    at("conclude.read", Worker, "the task's end was read from the journal; the ledger does not have it"),
    at("conclude.committed", Worker, "the ledger has the task's end; the journal is not anchored there"),
    at(
        "worker.anchored",
        Worker,
        "the journal is anchored in the ledger; the worker looks for its next task",
    ),
    at("worker.emptied", Worker, "the idle container has ended; the journal does not say so"),
    at("keeper.ended", Keeper, "the container has ended; its end is not on record"),
    at("keeper.witnessed", Keeper, "the container's end is on record; the keeper still lives"),
    at(
        "worker.end_recorded",
        Worker,
        "the journal says that the worker ended; the session is not given back",
    ),
    at("worker.released", Worker, "the session is given back; the worker still holds the lock"),
    at(
        "resolve.evidence_committed",
        Serve,
        "the ledger has evidence for an unknown call; nobody was told, the task is not looked at",
    ),
    at("resolve.journal_written", Serve, "the journal has the evidence; the ledger does not say so"),
    at(
        "resolve.task_settled",
        Serve,
        "the task has left unknown; the ledger does not say that the journal has the evidence",
    ),
    at("verify.look_admitted", Worker, "a look is on record; nothing was asked"),
    at("verify.answered", Worker, "the answer to a look is in memory; it is not on record"),
    at("verify.recorded", Worker, "what a look came to is on record; the evidence is not in the ledger"),
    at(
        "spill.held",
        Worker,
        "an outcome is held beside a journal that does not take it; the runtime was not told",
    ),
    at("spill.taken_in", Worker, "the journal has what was held; the slot is not free"),
    at("spill.recovered", Serve, "recovery has taken a held outcome into the journal; the slot is not free"),
    at("recover.container_ended", Serve, "a dead worker's container was proved empty; no epoch is taken"),
    at("recover.taken_over", Serve, "recovery has the journal; nothing is classified"),
    at("recover.operations_closed", Serve, "the open operations are classified; the turn is not over"),
    at("recover.turn_closed", Serve, "the turn is over; the ledger says that the task runs"),
    at(
        "recover.proved",
        Serve,
        "the journal has the proof of the container's end; the task is not concluded",
    ),
    at(
        "recover.concluded",
        Serve,
        "the task is concluded; the journal does not say that the session was recovered",
    ),
    at("recover.recorded", Serve, "the journal says that the session was recovered; it is not given back"),
    at(
        "give_up.claimed",
        Serve,
        "the ledger says that a task runs which no worker could start; it has no turn",
    ),
    at(
        "give_up.turn_ended",
        Serve,
        "the journal has the end of a turn that never began; the task is not concluded",
    ),
    at("sqlite.before_commit", Worker, "the statements of a script have run; they are not committed"),
    at("sqlite.committed", Worker, "a script is committed; its caller has no answer"),
    at("postgres.before_commit", Worker, "the statements of a script have run; they are not committed"),
    at("postgres.committed", Worker, "a script is committed; its caller has no answer"),
    at("key.ring_written", Key, "the new key is in the key file; the ledger does not know it"),
    at("key.changed", Key, "the ledger seals under the new key; everything is under the older one"),
    at("key.resealed", Key, "a batch is sealed under the new key; the next one is not"),
    at("key.retired", Key, "the ledger has retired the older key; it is still in the key file"),
    at("key.trimmed", Key, "the older key has left the key file; nobody was told"),
];

/// Whether there is a point of this name.
#[must_use]
pub const fn is_known(name: &str) -> bool {
    let mut number = 0;
    while number < POINTS.len() {
        if same(POINTS[number].name.as_bytes(), name.as_bytes()) {
            return true;
        }
        number += 1;
    }
    false
}

const fn same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_point_has_one_name_and_one_sentence() {
        for (number, point) in POINTS.iter().enumerate() {
            assert!(is_known(point.name));
            assert!(!point.between.is_empty() && point.name.contains('.'), "{point:?}");
            assert!(
                POINTS[..number].iter().all(|other| other.name != point.name),
                "{} is there twice",
                point.name
            );
        }
        assert!(!is_known("no.such_point"));
    }
}
