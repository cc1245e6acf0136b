-- What only SQLite is asked. Queries every engine shares stand with the code that uses them.

-- name: begin
BEGIN IMMEDIATE

-- name: commit
COMMIT

-- name: rollback
ROLLBACK

-- name: any_table
-- Finds something in every database but a new one.
SELECT 1 FROM sqlite_schema LIMIT 1

-- name: data_version
-- Differs from the last answer if another connection has committed in between.
PRAGMA data_version

-- name: settle
-- A write that only has to be durable.
INSERT INTO meta (name, value) VALUES ('settled', '1')
ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT)
