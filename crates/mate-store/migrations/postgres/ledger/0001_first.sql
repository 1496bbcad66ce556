-- The ledger: what was asked, allowed and decided.

CREATE TABLE meta (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);

INSERT INTO meta (name, value) VALUES ('authorisation_version', 1), ('highest_time', 0);

-- The keys under which something is sealed here: exactly one seals, the others are older. What is sealed refers to its
-- key, so that none goes that is still needed, and nothing is sealed under one that is gone.
CREATE TABLE root_keys (
    id BYTEA NOT NULL PRIMARY KEY CHECK (length(id) = 4),
    seals BIGINT NOT NULL CHECK (seals IN (0, 1)),
    added_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX root_keys_one_seals ON root_keys (seals) WHERE seals = 1;

-- Keys that seal nothing any more, and never will again.
CREATE TABLE retired_keys (
    id BYTEA NOT NULL PRIMARY KEY CHECK (length(id) = 4),
    retired_at BIGINT NOT NULL
);

-- The home's own secret, from which keys of sessions and of contents are derived. It stays when the key changes.
CREATE TABLE home_secret (
    one BIGINT NOT NULL PRIMARY KEY CHECK (one = 1),
    sealed BYTEA NOT NULL,
    sealed_key BYTEA GENERATED ALWAYS AS (substr(sealed, 2, 4)) STORED REFERENCES root_keys (id)
);

CREATE TABLE accounts (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    admin BIGINT NOT NULL CHECK (admin IN (0, 1)),
    disabled_at BIGINT,
    created_at BIGINT NOT NULL
);

-- event_seq and event_head number and chain the project's events: each writer compares and sets them.
-- artifact_bytes: what its artifacts hold, each content once; at most artifact_quota.
CREATE TABLE projects (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    workspace TEXT COLLATE "C",
    archived_at BIGINT,
    distinct_approver BIGINT NOT NULL CHECK (distinct_approver IN (0, 1)),
    created_at BIGINT NOT NULL,
    artifact_quota BIGINT NOT NULL DEFAULT 1073741824 CHECK (artifact_quota >= 0),
    artifact_bytes BIGINT NOT NULL DEFAULT 0 CHECK (artifact_bytes >= 0),
    event_seq BIGINT NOT NULL CHECK (event_seq >= 0),
    event_head BYTEA NOT NULL CHECK (length(event_head) = 32)
);

CREATE TABLE tokens (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    account TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    hash BYTEA NOT NULL UNIQUE CHECK (length(hash) = 32),
    project TEXT COLLATE "C" REFERENCES projects (id),
    role TEXT COLLATE "C" CHECK (role IN ('viewer', 'operator', 'owner')),
    expires_at BIGINT,
    revoked_at BIGINT,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    made_with TEXT COLLATE "C" REFERENCES tokens (id)
);

CREATE INDEX tokens_of_account ON tokens (account, id);
CREATE INDEX tokens_made_with ON tokens (made_with) WHERE made_with IS NOT NULL;

-- Browsers that are signed in, each with the token that it signed in with, and links that sign one in once. What the
-- browser holds is kept as a hash.
CREATE TABLE browser_sessions (
    hash BYTEA NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    token TEXT COLLATE "C" NOT NULL REFERENCES tokens (id),
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX browser_sessions_by_end ON browser_sessions (expires_at);

CREATE TABLE browser_links (
    hash BYTEA NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    token TEXT COLLATE "C" NOT NULL REFERENCES tokens (id),
    expires_at BIGINT NOT NULL
);

CREATE INDEX browser_links_by_end ON browser_links (expires_at);

CREATE TABLE members (
    project TEXT COLLATE "C" NOT NULL REFERENCES projects (id),
    account TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    role TEXT COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'operator', 'owner')),
    added_at BIGINT NOT NULL,
    PRIMARY KEY (project, account)
);

CREATE INDEX members_of_account ON members (account, project);

CREATE TABLE runtimes (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    registration TEXT COLLATE "C" NOT NULL,
    quiet_seconds BIGINT CHECK (quiet_seconds > 0),
    deadline_seconds BIGINT CHECK (deadline_seconds >= 0),
    created_at BIGINT NOT NULL,
    removed_at BIGINT
);

CREATE UNIQUE INDEX runtimes_by_name ON runtimes (name) WHERE removed_at IS NULL;

