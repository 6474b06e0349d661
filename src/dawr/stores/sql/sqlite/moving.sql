-- What a move from one database to the other asks of both.

-- name: tables_to_move
-- Every table, its columns by name, and the statement that reads it: the database lists them and quotes their names.
-- Migrations are the schema's own, and leases are of processes that have ended. PostgreSQL has one list of migrations.
-- `moving_from` is the mark of the move itself.
SELECT
    t.name,
    json_group_array(c.name ORDER BY c.name),
    format('SELECT %s FROM "%w"', group_concat(format('"%w"', c.name), ', ' ORDER BY c.name), t.name)
FROM sqlite_schema AS t
JOIN pragma_table_info(t.name) AS c
WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\'
    AND t.name NOT IN ('migrations', 'leases', 'kit_migrations', 'traffic_migrations')
    AND (t.name, c.name) <> ('installation', 'moving_from')
GROUP BY t.name
ORDER BY t.name;

-- name: lock_tables
-- The directory's lock keeps everybody else out already.
SELECT 1;

-- name: servers_here
-- The directory's lock is theirs.
SELECT 0;

-- name: lines_reached
-- Every queue's latest line, and the highest number of its day, in whichever round.
SELECT
    l.venue_id, l.queue_id, l.day, l.round, l.last_number, l.used_before, l.waiting, l.called,
    l.serving, l.held, l.missed, l.finished, l.current_number, l.calls, l.waits_ms, l.services_ms,
    l.begins_behind,
    (
        SELECT max(d.last_number) FROM lines AS d
        WHERE d.venue_id = l.venue_id AND d.queue_id = l.queue_id AND d.day = l.day
    )
FROM lines AS l
WHERE NOT EXISTS (
    SELECT 1 FROM lines AS n
    WHERE n.venue_id = l.venue_id AND n.queue_id = l.queue_id AND (n.day, n.round) > (l.day, l.round)
)
ORDER BY l.venue_id, l.queue_id;

-- name: leave
-- The installation goes back to where it came from: whoever starts here is told.
UPDATE installation SET left_for = ?1;

-- name: shut
-- Nobody comes back here by a connection.
SELECT 1;

-- name: served_elsewhere
-- Where the installation went back to, and where it is still being moved from.
SELECT left_for, moving_from FROM installation;

-- name: begin_move
-- Nobody is served here until the directory that the copy comes from is marked as moved.
UPDATE installation SET moving_from = ?1;

-- name: end_move
UPDATE installation SET moving_from = NULL WHERE moving_from IS NOT NULL;

-- name: forget_installation
DELETE FROM installation;

-- name: last_numbers
-- The highest that each table gave that numbers its rows, whether or not the row is still there.
SELECT name, seq FROM sqlite_sequence;

-- name: go_on_behind
-- Nobody moves here.
SELECT 1;
