-- Wrong passwords hold an account back, but nobody for good: a browser that signed in before brings a cookie that this
-- installation signed, and what was tried before an account was unlocked no longer counts.

ALTER TABLE installation ADD COLUMN secret TEXT;
ALTER TABLE accounts ADD COLUMN unlocked_at INTEGER;
