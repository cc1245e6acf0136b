-- The parts of the one statement that commits a batch. `head` swaps the store's stamp, and every
-- other part takes its rows from arrays, joined with `head`: if another process has written, `head`
-- is empty, and nothing happens. A part is named as the query that it runs for many rows at once.
-- For several stores, `head` is `heads` behind `locked`, and the first array of each part has the
-- stores of its rows (commit_statement.py).

-- name: head
-- Swap the stamp of the store, unless it has changed; wait for its lock, but not longer than given.
UPDATE memoranda.head AS head SET stamp = :next_stamp
FROM (
    SELECT SET_CONFIG('lock_timeout', CAST(CAST(:lock_wait AS BIGINT) AS TEXT), TRUE) OFFSET 0
) AS bounded (lock_timeout)
WHERE head.store_id = :store_id AND head.stamp = :stamp AND bounded.lock_timeout <> ''
RETURNING head.store_id

-- name: locked
-- Lock several stores, each unless its stamp has changed or another process has locked it.
SELECT own.store_id, swap.next_stamp
FROM UNNEST(
    CAST(:stores AS BIGINT[]), CAST(:stamps AS BIGINT[]), CAST(:next_stamps AS BIGINT[])
) AS swap (store_id, stamp, next_stamp)
JOIN memoranda.head AS own ON own.store_id = swap.store_id AND own.stamp = swap.stamp
FOR UPDATE OF own SKIP LOCKED

-- name: heads
-- Swap the stamps of the stores that are locked.
UPDATE memoranda.head AS own SET stamp = locked.next_stamp
FROM locked WHERE own.store_id = locked.store_id
RETURNING own.store_id

-- name: durable
-- Say whether the batch was written, and let its commit wait for the disk.
SELECT head.store_id FROM head

-- name: relaxed
-- Say whether the batch was written, and let its commit not wait for the disk.
SELECT head.store_id, SET_CONFIG('synchronous_commit', 'off', TRUE) FROM head

-- name: event_append
-- Append events.
INSERT INTO memoranda.event (store_id, commit_ts, committed_at, hash, salts, envelope, operations)
SELECT head.store_id, part.* FROM head, UNNEST(
    CAST(:event_1 AS BIGINT[]), CAST(:event_2 AS BIGINT[]), CAST(:event_3 AS BYTEA[]),
    CAST(:event_4 AS BYTEA[]), CAST(:event_5 AS BYTEA[]), CAST(:event_6 AS BYTEA[])
) AS part

-- name: txn_add
-- Index events by their txn_ids.
INSERT INTO memoranda.txn (store_id, txn_id, actor, commit_ts)
SELECT head.store_id, part.* FROM head, UNNEST(
    CAST(:txn_1 AS TEXT[]), CAST(:txn_2 AS TEXT[]), CAST(:txn_3 AS BIGINT[])
) AS part

-- name: event_scope_add
-- Index events by their scopes.
INSERT INTO memoranda.event_scope (store_id, scope_id, commit_ts, places, kinds)
SELECT head.store_id, part.* FROM head, UNNEST(
    CAST(:event_scope_1 AS BIGINT[]), CAST(:event_scope_2 AS BIGINT[]),
    CAST(:event_scope_3 AS BYTEA[]), CAST(:event_scope_4 AS BYTEA[])
) AS part

-- name: scope_add
-- Add scopes.
INSERT INTO memoranda.scope (store_id, id, agent_id, namespace)
SELECT head.store_id, part.* FROM head, UNNEST(
    CAST(:scope_1 AS BIGINT[]), CAST(:scope_2 AS TEXT[]), CAST(:scope_3 AS TEXT[])
) AS part

-- name: state_add
-- Add keys.
INSERT INTO memoranda.state (store_id, id, scope_id, key, version, commit_ts, value)
SELECT head.store_id, part.* FROM head, UNNEST(
    CAST(:state_add_1 AS BIGINT[]), CAST(:state_add_2 AS BIGINT[]), CAST(:state_add_3 AS TEXT[]),
    CAST(:state_add_4 AS BIGINT[]), CAST(:state_add_5 AS BIGINT[]), CAST(:state_add_6 AS BYTEA[])
) AS part

-- name: state_set
-- Set the values of keys.
UPDATE memoranda.state AS state
SET version = part.version, commit_ts = part.commit_ts, value = part.value
FROM head, UNNEST(
    CAST(:state_set_1 AS BIGINT[]), CAST(:state_set_2 AS BIGINT[]), CAST(:state_set_3 AS BYTEA[]),
    CAST(:state_set_4 AS BIGINT[])
) AS part (version, commit_ts, value, key_id)
WHERE state.store_id = :store_id AND state.store_id = head.store_id AND state.id = part.key_id

-- name: state_version_add
-- Add the log positions of versions.
INSERT INTO memoranda.state_version (store_id, key_id, commit_ts, version, position, live)
SELECT head.store_id, part.* FROM head, UNNEST(
    CAST(:state_version_1 AS BIGINT[]), CAST(:state_version_2 AS BIGINT[]),
    CAST(:state_version_3 AS BIGINT[]), CAST(:state_version_4 AS BIGINT[]),
    CAST(:state_version_5 AS BIGINT[])
) AS part

-- name: kind_count_add
-- Add numbers of operations to the sums of blocks of commits.
INSERT INTO memoranda.kind_count AS own (store_id, scope_id, block, kind, count)
SELECT head.store_id, part.* FROM head, UNNEST(
    CAST(:kind_count_1 AS BIGINT[]), CAST(:kind_count_2 AS BIGINT[]),
    CAST(:kind_count_3 AS BIGINT[]), CAST(:kind_count_4 AS BIGINT[])
) AS part
ON CONFLICT (store_id, scope_id, block, kind) DO UPDATE SET count = own.count + EXCLUDED.count
