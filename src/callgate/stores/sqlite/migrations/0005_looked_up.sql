-- People look calls up by these fields, and count them by when they were asked: by an index, however long the record is.
-- Entries are put when somebody looks, so that no call pays for it.

ALTER TABLE projections ADD COLUMN tool TEXT;
ALTER TABLE projections ADD COLUMN status TEXT;
ALTER TABLE projections ADD COLUMN principal TEXT;
ALTER TABLE projections ADD COLUMN session TEXT;
ALTER TABLE projections ADD COLUMN trace TEXT;
ALTER TABLE projections ADD COLUMN approval_id TEXT;
ALTER TABLE projections ADD COLUMN asked_at REAL;
ALTER TABLE projections ADD COLUMN duration_ms REAL;

UPDATE projections SET
    tool = json_extract(body, '$.tool'),
    status = json_extract(body, '$.status'),
    principal = json_extract(body, '$.principal'),
    session = json_extract(body, '$.session'),
    trace = json_extract(body, '$.trace'),
    approval_id = json_extract(body, '$.approval_id'),
    asked_at = json_extract(body, '$.asked_at'),
    duration_ms = json_extract(body, '$.duration_ms')
WHERE json_valid(body);

CREATE INDEX projections_by_tool ON projections (name, tool, key) WHERE tool IS NOT NULL;
CREATE INDEX projections_by_status ON projections (name, status, key) WHERE status IS NOT NULL;
CREATE INDEX projections_by_principal ON projections (name, principal, key) WHERE principal IS NOT NULL;
CREATE INDEX projections_by_session ON projections (name, session, key) WHERE session IS NOT NULL;
CREATE INDEX projections_by_trace ON projections (name, trace, key) WHERE trace IS NOT NULL;
CREATE INDEX projections_by_approval_id ON projections (name, approval_id, key) WHERE approval_id IS NOT NULL;
-- Has all that figures are made of, so that the entries themselves are not read for them.
CREATE INDEX projections_by_time ON projections (name, asked_at, status, tool, duration_ms) WHERE asked_at IS NOT NULL;

-- An agent is shown its own questions, whatever the number of those of others.
CREATE INDEX approvals_of_asker ON approvals (principal, session, state);
