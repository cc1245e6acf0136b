-- Queries that depend on PostgreSQL. The others are derived from those of SQLite by
-- scripts/generate_postgres_queries.py. :store_id is the store of the connection. OPEN_END is the
-- end of an open interval; the loader replaces it by its value.

-- name: event_salts_without_effect
-- Return the salts of transactions that changed nothing, if the request's salt is not zero.
-- It is the first of two, or in chain version 2 the second of two behind one byte.
SELECT event.commit_ts, event.salts
FROM memoranda.event AS event
WHERE event.store_id = :store_id AND LENGTH(event.operations) = 1 AND CASE LENGTH(event.salts)
    WHEN 2 * CAST(:size AS BIGINT) THEN SUBSTRING(event.salts FROM 1 FOR CAST(:size AS INTEGER))
    ELSE SUBSTRING(event.salts FROM 2 + CAST(:size AS INTEGER) FOR CAST(:size AS INTEGER))
END <> DECODE(REPEAT('00', CAST(:size AS INTEGER)), 'hex')

-- name: event_places_of_scope
-- Read a page of a scope's events, with the positions of its operations where it has a small part of
-- a large event. Each event is looked up: a planner without statistics would read them all.
SELECT event.commit_ts, event.committed_at, event.hash, event.envelope, own.places, event.operations
FROM memoranda.event_scope AS own
CROSS JOIN LATERAL (
    SELECT part.commit_ts, part.committed_at, part.hash, part.envelope, part.operations
    FROM memoranda.event AS part
    WHERE part.store_id = :store_id AND part.commit_ts = own.commit_ts LIMIT 1
) AS event
WHERE own.store_id = :store_id AND own.scope_id = :scope_id
    AND own.commit_ts > :after AND own.commit_ts <= :through
ORDER BY own.commit_ts LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: event_places_of_scope_within
-- Return what event_places_of_scope does, up to the event that exhausts a budget of bytes.
SELECT
    page.commit_ts, page.committed_at, page.hash, page.envelope, page.places, page.operations
FROM (
    SELECT
        event.*,
        SUM(LENGTH(event.operations)) OVER (ROWS UNBOUNDED PRECEDING) AS size
    FROM (
        SELECT event.commit_ts, event.committed_at, event.hash, event.envelope, own.places, event.operations
        FROM memoranda.event_scope AS own
        CROSS JOIN LATERAL (
            SELECT part.commit_ts, part.committed_at, part.hash, part.envelope, part.operations
            FROM memoranda.event AS part
            WHERE part.store_id = :store_id AND part.commit_ts = own.commit_ts LIMIT 1
        ) AS event
        WHERE own.store_id = :store_id AND own.scope_id = :scope_id
            AND own.commit_ts > :after AND own.commit_ts <= :through
        ORDER BY own.commit_ts LIMIT NULLIF(CAST(:limit AS BIGINT), -1)
    ) AS event
) AS page
WHERE page.size - LENGTH(page.operations) < CAST(:budget AS BIGINT)

-- name: event_list_within
-- Return what event_list does, up to the event that exhausts a budget of bytes. Each event is
-- looked up.
SELECT
    page.commit_ts, page.committed_at, page.hash, page.salts, page.envelope, page.operations
FROM (
    SELECT
        event.*,
        SUM(LENGTH(event.operations)) OVER (ROWS UNBOUNDED PRECEDING) AS size
    FROM (
        SELECT
            event.commit_ts, event.committed_at, event.hash, event.salts, event.envelope,
            event.operations
        FROM JSONB_ARRAY_ELEMENTS(CAST(:commits AS JSONB)) WITH ORDINALITY AS item (value, place)
        CROSS JOIN LATERAL (
            SELECT
                part.commit_ts, part.committed_at, part.hash, part.salts, part.envelope,
                part.operations
            FROM memoranda.event AS part
            WHERE part.store_id = :store_id AND part.commit_ts = CAST(item.value AS BIGINT) LIMIT 1
        ) AS event
        ORDER BY item.place
    ) AS event
) AS page
WHERE page.size - LENGTH(page.operations) < CAST(:budget AS BIGINT)

