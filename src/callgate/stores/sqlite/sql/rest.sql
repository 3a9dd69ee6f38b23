-- name: meta
SELECT value FROM meta WHERE name = ?

-- name: put_meta
INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- name: sealed
SELECT blob FROM sealed WHERE id = ?

-- name: put_sealed
INSERT INTO sealed (id, blob, keep_until) VALUES (?, ?, ?)
ON CONFLICT (id) DO UPDATE SET blob = excluded.blob, keep_until = excluded.keep_until

-- name: drop_sealed
DELETE FROM sealed WHERE keep_until < ?

-- name: checkpoints
SELECT id, time, stream, heads, key_id, signature FROM checkpoints ORDER BY number

-- name: put_checkpoint
INSERT INTO checkpoints (id, time, stream, heads, key_id, signature) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET time = excluded.time, stream = excluded.stream, heads = excluded.heads,
    key_id = excluded.key_id, signature = excluded.signature

-- name: reading
SELECT digest, at FROM readings WHERE user = ? AND project = ? AND path = ?

-- name: put_reading
INSERT OR REPLACE INTO readings (user, project, path, digest, at) VALUES (?, ?, ?, ?, ?)

-- name: drop_readings
DELETE FROM readings WHERE number <= (SELECT number FROM readings ORDER BY number DESC LIMIT 1 OFFSET ?)

-- name: projection
SELECT body FROM projections WHERE name = ? AND key = ?

-- name: projections
SELECT body FROM projections /* by */ WHERE name = ? AND key < ? /* equal */ ORDER BY key LIMIT ? OFFSET ?

-- name: projections_since
SELECT body FROM projections WHERE name = ? AND asked_at >= ? AND asked_at < ?
ORDER BY asked_at DESC, key DESC LIMIT ?

-- name: counts
SELECT CAST(asked_at / ? AS INTEGER) AS stretch, status, tool, count(*), count(duration_ms), total(duration_ms)
FROM projections WHERE name = ? AND asked_at >= ? GROUP BY stretch, status, tool

-- name: durations
SELECT count(*) FROM projections
WHERE name = ? AND asked_at >= ? AND status IN (SELECT value FROM json_each(?)) AND duration_ms IS NOT NULL

-- name: middle_duration
SELECT duration_ms FROM projections
WHERE name = ? AND asked_at >= ? AND status IN (SELECT value FROM json_each(?)) AND duration_ms IS NOT NULL
ORDER BY duration_ms LIMIT 1 OFFSET ?

-- name: put_projection
INSERT INTO projections (name, key, body, tool, status, principal, session, trace, approval_id, asked_at, duration_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (name, key) DO UPDATE SET body = excluded.body, tool = excluded.tool, status = excluded.status,
    principal = excluded.principal, session = excluded.session, trace = excluded.trace,
    approval_id = excluded.approval_id, asked_at = excluded.asked_at, duration_ms = excluded.duration_ms

-- name: clear_projection
DELETE FROM projections WHERE name = ?

-- name: document
SELECT body FROM documents WHERE area = ? AND key = ?

-- name: documents
SELECT key, body FROM documents WHERE area = ? AND key >= ? AND key < ? ORDER BY key LIMIT ?

-- name: documents_newest
SELECT key, body FROM documents WHERE area = ? AND key >= ? AND key < ? ORDER BY key DESC LIMIT ?

-- name: put_document
INSERT INTO documents (area, key, body) VALUES (?, ?, ?) ON CONFLICT (area, key) DO UPDATE SET body = excluded.body

-- name: drop_document
DELETE FROM documents WHERE area = ? AND key = ?
