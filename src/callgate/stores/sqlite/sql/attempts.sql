-- name: by_key
SELECT * FROM attempts WHERE principal = ? AND session = ? AND key = ?

-- name: by_call
SELECT * FROM attempts WHERE call_id = ? ORDER BY id DESC LIMIT 1

-- name: unknown
SELECT * FROM attempts WHERE state = 'unknown' AND fingerprint = ? AND session = ? AND principal = ?
ORDER BY id LIMIT 1

-- name: unknown_edited
SELECT * FROM attempts
WHERE state = 'unknown' AND final_fingerprint <> fingerprint AND final_fingerprint = ? AND session = ? AND principal = ?
ORDER BY id LIMIT 1

-- name: any_unknown
SELECT EXISTS (SELECT 1 FROM attempts WHERE state = 'unknown')

-- name: stretch_from
SELECT CAST(ended_at / 600 AS INTEGER) FROM attempts
WHERE state = 'succeeded' AND CAST(ended_at / 600 AS INTEGER) >= ?
ORDER BY CAST(ended_at / 600 AS INTEGER) LIMIT 1

-- name: succeeded_in
-- The plus keeps SQLite from putting ?2 in the place of the column, and then finding no index for it.
SELECT EXISTS (
    SELECT 1 FROM attempts
    WHERE state = 'succeeded' AND CAST(ended_at / 600 AS INTEGER) = ?1
        AND substr(fingerprint, 1, 16) = substr(?2, 1, 16) AND session = ?3 AND ended_at >= ?5
        AND +fingerprint = ?2 AND principal = ?4
) OR EXISTS (
    SELECT 1 FROM attempts
    WHERE state = 'succeeded' AND final_fingerprint <> fingerprint AND CAST(ended_at / 600 AS INTEGER) = ?1
        AND substr(final_fingerprint, 1, 16) = substr(?2, 1, 16) AND session = ?3 AND ended_at >= ?5
        AND +final_fingerprint = ?2 AND principal = ?4
)

-- name: first_page
SELECT * FROM attempts ORDER BY principal, session, key LIMIT ?

-- name: page_after
SELECT * FROM attempts WHERE (principal, session, key) > (?, ?, ?) ORDER BY principal, session, key LIMIT ?

-- name: all
SELECT * FROM attempts ORDER BY id LIMIT ?

-- name: all_of_owner
SELECT * FROM attempts WHERE owner = ? ORDER BY id LIMIT ?

-- name: in_state
SELECT * FROM attempts WHERE state = ? ORDER BY id LIMIT ?

-- name: in_state_of_owner
SELECT * FROM attempts WHERE state = ? AND owner = ? ORDER BY id LIMIT ?

-- name: started
SELECT * FROM attempts INDEXED BY attempts_started WHERE state = 'started' ORDER BY id LIMIT ?

-- name: started_of_owner
SELECT * FROM attempts INDEXED BY attempts_started WHERE state = 'started' AND owner = ? ORDER BY id LIMIT ?

-- name: unknowns
SELECT * FROM attempts INDEXED BY attempts_unknown WHERE state = 'unknown' ORDER BY id LIMIT ?

-- name: last_id
SELECT coalesce(max(id), 0) FROM attempts

-- name: insert
INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: progress
UPDATE attempts
SET state = ?, happened = ?, owner = ?, fence = ?, tries = ?, ended_at = ?, deadline = ?, outcome = ?, cause = ?,
    resolved_by = ?
WHERE id = ?

-- name: replace
UPDATE attempts
SET (principal, session, key, call_id, trace_id, tool, definition_hash, fingerprint, final_fingerprint, state, happened,
    owner, fence, tries, idempotent, has_verify, horizon, started_at, ended_at, deadline, outcome, approval_id, sealed_id,
    cause, resolved_by)
    = (?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26)
WHERE id = ?1