CREATE TABLE connections (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    reach TEXT COLLATE "C" NOT NULL,
    settings TEXT COLLATE "C" NOT NULL,
    sealed BYTEA,
    sealed_key BYTEA GENERATED ALWAYS AS (substr(sealed, 2, 4)) STORED REFERENCES root_keys (id),
    created_at BIGINT NOT NULL,
    removed_at BIGINT
);

CREATE UNIQUE INDEX connections_by_name ON connections (name) WHERE removed_at IS NULL;

-- What a connection's secrets were before, under the same seal: known only to be hidden.
CREATE TABLE former_secrets (
    connection TEXT COLLATE "C" NOT NULL REFERENCES connections (id),
    number BIGINT NOT NULL,
    sealed BYTEA NOT NULL,
    sealed_key BYTEA GENERATED ALWAYS AS (substr(sealed, 2, 4)) STORED REFERENCES root_keys (id),
    PRIMARY KEY (connection, number)
);

CREATE TABLE authorizations (
    connection TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES connections (id),
    version BIGINT NOT NULL CHECK (version >= 0),
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('asked', 'authorized', 'lost')),
    pending BYTEA,
    pending_key BYTEA GENERATED ALWAYS AS (substr(pending, 2, 4)) STORED REFERENCES root_keys (id),
    sealed BYTEA,
    sealed_key BYTEA GENERATED ALWAYS AS (substr(sealed, 2, 4)) STORED REFERENCES root_keys (id),
    expires_at BIGINT,
    claimed_until BIGINT,
    why TEXT COLLATE "C",
    CHECK (state = 'asked' OR sealed IS NOT NULL)
);

CREATE TABLE grants (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    project TEXT COLLATE "C" NOT NULL REFERENCES projects (id),
    connection TEXT COLLATE "C" NOT NULL REFERENCES connections (id),
    tools TEXT COLLATE "C" NOT NULL,
    effect TEXT COLLATE "C" CHECK (effect IN ('read', 'idempotent', 'effect')),
    approve TEXT COLLATE "C" NOT NULL CHECK (approve IN ('never', 'once', 'always')),
    expires_at BIGINT,
    max_calls BIGINT CHECK (max_calls >= 0),
    used_calls BIGINT NOT NULL CHECK (used_calls >= 0),
    created_by TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    created_at BIGINT NOT NULL,
    revoked_at BIGINT,
    needs_permit BIGINT NOT NULL CHECK (needs_permit IN (0, 1)),
    rate TEXT COLLATE "C",
    max_spend BIGINT CHECK (max_spend >= 0),
    used_spend BIGINT NOT NULL CHECK (used_spend >= 0),
    cost BIGINT CHECK (cost >= 0),
    spend_fields TEXT COLLATE "C",
    CHECK (max_calls IS NULL OR used_calls <= max_calls),
    CHECK (max_spend IS NULL OR used_spend <= max_spend),
    CHECK ((max_spend IS NULL) = (spend_fields IS NULL)),
    CHECK (max_spend IS NOT NULL OR (cost IS NULL AND used_spend = 0))
);

CREATE INDEX grants_of_project ON grants (project, id);
CREATE INDEX grants_in_force ON grants (project, id) WHERE revoked_at IS NULL;

-- A tool's definition under a grant, as it was first seen; changed_...: another one that was seen since.
CREATE TABLE grant_pins (
    grant_id TEXT COLLATE "C" NOT NULL REFERENCES grants (id),
    tool TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    fields TEXT COLLATE "C" NOT NULL,
    pinned_at BIGINT NOT NULL,
    changed_digest TEXT COLLATE "C",
    changed_fields TEXT COLLATE "C",
    changed_at BIGINT,
    PRIMARY KEY (grant_id, tool),
    CHECK ((changed_digest IS NULL) = (changed_fields IS NULL) AND (changed_digest IS NULL) = (changed_at IS NULL)),
    CHECK (changed_digest <> digest)
);

CREATE TABLE policies (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    created_at BIGINT NOT NULL,
    removed_at BIGINT
);

CREATE UNIQUE INDEX policies_by_name ON policies (name) WHERE removed_at IS NULL;
CREATE INDEX policies_in_force ON policies (id) WHERE removed_at IS NULL;

