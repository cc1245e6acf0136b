-- What only SQLite is asked. Queries every engine shares stand with the code that uses them.

-- name: begin
BEGIN IMMEDIATE

-- name: begin_reading
BEGIN

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

-- name: sql_views
-- The views that users can query, with their columns.
SELECT views.name, group_concat(columns.name, ', ' ORDER BY columns.cid)
FROM temp.sqlite_schema AS views JOIN pragma_table_info(views.name, 'temp') AS columns
WHERE views.type = 'view' GROUP BY views.name

-- name: sql_stand_in
-- A table without rows in the place of a view, against which a user's statement is compiled.
CREATE TEMP TABLE {name} ({columns})

-- name: quick_check
-- Complaints about the structure of the file; "ok" if there are none.
PRAGMA quick_check
