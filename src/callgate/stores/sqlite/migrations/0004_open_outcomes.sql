-- Failures that may have had an effect are counted at every look at how a gate does, and are few among many rows.

CREATE INDEX attempts_possible ON attempts (id) WHERE state = 'failed' AND happened = 'possible';