-- The legal moves of each machine; '' is what was there before the first row.
CREATE TABLE session_moves (
    from_state TEXT COLLATE "C" NOT NULL,
    to_state TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (from_state, to_state)
);

INSERT INTO session_moves (from_state, to_state) VALUES
    ('', 'idle'),
    ('idle', 'hosted'),
    ('hosted', 'hosted'),
    ('hosted', 'idle'),
    ('idle', 'closed');

CREATE TABLE sessions (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    project TEXT COLLATE "C" NOT NULL REFERENCES projects (id),
    runtime TEXT COLLATE "C" NOT NULL REFERENCES runtimes (id),
    workspace TEXT COLLATE "C" NOT NULL,
    from_state TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    epoch BIGINT NOT NULL CHECK (epoch >= 0),
    state_at BIGINT,
    created_at BIGINT NOT NULL,
    containment TEXT COLLATE "C",
    close_asked_at BIGINT,
    anchor_seq BIGINT NOT NULL CHECK (anchor_seq >= 0),
    anchor_hash BYTEA CHECK (length(anchor_hash) = 32),
    UNIQUE (project, id),
    FOREIGN KEY (from_state, state) REFERENCES session_moves (from_state, to_state),
    CHECK ((state IN ('hosted', 'closed')) = (state_at IS NOT NULL)),
    CHECK (state <> 'hosted' OR epoch > 0),
    CHECK ((anchor_seq > 0) = (anchor_hash IS NOT NULL))
);

CREATE INDEX sessions_hosted ON sessions (id) WHERE state = 'hosted';

CREATE TABLE task_moves (
    from_state TEXT COLLATE "C" NOT NULL,
    to_state TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (from_state, to_state)
);

INSERT INTO task_moves (from_state, to_state) VALUES
    ('', 'proposed'),
    ('proposed', 'accepted'),
    ('proposed', 'rejected'),
    ('accepted', 'running'),
    ('accepted', 'stopped'),
    ('accepted', 'rejected'),
    ('running', 'running'),
    ('running', 'stop_requested'),
    ('running', 'completed'),
    ('running', 'failed'),
    ('running', 'unknown'),
    ('stop_requested', 'stop_requested'),
    ('stop_requested', 'stopped'),
    ('stop_requested', 'completed'),
    ('stop_requested', 'failed'),
    ('stop_requested', 'unknown'),
    ('unknown', 'completed'),
    ('unknown', 'failed'),
    ('unknown', 'stopped');

-- A column outlives its state (who approved, which turn); the checks say when it must be there.
CREATE TABLE tasks (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    project TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    proposer TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    token TEXT COLLATE "C" NOT NULL REFERENCES tokens (id),
    instructions TEXT COLLATE "C" NOT NULL,
    policy TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL CHECK (number > 0),
    continues TEXT COLLATE "C" REFERENCES tasks (id),
    resumes BIGINT NOT NULL CHECK (resumes >= 0),
    resume_due BIGINT NOT NULL CHECK (resume_due IN (0, 1)),
    created_at BIGINT NOT NULL,
    from_state TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    approved_by TEXT COLLATE "C" REFERENCES accounts (id),
    approved_at BIGINT,
    turn TEXT COLLATE "C",
    epoch BIGINT CHECK (epoch > 0),
    started_at BIGINT,
    stop_by TEXT COLLATE "C" REFERENCES accounts (id),
    stop_at BIGINT,
    stop_kill BIGINT NOT NULL CHECK (stop_kill IN (0, 1)),
    ended_at BIGINT,
    end_json TEXT COLLATE "C",
    unknown_reason TEXT COLLATE "C" CHECK (unknown_reason IN ('operations', 'own_activity', 'journal_lost')),
    rejected_by TEXT COLLATE "C" REFERENCES accounts (id),
    reject_reason TEXT COLLATE "C",
    UNIQUE (session, number),
    FOREIGN KEY (project, session) REFERENCES sessions (project, id),
    FOREIGN KEY (from_state, state) REFERENCES task_moves (from_state, to_state),
    CHECK (continues <> id AND (resumes = 0 OR continues IS NOT NULL)),
    CHECK (resume_due = 0 OR state = 'failed'),
    CHECK ((approved_by IS NULL) = (approved_at IS NULL)),
    CHECK (state NOT IN ('accepted', 'running', 'stop_requested') OR approved_by IS NOT NULL),
    CHECK ((turn IS NULL) = (epoch IS NULL) AND (turn IS NULL) = (started_at IS NULL)),
    CHECK (state NOT IN ('running', 'stop_requested', 'completed', 'failed', 'unknown') OR turn IS NOT NULL),
    CHECK (state NOT IN ('proposed', 'accepted', 'rejected') OR turn IS NULL),
    CHECK (stop_at IS NOT NULL OR (stop_by IS NULL AND stop_kill = 0)),
    CHECK (state <> 'stop_requested' OR stop_at IS NOT NULL),
    CHECK (state NOT IN ('proposed', 'accepted', 'rejected', 'running') OR stop_at IS NULL),
    CHECK ((state IN ('completed', 'failed', 'stopped', 'unknown')) = (end_json IS NOT NULL)),
    CHECK ((state IN ('completed', 'failed', 'stopped', 'unknown', 'rejected')) = (ended_at IS NOT NULL)),
    CHECK (state <> 'unknown' OR unknown_reason IS NOT NULL),
    CHECK ((state = 'rejected') = (rejected_by IS NOT NULL) AND (state = 'rejected') = (reject_reason IS NOT NULL))
);

