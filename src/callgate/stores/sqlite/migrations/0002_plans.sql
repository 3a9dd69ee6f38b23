-- Questions about the calls of one plan are decided together, and found by their plan.

ALTER TABLE approvals ADD COLUMN plan_id TEXT;
ALTER TABLE approvals ADD COLUMN plan_digest TEXT;
CREATE INDEX approvals_of_plan ON approvals (plan_id) WHERE plan_id IS NOT NULL;
CREATE INDEX approvals_by_plan_digest ON approvals (plan_digest, session, principal) WHERE plan_digest IS NOT NULL;
