-- The journal: what one session did. One writer, fenced by the epoch in journal_heads.

-- writes counts the scripts: after a lost answer it tells whether the last one was kept.
CREATE TABLE journal_heads (
    session TEXT NOT NULL PRIMARY KEY,
    epoch INTEGER NOT NULL CHECK (epoch > 0),
    seq INTEGER NOT NULL CHECK (seq >= 0),
    head BLOB NOT NULL CHECK (length(head) = 32),
    writes INTEGER NOT NULL CHECK (writes > 0),
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The legal moves of each machine; '' is what was there before the first row.
CREATE TABLE turn_moves (
    from_state TEXT NOT NULL,
    to_state TEXT NOT NULL,
    PRIMARY KEY (from_state, to_state)
) STRICT, WITHOUT ROWID;

INSERT INTO turn_moves (from_state, to_state) VALUES
    ('', 'starting'),
    ('starting', 'prompted'),
    ('starting', 'ended'),
    ('prompted', 'settling'),
    ('prompted', 'ended'),
    ('settling', 'ended');

CREATE TABLE turns (
    session TEXT NOT NULL REFERENCES journal_heads (session),
    id TEXT NOT NULL,
    number INTEGER NOT NULL CHECK (number > 0),
    task TEXT NOT NULL,
    from_state TEXT NOT NULL,
    state TEXT NOT NULL,
    prompted_at INTEGER,
    state_at INTEGER,
    end_json TEXT,
    report TEXT CHECK (report IN ('done', 'blocked', 'nothing_to_do')),
    evidence TEXT,
    context TEXT CHECK (context IN ('new', 'loaded', 'lost')),
    conversation TEXT,
    note TEXT,
    own_activity INTEGER NOT NULL CHECK (own_activity >= 0),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (session, id),
    UNIQUE (session, number),
    FOREIGN KEY (from_state, state) REFERENCES turn_moves (from_state, to_state),
    CHECK ((state = 'starting') = (state_at IS NULL)),
    CHECK ((state IN ('settling', 'ended')) = (end_json IS NOT NULL)),
    CHECK (state <> 'starting' OR prompted_at IS NULL),
    CHECK (state NOT IN ('prompted', 'settling') OR prompted_at IS NOT NULL)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX turns_one_active ON turns (session) WHERE state IN ('starting', 'prompted', 'settling');
CREATE INDEX turns_of_task ON turns (session, task, number);

CREATE TABLE operation_moves (
    from_state TEXT NOT NULL,
    to_state TEXT NOT NULL,
    PRIMARY KEY (from_state, to_state)
) STRICT, WITHOUT ROWID;

INSERT INTO operation_moves (from_state, to_state) VALUES
    ('requested', 'denied'),
    ('requested', 'awaiting_approval'),
    ('requested', 'in_flight'),
    ('awaiting_approval', 'denied'),
    ('awaiting_approval', 'expired'),
    ('awaiting_approval', 'withdrawn'),
    ('awaiting_approval', 'in_flight'),
    ('in_flight', 'succeeded'),
    ('in_flight', 'failed'),
    ('in_flight', 'not_sent'),
    ('in_flight', 'unknown'),
    ('unknown', 'succeeded'),
    ('unknown', 'failed'),
    ('unknown', 'abandoned');

-- A file holds one session, so that the number alone is the key: rows are appended, and no long key is repeated.
-- call_key is a digest over connection, tool and arguments: the replay guard looks an identical call up by it.
-- repeats names the operation that this one was allowed to repeat.
-- repeat_permitted: whoever resolved it permits one identical call more.
CREATE TABLE operations (
    session TEXT NOT NULL,
    number INTEGER NOT NULL PRIMARY KEY CHECK (number > 0),
    task TEXT NOT NULL,
    turn TEXT NOT NULL,
    connection TEXT,
    connection_name TEXT NOT NULL,
    tool TEXT NOT NULL,
    class TEXT NOT NULL CHECK (class IN ('read', 'idempotent', 'effect')),
    grant_id TEXT,
    decision TEXT NOT NULL,
    runtime_call TEXT,
    trace TEXT NOT NULL,
    digest TEXT NOT NULL,
    call_key BLOB NOT NULL CHECK (length(call_key) = 16),
    shape TEXT NOT NULL,
    from_state TEXT NOT NULL,
    state TEXT NOT NULL,
    deny_reason TEXT,
    detail TEXT,
    expires_at INTEGER,
    evidence TEXT,
    requested_at INTEGER NOT NULL,
    admitted_at INTEGER,
    sent_at INTEGER,
    answered_at INTEGER,
    recorded_at INTEGER,
    duration_us INTEGER CHECK (duration_us >= 0),
    result_size INTEGER CHECK (result_size >= 0),
    result_type TEXT,
    repeats TEXT,
    repeat_permitted INTEGER NOT NULL DEFAULT 0 CHECK (repeat_permitted IN (0, 1)),
    FOREIGN KEY (session, turn) REFERENCES turns (session, id),
    FOREIGN KEY (from_state, state) REFERENCES operation_moves (from_state, to_state),
    CHECK (state <> 'requested'),
    CHECK ((state = 'denied') = (deny_reason IS NOT NULL)),
    CHECK (state NOT IN ('denied', 'unknown') OR detail IS NOT NULL),
    CHECK (state <> 'awaiting_approval' OR expires_at IS NOT NULL),
    CHECK ((state IN ('succeeded', 'failed', 'not_sent', 'abandoned')) = (evidence IS NOT NULL)),
    CHECK ((state IN ('in_flight', 'succeeded', 'failed', 'not_sent', 'unknown', 'abandoned')) = (admitted_at IS NOT NULL)),
    CHECK ((state IN ('awaiting_approval', 'in_flight')) = (recorded_at IS NULL))
) STRICT;

CREATE INDEX operations_of_task ON operations (session, task, number);
CREATE INDEX operations_open ON operations (session, number) WHERE state IN ('awaiting_approval', 'in_flight');
CREATE INDEX operations_unknown ON operations (session, number) WHERE state = 'unknown';
CREATE INDEX operations_uncertain ON operations (session, call_key, number) WHERE state IN ('unknown', 'abandoned');
CREATE INDEX operations_runtime_call ON operations (session, call_key, runtime_call, number) WHERE runtime_call IS NOT NULL;
-- One repeat for each leave; one that was proved never to have been sent gives it back.
CREATE UNIQUE INDEX operations_repeats ON operations (session, repeats) WHERE repeats IS NOT NULL
    AND state NOT IN ('denied', 'expired', 'withdrawn', 'not_sent');

-- Rounds of the calls that take several. The first one's intent is the operation's; its row comes with the question.
CREATE TABLE round_moves (
    from_state TEXT NOT NULL,
    to_state TEXT NOT NULL,
    PRIMARY KEY (from_state, to_state)
) STRICT, WITHOUT ROWID;

INSERT INTO round_moves (from_state, to_state) VALUES
    ('', 'in_flight'),
    ('', 'input_required'),
    ('in_flight', 'input_required'),
    ('in_flight', 'over'),
    ('input_required', 'continued'),
    ('input_required', 'over');

CREATE TABLE operation_rounds (
    session TEXT NOT NULL,
    number INTEGER NOT NULL,
    round INTEGER NOT NULL CHECK (round > 0),
    from_state TEXT NOT NULL,
    state TEXT NOT NULL,
    question TEXT,
    intended_at INTEGER NOT NULL,
    asked_at INTEGER,
    PRIMARY KEY (session, number, round),
    FOREIGN KEY (number) REFERENCES operations (number),
    FOREIGN KEY (from_state, state) REFERENCES round_moves (from_state, to_state),
    CHECK (state <> 'input_required' OR question IS NOT NULL),
    CHECK ((question IS NULL) = (asked_at IS NULL))
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX rounds_one_open ON operation_rounds (session, number) WHERE state IN ('in_flight', 'input_required');

-- Successes that the runtime has not heard of, each with its result, sealed: only the replay guard reads it. Without
-- one, the result was too large to be kept, or nobody saw it.
CREATE TABLE kept_results (
    session TEXT NOT NULL,
    call_key BLOB NOT NULL CHECK (length(call_key) = 16),
    number INTEGER NOT NULL,
    sealed BLOB,
    PRIMARY KEY (session, call_key, number),
    FOREIGN KEY (number) REFERENCES operations (number)
) STRICT, WITHOUT ROWID;

-- What upstreams call the tasks as which they carry calls out: the id sealed, because it may be all that it takes to
-- fetch the result, a keyed digest by which it is known again, and what is shown of it.
CREATE TABLE upstream_tasks (
    session TEXT NOT NULL,
    number INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    shown TEXT NOT NULL,
    known_at INTEGER NOT NULL,
    PRIMARY KEY (session, number),
    CONSTRAINT upstream_tasks_named UNIQUE (session, digest),
    FOREIGN KEY (number) REFERENCES operations (number)
) STRICT, WITHOUT ROWID;

-- What results left behind, as it is stored; the ledger's index follows it. projected: the ledger has the row as it is.
CREATE TABLE journal_artifacts (
    session TEXT NOT NULL,
    id TEXT NOT NULL,
    task TEXT NOT NULL,
    turn TEXT NOT NULL,
    number INTEGER,
    origin TEXT NOT NULL CHECK (origin IN ('result', 'resource', 'workspace')),
    name TEXT NOT NULL,
    source TEXT,
    state TEXT NOT NULL CHECK (state IN ('promised', 'kept', 'not_kept', 'referenced')),
    media_type TEXT,
    size INTEGER CHECK (size >= 0),
    hash BLOB CHECK (length(hash) = 32),
    redacted INTEGER NOT NULL CHECK (redacted IN (0, 1)),
    reason TEXT,
    created_at INTEGER NOT NULL,
    removed_at INTEGER CHECK (removed_at IS NULL),
    projected INTEGER NOT NULL CHECK (projected IN (0, 1)),
    PRIMARY KEY (session, id),
    FOREIGN KEY (number) REFERENCES operations (number),
    CHECK ((state = 'kept') = (hash IS NOT NULL)),
    CHECK ((state = 'not_kept') = (reason IS NOT NULL)),
    CHECK (state <> 'kept' OR (media_type IS NOT NULL AND size IS NOT NULL)),
    CHECK (state <> 'promised' OR projected = 0)
) STRICT, WITHOUT ROWID;

CREATE INDEX journal_artifacts_left ON journal_artifacts (session, id) WHERE projected = 0;

CREATE TABLE journal_events (
    session TEXT NOT NULL,
    seq INTEGER NOT NULL PRIMARY KEY CHECK (seq > 0),
    prev INTEGER CHECK (prev < seq),
    epoch INTEGER NOT NULL CHECK (epoch > 0),
    task TEXT,
    turn TEXT,
    type TEXT NOT NULL,
    at INTEGER NOT NULL,
    data TEXT NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

CREATE INDEX journal_events_of_task ON journal_events (session, task, seq) WHERE task IS NOT NULL;

-- A move starts where the row stands: with the table of moves, no other move can be written.

CREATE TRIGGER turns_move BEFORE UPDATE OF from_state, state ON turns WHEN NEW.from_state <> OLD.state
BEGIN
    SELECT RAISE(ABORT, 'a move must start at the present state');
END;

CREATE TRIGGER operations_move BEFORE UPDATE OF from_state, state ON operations WHEN NEW.from_state <> OLD.state
BEGIN
    SELECT RAISE(ABORT, 'a move must start at the present state');
END;

CREATE TRIGGER rounds_move BEFORE UPDATE OF from_state, state ON operation_rounds WHEN NEW.from_state <> OLD.state
BEGIN
    SELECT RAISE(ABORT, 'a move must start at the present state');
END;

-- A journal is one session, so that `session = ?` alone selects all of it. The planner cannot know, and nothing here
-- runs ANALYZE over what people have: it is told once, in these numbers, how selective each index is.

ANALYZE;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('turns', 'turns', '100000 100000 1'),
    ('operations', NULL, '1000000'),
    ('operations', 'operations_of_task', '1000000 1000000 1000 1'),
    ('operations', 'operations_open', '100 100 1'),
    ('operations', 'operations_unknown', '100 100 1'),
    ('operations', 'operations_uncertain', '100 100 2 1'),
    ('operations', 'operations_runtime_call', '1000000 1000000 10 1 1'),
    ('operations', 'operations_repeats', '100 100 1'),
    ('kept_results', 'kept_results', '100 100 2 1'),
    ('upstream_tasks', 'upstream_tasks', '1000 1000 1'),
    ('operation_rounds', 'operation_rounds', '1000 1000 2 1'),
    ('operation_rounds', 'rounds_one_open', '100 100 1'),
    ('journal_artifacts', 'journal_artifacts', '10000 10000 1'),
    ('journal_artifacts', 'journal_artifacts_left', '100 100 1'),
    ('journal_events', NULL, '10000000'),
    ('journal_events', 'journal_events_of_task', '10000000 10000000 10000 1');

ANALYZE sqlite_schema;
