-- Times are milliseconds since 1970 UTC; an hour, a minute or a day is the moment at which it begins.

-- The queue between the spools and the consumer, in the order of arrival. `hour` is where the ledger counts the message.
CREATE TABLE traffic_queue (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    hour INTEGER NOT NULL,
    body TEXT NOT NULL,
    tries INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    reason TEXT NOT NULL
) STRICT;

-- How far each spool was shipped, and how many of its answers are in the ledger.
CREATE TABLE traffic_spools (
    spool TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    answers INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What was counted lately, by its whole hash: the first id stands, a repeat is a duplicate.
CREATE TABLE traffic_seen (
    hash TEXT PRIMARY KEY,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    counted_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX traffic_seen_counted_at ON traffic_seen (counted_at);

-- Details. An id begins with its 13 digits of time, so that the key is in the order of time.
CREATE TABLE traffic_events (
    id TEXT NOT NULL,
    hash TEXT NOT NULL,
    at INTEGER NOT NULL,
    path TEXT NOT NULL,
    method TEXT NOT NULL,
    status INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    ms REAL NOT NULL,
    visitor TEXT NOT NULL,
    request_id TEXT NOT NULL,
    correlation_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    country TEXT NOT NULL,
    PRIMARY KEY (id, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX traffic_events_of_path ON traffic_events (path, id);

-- Exact counts. Every event is in the row of its hour and in that of its day: `span` is the length of either.
CREATE TABLE traffic_hours (
    span INTEGER NOT NULL,
    start INTEGER NOT NULL,
    path TEXT NOT NULL,
    method TEXT NOT NULL,
    class TEXT NOT NULL,
    requests INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    refused INTEGER NOT NULL,
    sum_us INTEGER NOT NULL,
    max_us INTEGER NOT NULL,
    PRIMARY KEY (span, start, path, method, class)
) STRICT, WITHOUT ROWID;

-- How many requests came in each minute.
CREATE TABLE traffic_minutes (
    minute INTEGER PRIMARY KEY,
    requests INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    refused INTEGER NOT NULL
) STRICT;

-- Histograms of how long answers took, in buckets whose bounds grow by 2 %.
CREATE TABLE traffic_buckets (
    span INTEGER NOT NULL,
    start INTEGER NOT NULL,
    path TEXT NOT NULL,
    method TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    PRIMARY KEY (span, start, path, method, bucket)
) STRICT, WITHOUT ROWID;

-- The smallest hashes of visitors, of each path and of all of them together (path ''). A hash means nobody after its day.
CREATE TABLE traffic_visitors (
    span INTEGER NOT NULL,
    start INTEGER NOT NULL,
    path TEXT NOT NULL,
    visitor TEXT NOT NULL,
    PRIMARY KEY (span, start, path, visitor)
) STRICT, WITHOUT ROWID;

-- Where every request of an hour went. `answered` was counted outside of the collector, by whoever sent the bytes.
CREATE TABLE traffic_ledger (
    hour INTEGER PRIMARY KEY,
    answered INTEGER NOT NULL DEFAULT 0,
    spooled INTEGER NOT NULL DEFAULT 0,
    queued INTEGER NOT NULL DEFAULT 0,
    stored INTEGER NOT NULL DEFAULT 0,
    detailed INTEGER NOT NULL DEFAULT 0,
    duplicates INTEGER NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0,
    damaged INTEGER NOT NULL DEFAULT 0,
    lost INTEGER NOT NULL DEFAULT 0
) STRICT;

-- What could not be counted: messages that failed every time (poison), and lines that came back damaged.
CREATE TABLE traffic_dead (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    hour INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('poison', 'damaged')),
    reason TEXT NOT NULL,
    tries INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;

-- Details that left the table: to a file, or (file '') because their time was over.
-- `deleted` is how many of the rows left it so far: what is still there and what was deleted is all there ever was.
CREATE TABLE traffic_archives (
    day INTEGER NOT NULL,
    part INTEGER NOT NULL,
    file TEXT NOT NULL,
    rows INTEGER NOT NULL,
    deleted INTEGER NOT NULL,
    checksum TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('written', 'emptied', 'expired')),
    at INTEGER NOT NULL,
    PRIMARY KEY (day, part)
) STRICT, WITHOUT ROWID;

-- What is or was out of its bounds.
CREATE TABLE traffic_alerts (
    name TEXT NOT NULL,
    began_at INTEGER NOT NULL,
    level TEXT NOT NULL CHECK (level IN ('warning', 'critical')),
    sentence TEXT NOT NULL,
    value REAL NOT NULL,
    told_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    ended_at INTEGER,
    PRIMARY KEY (name, began_at)
) STRICT, WITHOUT ROWID;

-- The traffic process of each host: when it was last alive, when nothing waited in its spools, how many of them it
-- cannot read, and which day's key it has (by a check, not the key).
CREATE TABLE traffic_consumer (
    host TEXT PRIMARY KEY,
    pid INTEGER NOT NULL,
    version TEXT NOT NULL,
    began_at INTEGER NOT NULL,
    beat_at INTEGER NOT NULL,
    spool_bytes INTEGER NOT NULL,
    unreadable INTEGER NOT NULL,
    shipped_at INTEGER NOT NULL,
    key_day INTEGER NOT NULL,
    key_check TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What the latest 24 hours came to, computed once for everybody who asks.
CREATE TABLE traffic_snapshots (
    name TEXT PRIMARY KEY,
    at INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
