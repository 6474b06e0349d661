-- Venues, and the numbers they give: each once, by constraint and not by hope.
-- Times are milliseconds since 1970 UTC, days are ISO dates, documents are JSON.
-- Constraints say OR where IN would do: SQLite builds the list of an IN anew for every row that it checks.

CREATE TABLE installation (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    is_copy INTEGER NOT NULL DEFAULT 0 -- set in a backup: whoever opens it must begin new epochs
) STRICT;
INSERT INTO installation (only_row) VALUES (1);

CREATE TABLE venues (
    venue_id TEXT PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    document TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The only row that is locked. Nobody's foreign-key parent.
CREATE TABLE heads (
    venue_id TEXT PRIMARY KEY,
    epoch INTEGER NOT NULL,
    day TEXT NOT NULL,
    version INTEGER NOT NULL,
    config_version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE lines (
    venue_id TEXT NOT NULL,
    queue_id TEXT NOT NULL,
    day TEXT NOT NULL,
    round INTEGER NOT NULL,
    last_number INTEGER NOT NULL,
    used_before INTEGER NOT NULL,
    waiting TEXT NOT NULL, -- counts by priority
    called INTEGER NOT NULL,
    serving INTEGER NOT NULL,
    held INTEGER NOT NULL,
    missed INTEGER NOT NULL,
    finished INTEGER NOT NULL,
    current_number INTEGER,
    calls INTEGER NOT NULL,
    waits_ms INTEGER NOT NULL,
    services_ms INTEGER NOT NULL,
    PRIMARY KEY (venue_id, queue_id, day, round)
) STRICT, WITHOUT ROWID;

CREATE TABLE visits (
    venue_id TEXT NOT NULL,
    visit_id TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    visitor TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state = 'open' OR state = 'finished' OR state = 'left'),
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    left_at INTEGER,
    PRIMARY KEY (venue_id, visit_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE tickets (
    venue_id TEXT NOT NULL,
    ticket_id TEXT NOT NULL,
    queue_id TEXT NOT NULL,
    day TEXT NOT NULL,
    round INTEGER NOT NULL,
    number INTEGER NOT NULL CHECK (number > 0),
    label TEXT NOT NULL,
    priority INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (
        state = 'waiting' OR state = 'called' OR state = 'serving' OR state = 'held' OR state = 'missed'
        OR state = 'finished' OR state = 'left' OR state = 'expired'
    ),
    visitor TEXT NOT NULL,
    open_key TEXT,
    visit_id TEXT NOT NULL,
    issued_at INTEGER NOT NULL,
    version INTEGER NOT NULL,
    desk_id TEXT,
    recalls INTEGER NOT NULL,
    called_at INTEGER,
    recalled_at INTEGER,
    started_at INTEGER,
    finished_at INTEGER,
    missed_at INTEGER,
    rejoined_at INTEGER,
    held_at INTEGER,
    resumed_at INTEGER,
    left_at INTEGER,
    expired_at INTEGER,
    from_ticket_id TEXT,
    previous TEXT,
    PRIMARY KEY (venue_id, ticket_id),
    CHECK ((open_key IS NULL) = (state = 'finished' OR state = 'left' OR state = 'expired'))
) STRICT;
CREATE UNIQUE INDEX tickets_each_number_once ON tickets (venue_id, queue_id, day, round, number);
-- Said in a way that only `tickets_ended` says it: no other statement may take this index for its own and read
-- a whole line, as they would in a table that was never analysed.
CREATE INDEX tickets_open ON tickets (venue_id, queue_id, day, round) WHERE coalesce(open_key, '') <> '';
CREATE INDEX tickets_waiting ON tickets (venue_id, queue_id, day, round, priority DESC, sequence)
WHERE state = 'waiting';
CREATE UNIQUE INDEX tickets_one_open_per_visitor ON tickets (venue_id, open_key) WHERE open_key IS NOT NULL;

CREATE TABLE events (
    venue_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    kind TEXT NOT NULL,
    at INTEGER NOT NULL,
    queue_id TEXT,
    ticket_id TEXT,
    actor TEXT,
    correlation_id TEXT,
    reason TEXT,
    data TEXT NOT NULL,
    PRIMARY KEY (venue_id, version)
) STRICT, WITHOUT ROWID;
