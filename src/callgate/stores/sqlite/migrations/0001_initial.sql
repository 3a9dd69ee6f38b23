-- Hot tables are rowid tables whose rows and indexes grow at their ends, so that a commit touches few pages however
-- many calls are recorded.

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    stream TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    type TEXT NOT NULL,
    time REAL NOT NULL,
    trace TEXT NOT NULL,
    call TEXT,
    producer TEXT NOT NULL,
    severity TEXT NOT NULL,
    causes TEXT, -- a JSON list, NULL when there are none
    payload_digest TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL,
    payload TEXT, -- canonical JSON, NULL once erased
    salt BLOB,
    UNIQUE (stream, sequence)
);
CREATE INDEX events_of_trace ON events (trace);
CREATE INDEX events_of_call ON events (call) WHERE call IS NOT NULL;

CREATE TRIGGER events_stay BEFORE DELETE ON events
BEGIN
    SELECT RAISE(ABORT, 'events are never deleted');
END;

CREATE TRIGGER events_stand BEFORE UPDATE OF
    position, id, stream, sequence, type, time, trace, call, producer, severity, causes, payload_digest, previous, hash
ON events
BEGIN
    SELECT RAISE(ABORT, 'events are never changed');
END;

CREATE TRIGGER events_forget BEFORE UPDATE OF payload, salt ON events
WHEN NEW.payload IS NOT NULL OR NEW.salt IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'the payload of an event can be erased, not changed');
END;

-- Which end of a stream a later one has cited; once its process is gone and its end is cited, nobody looks again.
CREATE TABLE streams (
    stream TEXT PRIMARY KEY,
    cited INTEGER NOT NULL DEFAULT -1,
    ended INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX streams_in_use ON streams (stream) WHERE ended = 0;

CREATE TABLE attempts (
    id INTEGER PRIMARY KEY,
    principal TEXT NOT NULL,
    session TEXT NOT NULL,
    key TEXT NOT NULL,
    call_id TEXT NOT NULL,
    trace_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    definition_hash TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    final_fingerprint TEXT NOT NULL,
    state TEXT NOT NULL,
    happened TEXT,
    owner TEXT NOT NULL,
    fence INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    idempotent INTEGER NOT NULL,
    has_verify INTEGER NOT NULL,
    horizon REAL NOT NULL,
    started_at REAL NOT NULL,
    ended_at REAL,
    deadline REAL,
    outcome TEXT, -- JSON
    approval_id TEXT,
    sealed_id TEXT,
    cause TEXT,
    resolved_by TEXT,
    stretch INTEGER, -- of a success; see attempts_succeeded
    UNIQUE (principal, session, key)
);
CREATE INDEX attempts_of_call ON attempts (call_id);
CREATE INDEX attempts_started ON attempts (id) WHERE state = 'started';
CREATE INDEX attempts_unknown ON attempts (fingerprint, session, principal) WHERE state = 'unknown';
CREATE INDEX attempts_unknown_edited ON attempts (final_fingerprint, session, principal)
    WHERE state = 'unknown' AND final_fingerprint <> fingerprint;
-- By stretches of a few thousand successes: fingerprints are random, and entries of one stretch lie together on few
-- pages, so that a commit does not write pages all over the file. Which stretches are recent is a table of its own.
CREATE INDEX attempts_succeeded ON attempts (stretch, substr(fingerprint, 1, 16), session, ended_at)
    WHERE state = 'succeeded';
CREATE INDEX attempts_succeeded_edited ON attempts (stretch, substr(final_fingerprint, 1, 16), session, ended_at)
    WHERE state = 'succeeded' AND final_fingerprint <> fingerprint;

CREATE TABLE stretches (
    number INTEGER PRIMARY KEY,
    entries INTEGER NOT NULL,
    latest REAL NOT NULL -- when the latest of its successes ended
);
CREATE INDEX stretches_by_end ON stretches (latest);

CREATE TABLE sealed (
    id TEXT PRIMARY KEY,
    blob BLOB NOT NULL,
    keep_until REAL
);
CREATE INDEX sealed_by_end ON sealed (keep_until) WHERE keep_until IS NOT NULL;

CREATE TABLE approvals (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    principal TEXT NOT NULL,
    session TEXT NOT NULL,
    tool TEXT NOT NULL,
    asked_fingerprint TEXT NOT NULL,
    key TEXT NOT NULL,
    body TEXT NOT NULL -- every field, as JSON
);
CREATE INDEX approvals_of_call ON approvals (asked_fingerprint, session, principal, tool);
CREATE INDEX approvals_by_state ON approvals (state, session, principal);

CREATE TABLE grants (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    principal TEXT NOT NULL,
    tool TEXT NOT NULL,
    revoked INTEGER NOT NULL,
    body TEXT NOT NULL -- every field, as JSON
);
CREATE INDEX grants_in_force ON grants (tool, principal) WHERE revoked = 0;

CREATE TABLE checkpoints (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    time REAL NOT NULL,
    stream TEXT NOT NULL,
    heads TEXT NOT NULL, -- JSON: stream to sequence and hash
    key_id TEXT NOT NULL,
    signature BLOB NOT NULL
);

CREATE TABLE readings (
    number INTEGER PRIMARY KEY, -- renewed with every reading, so that the smallest is the oldest
    user TEXT NOT NULL,
    project TEXT NOT NULL,
    path TEXT NOT NULL,
    digest TEXT NOT NULL,
    at REAL NOT NULL,
    UNIQUE (user, project, path)
);

CREATE TABLE projections (
    name TEXT NOT NULL,
    key TEXT NOT NULL,
    body TEXT NOT NULL, -- JSON
    PRIMARY KEY (name, key)
) WITHOUT ROWID;