-- name: event_places_of_scopes
-- Read events, each with the positions of some scopes' operations in it; NULL where they are unknown.
-- An item is a commit and its scopes.
SELECT
    event.commit_ts, event.committed_at, event.hash, event.envelope,
    (
        SELECT CAST(JSON_AGG(COALESCE(ENCODE(own.places, 'hex'), '')) AS TEXT)
        FROM JSONB_ARRAY_ELEMENTS(item.value -> 1) AS touched (value)
        LEFT JOIN memoranda.event_scope AS own
            ON own.store_id = :store_id AND own.scope_id = CAST(touched.value AS BIGINT)
            AND own.commit_ts = event.commit_ts
    ) AS places,
    event.operations
FROM JSONB_ARRAY_ELEMENTS(CAST(:events AS JSONB)) WITH ORDINALITY AS item (value, place)
CROSS JOIN LATERAL (
    SELECT part.commit_ts, part.committed_at, part.hash, part.envelope, part.operations
    FROM memoranda.event AS part
    WHERE part.store_id = :store_id AND part.commit_ts = CAST(item.value ->> 0 AS BIGINT) LIMIT 1
) AS event
ORDER BY item.place

-- name: event_places_of_scopes_within
-- Return what event_places_of_scopes does, up to the event that exhausts a budget of bytes.
SELECT
    page.commit_ts, page.committed_at, page.hash, page.envelope, page.places, page.operations
FROM (
    SELECT
        event.*,
        SUM(LENGTH(event.operations)) OVER (ROWS UNBOUNDED PRECEDING) AS size
    FROM (
        SELECT
            event.commit_ts, event.committed_at, event.hash, event.envelope,
            (
                SELECT CAST(JSON_AGG(COALESCE(ENCODE(own.places, 'hex'), '')) AS TEXT)
                FROM JSONB_ARRAY_ELEMENTS(item.value -> 1) AS touched (value)
                LEFT JOIN memoranda.event_scope AS own
                    ON own.store_id = :store_id AND own.scope_id = CAST(touched.value AS BIGINT)
                    AND own.commit_ts = event.commit_ts
            ) AS places,
            event.operations
        FROM JSONB_ARRAY_ELEMENTS(CAST(:events AS JSONB)) WITH ORDINALITY AS item (value, place)
        CROSS JOIN LATERAL (
            SELECT part.commit_ts, part.committed_at, part.hash, part.envelope, part.operations
            FROM memoranda.event AS part
            WHERE part.store_id = :store_id AND part.commit_ts = CAST(item.value ->> 0 AS BIGINT) LIMIT 1
        ) AS event
        ORDER BY item.place
    ) AS event
) AS page
WHERE page.size - LENGTH(page.operations) < CAST(:budget AS BIGINT)

-- name: events_with
-- Find the commits of a range with some bytes in their operations or envelopes.
SELECT event.commit_ts FROM memoranda.event AS event
WHERE event.store_id = :store_id AND event.commit_ts > :after AND event.commit_ts <= :through
    AND (
        POSITION(CAST(:needle AS BYTEA) IN event.operations) > 0
        OR POSITION(CAST(:needle AS BYTEA) IN event.envelope) > 0
    )

-- name: assertions_of_transcripts
-- Read the assertions whose source is in some transcripts, as far as an agent may see them. An
-- encoded source is the header, the transcript's id, and its spans. Each is looked up.
SELECT
    statement.assertion_id, statement.source, scope.namespace, statement.at, statement.until_commit
