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
