-- name: by_key
SELECT * FROM attempts WHERE principal = ? AND session = ? AND key = ?

-- name: holder
SELECT fence, owner, call_id FROM attempts WHERE principal = ? AND session = ? AND key = ?

-- name: by_call
SELECT * FROM attempts WHERE call_id = ? ORDER BY id DESC LIMIT 1

-- name: unresolved
-- Said in the words of the index, here and below: SQLite takes it for no others.
SELECT * FROM attempts
WHERE (state = 'unknown' OR (state = 'started' AND happened = 'possible'))
    AND fingerprint = ? AND session = ? AND principal = ?
ORDER BY id LIMIT 1

-- name: unresolved_edited
SELECT * FROM attempts
WHERE (state = 'unknown' OR (state = 'started' AND happened = 'possible'))
    AND final_fingerprint <> fingerprint AND final_fingerprint = ? AND session = ? AND principal = ?
ORDER BY id LIMIT 1

-- name: any_unresolved
SELECT EXISTS (
    SELECT 1 FROM attempts INDEXED BY attempts_unresolved
    WHERE (state = 'unknown' OR (state = 'started' AND happened = 'possible'))
)

-- name: succeeded_since
-- The plus keeps SQLite from putting the value in the place of the column, and then finding no index for it.
SELECT EXISTS (
    SELECT 1 FROM stretches CROSS JOIN attempts
    WHERE stretches.latest >= ? AND attempts.stretch = stretches.number AND attempts.state = 'succeeded'
        AND substr(attempts.fingerprint, 1, 16) = ? AND attempts.session = ? AND attempts.ended_at >= ?
        AND attempts.principal = ? AND +attempts.fingerprint = ?
)

-- name: edited_succeeded_since
SELECT EXISTS (
    SELECT 1 FROM stretches CROSS JOIN attempts
    WHERE stretches.latest >= ? AND attempts.stretch = stretches.number AND attempts.state = 'succeeded'
        AND attempts.final_fingerprint <> attempts.fingerprint
        AND substr(attempts.final_fingerprint, 1, 16) = ? AND attempts.session = ? AND attempts.ended_at >= ?
        AND attempts.principal = ? AND +attempts.final_fingerprint = ?
)

-- name: past
-- By principal, session, key, fingerprint, its beginning and a time: which of the questions above have an answer, as
-- 1 for the row of the key, 2 for an unresolved one, 4 for a success.
SELECT EXISTS (SELECT 1 FROM attempts WHERE principal = ?1 AND session = ?2 AND key = ?3)
    + 2 * (EXISTS (SELECT 1 FROM attempts
        WHERE (state = 'unknown' OR (state = 'started' AND happened = 'possible'))
            AND fingerprint = ?4 AND session = ?2 AND principal = ?1)
    OR EXISTS (SELECT 1 FROM attempts
        WHERE (state = 'unknown' OR (state = 'started' AND happened = 'possible'))
            AND final_fingerprint <> fingerprint AND final_fingerprint = ?4 AND session = ?2 AND principal = ?1))
    + 4 * (EXISTS (SELECT 1 FROM stretches CROSS JOIN attempts
        WHERE stretches.latest >= ?6 AND attempts.stretch = stretches.number AND attempts.state = 'succeeded'
            AND substr(attempts.fingerprint, 1, 16) = ?5 AND attempts.session = ?2 AND attempts.ended_at >= ?6
            AND attempts.principal = ?1 AND +attempts.fingerprint = ?4)
    OR EXISTS (SELECT 1 FROM stretches CROSS JOIN attempts
        WHERE stretches.latest >= ?6 AND attempts.stretch = stretches.number AND attempts.state = 'succeeded'
            AND attempts.final_fingerprint <> attempts.fingerprint
            AND substr(attempts.final_fingerprint, 1, 16) = ?5 AND attempts.session = ?2 AND attempts.ended_at >= ?6
            AND attempts.principal = ?1 AND +attempts.final_fingerprint = ?4))

