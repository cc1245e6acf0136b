-- Format 8: counts of operations by kind. The view has a new version, so both are derived anew.

-- The kinds of a scope's operations in an event, each with its number; see log/read/kind_counts.py.
-- NULL: the scope has none, it only acted on others.
ALTER TABLE event_scope ADD COLUMN kinds BLOB;

-- The same, summed over blocks of commits, so that a long time is counted from few rows.
CREATE TABLE kind_count (
    scope_id INTEGER NOT NULL,
    block    INTEGER NOT NULL,
    kind     INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    PRIMARY KEY (scope_id, block, kind)
) STRICT, WITHOUT ROWID;
