-- What DuckDB runs, in a process of its own. Paths and columns come in as its variables.

-- name: set_columns
SET VARIABLE columns = $1;

-- name: set_source
SET VARIABLE source = $1;

-- name: set_target
SET VARIABLE target = $1;

-- name: set_file
SET VARIABLE file = $1;

-- name: write_parquet
COPY (
    FROM read_json(
        getvariable('source'), format = 'newline_delimited', compression = 'none', columns = getvariable('columns')
    )
) TO (getvariable('target')) (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 20480);

-- name: rows_in_file
SELECT count(*) FROM read_parquet(getvariable('file'));

-- name: events_in_file
SELECT id, hash, "at", path, method, status, outcome, ms, visitor, request_id, correlation_id, agent, country
FROM read_parquet(getvariable('file'));

-- name: keys_in_file
SELECT id, hash FROM read_parquet(getvariable('file'));

-- name: tree_of_statement
SELECT json_serialize_sql($1::VARCHAR);

-- name: set_folder
SET VARIABLE folder = $1;

-- name: spill_into_folder
SET temp_directory = getvariable('folder');

-- name: bound_folder
SET max_temp_directory_size = '2GB';

-- name: set_traffic_events
SET VARIABLE traffic_events = $1;

-- name: set_overlapping
SET VARIABLE overlapping = $1;

-- name: set_traffic_hours
SET VARIABLE traffic_hours = $1;

-- name: set_traffic_minutes
SET VARIABLE traffic_minutes = $1;

-- name: set_traffic_ledger
SET VARIABLE traffic_ledger = $1;

-- name: show_traffic_events
-- A row that is in several of the overlapping files is one row.
CREATE VIEW traffic_events AS
FROM read_parquet(getvariable('traffic_events'))
UNION ALL
FROM (SELECT DISTINCT ON (id, hash) * FROM read_parquet(getvariable('overlapping')));

-- name: show_traffic_hours
CREATE VIEW traffic_hours AS FROM read_parquet(getvariable('traffic_hours'));

-- name: show_traffic_minutes
CREATE VIEW traffic_minutes AS FROM read_parquet(getvariable('traffic_minutes'));

-- name: show_traffic_ledger
CREATE VIEW traffic_ledger AS FROM read_parquet(getvariable('traffic_ledger'));

-- name: set_allowed
SET VARIABLE allowed = $1;

-- name: allow_files
SET allowed_paths = getvariable('allowed');

-- name: shut_out_all_else
SET enable_external_access = false;

-- name: lock_settings
SET lock_configuration = true;
