-- Answers are kept by how long the installation has run, which no jump of a clock uses up. What a clock says is over is
-- believed only if it did not jump against the moment that was believed last. Neither begins at the time of the newest
-- event: a clock may have been ahead then.

ALTER TABLE installation ADD COLUMN ran_ms bigint NOT NULL DEFAULT 0;
ALTER TABLE installation ADD COLUMN believed_at bigint;
