-- A copy serves nobody until the directory that it came from is marked as moved. Until then this names that directory.

ALTER TABLE installation ADD COLUMN moving_from TEXT;
