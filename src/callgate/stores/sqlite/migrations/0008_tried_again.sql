-- An outcome that is unknown stays so while its call is tried again: an equal call under another key waits for it.

DROP INDEX attempts_unknown;
DROP INDEX attempts_unknown_edited;
CREATE INDEX attempts_unresolved ON attempts (fingerprint, session, principal)
    WHERE (state = 'unknown' OR (state = 'started' AND happened = 'possible'));
CREATE INDEX attempts_unresolved_edited ON attempts (final_fingerprint, session, principal)
    WHERE (state = 'unknown' OR (state = 'started' AND happened = 'possible'))
        AND final_fingerprint <> fingerprint;
