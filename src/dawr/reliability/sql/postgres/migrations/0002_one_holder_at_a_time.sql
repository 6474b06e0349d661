-- Work that one process of many may do: whoever has the lease does it, under the number of its fence.
CREATE TABLE leases (
    name text COLLATE "C" PRIMARY KEY,
    holder text NOT NULL,
    fence bigint NOT NULL,
    until_at bigint NOT NULL
);
