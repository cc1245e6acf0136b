-- Format 8: counts of operations by kind, and the references of all values. The views of the log and of
-- keys have new versions, so these are derived from the log.

-- The kinds of a scope's operations in an event, each with its number; see log/read/kind_counts.py.
-- NULL: the scope has none, it only acted on others.
ALTER TABLE event_scope ADD COLUMN kinds BLOB;

-- The same, summed over complete blocks of commits, so that a long time is counted from few rows; see
-- log/read/block_sums.py.
CREATE TABLE kind_count (
    scope_id INTEGER NOT NULL,
    block    INTEGER NOT NULL,
    kind     INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    PRIMARY KEY (scope_id, block, kind)
) STRICT, WITHOUT ROWID;

-- The commits in which a value, also one that was replaced since, cites a key by its scope and name. An
-- assertion whose id is derived from its content has scope 0, and the id as its name. An erasure
-- finds here what it has to blank.
CREATE TABLE state_reference (
    scope_id  INTEGER NOT NULL,
    name      TEXT NOT NULL,
    commit_ts INTEGER NOT NULL,
    PRIMARY KEY (scope_id, name, commit_ts)
) STRICT, WITHOUT ROWID;
