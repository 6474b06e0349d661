-- Work that one process of many may do: whoever has the lease does it, under the number of its fence.
CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    fence INTEGER NOT NULL,
    until_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