CREATE INDEX tasks_of_project ON tasks (project, id);
CREATE INDEX tasks_by_state ON tasks (project, state, id);
CREATE INDEX tasks_accepted ON tasks (session, number) WHERE state = 'accepted';
CREATE UNIQUE INDEX tasks_one_running ON tasks (session) WHERE state IN ('running', 'stop_requested');
CREATE UNIQUE INDEX tasks_one_continuation ON tasks (continues) WHERE state <> 'rejected';
CREATE INDEX tasks_resume_due ON tasks (id) WHERE resume_due = 1;
CREATE INDEX tasks_unknown ON tasks (session, id) WHERE state = 'unknown';
CREATE INDEX tasks_unfinished ON tasks (session) WHERE state IN ('accepted', 'running', 'stop_requested');

CREATE TABLE ledger_events (
    project TEXT COLLATE "C" NOT NULL REFERENCES projects (id),
    seq BIGINT NOT NULL CHECK (seq > 0),
    prev BIGINT CHECK (prev < seq),
    task TEXT COLLATE "C",
    turn TEXT COLLATE "C",
    type TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    data TEXT COLLATE "C" NOT NULL,
    hash BYTEA NOT NULL CHECK (length(hash) = 32),
    PRIMARY KEY (project, seq)
);

CREATE INDEX ledger_events_of_task ON ledger_events (task, seq) WHERE task IS NOT NULL;

CREATE TABLE attention (
    task TEXT COLLATE "C" NOT NULL REFERENCES tasks (id),
    subject TEXT COLLATE "C" NOT NULL,
    project TEXT COLLATE "C" NOT NULL REFERENCES projects (id),
    opened_at BIGINT NOT NULL,
    closed_at BIGINT,
    PRIMARY KEY (task, subject)
);

CREATE INDEX attention_open ON attention (project, task, subject) WHERE closed_at IS NULL;

-- What settled an operation whose outcome was unknown: the first evidence stands, and the journal follows.
-- contradiction: the last evidence that says otherwise; it is open until a person takes note of it.
CREATE TABLE resolutions (
    operation TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    session TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL CHECK (number > 0),
    project TEXT COLLATE "C" NOT NULL,
    task TEXT COLLATE "C" NOT NULL REFERENCES tasks (id),
    verdict TEXT COLLATE "C" NOT NULL CHECK (verdict IN ('succeeded', 'failed', 'abandoned')),
    evidence TEXT COLLATE "C" NOT NULL,
    proof TEXT COLLATE "C",
    permit_repeat BIGINT NOT NULL CHECK (permit_repeat IN (0, 1)),
    repeat_by TEXT COLLATE "C",
    at BIGINT NOT NULL,
    applied_at BIGINT,
    contradictions BIGINT NOT NULL CHECK (contradictions >= 0),
    contradiction TEXT COLLATE "C",
    contradiction_open BIGINT NOT NULL CHECK (contradiction_open IN (0, 1)),
    FOREIGN KEY (project, session) REFERENCES sessions (project, id),
    CHECK (repeat_by IS NULL OR permit_repeat = 1),
    CHECK ((contradictions > 0) = (contradiction IS NOT NULL)),
    CHECK (contradiction_open = 0 OR contradiction IS NOT NULL)
);

