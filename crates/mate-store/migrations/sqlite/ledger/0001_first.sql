-- The ledger: what was asked, allowed and decided.

CREATE TABLE meta (
    name TEXT NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (name, value) VALUES ('authorisation_version', 1), ('highest_time', 0);

-- The keys under which something is sealed here: exactly one seals, the others are older. What is sealed refers to its
-- key, so that none goes that is still needed, and nothing is sealed under one that is gone.
CREATE TABLE root_keys (
    id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 4),
    seals INTEGER NOT NULL CHECK (seals IN (0, 1)),
    added_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX root_keys_one_seals ON root_keys (seals) WHERE seals = 1;

-- Keys that seal nothing any more, and never will again.
CREATE TABLE retired_keys (
    id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 4),
    retired_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The home's own secret, from which keys of sessions and of contents are derived. It stays when the key changes.
CREATE TABLE home_secret (
    one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    sealed BLOB NOT NULL,
    sealed_key BLOB GENERATED ALWAYS AS (substr(sealed, 2, 4)) STORED REFERENCES root_keys (id)
) STRICT, WITHOUT ROWID;

CREATE TABLE accounts (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    admin INTEGER NOT NULL CHECK (admin IN (0, 1)),
    disabled_at INTEGER,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- event_seq and event_head number and chain the project's events: each writer compares and sets them.
-- artifact_bytes: what its artifacts hold, each content once; at most artifact_quota.
CREATE TABLE projects (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    workspace TEXT,
    archived_at INTEGER,
    distinct_approver INTEGER NOT NULL CHECK (distinct_approver IN (0, 1)),
    created_at INTEGER NOT NULL,
    artifact_quota INTEGER NOT NULL DEFAULT 1073741824 CHECK (artifact_quota >= 0),
    artifact_bytes INTEGER NOT NULL DEFAULT 0 CHECK (artifact_bytes >= 0),
    event_seq INTEGER NOT NULL CHECK (event_seq >= 0),
    event_head BLOB NOT NULL CHECK (length(event_head) = 32)
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    project TEXT REFERENCES projects (id),
    role TEXT CHECK (role IN ('viewer', 'operator', 'owner')),
    expires_at INTEGER,
    revoked_at INTEGER,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    made_with TEXT REFERENCES tokens (id)
) STRICT, WITHOUT ROWID;

CREATE INDEX tokens_of_account ON tokens (account, id);
CREATE INDEX tokens_made_with ON tokens (made_with) WHERE made_with IS NOT NULL;

-- Browsers that are signed in, each with the token that it signed in with, and links that sign one in once. What the
-- browser holds is kept as a hash.
CREATE TABLE browser_sessions (
    hash BLOB NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    token TEXT NOT NULL REFERENCES tokens (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX browser_sessions_by_end ON browser_sessions (expires_at);

CREATE TABLE browser_links (
    hash BLOB NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
    token TEXT NOT NULL REFERENCES tokens (id),
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX browser_links_by_end ON browser_links (expires_at);

CREATE TABLE members (
    project TEXT NOT NULL REFERENCES projects (id),
    account TEXT NOT NULL REFERENCES accounts (id),
    role TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'owner')),
    added_at INTEGER NOT NULL,
    PRIMARY KEY (project, account)
) STRICT, WITHOUT ROWID;

CREATE INDEX members_of_account ON members (account, project);

CREATE TABLE runtimes (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    registration TEXT NOT NULL,
    quiet_seconds INTEGER CHECK (quiet_seconds > 0),
    deadline_seconds INTEGER CHECK (deadline_seconds >= 0),
    created_at INTEGER NOT NULL,
    removed_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX runtimes_by_name ON runtimes (name) WHERE removed_at IS NULL;

CREATE TABLE connections (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    reach TEXT NOT NULL,
    settings TEXT NOT NULL,
    sealed BLOB,
    sealed_key BLOB GENERATED ALWAYS AS (substr(sealed, 2, 4)) STORED REFERENCES root_keys (id),
    created_at INTEGER NOT NULL,
    removed_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX connections_by_name ON connections (name) WHERE removed_at IS NULL;

-- What a connection's secrets were before, under the same seal: known only to be hidden.
CREATE TABLE former_secrets (
    connection TEXT NOT NULL REFERENCES connections (id),
    number INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    sealed_key BLOB GENERATED ALWAYS AS (substr(sealed, 2, 4)) STORED REFERENCES root_keys (id),
    PRIMARY KEY (connection, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE authorizations (
    connection TEXT NOT NULL PRIMARY KEY REFERENCES connections (id),
    version INTEGER NOT NULL CHECK (version >= 0),
    state TEXT NOT NULL CHECK (state IN ('asked', 'authorized', 'lost')),
    pending BLOB,
    pending_key BLOB GENERATED ALWAYS AS (substr(pending, 2, 4)) STORED REFERENCES root_keys (id),
    sealed BLOB,
    sealed_key BLOB GENERATED ALWAYS AS (substr(sealed, 2, 4)) STORED REFERENCES root_keys (id),
    expires_at INTEGER,
    claimed_until INTEGER,
    why TEXT,
    CHECK (state = 'asked' OR sealed IS NOT NULL)
) STRICT, WITHOUT ROWID;

CREATE TABLE grants (
    id TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL REFERENCES projects (id),
    connection TEXT NOT NULL REFERENCES connections (id),
    tools TEXT NOT NULL,
    effect TEXT CHECK (effect IN ('read', 'idempotent', 'effect')),
    approve TEXT NOT NULL CHECK (approve IN ('never', 'once', 'always')),
    expires_at INTEGER,
    max_calls INTEGER CHECK (max_calls >= 0),
    used_calls INTEGER NOT NULL CHECK (used_calls >= 0),
    created_by TEXT NOT NULL REFERENCES accounts (id),
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    needs_permit INTEGER NOT NULL CHECK (needs_permit IN (0, 1)),
    rate TEXT,
    max_spend INTEGER CHECK (max_spend >= 0),
    used_spend INTEGER NOT NULL CHECK (used_spend >= 0),
    cost INTEGER CHECK (cost >= 0),
    spend_fields TEXT,
    CHECK (max_calls IS NULL OR used_calls <= max_calls),
    CHECK (max_spend IS NULL OR used_spend <= max_spend),
    CHECK ((max_spend IS NULL) = (spend_fields IS NULL)),
    CHECK (max_spend IS NOT NULL OR (cost IS NULL AND used_spend = 0))
) STRICT, WITHOUT ROWID;

CREATE INDEX grants_of_project ON grants (project, id);
CREATE INDEX grants_in_force ON grants (project, id) WHERE revoked_at IS NULL;

-- A tool's definition under a grant, as it was first seen; changed_...: another one that was seen since.
CREATE TABLE grant_pins (
    grant_id TEXT NOT NULL REFERENCES grants (id),
    tool TEXT NOT NULL,
    digest TEXT NOT NULL,
    fields TEXT NOT NULL,
    pinned_at INTEGER NOT NULL,
    changed_digest TEXT,
    changed_fields TEXT,
    changed_at INTEGER,
    PRIMARY KEY (grant_id, tool),
    CHECK ((changed_digest IS NULL) = (changed_fields IS NULL) AND (changed_digest IS NULL) = (changed_at IS NULL)),
    CHECK (changed_digest <> digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE policies (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    created_by TEXT NOT NULL REFERENCES accounts (id),
    created_at INTEGER NOT NULL,
    removed_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX policies_by_name ON policies (name) WHERE removed_at IS NULL;
CREATE INDEX policies_in_force ON policies (id) WHERE removed_at IS NULL;

-- The legal moves of each machine; '' is what was there before the first row.
CREATE TABLE session_moves (
    from_state TEXT NOT NULL,
    to_state TEXT NOT NULL,
    PRIMARY KEY (from_state, to_state)
) STRICT, WITHOUT ROWID;

INSERT INTO session_moves (from_state, to_state) VALUES
    ('', 'idle'),
    ('idle', 'hosted'),
    ('hosted', 'hosted'),
    ('hosted', 'idle'),
    ('idle', 'closed');

CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL REFERENCES projects (id),
    runtime TEXT NOT NULL REFERENCES runtimes (id),
    workspace TEXT NOT NULL,
    from_state TEXT NOT NULL,
    state TEXT NOT NULL,
    epoch INTEGER NOT NULL CHECK (epoch >= 0),
    state_at INTEGER,
    created_at INTEGER NOT NULL,
    containment TEXT,
    close_asked_at INTEGER,
    anchor_seq INTEGER NOT NULL CHECK (anchor_seq >= 0),
    anchor_hash BLOB CHECK (length(anchor_hash) = 32),
    UNIQUE (project, id),
    FOREIGN KEY (from_state, state) REFERENCES session_moves (from_state, to_state),
    CHECK ((state IN ('hosted', 'closed')) = (state_at IS NOT NULL)),
    CHECK (state <> 'hosted' OR epoch > 0),
    CHECK ((anchor_seq > 0) = (anchor_hash IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_hosted ON sessions (id) WHERE state = 'hosted';

CREATE TABLE task_moves (
    from_state TEXT NOT NULL,
    to_state TEXT NOT NULL,
    PRIMARY KEY (from_state, to_state)
) STRICT, WITHOUT ROWID;

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
    id TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    proposer TEXT NOT NULL REFERENCES accounts (id),
    token TEXT NOT NULL REFERENCES tokens (id),
    instructions TEXT NOT NULL,
    policy TEXT NOT NULL,
    number INTEGER NOT NULL CHECK (number > 0),
    continues TEXT REFERENCES tasks (id),
    resumes INTEGER NOT NULL CHECK (resumes >= 0),
    resume_due INTEGER NOT NULL CHECK (resume_due IN (0, 1)),
    created_at INTEGER NOT NULL,
    from_state TEXT NOT NULL,
    state TEXT NOT NULL,
    approved_by TEXT REFERENCES accounts (id),
    approved_at INTEGER,
    turn TEXT,
    epoch INTEGER CHECK (epoch > 0),
    started_at INTEGER,
    stop_by TEXT REFERENCES accounts (id),
    stop_at INTEGER,
    stop_kill INTEGER NOT NULL CHECK (stop_kill IN (0, 1)),
    ended_at INTEGER,
    end_json TEXT,
    unknown_reason TEXT CHECK (unknown_reason IN ('operations', 'own_activity', 'journal_lost')),
    rejected_by TEXT REFERENCES accounts (id),
    reject_reason TEXT,
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
) STRICT, WITHOUT ROWID;

CREATE INDEX tasks_of_project ON tasks (project, id);
CREATE INDEX tasks_by_state ON tasks (project, state, id);
CREATE INDEX tasks_accepted ON tasks (session, number) WHERE state = 'accepted';
CREATE UNIQUE INDEX tasks_one_running ON tasks (session) WHERE state IN ('running', 'stop_requested');
CREATE UNIQUE INDEX tasks_one_continuation ON tasks (continues) WHERE state <> 'rejected';
CREATE INDEX tasks_resume_due ON tasks (id) WHERE resume_due = 1;
CREATE INDEX tasks_unknown ON tasks (session, id) WHERE state = 'unknown';
CREATE INDEX tasks_unfinished ON tasks (session) WHERE state IN ('accepted', 'running', 'stop_requested');

CREATE TABLE ledger_events (
    project TEXT NOT NULL REFERENCES projects (id),
    seq INTEGER NOT NULL CHECK (seq > 0),
    prev INTEGER CHECK (prev < seq),
    task TEXT,
    turn TEXT,
    type TEXT NOT NULL,
    at INTEGER NOT NULL,
    data TEXT NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    PRIMARY KEY (project, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX ledger_events_of_task ON ledger_events (task, seq) WHERE task IS NOT NULL;

CREATE TABLE attention (
    task TEXT NOT NULL REFERENCES tasks (id),
    subject TEXT NOT NULL,
    project TEXT NOT NULL REFERENCES projects (id),
    opened_at INTEGER NOT NULL,
    closed_at INTEGER,
    PRIMARY KEY (task, subject)
) STRICT, WITHOUT ROWID;

CREATE INDEX attention_open ON attention (project, task, subject) WHERE closed_at IS NULL;

-- What settled an operation whose outcome was unknown: the first evidence stands, and the journal follows.
-- contradiction: the last evidence that says otherwise; it is open until a person takes note of it.
CREATE TABLE resolutions (
    operation TEXT NOT NULL PRIMARY KEY,
    session TEXT NOT NULL,
    number INTEGER NOT NULL CHECK (number > 0),
    project TEXT NOT NULL,
    task TEXT NOT NULL REFERENCES tasks (id),
    verdict TEXT NOT NULL CHECK (verdict IN ('succeeded', 'failed', 'abandoned')),
    evidence TEXT NOT NULL,
    proof TEXT,
    permit_repeat INTEGER NOT NULL CHECK (permit_repeat IN (0, 1)),
    repeat_by TEXT,
    at INTEGER NOT NULL,
    applied_at INTEGER,
    contradictions INTEGER NOT NULL CHECK (contradictions >= 0),
    contradiction TEXT,
    contradiction_open INTEGER NOT NULL CHECK (contradiction_open IN (0, 1)),
    FOREIGN KEY (project, session) REFERENCES sessions (project, id),
    CHECK (repeat_by IS NULL OR permit_repeat = 1),
    CHECK ((contradictions > 0) = (contradiction IS NOT NULL)),
    CHECK (contradiction_open = 0 OR contradiction IS NOT NULL)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX resolutions_of_task ON resolutions (task, number);
CREATE INDEX resolutions_unapplied ON resolutions (session, number) WHERE applied_at IS NULL;

-- Unknown operations that a recipe can look for. due_at: when the next look is to be taken, if there is one.
CREATE TABLE verifications (
    operation TEXT NOT NULL PRIMARY KEY,
    session TEXT NOT NULL,
    project TEXT NOT NULL,
    task TEXT NOT NULL REFERENCES tasks (id),
    tries INTEGER NOT NULL CHECK (tries >= 0),
    due_at INTEGER,
    said TEXT,
    FOREIGN KEY (project, session) REFERENCES sessions (project, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX verifications_due ON verifications (due_at, session) WHERE due_at IS NOT NULL;

CREATE TABLE approval_moves (
    from_state TEXT NOT NULL,
    to_state TEXT NOT NULL,
    PRIMARY KEY (from_state, to_state)
) STRICT, WITHOUT ROWID;

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
    id TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL REFERENCES projects (id),
    task TEXT NOT NULL REFERENCES tasks (id),
    turn TEXT NOT NULL,
    mode TEXT NOT NULL CHECK (mode IN ('once', 'always')),
    connection TEXT REFERENCES connections (id),
    connection_name TEXT NOT NULL,
    tool TEXT NOT NULL,
    class TEXT NOT NULL CHECK (class IN ('read', 'idempotent', 'effect')),
    digest TEXT NOT NULL,
    shape TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    from_state TEXT NOT NULL,
    state TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    decided_by TEXT REFERENCES accounts (id),
    decided_with TEXT REFERENCES tokens (id),
    decided_at INTEGER,
    reason TEXT,
    used_at INTEGER,
    over_at INTEGER,
    over_why TEXT,
    FOREIGN KEY (from_state, state) REFERENCES approval_moves (from_state, to_state),
    CHECK ((decided_by IS NULL) = (decided_at IS NULL) AND (decided_by IS NULL) = (decided_with IS NULL)),
    CHECK (state NOT IN ('allowed', 'denied', 'used') OR decided_by IS NOT NULL),
    CHECK (state <> 'open' OR decided_by IS NULL),
    CHECK ((state = 'denied') = (reason IS NOT NULL)),
    CHECK ((state = 'used') = (used_at IS NOT NULL)),
    CHECK ((over_at IS NULL) = (over_why IS NULL) AND (state IN ('expired', 'withdrawn')) = (over_why IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX approvals_of_project ON approvals (project, created_at, id);
CREATE INDEX approvals_open ON approvals (project, created_at, id) WHERE state = 'open';
CREATE INDEX approvals_over ON approvals (task, id) WHERE state IN ('expired', 'withdrawn');
CREATE INDEX approvals_waiting ON approvals (task, id) WHERE state IN ('open', 'allowed');

-- Leave for one tool until its task ends, from the answer to the tool's first call.
CREATE TABLE permissions (
    approval TEXT NOT NULL PRIMARY KEY REFERENCES approvals (id),
    task TEXT NOT NULL REFERENCES tasks (id),
    connection TEXT NOT NULL REFERENCES connections (id),
    connection_name TEXT NOT NULL,
    tool TEXT NOT NULL,
    given_by TEXT NOT NULL REFERENCES accounts (id),
    given_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX permissions_of_task ON permissions (task, connection, tool);

-- The contents of a project's artifacts, each once. The bytes are sealed under the name `content`: in a file of the
-- home, or in artifact_chunks where the store is shared.
CREATE TABLE artifact_contents (
    project TEXT NOT NULL REFERENCES projects (id),
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    size INTEGER NOT NULL CHECK (size >= 0),
    content TEXT NOT NULL UNIQUE,
    touched_at INTEGER NOT NULL,
    PRIMARY KEY (project, hash)
) STRICT, WITHOUT ROWID;

CREATE INDEX artifact_contents_by_touch ON artifact_contents (touched_at);

-- held: the content while it is kept; a content is let go when no artifact holds it.
CREATE TABLE artifacts (
    id TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    task TEXT NOT NULL REFERENCES tasks (id),
    number INTEGER CHECK (number > 0),
    origin TEXT NOT NULL CHECK (origin IN ('result', 'resource', 'workspace')),
    name TEXT NOT NULL,
    source TEXT,
    state TEXT NOT NULL CHECK (state IN ('kept', 'not_kept', 'referenced', 'removed')),
    media_type TEXT,
    size INTEGER CHECK (size >= 0),
    hash BLOB CHECK (length(hash) = 32),
    held BLOB,
    redacted INTEGER NOT NULL CHECK (redacted IN (0, 1)),
    reason TEXT,
    created_at INTEGER NOT NULL,
    removed_at INTEGER,
    FOREIGN KEY (project, session) REFERENCES sessions (project, id),
    FOREIGN KEY (project, held) REFERENCES artifact_contents (project, hash),
    CHECK ((state IN ('kept', 'removed')) = (hash IS NOT NULL)),
    CHECK ((state = 'kept') = (held IS NOT NULL)),
    CHECK (held IS NULL OR held = hash),
    CHECK ((state = 'removed') = (removed_at IS NOT NULL)),
    CHECK ((state = 'not_kept') = (reason IS NOT NULL)),
    CHECK (hash IS NULL OR (media_type IS NOT NULL AND size IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX artifacts_of_project ON artifacts (project, created_at, id);
CREATE INDEX artifacts_of_task ON artifacts (task, created_at, id);
CREATE INDEX artifacts_of_operation ON artifacts (session, number, id) WHERE number IS NOT NULL;
CREATE INDEX artifacts_holding ON artifacts (project, held) WHERE held IS NOT NULL;

CREATE TABLE artifact_chunks (
    content TEXT NOT NULL,
    number INTEGER NOT NULL CHECK (number >= 0),
    sealed BLOB NOT NULL,
    PRIMARY KEY (content, number)
) STRICT, WITHOUT ROWID;

-- Contents in artifact_chunks that no row of artifact_contents names yet.
CREATE TABLE artifact_drafts (
    content TEXT NOT NULL PRIMARY KEY,
    begun_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency (
    account TEXT NOT NULL REFERENCES accounts (id),
    route TEXT NOT NULL,
    request_key TEXT NOT NULL,
    body_digest BLOB NOT NULL CHECK (length(body_digest) = 32),
    claimed_at INTEGER NOT NULL,
    status INTEGER,
    body TEXT,
    PRIMARY KEY (account, route, request_key),
    CHECK ((status IS NULL) = (body IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_by_age ON idempotency (claimed_at);

-- A move starts where the row stands: with the table of moves, no other move can be written.

CREATE TRIGGER sessions_move BEFORE UPDATE OF from_state, state ON sessions WHEN NEW.from_state <> OLD.state
BEGIN
    SELECT RAISE(ABORT, 'a move must start at the present state');
END;

CREATE TRIGGER tasks_move BEFORE UPDATE OF from_state, state ON tasks WHEN NEW.from_state <> OLD.state
BEGIN
    SELECT RAISE(ABORT, 'a move must start at the present state');
END;

CREATE TRIGGER approvals_move BEFORE UPDATE OF from_state, state ON approvals WHEN NEW.from_state <> OLD.state
BEGIN
    SELECT RAISE(ABORT, 'a move must start at the present state');
END;
