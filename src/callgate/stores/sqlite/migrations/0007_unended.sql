-- A process that died is looked for by the few rows whose calls it may have left running. Those that are started have an
-- index of their own; no call that ends in time comes into this one.

CREATE INDEX attempts_unended ON attempts (owner) WHERE ended_at IS NULL AND state <> 'started';
