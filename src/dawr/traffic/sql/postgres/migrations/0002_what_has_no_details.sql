-- Requests that are stored without details: by their kind or by sampling, beyond the limit of an hour, or on a full disk.
ALTER TABLE traffic_ledger ADD COLUMN counted_only bigint NOT NULL DEFAULT 0;
ALTER TABLE traffic_ledger ADD COLUMN over_limit bigint NOT NULL DEFAULT 0;
ALTER TABLE traffic_ledger ADD COLUMN no_space bigint NOT NULL DEFAULT 0;
UPDATE traffic_ledger SET counted_only = stored - detailed;

-- Streams among the requests. How long they lasted is in no sum and in no histogram.
ALTER TABLE traffic_hours ADD COLUMN streams bigint NOT NULL DEFAULT 0;

-- Requests of the host that were answered and are in no file.
ALTER TABLE traffic_consumer ADD COLUMN unspooled bigint NOT NULL DEFAULT 0;