FROM JSONB_ARRAY_ELEMENTS_TEXT(CAST(:transcript_ids AS JSONB)) AS item (value)
JOIN LATERAL (
    SELECT own.* FROM memoranda.graph_statement AS own
    WHERE own.store_id = :store_id
        AND SUBSTRING(own.source FROM 1 FOR 128)
            >= SUBSTRING(CAST(:header AS BYTEA) || CONVERT_TO(item.value, 'UTF8') FROM 1 FOR 128)
        AND SUBSTRING(own.source FROM 1 FOR 128) <= SUBSTRING(
            CAST(:header AS BYTEA) || CONVERT_TO(item.value, 'UTF8') || CAST('\xff' AS BYTEA)
            FROM 1 FOR 128
        )
        AND own.source >= CAST(:header AS BYTEA) || CONVERT_TO(item.value, 'UTF8')
        AND own.source
            < CAST(:header AS BYTEA) || CONVERT_TO(item.value, 'UTF8') || CAST('\xff' AS BYTEA)
    OFFSET 0
) AS statement ON TRUE
JOIN LATERAL (
    SELECT own.* FROM memoranda.graph_node AS own
    WHERE own.store_id = :store_id AND own.id = statement.subject OFFSET 0
) AS subject ON TRUE
JOIN LATERAL (
    SELECT own.* FROM memoranda.scope AS own
    WHERE own.store_id = :store_id AND own.id = subject.scope_id OFFSET 0
) AS scope ON TRUE
WHERE statement.asserts = 1 AND statement.author = 0 AND statement.commit_ts <= :at
    AND (statement.private = 0 OR scope.agent_id = :viewer)

-- name: checkpoint_add
-- Store a signed note; storing it again changes nothing.
INSERT INTO memoranda.checkpoint (store_id, size, note) VALUES (:store_id, :size, :note)
ON CONFLICT (store_id, size, digest) DO NOTHING

-- name: graph_statements_from
-- Find the assertions whose source, an encoded reference, is in a range of bytes.
SELECT statement.assertion_id FROM memoranda.graph_statement AS statement
WHERE statement.store_id = :store_id AND statement.source >= :first AND statement.source < :end
    AND SUBSTRING(statement.source FROM 1 FOR 128) >= SUBSTRING(CAST(:first AS BYTEA) FROM 1 FOR 128)
    AND SUBSTRING(statement.source FROM 1 FOR 128) <= SUBSTRING(CAST(:end AS BYTEA) FROM 1 FOR 128)

-- name: graph_assertions_from
-- List the assertions that stand and have a source in a range of encoded references, with the
-- source and their log positions.
SELECT statement.assertion_id, statement.source, statement.commit_ts, statement.position
FROM memoranda.graph_statement AS statement
WHERE statement.store_id = :store_id AND statement.asserts = 1
    AND statement.until_commit = OPEN_END
    AND statement.source >= :first AND statement.source < :end
    AND SUBSTRING(statement.source FROM 1 FOR 128) >= SUBSTRING(CAST(:first AS BYTEA) FROM 1 FOR 128)
    AND SUBSTRING(statement.source FROM 1 FOR 128) <= SUBSTRING(CAST(:end AS BYTEA) FROM 1 FOR 128)
ORDER BY statement.commit_ts, statement.position

-- name: vectors_generation
-- Read the generation of the vectors; of a damaged row, one that no counter has reached.
SELECT CASE
    WHEN meta.value IS JSON ARRAY THEN COALESCE(CAST(CAST(meta.value AS JSONB) ->> 2 AS BIGINT), 0)
    ELSE 1099511627776
END
FROM memoranda.meta AS meta WHERE meta.store_id = :store_id AND meta.name = :name

-- name: vectors_restart
-- Increment the generation after all vectors were deleted, which invalidates caches.
UPDATE memoranda.meta AS meta
SET value = CAST(JSONB_SET(
    CAST(meta.value AS JSONB), '{2}', TO_JSONB(CAST(CAST(meta.value AS JSONB) ->> 2 AS BIGINT) + 1)
) AS TEXT)
WHERE meta.store_id = :store_id AND meta.name = 'vectors' AND meta.value IS JSON ARRAY
    AND JSONB_ARRAY_LENGTH(CAST(meta.value AS JSONB)) > 2

-- name: begin_reading
-- Begin a read transaction, with one snapshot for all reads.
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY

-- name: begin
-- Begin a write transaction. The lock of the store's row orders writers, so that each statement
-- behind it sees every commit before.
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE

-- name: relax
-- Let the transaction's commit not wait for the disk.
SET LOCAL synchronous_commit TO off

-- name: commit
-- Commit the transaction.
COMMIT

-- name: rollback
-- Roll the transaction back.
ROLLBACK

-- name: trial_begin
-- Begin a block of writes that can be undone.
SAVEPOINT trial

-- name: trial_undo
-- Undo the writes of the block.
ROLLBACK TO SAVEPOINT trial

-- name: trial_end
-- End the block.
RELEASE SAVEPOINT trial

