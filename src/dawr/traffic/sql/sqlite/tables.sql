-- Our tables in a database that nobody else migrates.

-- name: create_traffic_migrations
CREATE TABLE IF NOT EXISTS traffic_migrations (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL
) STRICT;

-- name: applied_traffic_migrations
SELECT number FROM traffic_migrations;

-- name: add_traffic_migration
INSERT INTO traffic_migrations (number, name) VALUES (?1, ?2);
