-- name: all
SELECT * FROM events WHERE position > ? /* types */ ORDER BY position

-- name: of_call
SELECT * FROM events WHERE position > ? AND call = ? /* types */ ORDER BY position

-- name: of_trace
SELECT * FROM events WHERE position > ? AND trace = ? /* types */ ORDER BY position

-- name: of_stream
SELECT * FROM events WHERE position > ? AND stream = ? /* types */ ORDER BY sequence

-- name: insert
INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_causeless
INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, ?)

-- name: last_position
SELECT coalesce(max(position), 0) FROM events

-- name: erase
UPDATE events SET payload = NULL, salt = NULL WHERE id = ? AND (payload IS NOT NULL OR salt IS NOT NULL)

-- name: head
SELECT sequence, hash FROM events WHERE stream = ? ORDER BY sequence DESC LIMIT 1

-- name: heads
WITH RECURSIVE each (stream) AS (
    SELECT min(stream) FROM events
    UNION ALL
    SELECT (SELECT min(stream) FROM events WHERE stream > each.stream) FROM each WHERE each.stream IS NOT NULL
)
SELECT last.stream, last.sequence, last.hash
FROM each JOIN events AS last
    ON last.stream = each.stream AND last.sequence = (SELECT max(sequence) FROM events WHERE stream = each.stream)

-- name: streams_in_use
SELECT stream, cited FROM streams WHERE ended = 0

-- name: add_stream
INSERT INTO streams (stream) VALUES (?)

-- name: cite_stream
UPDATE streams SET cited = ?, ended = ? WHERE stream = ?