-- name: lock_wait
-- Bound how long the transaction waits for a lock, in milliseconds.
SELECT SET_CONFIG('lock_timeout', CAST(CAST(:milliseconds AS BIGINT) AS TEXT), TRUE)

-- name: store_lock
-- Lock the store for writing, and read the stamp of its last commit, its format, and why it is frozen.
SELECT head.stamp, head.format, head.frozen FROM memoranda.head AS head
WHERE head.store_id = :store_id FOR UPDATE

-- name: store_stamp
-- Read the stamp of the last commit.
SELECT head.stamp FROM memoranda.head AS head WHERE head.store_id = :store_id

-- name: store_stamp_renew
-- Change the stamp: other processes drop their caches.
UPDATE memoranda.head AS head SET stamp = :stamp WHERE head.store_id = :store_id

-- name: store_lock_if
-- Lock the store for writing if it has a stamp; else divide by zero, which fails every statement of
-- the transaction that was sent behind this one.
SELECT 1 / COUNT(*) FROM (
    SELECT 1 FROM memoranda.head AS head
    WHERE head.store_id = :store_id AND head.stamp = :stamp FOR UPDATE
) AS own

-- name: announce
-- Tell whoever listens that the logs of some stores have grown: each item is the number of a store,
-- and who says so.
SELECT PG_NOTIFY('memoranda_' || (item.value ->> 0), item.value ->> 1)
FROM JSONB_ARRAY_ELEMENTS(CAST(:announcements AS JSONB)) AS item (value)

-- name: listen
-- Let what is announced on a channel arrive at this connection; CHANNEL_NAME stands for it.
LISTEN CHANNEL_NAME

-- name: store_token
-- Read the token of the store: by it a replica is known, and whether the store was away.
SELECT store.token FROM memoranda.store AS store WHERE store.store_id = :store_id

-- name: replica_position
-- Read the last commit, and the stamp of the index: both only grow.
SELECT
    COALESCE(
        (SELECT MAX(event.commit_ts) FROM memoranda.event AS event WHERE event.store_id = :store_id),
        0
    ),
    COALESCE(
        (
            SELECT CAST(meta.value AS BIGINT) FROM memoranda.meta AS meta
            WHERE meta.store_id = :store_id AND meta.name = 'index'
        ),
        0
    )

-- name: store_find
-- Find a store by its name.
SELECT store.store_id, store.name, store.token, store.location
FROM memoranda.store AS store WHERE store.name = :name

-- name: store_list
-- List all stores in the order of their names.
SELECT store.store_id, store.name, store.token, store.location
FROM memoranda.store AS store ORDER BY store.name

-- name: store_rename
-- Give a store another name.
UPDATE memoranda.store AS store SET name = :name WHERE store.store_id = :store_id

-- name: store_tables
-- List the tables that have rows of stores, the names of stores last.
SELECT own.table_name FROM information_schema.columns AS own
WHERE own.table_schema = 'memoranda' AND own.column_name = 'store_id'
ORDER BY own.table_name = 'store', own.table_name

-- name: table_rows_delete
-- Delete every row of a store from a table; TABLE_NAME stands for the table.
DELETE FROM memoranda.TABLE_NAME WHERE store_id = :store_id

-- name: store_add
-- Add a store; nothing happens if there is one of this name or id already.
INSERT INTO memoranda.store (store_id, name, token, location)
VALUES (:id, :name, :token, :location)
ON CONFLICT DO NOTHING RETURNING store_id

-- name: store_of_id
-- Find a store by its id.
SELECT store.store_id, store.name, store.token, store.location
FROM memoranda.store AS store WHERE store.store_id = :store_id

-- name: store_place
-- Note on which server a store is from now on, if its mover still has the lease of the move, and the
-- server is there. Whoever ends or takes the lease, or removes the server, waits until this has ended.
UPDATE memoranda.store AS store SET location = :location
FROM (
    SELECT owner.holder FROM memoranda.owner AS owner
    WHERE owner.store_id = -CAST(:store_id AS BIGINT) AND owner.holder = :holder FOR UPDATE
) AS lease
WHERE store.store_id = :store_id AND (
    CAST(:location AS TEXT) IS NULL OR EXISTS (
        SELECT 1 FROM memoranda.server AS server WHERE server.name = :location FOR SHARE
    )
)
RETURNING store.store_id

