-- What only SQLite is asked. Queries every engine shares stand with the code that uses them.

-- name: begin
BEGIN IMMEDIATE

-- name: commit
COMMIT

-- name: rollback
ROLLBACK
