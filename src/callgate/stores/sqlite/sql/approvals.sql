-- name: by_id
SELECT body FROM approvals WHERE id = ?

-- name: latest
SELECT body FROM approvals
WHERE asked_fingerprint = ?1 AND session = ?2 AND principal = ?3 AND tool = ?4 AND (?5 IS NULL OR key = ?5)
ORDER BY number DESC LIMIT 1

-- name: all
SELECT body FROM approvals WHERE ?1 IS NULL OR session = ?1 ORDER BY number LIMIT ?2

-- name: in_states
SELECT body FROM approvals
WHERE state IN (SELECT value FROM json_each(?1)) AND (?2 IS NULL OR session = ?2)
ORDER BY number LIMIT ?3

-- name: pending
SELECT count(*) FROM approvals WHERE state = 'pending' AND session = ? AND principal = ?

-- name: put
INSERT INTO approvals (id, state, principal, session, tool, asked_fingerprint, key, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET state = excluded.state, principal = excluded.principal, session = excluded.session,
    tool = excluded.tool, asked_fingerprint = excluded.asked_fingerprint, key = excluded.key, body = excluded.body

-- name: grant
SELECT body FROM grants WHERE id = ?

-- name: grants
SELECT body FROM grants WHERE revoked = 0 AND (?1 IS NULL OR principal = ?1) ORDER BY number

-- name: grants_for
SELECT body FROM grants WHERE revoked = 0 AND tool = ?2 AND (?1 IS NULL OR principal = ?1) ORDER BY number

-- name: put_grant
INSERT INTO grants (id, principal, tool, revoked, body) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET principal = excluded.principal, tool = excluded.tool, revoked = excluded.revoked,
    body = excluded.body