-- name: store_token_renew
-- Let files beside the database that belong to the store be those of another name.
UPDATE memoranda.store AS store SET token = :token WHERE store.store_id = :store_id

-- name: head_add
-- Add the row that the writers of a new store lock, unless it is there.
INSERT INTO memoranda.head (store_id, stamp, format) VALUES (:id, 0, :format)
ON CONFLICT DO NOTHING

-- name: head_freeze
-- Let a store take no more writes, and say why; with NULL it takes them again. Every writer notices,
-- since the stamp is another one.
UPDATE memoranda.head AS head SET frozen = CAST(:reason AS TEXT), stamp = :stamp
WHERE head.store_id = :store_id RETURNING head.store_id

-- name: head_thaw
-- Let a store take writes again, if it is frozen for a reason.
UPDATE memoranda.head AS head SET frozen = NULL, stamp = :stamp
WHERE head.store_id = :store_id AND head.frozen = :reason

-- name: server_list
-- List the servers that stores are spread over, with the number of stores that are on each.
SELECT
    server.name, server.url,
    (SELECT COUNT(*) FROM memoranda.store AS store WHERE store.location = server.name)
FROM memoranda.server AS server ORDER BY server.name

-- name: server_put
-- Add a server, or give it another URL.
INSERT INTO memoranda.server (name, url) VALUES (:name, :url)
ON CONFLICT (name) DO UPDATE SET url = EXCLUDED.url

-- name: server_hold
-- Keep a server from being removed, and stores from being placed there, until the transaction ends.
SELECT server.name FROM memoranda.server AS server WHERE server.name = :name FOR UPDATE

-- name: server_remove
-- Remove a server that no store is on.
DELETE FROM memoranda.server AS server
WHERE server.name = :name
    AND NOT EXISTS (SELECT 1 FROM memoranda.store AS store WHERE store.location = server.name)
RETURNING server.name

-- name: server_time
-- Read the clock of the server, in microseconds since 1970.
SELECT CAST(EXTRACT(EPOCH FROM CLOCK_TIMESTAMP()) * 1000000 AS BIGINT)

-- name: owner_take
-- Become the owner of a store, unless another one's lease lasts.
INSERT INTO memoranda.owner AS owner (store_id, holder, process, expires_at)
VALUES (:store_id, :holder, :process, :expires_at)
ON CONFLICT (store_id) DO UPDATE
SET holder = EXCLUDED.holder, process = EXCLUDED.process, expires_at = EXCLUDED.expires_at
WHERE owner.expires_at <= :now
RETURNING owner.store_id

-- name: owner_renew
-- Stay the owner of a store; no row is returned if another one has become it, or if the store takes
-- no writes here.
UPDATE memoranda.owner AS owner SET expires_at = :expires_at
WHERE owner.store_id = :store_id AND owner.holder = :holder AND NOT EXISTS (
    SELECT 1 FROM memoranda.head AS head
    WHERE head.store_id = :store_id AND head.frozen IS NOT NULL
)
RETURNING owner.store_id

-- name: owner_hold
-- Say whether an owner's lease was not taken by another one; until the transaction ends, none can.
SELECT owner.holder FROM memoranda.owner AS owner
WHERE owner.store_id = :store_id AND owner.holder = :holder FOR UPDATE

-- name: owner_release
-- Let others own a store.
DELETE FROM memoranda.owner AS owner WHERE owner.store_id = :store_id AND owner.holder = :holder
RETURNING owner.store_id

-- name: owner_read
-- Read which process owns a store, and until when.
SELECT owner.process, owner.expires_at FROM memoranda.owner AS owner
WHERE owner.store_id = :store_id AND owner.expires_at > :now

-- name: is_distributed
-- Check whether tables may be spread over several nodes.
SELECT 1 FROM pg_catalog.pg_extension AS own WHERE own.extname = 'citus'

-- name: table_there
-- Check whether a table exists.
SELECT 1 FROM pg_catalog.pg_tables AS own
WHERE own.schemaname = 'memoranda' AND own.tablename = :name

