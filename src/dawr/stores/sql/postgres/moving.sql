-- What a move from one database to the other asks of both.

-- name: tables_to_move
-- Every table, its columns by name, and the statement that reads it: the database lists them and quotes their names.
-- Migrations are the schema's own, and leases are of processes that have ended; `home` is where a database lives, and
-- `moving_from` is the mark of the move itself.
SELECT
    t.relname::text,
    json_agg(c.attname ORDER BY c.attname::text COLLATE "C")::text,
    format('SELECT %s FROM %I', string_agg(format('%I', c.attname), ', ' ORDER BY c.attname::text COLLATE "C"), t.relname)
FROM pg_class AS t
JOIN pg_attribute AS c ON c.attrelid = t.oid AND c.attnum > 0 AND NOT c.attisdropped
WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind IN ('r', 'p') AND NOT t.relispartition
    AND t.relname NOT IN ('migrations', 'leases')
    AND (t.relname, c.attname) NOT IN (('installation', 'home'), ('installation', 'moving_from'))
GROUP BY t.relname
ORDER BY t.relname::text COLLATE "C";

-- name: lock_tables
-- Until the transaction ends nobody writes to any table. Who wants to migrate meanwhile, as every server does that
-- starts, waits.
DO $$
DECLARE
    name text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('dawr migrations'));
    FOR name IN
        SELECT relname FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
        ORDER BY relname
    LOOP
        EXECUTE format('LOCK TABLE %I IN EXCLUSIVE MODE', name);
    END LOOP;
END $$;

-- name: servers_here
-- How many connections servers and tools have to this database.
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'dawr' AND pid <> pg_backend_pid();

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
UPDATE installation SET left_for = $1;

-- name: shut
-- Whoever was cut off while it was left, and comes back, can change nothing either; nor can one of an earlier version.
CREATE FUNCTION installation_left() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the installation of this database went back to %', (SELECT left_for FROM installation)
        USING ERRCODE = 'read_only_sql_transaction';
END $$;
CREATE TRIGGER installation_left BEFORE INSERT OR UPDATE OR DELETE ON heads FOR EACH STATEMENT EXECUTE FUNCTION installation_left();

-- name: served_elsewhere
-- Where the installation went back to, and where it is still being moved from.
SELECT left_for, moving_from FROM installation;

-- name: begin_move
-- Nobody is served here until the directory that the copy comes from is marked as moved.
UPDATE installation SET moving_from = $1;

-- name: end_move
UPDATE installation SET moving_from = NULL WHERE moving_from IS NOT NULL;

-- name: forget_installation
DELETE FROM installation;

-- name: last_numbers
-- Nobody moves away from here.
SELECT NULL, NULL WHERE false;

-- name: go_on_behind
-- The table numbers its next row higher than this. A sequence is not taken back with its transaction: do it last.
SELECT setval(pg_get_serial_sequence(quote_ident($1), attname), $2)
FROM pg_attribute
WHERE attrelid = quote_ident($1)::regclass AND attidentity <> '';