CREATE UNIQUE INDEX resolutions_of_task ON resolutions (task, number);
CREATE INDEX resolutions_unapplied ON resolutions (session, number) WHERE applied_at IS NULL;

-- Unknown operations that a recipe can look for. due_at: when the next look is to be taken, if there is one.
CREATE TABLE verifications (
    operation TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    session TEXT COLLATE "C" NOT NULL,
    project TEXT COLLATE "C" NOT NULL,
    task TEXT COLLATE "C" NOT NULL REFERENCES tasks (id),
    tries BIGINT NOT NULL CHECK (tries >= 0),
    due_at BIGINT,
    said TEXT COLLATE "C",
    FOREIGN KEY (project, session) REFERENCES sessions (project, id)
);

CREATE INDEX verifications_due ON verifications (due_at, session) WHERE due_at IS NOT NULL;

CREATE TABLE approval_moves (
    from_state TEXT COLLATE "C" NOT NULL,
    to_state TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (from_state, to_state)
);

INSERT INTO approval_moves (from_state, to_state) VALUES
    ('', 'open'),
    ('open', 'allowed'),
    ('open', 'denied'),
    ('open', 'expired'),
    ('open', 'withdrawn'),
    ('allowed', 'expired'),
    ('allowed', 'withdrawn'),
    ('allowed', 'used');

-- The inbox. A call's approval has its operation's id; connection is none for a tool of the runtime's own.
-- What a person answered (decided_by, ...) outlives its state: it is the receipt.
CREATE TABLE approvals (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    project TEXT COLLATE "C" NOT NULL REFERENCES projects (id),
    task TEXT COLLATE "C" NOT NULL REFERENCES tasks (id),
    turn TEXT COLLATE "C" NOT NULL,
    mode TEXT COLLATE "C" NOT NULL CHECK (mode IN ('once', 'always')),
    connection TEXT COLLATE "C" REFERENCES connections (id),
    connection_name TEXT COLLATE "C" NOT NULL,
    tool TEXT COLLATE "C" NOT NULL,
    class TEXT COLLATE "C" NOT NULL CHECK (class IN ('read', 'idempotent', 'effect')),
    digest TEXT COLLATE "C" NOT NULL,
    shape TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    from_state TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT NOT NULL,
    decided_by TEXT COLLATE "C" REFERENCES accounts (id),
    decided_with TEXT COLLATE "C" REFERENCES tokens (id),
    decided_at BIGINT,
    reason TEXT COLLATE "C",
    used_at BIGINT,
    over_at BIGINT,
    over_why TEXT COLLATE "C",
    FOREIGN KEY (from_state, state) REFERENCES approval_moves (from_state, to_state),
    CHECK ((decided_by IS NULL) = (decided_at IS NULL) AND (decided_by IS NULL) = (decided_with IS NULL)),
    CHECK (state NOT IN ('allowed', 'denied', 'used') OR decided_by IS NOT NULL),
    CHECK (state <> 'open' OR decided_by IS NULL),
    CHECK ((state = 'denied') = (reason IS NOT NULL)),
    CHECK ((state = 'used') = (used_at IS NOT NULL)),
    CHECK ((over_at IS NULL) = (over_why IS NULL) AND (state IN ('expired', 'withdrawn')) = (over_why IS NOT NULL))
);

CREATE INDEX approvals_of_project ON approvals (project, created_at, id);
CREATE INDEX approvals_open ON approvals (project, created_at, id) WHERE state = 'open';
CREATE INDEX approvals_over ON approvals (task, id) WHERE state IN ('expired', 'withdrawn');
CREATE INDEX approvals_waiting ON approvals (task, id) WHERE state IN ('open', 'allowed');

-- Leave for one tool until its task ends, from the answer to the tool's first call.
CREATE TABLE permissions (
    approval TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES approvals (id),
    task TEXT COLLATE "C" NOT NULL REFERENCES tasks (id),
    connection TEXT COLLATE "C" NOT NULL REFERENCES connections (id),
    connection_name TEXT COLLATE "C" NOT NULL,
    tool TEXT COLLATE "C" NOT NULL,
    given_by TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    given_at BIGINT NOT NULL,
    revoked_at BIGINT
);