-- name: column_there
-- Check whether a table has a column.
SELECT 1 FROM information_schema.columns AS own
WHERE own.table_schema = 'memoranda' AND own.table_name = :table AND own.column_name = :name

-- name: schema_lock
-- Let one process at a time create or migrate the tables; until the transaction ends.
SELECT pg_advisory_xact_lock(7020251118)

-- name: schema_create
-- Create the schema of the tables, unless an operator has.
CREATE SCHEMA IF NOT EXISTS memoranda

-- name: format_read
-- Read the format of the tables, and whether they are distributed over several nodes.
SELECT format.number, format.is_distributed FROM memoranda.format AS format

-- name: format_distribute
-- Note that the tables are distributed.
UPDATE memoranda.format SET is_distributed = 1

-- name: citus_there
-- Check whether the database can distribute tables.
SELECT 1 FROM pg_catalog.pg_proc AS own WHERE own.proname = 'create_distributed_table'

-- name: citus_in_sequence
-- Let the transaction change several tables of all nodes, one after the other.
SELECT SET_CONFIG('citus.multi_shard_modify_mode', 'sequential', TRUE)

-- name: citus_tables
-- List our tables that Citus knows.
SELECT own.relname FROM pg_dist_partition AS part
JOIN pg_catalog.pg_class AS own ON own.oid = part.logicalrelid
JOIN pg_catalog.pg_namespace AS space ON space.oid = own.relnamespace
WHERE space.nspname = 'memoranda'

-- name: citus_copy
-- Copy a table to every node, from now on too.
SELECT create_reference_table(CAST(CAST(:table AS TEXT) AS REGCLASS))

-- name: citus_distribute
-- Distribute a table by the store, beside another table.
SELECT create_distributed_table(
    CAST(CAST(:table AS TEXT) AS REGCLASS), 'store_id', colocate_with => CAST(:place AS TEXT)
)

-- name: format_add
-- Set the format of new tables.
INSERT INTO memoranda.format (number) VALUES (:number)

-- name: format_set
-- Set the format after a migration.
UPDATE memoranda.format SET number = :number

-- name: heads_set_format
-- Tell the writers of all stores of a migration: the stamp is another one than before.
UPDATE memoranda.head SET format = :number, stamp = :stamp

-- name: cluster_identity
-- Identify the server and its history: a restored or promoted one has another timeline. It is read
-- from the name of the file that is written to: the last checkpoint may be of the timeline before.
SELECT
    control.system_identifier,
    CAST(
        CAST('x' || LEFT(pg_walfile_name(pg_current_wal_insert_lsn()), 8) AS BIT(32)) AS BIGINT
    ),
    current_database()
FROM pg_control_system() AS control

-- name: sizes
-- Add up the sizes of the tables, of all stores.
SELECT COALESCE(CAST(SUM(pg_total_relation_size(relation.oid)) AS BIGINT), 0)
FROM pg_catalog.pg_class AS relation
JOIN pg_catalog.pg_namespace AS own ON own.oid = relation.relnamespace
WHERE own.nspname = 'memoranda' AND relation.relkind = 'r'

-- name: table_rows
-- Read every row of a table; TABLE_NAME and COLUMN_NAMES stand for the table and its columns.
SELECT COLUMN_NAMES FROM memoranda.TABLE_NAME WHERE store_id = :store_id

-- name: index_queue_fill
-- Queue every commit with something to index, after the index was lost.
INSERT INTO memoranda.to_index (store_id, commit_ts, size)
SELECT :store_id, part.commit_ts, CAST(SUM(part.size) AS BIGINT)
FROM (
    SELECT memory.commit_ts, 1 AS size FROM memoranda.memory AS memory
    WHERE memory.store_id = :store_id
    UNION ALL
    SELECT statement.commit_ts, 1 FROM memoranda.graph_statement AS statement
    WHERE statement.store_id = :store_id AND statement.asserts = 1
    UNION ALL
    SELECT transcript.commit_ts, 1 + transcript.size / 800 FROM memoranda.transcript AS transcript
    WHERE transcript.store_id = :store_id AND LENGTH(transcript.digest) > 0
) AS part
GROUP BY part.commit_ts
ON CONFLICT (store_id, commit_ts) DO NOTHING
