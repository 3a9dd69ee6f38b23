-- name: by_id
-- With all that a row is found by, here and below: only what its body says is under the seal.
SELECT body, id, state, principal, session, tool, asked_fingerprint, key, plan_id, plan_digest
FROM approvals WHERE id = ?

-- name: latest
SELECT body, id, state, principal, session, tool, asked_fingerprint, key, plan_id, plan_digest
FROM approvals
WHERE asked_fingerprint = ? AND session = ? AND principal = ? AND tool = ? AND coalesce(?, key) = key
    AND (plan_id IS NULL OR key = ?)
ORDER BY number DESC LIMIT 1

-- name: of_plan
SELECT body, id, state, principal, session, tool, asked_fingerprint, key, plan_id, plan_digest
FROM approvals WHERE plan_id = ? ORDER BY number

-- name: latest_plan
SELECT plan_id FROM approvals WHERE plan_digest = ? AND session = ? AND principal = ? ORDER BY number DESC LIMIT 1

-- name: listed
-- Those that are meant are found in the indexes; what they say is read of no others.
SELECT body, id, state, principal, session, tool, asked_fingerprint, key, plan_id, plan_digest
FROM approvals
WHERE number IN (SELECT number FROM approvals WHERE /* meant */ ORDER BY number LIMIT ?) ORDER BY number LIMIT -1

-- name: pending
SELECT count(DISTINCT coalesce(plan_id, id)) FROM approvals WHERE state = 'pending' AND session = ? AND principal = ?

-- name: pending_by
SELECT count(DISTINCT coalesce(plan_id, id)) FROM approvals
WHERE state = 'pending' AND session = ? AND principal = ?
    AND CASE WHEN json_valid(body) THEN json_extract(body, '$.expires_at') > ? ELSE 1 END

-- name: all_pending_by
SELECT count(DISTINCT coalesce(plan_id, id)) FROM approvals
WHERE state = 'pending' AND CASE WHEN json_valid(body) THEN json_extract(body, '$.expires_at') > ? ELSE 1 END

-- name: put
INSERT INTO approvals (id, state, principal, session, tool, asked_fingerprint, key, plan_id, plan_digest, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET state = excluded.state, principal = excluded.principal, session = excluded.session,
    tool = excluded.tool, asked_fingerprint = excluded.asked_fingerprint, key = excluded.key,
    plan_id = excluded.plan_id, plan_digest = excluded.plan_digest, body = excluded.body

-- name: grant
SELECT body, id, principal, tool, revoked FROM grants WHERE id = ?

-- name: grants
SELECT body, id, principal, tool, revoked FROM grants WHERE revoked = 0 AND coalesce(?, principal) = principal ORDER BY number

-- name: grants_for
SELECT body, id, principal, tool, revoked FROM grants WHERE revoked = 0 AND coalesce(?, principal) = principal AND tool = ? ORDER BY number

-- name: put_grant
INSERT INTO grants (id, principal, tool, revoked, body) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET principal = excluded.principal, tool = excluded.tool, revoked = excluded.revoked,
    body = excluded.body
