-- Directories of the host's spools and counters in which no file can be written.
ALTER TABLE traffic_consumer ADD COLUMN unwritable bigint NOT NULL DEFAULT 0;