CREATE INDEX permissions_of_task ON permissions (task, connection, tool);

-- The contents of a project's artifacts, each once. The bytes are sealed under the name `content`: in a file of the
-- home, or in artifact_chunks where the store is shared.
CREATE TABLE artifact_contents (
    project TEXT COLLATE "C" NOT NULL REFERENCES projects (id),
    hash BYTEA NOT NULL CHECK (length(hash) = 32),
    size BIGINT NOT NULL CHECK (size >= 0),
    content TEXT COLLATE "C" NOT NULL UNIQUE,
    touched_at BIGINT NOT NULL,
    PRIMARY KEY (project, hash)
);

CREATE INDEX artifact_contents_by_touch ON artifact_contents (touched_at);

-- held: the content while it is kept; a content is let go when no artifact holds it.
CREATE TABLE artifacts (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    project TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    task TEXT COLLATE "C" NOT NULL REFERENCES tasks (id),
    number BIGINT CHECK (number > 0),
    origin TEXT COLLATE "C" NOT NULL CHECK (origin IN ('result', 'resource', 'workspace')),
    name TEXT COLLATE "C" NOT NULL,
    source TEXT COLLATE "C",
    state TEXT COLLATE "C" NOT NULL CHECK (state IN ('kept', 'not_kept', 'referenced', 'removed')),
    media_type TEXT COLLATE "C",
    size BIGINT CHECK (size >= 0),
    hash BYTEA CHECK (length(hash) = 32),
    held BYTEA,
    redacted BIGINT NOT NULL CHECK (redacted IN (0, 1)),
    reason TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    removed_at BIGINT,
    FOREIGN KEY (project, session) REFERENCES sessions (project, id),
    FOREIGN KEY (project, held) REFERENCES artifact_contents (project, hash),
    CHECK ((state IN ('kept', 'removed')) = (hash IS NOT NULL)),
    CHECK ((state = 'kept') = (held IS NOT NULL)),
    CHECK (held IS NULL OR held = hash),
    CHECK ((state = 'removed') = (removed_at IS NOT NULL)),
    CHECK ((state = 'not_kept') = (reason IS NOT NULL)),
    CHECK (hash IS NULL OR (media_type IS NOT NULL AND size IS NOT NULL))
);

CREATE INDEX artifacts_of_project ON artifacts (project, created_at, id);
CREATE INDEX artifacts_of_task ON artifacts (task, created_at, id);
CREATE INDEX artifacts_of_operation ON artifacts (session, number, id) WHERE number IS NOT NULL;
CREATE INDEX artifacts_holding ON artifacts (project, held) WHERE held IS NOT NULL;

CREATE TABLE artifact_chunks (
    content TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL CHECK (number >= 0),
    sealed BYTEA NOT NULL,
    PRIMARY KEY (content, number)
);

-- Contents in artifact_chunks that no row of artifact_contents names yet.
CREATE TABLE artifact_drafts (
    content TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    begun_at BIGINT NOT NULL
);

CREATE TABLE idempotency (
    account TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
    route TEXT COLLATE "C" NOT NULL,
    request_key TEXT COLLATE "C" NOT NULL,
    body_digest BYTEA NOT NULL CHECK (length(body_digest) = 32),
    claimed_at BIGINT NOT NULL,
    status BIGINT,
    body TEXT COLLATE "C",
    PRIMARY KEY (account, route, request_key),
    CHECK ((status IS NULL) = (body IS NULL))
);

CREATE INDEX idempotency_by_age ON idempotency (claimed_at);

-- A move starts where the row stands: with the table of moves, no other move can be written.
CREATE FUNCTION ledger_move_starts_here() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.from_state <> OLD.state THEN
        RAISE EXCEPTION 'a move must start at the present state' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER sessions_move BEFORE UPDATE OF from_state, state ON sessions
    FOR EACH ROW EXECUTE FUNCTION ledger_move_starts_here();

CREATE TRIGGER tasks_move BEFORE UPDATE OF from_state, state ON tasks
    FOR EACH ROW EXECUTE FUNCTION ledger_move_starts_here();

CREATE TRIGGER approvals_move BEFORE UPDATE OF from_state, state ON approvals
    FOR EACH ROW EXECUTE FUNCTION ledger_move_starts_here();