-- name: last_stretch
SELECT number, entries FROM stretches ORDER BY number DESC LIMIT 1

-- name: put_stretch
INSERT INTO stretches (number, entries, latest) VALUES (?, ?, ?)
ON CONFLICT (number) DO UPDATE SET entries = excluded.entries, latest = max(latest, excluded.latest)

-- name: first_page
SELECT * FROM attempts ORDER BY principal, session, key LIMIT ?

-- name: page_after
SELECT * FROM attempts WHERE (principal, session, key) > (?, ?, ?) ORDER BY principal, session, key LIMIT ?

-- name: all
SELECT * FROM attempts WHERE 1 /* behind */ ORDER BY id LIMIT ?

-- name: all_of_owner
SELECT * FROM attempts WHERE owner = ? /* behind */ ORDER BY id LIMIT ?

-- name: in_state
SELECT * FROM attempts WHERE state = ? /* behind */ ORDER BY id LIMIT ?

-- name: in_state_of_owner
SELECT * FROM attempts WHERE state = ? AND owner = ? /* behind */ ORDER BY id LIMIT ?

-- name: started
SELECT * FROM attempts INDEXED BY attempts_started WHERE state = 'started' /* behind */ ORDER BY id LIMIT ?

-- name: started_of_owner
SELECT * FROM attempts INDEXED BY attempts_started WHERE state = 'started' AND owner = ? /* behind */ ORDER BY id LIMIT ?

-- name: unended
SELECT * FROM attempts INDEXED BY attempts_unended WHERE ended_at IS NULL AND state <> 'started'

-- name: unended_of_owner
SELECT * FROM attempts INDEXED BY attempts_unended WHERE ended_at IS NULL AND state <> 'started' AND owner = ?

-- name: unknowns
SELECT * FROM attempts INDEXED BY attempts_unresolved
WHERE (state = 'unknown' OR (state = 'started' AND happened = 'possible'))
    AND state = 'unknown' /* behind */ ORDER BY id LIMIT ?

-- name: possibles
SELECT * FROM attempts INDEXED BY attempts_possible WHERE state = 'failed' AND happened = 'possible' /* behind */ ORDER BY id LIMIT ?

-- name: open
SELECT (SELECT count(*) FROM attempts INDEXED BY attempts_unresolved
        WHERE (state = 'unknown' OR (state = 'started' AND happened = 'possible'))
            AND state = 'unknown')
    + (SELECT count(*) FROM attempts INDEXED BY attempts_possible WHERE state = 'failed' AND happened = 'possible')

-- name: last_id
SELECT coalesce(max(id), 0) FROM attempts

-- name: insert
INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: claim
-- As insert, of a row in which nothing else is set.
INSERT INTO attempts (
    id, principal, session, key, call_id, trace_id, tool, definition_hash, fingerprint, final_fingerprint, state, owner,
    fence, tries, idempotent, has_verify, horizon, started_at, sealed_id
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'started', ?, ?, ?, ?, ?, ?, ?, ?)

-- name: success
-- As progress, to a row in which nothing else is set.
UPDATE attempts
SET state = 'succeeded', happened = NULL, owner = ?, fence = ?, tries = ?, ended_at = ?, deadline = NULL, outcome = ?,
    cause = NULL, resolved_by = NULL, stretch = ?
WHERE id = ?

-- name: progress
UPDATE attempts
SET state = ?, happened = ?, owner = ?, fence = ?, tries = ?, ended_at = ?, deadline = ?, outcome = ?, cause = ?,
    resolved_by = ?, stretch = ?
WHERE id = ?

-- name: replace
UPDATE attempts
SET (principal, session, key, call_id, trace_id, tool, definition_hash, fingerprint, final_fingerprint, state, happened,
    owner, fence, tries, idempotent, has_verify, horizon, started_at, ended_at, deadline, outcome, approval_id, sealed_id,
    cause, resolved_by, stretch)
    = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
WHERE id = ?
