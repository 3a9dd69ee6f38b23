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
SELECT body FROM projections WHERE name = ? AND key < ? ORDER BY key LIMIT ?

-- name: projections_newest
SELECT body FROM projections WHERE name = ? AND key < ? ORDER BY key DESC LIMIT ?

-- name: put_projection
INSERT INTO projections (name, key, body) VALUES (?, ?, ?) ON CONFLICT (name, key) DO UPDATE SET body = excluded.body

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
