-- The journal: what one session did. One writer, fenced by the epoch in journal_heads.

-- writes counts the scripts: after a lost answer it tells whether the last one was kept.
CREATE TABLE journal_heads (
    session TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    epoch BIGINT NOT NULL CHECK (epoch > 0),
    seq BIGINT NOT NULL CHECK (seq >= 0),
    head BYTEA NOT NULL CHECK (length(head) = 32),
    writes BIGINT NOT NULL CHECK (writes > 0),
    created_at BIGINT NOT NULL
);

-- The legal moves of each machine; '' is what was there before the first row.
CREATE TABLE turn_moves (
    from_state TEXT COLLATE "C" NOT NULL,
    to_state TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (from_state, to_state)
);

INSERT INTO turn_moves (from_state, to_state) VALUES
    ('', 'starting'),
    ('starting', 'prompted'),
    ('starting', 'ended'),
    ('prompted', 'settling'),
    ('prompted', 'ended'),
    ('settling', 'ended');

CREATE TABLE turns (
    session TEXT COLLATE "C" NOT NULL REFERENCES journal_heads (session),
    id TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL CHECK (number > 0),
    task TEXT COLLATE "C" NOT NULL,
    from_state TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    prompted_at BIGINT,
    state_at BIGINT,
    end_json TEXT COLLATE "C",
    report TEXT COLLATE "C" CHECK (report IN ('done', 'blocked', 'nothing_to_do')),
    evidence TEXT COLLATE "C",
    context TEXT COLLATE "C" CHECK (context IN ('new', 'loaded', 'lost')),
    conversation TEXT COLLATE "C",
    note TEXT COLLATE "C",
    own_activity BIGINT NOT NULL CHECK (own_activity >= 0),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (session, id),
    UNIQUE (session, number),
    FOREIGN KEY (from_state, state) REFERENCES turn_moves (from_state, to_state),
    CHECK ((state = 'starting') = (state_at IS NULL)),
    CHECK ((state IN ('settling', 'ended')) = (end_json IS NOT NULL)),
    CHECK (state <> 'starting' OR prompted_at IS NULL),
    CHECK (state NOT IN ('prompted', 'settling') OR prompted_at IS NOT NULL)
);

CREATE UNIQUE INDEX turns_one_active ON turns (session) WHERE state IN ('starting', 'prompted', 'settling');
CREATE INDEX turns_of_task ON turns (session, task, number);

CREATE TABLE operation_moves (
    from_state TEXT COLLATE "C" NOT NULL,
    to_state TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (from_state, to_state)
);

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

-- call_key is a digest over connection, tool and arguments: the replay guard looks an identical call up by it.
-- repeats names the operation that this one was allowed to repeat.
-- repeat_permitted: whoever resolved it permits one identical call more.
CREATE TABLE operations (
    session TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL CHECK (number > 0),
    task TEXT COLLATE "C" NOT NULL,
    turn TEXT COLLATE "C" NOT NULL,
    connection TEXT COLLATE "C",
    connection_name TEXT COLLATE "C" NOT NULL,
    tool TEXT COLLATE "C" NOT NULL,
    class TEXT COLLATE "C" NOT NULL CHECK (class IN ('read', 'idempotent', 'effect')),
    grant_id TEXT COLLATE "C",
    decision TEXT COLLATE "C" NOT NULL,
    runtime_call TEXT COLLATE "C",
    trace TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    call_key BYTEA NOT NULL CHECK (length(call_key) = 16),
    shape TEXT COLLATE "C" NOT NULL,
    from_state TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    deny_reason TEXT COLLATE "C",
    detail TEXT COLLATE "C",
    expires_at BIGINT,
    evidence TEXT COLLATE "C",
    requested_at BIGINT NOT NULL,
    admitted_at BIGINT,
    sent_at BIGINT,
    answered_at BIGINT,
    recorded_at BIGINT,
    duration_us BIGINT CHECK (duration_us >= 0),
    result_size BIGINT CHECK (result_size >= 0),
    result_type TEXT COLLATE "C",
    repeats TEXT COLLATE "C",
    repeat_permitted BIGINT NOT NULL DEFAULT 0 CHECK (repeat_permitted IN (0, 1)),
    PRIMARY KEY (session, number),
    FOREIGN KEY (session, turn) REFERENCES turns (session, id),
    FOREIGN KEY (from_state, state) REFERENCES operation_moves (from_state, to_state),
    CHECK (state <> 'requested'),
    CHECK ((state = 'denied') = (deny_reason IS NOT NULL)),
    CHECK (state NOT IN ('denied', 'unknown') OR detail IS NOT NULL),
    CHECK (state <> 'awaiting_approval' OR expires_at IS NOT NULL),
    CHECK ((state IN ('succeeded', 'failed', 'not_sent', 'abandoned')) = (evidence IS NOT NULL)),
    CHECK ((state IN ('in_flight', 'succeeded', 'failed', 'not_sent', 'unknown', 'abandoned')) = (admitted_at IS NOT NULL)),
    CHECK ((state IN ('awaiting_approval', 'in_flight')) = (recorded_at IS NULL))
);

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
    from_state TEXT COLLATE "C" NOT NULL,
    to_state TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (from_state, to_state)
);

