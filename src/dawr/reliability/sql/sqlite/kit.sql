-- The kit's tables in a database that nobody else migrates.

-- name: create_kit_migrations
CREATE TABLE IF NOT EXISTS kit_migrations (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL
) STRICT;

-- name: applied_kit_migrations
SELECT number FROM kit_migrations;

-- name: add_kit_migration
INSERT INTO kit_migrations (number, name) VALUES (?1, ?2);