INSERT INTO round_moves (from_state, to_state) VALUES
    ('', 'in_flight'),
    ('', 'input_required'),
    ('in_flight', 'input_required'),
    ('in_flight', 'over'),
    ('input_required', 'continued'),
    ('input_required', 'over');

CREATE TABLE operation_rounds (
    session TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    round BIGINT NOT NULL CHECK (round > 0),
    from_state TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    question TEXT COLLATE "C",
    intended_at BIGINT NOT NULL,
    asked_at BIGINT,
    PRIMARY KEY (session, number, round),
    FOREIGN KEY (session, number) REFERENCES operations (session, number),
    FOREIGN KEY (from_state, state) REFERENCES round_moves (from_state, to_state),
    CHECK (state <> 'input_required' OR question IS NOT NULL),
    CHECK ((question IS NULL) = (asked_at IS NULL))
);

CREATE UNIQUE INDEX rounds_one_open ON operation_rounds (session, number) WHERE state IN ('in_flight', 'input_required');

-- Successes that the runtime has not heard of, each with its result, sealed: only the replay guard reads it. Without
-- one, the result was too large to be kept, or nobody saw it.
CREATE TABLE kept_results (
    session TEXT COLLATE "C" NOT NULL,
    call_key BYTEA NOT NULL CHECK (length(call_key) = 16),
    number BIGINT NOT NULL,
    sealed BYTEA,
    PRIMARY KEY (session, call_key, number),
    FOREIGN KEY (session, number) REFERENCES operations (session, number)
);

-- What upstreams call the tasks as which they carry calls out: the id sealed, because it may be all that it takes to
-- fetch the result, a keyed digest by which it is known again, and what is shown of it.
CREATE TABLE upstream_tasks (
    session TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    sealed BYTEA NOT NULL,
    digest BYTEA NOT NULL CHECK (length(digest) = 32),
    shown TEXT COLLATE "C" NOT NULL,
    known_at BIGINT NOT NULL,
    PRIMARY KEY (session, number),
    CONSTRAINT upstream_tasks_named UNIQUE (session, digest),
    FOREIGN KEY (session, number) REFERENCES operations (session, number)
);

-- What results left behind, as it is stored; the ledger's index follows it. projected: the ledger has the row as it is.
CREATE TABLE journal_artifacts (
    session TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    task TEXT COLLATE "C" NOT NULL,
    turn TEXT COLLATE "C" NOT NULL,
    number BIGINT,
    origin TEXT COLLATE "C" NOT NULL CHECK (origin IN ('result', 'resource', 'workspace')),
    name TEXT COLLATE "C" NOT NULL,
    source TEXT COLLATE "C",
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('promised', 'kept', 'not_kept', 'referenced')),
    media_type TEXT COLLATE "C",
    size BIGINT CHECK (size >= 0),
    hash BYTEA CHECK (length(hash) = 32),
    redacted BIGINT NOT NULL CHECK (redacted IN (0, 1)),
    reason TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    removed_at BIGINT CHECK (removed_at IS NULL),
    projected BIGINT NOT NULL CHECK (projected IN (0, 1)),
    PRIMARY KEY (session, id),
    FOREIGN KEY (session, number) REFERENCES operations (session, number),
    CHECK ((state = 'kept') = (hash IS NOT NULL)),
    CHECK ((state = 'not_kept') = (reason IS NOT NULL)),
    CHECK (state <> 'kept' OR (media_type IS NOT NULL AND size IS NOT NULL)),
    CHECK (state <> 'promised' OR projected = 0)
);

CREATE INDEX journal_artifacts_left ON journal_artifacts (session, id) WHERE projected = 0;

CREATE TABLE journal_events (
    session TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL CHECK (seq > 0),
    prev BIGINT CHECK (prev < seq),
    epoch BIGINT NOT NULL CHECK (epoch > 0),
    task TEXT COLLATE "C",
    turn TEXT COLLATE "C",
    type TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    data TEXT COLLATE "C" NOT NULL,
    hash BYTEA NOT NULL CHECK (length(hash) = 32),
    PRIMARY KEY (session, seq)
);

CREATE INDEX journal_events_of_task ON journal_events (session, task, seq) WHERE task IS NOT NULL;

-- A move starts where the row stands: with the table of moves, no other move can be written.
CREATE FUNCTION journal_move_starts_here() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.from_state <> OLD.state THEN
        RAISE EXCEPTION 'a move must start at the present state' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER turns_move BEFORE UPDATE OF from_state, state ON turns
    FOR EACH ROW EXECUTE FUNCTION journal_move_starts_here();

CREATE TRIGGER operations_move BEFORE UPDATE OF from_state, state ON operations
    FOR EACH ROW EXECUTE FUNCTION journal_move_starts_here();

CREATE TRIGGER rounds_move BEFORE UPDATE OF from_state, state ON operation_rounds
    FOR EACH ROW EXECUTE FUNCTION journal_move_starts_here();
