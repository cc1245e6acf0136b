-- Queries that depend on SQLite. Queries that every engine shares are beside the code that uses
-- them, and call a list EACH. Here it is json_each: the connection binds a JSON array. OPEN_END is
-- the end of an open interval; the loader replaces it by its value.

-- name: begin
-- Begin a write transaction, and take the file's write lock at once.
BEGIN IMMEDIATE

-- name: begin_reading
-- Begin a read transaction; the first read takes the snapshot.
BEGIN

-- name: commit
-- Commit the transaction.
COMMIT

-- name: rollback
-- Roll the transaction back.
ROLLBACK

-- name: any_table
-- Find a table; only a new database has none.
SELECT 1 FROM sqlite_schema LIMIT 1

-- name: table_there
-- Check whether a table exists.
SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = :name

-- name: column_there
-- Check whether a table has a column.
SELECT 1 FROM pragma_table_info(:table) WHERE name = :name

-- name: schema_rows
-- Read every definition of the database, as it was written.
SELECT type, name, tbl_name, sql FROM sqlite_schema
WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY type, name

-- name: definitions
-- Read every definition, with those that SQLite adds by itself. Tables of statistics are left out:
-- any program may run ANALYZE.
SELECT type, name, tbl_name, sql FROM sqlite_schema
WHERE NOT (type = 'table' AND name IN ('sqlite_stat1', 'sqlite_stat4'))

-- name: structure_check
-- Check the pages, indexes and columns of a table; the only row is "ok" if they are sound.
SELECT integrity_check FROM pragma_integrity_check(:name)

-- name: settle
-- Change a row, for a commit that only has to be durable.
INSERT INTO meta (name, value) VALUES ('settled', '1')
ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT)

-- name: sql_views
-- List the views that users can query, with their columns.
SELECT views.name, group_concat(columns.name, ', ' ORDER BY columns.cid)
FROM temp.sqlite_schema AS views JOIN pragma_table_info(views.name, 'temp') AS columns
WHERE views.type = 'view' GROUP BY views.name

-- name: sql_stand_in
-- Create an empty table in place of a view; a user's statement is compiled against it.
CREATE TEMP TABLE {name} ({columns})

-- name: quick_check
-- Check the structure of the file; the only row is "ok" if it is sound.
PRAGMA quick_check

-- name: attach
-- Make the tables of another database readable on this connection.
ATTACH :path AS source

-- name: detach
-- Release the other database, after the transaction that read it.
DETACH source

-- name: table_copy
-- Copy every row of a table of the attached database; TABLE_NAME stands for the table.
INSERT INTO main.TABLE_NAME SELECT * FROM source.TABLE_NAME

-- name: stored_tables
-- List the tables that hold rows of ours, with their columns; a full-text index has rows by number.
SELECT tables.name, CASE tables.name WHEN 'words' THEN 'rowid, ' ELSE '' END
    || (SELECT group_concat(columns.name, ', ' ORDER BY columns.cid)
        FROM pragma_table_info(tables.name) AS columns)
FROM pragma_table_list AS tables
WHERE tables.schema = 'main' AND tables.name NOT LIKE 'sqlite\_%' ESCAPE '\'
    AND (tables.type = 'table' OR tables.name = 'words')
ORDER BY tables.name

-- name: table_rows
-- Read every row of a table; TABLE_NAME and COLUMN_NAMES stand for the table and its columns.
SELECT COLUMN_NAMES FROM TABLE_NAME

-- name: table_put
-- Add a row to a table, or replace it; PLACEHOLDERS stands for one question mark a column.
INSERT OR REPLACE INTO TABLE_NAME (COLUMN_NAMES) VALUES (PLACEHOLDERS)

-- name: trial_begin
-- Begin a block of writes that can be undone.
SAVEPOINT trial

-- name: trial_undo
-- Undo the writes of the block.
ROLLBACK TO trial

-- name: trial_end
-- End the block.
RELEASE trial

-- name: vacuum
-- Rewrite every page from the rows of the tables.
VACUUM

-- name: memory_states
-- Read memory states, and the memory that supersedes each, as far as an agent may see it. Each item
-- is the number of a state, or the id of a memory, of which the state as of the commit is read. A
-- state that does not hold its details or its content names the one that does, and has NULL instead.
-- The last column says whether an erasure left a part of the state in an event of chain version 1,
-- where nothing proves it: its version, or the details and content of an older version that it
-- uses. The salts of such an event are a multiple of 16 bytes long. Version 1 never follows version
-- 2, so a log whose first event is of version 2 has none, and the check ends there.
SELECT
    state.id, memory.memory_id, memory.namespace, memory.agent_id, memory.private,
    memory.created_at, state.commit_ts, state.version, state.updated_at, state.kind, state.tier,
    state.title, state.retracted, state.reason, state.expires_at, state.depth, state.access_count,
    state.last_accessed_at, (
        SELECT newer.memory_id
        FROM memory_link AS link CROSS JOIN memory AS newer ON newer.id = link.source
        WHERE link.target = memory.id AND link.relation = 'supersedes'
            AND link.commit_ts <= :at AND link.until_commit > :at
            AND (:viewer IS NULL OR newer.private = 0 OR newer.agent_id = :viewer)
        ORDER BY link.commit_ts DESC, link.position DESC LIMIT 1
    ), COALESCE(details.details, state.details),
    COALESCE(content.commit_ts, state.commit_ts), COALESCE(content.position, state.position),
    COALESCE(content.digest, state.digest), COALESCE(content.size, state.size),
    CASE WHEN :content = 1 THEN COALESCE(content.content, state.content) END,
    COALESCE(content.updated_at, state.updated_at),
    CASE WHEN (SELECT LENGTH(salts) % 16 = 0 FROM event WHERE commit_ts = 1) THEN EXISTS (
        SELECT 1
        FROM memory_state AS part
        JOIN erased ON erased.commit_ts = part.commit_ts AND erased.position = part.position
        JOIN event ON event.commit_ts = part.commit_ts
        WHERE part.memory = state.memory AND LENGTH(event.salts) % 16 = 0
            AND (part.commit_ts, part.position) <= (state.commit_ts, state.position)
            AND (
                part.version BETWEEN state.version - state.retracted AND state.version
                OR part.id IN (state.details_in, state.content_in)
            )
    ) ELSE FALSE END
FROM json_each(:items) AS item
CROSS JOIN memory_state AS state ON state.id = CASE item.type
    WHEN 'integer' THEN CAST(item.value AS INTEGER) ELSE (
    SELECT last.id FROM memory_state AS last
    WHERE last.memory = (
        SELECT own.id FROM memory AS own
        WHERE own.memory_id = item.value AND own.commit_ts <= :at
    ) AND last.commit_ts <= :at
    ORDER BY last.commit_ts DESC, last.position DESC LIMIT 1
) END
CROSS JOIN memory ON memory.id = state.memory
LEFT JOIN memory_state AS details ON details.id = state.details_in
LEFT JOIN memory_state AS content ON content.id = state.content_in

-- name: state_dependents
-- List the keys whose current values rest on some evidence, with the version and place of the
-- evidence, and the log position of the value. Each item is the kind and the target.
SELECT
    item.key, because.version, because.commit_ts, because.position, scope.namespace,
    scope.agent_id, state.key, place.commit_ts, place.position
FROM json_each(:evidence) AS item
JOIN state_because AS because
    ON because.kind = item.value ->> 0 AND because.target = item.value ->> 1
JOIN state ON state.id = because.key_id
JOIN scope ON scope.id = state.scope_id
JOIN state_version AS place
    ON place.key_id = state.id AND place.commit_ts = state.commit_ts AND place.version = state.version
ORDER BY item.key, state.id

-- name: memory_dependents
-- List the memories that reflect on or derive from some memories, and the version of the target
-- when the link was made.
SELECT target.memory_id, source.memory_id, link.relation, (
    SELECT version FROM memory_state
    WHERE memory = target.id AND (commit_ts, position) <= (link.commit_ts, link.position)
    ORDER BY commit_ts DESC, position DESC LIMIT 1
)
FROM json_each(:memory_ids) AS item
JOIN memory AS target ON target.memory_id = item.value
JOIN memory_link AS link ON link.target = target.id
    AND link.relation IN ('reflects_on', 'derived_from') AND link.until_commit = OPEN_END
JOIN memory AS source ON source.id = link.source
ORDER BY source.memory_id

-- name: graph_cited_on_timelines
-- List the assertions that values rest on, on the timelines of a subject and a relation, of any
-- agent of a namespace and of its shared graph. Each item is the namespace and the keys of both.
WITH graph (id, namespace) AS (
    SELECT id, namespace FROM scope UNION ALL SELECT id, namespace FROM graph_shared
)
SELECT DISTINCT because.target
FROM json_each(:timelines) AS item
JOIN graph ON graph.namespace = item.value ->> 0
JOIN graph_node AS subject
    ON subject.scope_id = graph.id AND subject.kind = 'entity' AND subject.key = item.value ->> 1
JOIN graph_node AS relation
    ON relation.scope_id = graph.id AND relation.kind = 'relation' AND relation.key = item.value ->> 2
JOIN graph_statement AS statement
    ON statement.subject_root = subject.root AND statement.relation = relation.id
    AND statement.asserts = 1 AND statement.until_commit = OPEN_END
JOIN state_because AS because ON because.kind = 3 AND because.target = statement.assertion_id

-- name: graph_cited_beside
-- List the assertions that values rest on, on the timelines of some statements.
SELECT DISTINCT because.target
FROM json_each(:ids) AS item
JOIN graph_statement AS own ON own.assertion_id = item.value
JOIN graph_statement AS statement
    ON statement.subject_root = own.subject_root AND statement.relation = own.relation
    AND statement.asserts = 1 AND statement.until_commit = OPEN_END
JOIN state_because AS because ON because.kind = 3 AND because.target = statement.assertion_id

-- name: graph_cited
-- List all assertions that values rest on.
SELECT DISTINCT target FROM state_because WHERE kind = 3

-- name: graph_assertion_places
-- Find the log positions of some assertions.
SELECT statement.assertion_id, statement.commit_ts, statement.position
FROM json_each(:ids) AS item
JOIN graph_statement AS statement
    ON statement.assertion_id = item.value AND statement.asserts = 1

-- name: graph_assertions_from
-- List the assertions that stand and have a source in a range of encoded references, with the
-- source and their log positions.
SELECT assertion_id, source, commit_ts, position
FROM graph_statement INDEXED BY graph_statement_by_source
WHERE asserts = 1 AND until_commit = OPEN_END AND source >= :first AND source < :end
ORDER BY commit_ts, position

-- name: links_from
-- Find the targets of some memories' links of one relation, as of a commit.
SELECT source.memory_id, target.memory_id
FROM json_each(:memory_ids) AS item
JOIN memory AS source ON source.memory_id = item.value
JOIN memory_link AS link ON link.source = source.id AND link.relation = :relation
JOIN memory AS target ON target.id = link.target
WHERE link.commit_ts <= :at AND link.until_commit > :at

-- name: links_to
-- Find the sources of the links of one relation to some memories, as of a commit.
SELECT target.memory_id, source.memory_id
FROM json_each(:memory_ids) AS item
JOIN memory AS target ON target.memory_id = item.value
JOIN memory_link AS link ON link.target = target.id AND link.relation = :relation
JOIN memory AS source ON source.id = link.source
WHERE link.commit_ts <= :at AND link.until_commit > :at

-- name: memory_depths
-- Read the namespaces and reflection depths of some memories, as of a commit.
SELECT memory.memory_id, memory.namespace, (
    SELECT state.depth FROM memory_state AS state
    WHERE state.memory = memory.id AND state.commit_ts <= :at
    ORDER BY state.commit_ts DESC, state.position DESC LIMIT 1
)
FROM json_each(:memory_ids) AS item JOIN memory ON memory.memory_id = item.value

-- name: notices_known
-- Find which of some notices exist; a notice's id is derived from the memories it is about.
SELECT memory.memory_id
FROM json_each(:notice_ids) AS item JOIN memory ON memory.memory_id = item.value

-- name: memory_brief
-- Read the owner, kind and end of a memory, which a walk along links needs.
SELECT
    memory.memory_id, memory.memory_id, memory.namespace, memory.agent_id, memory.private,
    state.kind, state.retracted, state.expires_at
FROM memory
JOIN memory_state AS state ON state.id = (
    SELECT id FROM memory_state
    WHERE memory = memory.id AND commit_ts <= :at
    ORDER BY commit_ts DESC, position DESC LIMIT 1
)
WHERE memory.memory_id = :memory_id AND memory.commit_ts <= :at

-- name: walk_from
-- Follow the links of one relation from some memories, as of a commit: one hop of a walk.
SELECT
    source.memory_id, target.memory_id, target.namespace, target.agent_id, target.private,
    state.kind, state.retracted, state.expires_at
FROM json_each(:memory_ids) AS item
JOIN memory AS source ON source.memory_id = item.value
JOIN memory_link AS link ON link.source = source.id AND link.relation = :relation
JOIN memory AS target ON target.id = link.target
JOIN memory_state AS state ON state.id = (
    SELECT id FROM memory_state
    WHERE memory = target.id AND commit_ts <= :at
    ORDER BY commit_ts DESC, position DESC LIMIT 1
)
WHERE link.commit_ts <= :at AND link.until_commit > :at

-- name: walk_to
-- Follow the links of one relation back to their sources, as of a commit: one hop of a walk.
SELECT
    target.memory_id, source.memory_id, source.namespace, source.agent_id, source.private,
    state.kind, state.retracted, state.expires_at
FROM json_each(:memory_ids) AS item
JOIN memory AS target ON target.memory_id = item.value
JOIN memory_link AS link ON link.target = target.id AND link.relation = :relation
JOIN memory AS source ON source.id = link.source
JOIN memory_state AS state ON state.id = (
    SELECT id FROM memory_state
    WHERE memory = source.id AND commit_ts <= :at
    ORDER BY commit_ts DESC, position DESC LIMIT 1
)
WHERE link.commit_ts <= :at AND link.until_commit > :at

-- name: citations_of_memories
-- Read the transcript spans that some memories cite; the transcript's columns are NULL if it is
-- gone.
SELECT
    memory.memory_id, citation.transcript, citation.first, citation.beyond,
    transcript.transcript_id, transcript.namespace, transcript.agent_id, transcript.commit_ts,
    transcript.position, transcript.created_at, transcript.occurred_at, transcript.expires_at,
    transcript.size, transcript.digest, COALESCE(LENGTH(blob.content), 0), transcript.form,
    transcript.messages_size
FROM json_each(:memory_ids) AS item
JOIN memory ON memory.memory_id = item.value
JOIN citation ON citation.memory = memory.id
LEFT JOIN transcript ON transcript.id = citation.transcript
LEFT JOIN blob ON blob.commit_ts = transcript.commit_ts AND blob.position = transcript.position
WHERE citation.commit_ts <= :at
ORDER BY memory.memory_id, transcript.transcript_id, citation.first, citation.beyond

-- name: graph_edges_of
-- Read the edges of some subjects: those valid at an instant, or all without one.
SELECT
    edge.subject, edge.relation, edge.object, edge.valid_from, edge.from_commit, edge.from_position,
    edge.last_at, edge.last_commit, edge.last_position,
    edge.valid_to, edge.to_commit, edge.to_position
FROM json_each(:subjects) AS item JOIN graph_edge AS edge ON edge.subject = item.value
WHERE (:relation IS NULL OR edge.relation = :relation)
    AND (:object IS NULL OR edge.object = :object)
    AND (:valid_at IS NULL OR (edge.valid_from <= :valid_at AND edge.valid_to > :valid_at))
ORDER BY edge.subject, edge.relation, edge.valid_from, edge.from_commit, edge.from_position

-- name: graph_edges_to
-- Read the edges to some objects: those valid at an instant, or all without one.
SELECT
    edge.subject, edge.relation, edge.object, edge.valid_from, edge.from_commit, edge.from_position,
    edge.last_at, edge.last_commit, edge.last_position,
    edge.valid_to, edge.to_commit, edge.to_position
FROM json_each(:objects) AS item JOIN graph_edge AS edge ON edge.object = item.value
WHERE (:relation IS NULL OR edge.relation = :relation)
    AND (:valid_at IS NULL OR (edge.valid_from <= :valid_at AND edge.valid_to > :valid_at))
ORDER BY edge.subject, edge.relation, edge.valid_from, edge.from_commit, edge.from_position

-- name: graph_edges_touching
-- Read the edges valid at an instant from some nodes (outward), to them (inward), or both.
-- An edge leads to a literal but not back: two entities with the same value are not connected.
SELECT
    edge.subject, edge.relation, edge.object, edge.valid_from, edge.from_commit, edge.from_position,
    edge.last_at, edge.last_commit, edge.last_position,
    edge.valid_to, edge.to_commit, edge.to_position
FROM json_each(:nodes) AS item JOIN graph_edge AS edge ON edge.subject = item.value
WHERE :outward = 1 AND (:relation IS NULL OR edge.relation = :relation)
    AND edge.valid_from <= :valid_at AND edge.valid_to > :valid_at
UNION
SELECT
    edge.subject, edge.relation, edge.object, edge.valid_from, edge.from_commit, edge.from_position,
    edge.last_at, edge.last_commit, edge.last_position,
    edge.valid_to, edge.to_commit, edge.to_position
FROM json_each(:nodes) AS item
JOIN graph_node AS node ON node.id = item.value AND node.kind = 'entity'
JOIN graph_edge AS edge ON edge.object = node.id
WHERE :inward = 1 AND (:relation IS NULL OR edge.relation = :relation)
    AND edge.valid_from <= :valid_at AND edge.valid_to > :valid_at
ORDER BY 1, 2, 4, 5, 6
LIMIT :limit

-- name: graph_edges_among
-- Read the edges valid at an instant whose subject and object are both among some nodes.
SELECT
    edge.subject, edge.relation, edge.object, edge.valid_from, edge.from_commit, edge.from_position,
    edge.last_at, edge.last_commit, edge.last_position,
    edge.valid_to, edge.to_commit, edge.to_position
FROM json_each(:nodes) AS item JOIN graph_edge AS edge ON edge.subject = item.value
WHERE (:relation IS NULL OR edge.relation = :relation)
    AND edge.valid_from <= :valid_at AND edge.valid_to > :valid_at
    AND edge.object IN (SELECT value FROM json_each(:nodes))
ORDER BY edge.subject, edge.relation, edge.valid_from, edge.from_commit, edge.from_position
LIMIT :limit

-- name: graph_assertions_of_edges
-- Read the assertions of some edges, by the positions of the edges in the list.
-- The last column says whether the assertion, or the end of the edge, is unproven, as in
-- memory_states.
SELECT
    item.key, statement.assertion_id, statement.at, statement.commit_ts, statement.position,
        statement.committed_at,
    statement.confidence, statement.source,
    (SELECT scope.agent_id FROM scope WHERE scope.id = statement.author),
    CASE WHEN (SELECT LENGTH(salts) % 16 = 0 FROM event WHERE commit_ts = 1) THEN EXISTS (
        SELECT 1 FROM erased JOIN event ON event.commit_ts = erased.commit_ts
        WHERE LENGTH(event.salts) % 16 = 0 AND (
            (erased.commit_ts = statement.commit_ts AND erased.position = statement.position)
            OR (erased.commit_ts = item.value ->> 9 AND erased.position = item.value ->> 10)
        )
    ) ELSE FALSE END
FROM json_each(:edges) AS item
JOIN graph_statement AS statement
    ON statement.subject_root = item.value ->> 0 AND statement.relation = item.value ->> 1
    AND statement.asserts = 1
    AND (statement.at, statement.commit_ts, statement.position)
        >= (item.value ->> 3, item.value ->> 4, item.value ->> 5)
    AND (statement.at, statement.commit_ts, statement.position)
        <= (item.value ->> 6, item.value ->> 7, item.value ->> 8)
WHERE statement.object_root = item.value ->> 2 AND statement.until_commit = OPEN_END
ORDER BY item.key, statement.commit_ts, statement.position

-- name: graph_statements_as_of
-- Read the statements about some subjects as of a commit, under every name that meant them then.
-- The last column says whether the statement is unproven, as in memory_states.
WITH named AS (
    SELECT node.id AS node, node.root AS now, item.value AS root
    FROM json_each(:subjects) AS item JOIN graph_node AS node ON node.root = item.value
    WHERE NOT EXISTS (
        SELECT 1 FROM graph_root AS past
        WHERE past.node = node.id AND past.until_commit > :as_of_commit
    )
    UNION ALL
    SELECT past.node, node.root, past.root
    FROM json_each(:subjects) AS item
    JOIN graph_root AS past ON past.root = item.value AND past.until_commit > :as_of_commit
    JOIN graph_node AS node ON node.id = past.node
    WHERE NOT EXISTS (
        SELECT 1 FROM graph_root AS sooner
        WHERE sooner.node = past.node
            AND sooner.until_commit > :as_of_commit AND sooner.until_commit < past.until_commit
    )
)
SELECT
    named.root, statement.relation, statement.at, statement.commit_ts, statement.position,
        statement.asserts,
    COALESCE(
        (
            SELECT past.root FROM graph_root AS past
            WHERE past.node = statement.object AND past.until_commit > :as_of_commit
            ORDER BY past.until_commit LIMIT 1
        ),
        object.root
    ),
    statement.assertion_id, statement.committed_at, statement.confidence, statement.source,
        statement.bound,
    (SELECT scope.agent_id FROM scope WHERE scope.id = statement.author),
    CASE WHEN (SELECT LENGTH(salts) % 16 = 0 FROM event WHERE commit_ts = 1) THEN EXISTS (
        SELECT 1 FROM erased JOIN event ON event.commit_ts = erased.commit_ts
        WHERE erased.commit_ts = statement.commit_ts AND erased.position = statement.position
            AND LENGTH(event.salts) % 16 = 0
    ) ELSE FALSE END
FROM named
JOIN graph_statement AS statement ON statement.subject_root = named.now
    AND statement.subject = named.node
LEFT JOIN graph_node AS object ON object.id = statement.object
WHERE statement.commit_ts <= :as_of_commit AND statement.until_commit > :as_of_commit
    AND (:relation IS NULL OR statement.relation = :relation)
        AND (:public_only = 0 OR statement.private = 0)
ORDER BY named.root, statement.relation, statement.at, statement.commit_ts, statement.position

-- name: graph_private_statements_as_of
-- Read an agent's private statements about some subjects of a shared graph as of a commit. Their
-- names mean what they mean in the shared graph; a name it does not have keeps its own node.
WITH named AS (
    SELECT node.kind, node.key, item.value AS root
    FROM json_each(:subjects) AS item JOIN graph_node AS node ON node.root = item.value
    WHERE node.commit_ts <= :as_of_commit AND NOT EXISTS (
        SELECT 1 FROM graph_root AS past
        WHERE past.node = node.id AND past.until_commit > :as_of_commit
    )
    UNION ALL
    SELECT node.kind, node.key, past.root
    FROM json_each(:subjects) AS item
    JOIN graph_root AS past ON past.root = item.value AND past.until_commit > :as_of_commit
    JOIN graph_node AS node ON node.id = past.node AND node.commit_ts <= :as_of_commit
    WHERE NOT EXISTS (
        SELECT 1 FROM graph_root AS sooner
        WHERE sooner.node = past.node
            AND sooner.until_commit > :as_of_commit AND sooner.until_commit < past.until_commit
    )
)
SELECT
    named.root, COALESCE(
        (
            SELECT COALESCE(
                (
                    SELECT past.root FROM graph_root AS past
                    WHERE past.node = twin.id AND past.until_commit > :as_of_commit
                    ORDER BY past.until_commit LIMIT 1
                ),
                twin.root
            )
            FROM graph_node AS name
            JOIN graph_node AS twin
                ON twin.scope_id = :graph AND twin.kind = name.kind AND twin.key = name.key
                AND twin.commit_ts <= :as_of_commit
            WHERE name.id = statement.relation
        ),
        statement.relation
    ),
    statement.at, statement.commit_ts, statement.position, statement.asserts,
    NULLIF(COALESCE(
        (
            SELECT COALESCE(
                (
                    SELECT past.root FROM graph_root AS past
                    WHERE past.node = twin.id AND past.until_commit > :as_of_commit
                    ORDER BY past.until_commit LIMIT 1
                ),
                twin.root
            )
            FROM graph_node AS name
            JOIN graph_node AS twin
                ON twin.scope_id = :graph AND twin.kind = name.kind AND twin.key = name.key
                AND twin.commit_ts <= :as_of_commit
            WHERE name.id = statement.object
        ),
        statement.object
    ), 0),
    statement.assertion_id, statement.committed_at, statement.confidence, statement.source,
        statement.bound,
    (SELECT scope.agent_id FROM scope WHERE scope.id = :overlay),
    CASE WHEN (SELECT LENGTH(salts) % 16 = 0 FROM event WHERE commit_ts = 1) THEN EXISTS (
        SELECT 1 FROM erased JOIN event ON event.commit_ts = erased.commit_ts
        WHERE erased.commit_ts = statement.commit_ts AND erased.position = statement.position
            AND LENGTH(event.salts) % 16 = 0
    ) ELSE FALSE END
FROM named
JOIN graph_node AS own
    ON own.scope_id = :overlay AND own.kind = named.kind AND own.key = named.key
JOIN graph_statement AS statement
    ON statement.private > 0 AND statement.private = :overlay AND statement.subject = own.id
WHERE statement.commit_ts <= :as_of_commit AND statement.until_commit > :as_of_commit

-- name: graph_subjects_naming
-- Find the subjects with an assertion about some objects, as of a commit.
SELECT DISTINCT COALESCE(
    (
        SELECT past.root FROM graph_root AS past
        WHERE past.node = statement.subject AND past.until_commit > :as_of_commit
        ORDER BY past.until_commit LIMIT 1
    ),
    statement.subject_root
)
FROM (
    SELECT node.id AS node
    FROM json_each(:objects) AS item JOIN graph_node AS node ON node.root = item.value
    WHERE NOT EXISTS (
        SELECT 1 FROM graph_root AS past
        WHERE past.node = node.id AND past.until_commit > :as_of_commit
    )
    UNION
    SELECT past.node
    FROM json_each(:objects) AS item
    JOIN graph_root AS past ON past.root = item.value AND past.until_commit > :as_of_commit
    WHERE NOT EXISTS (
        SELECT 1 FROM graph_root AS sooner
        WHERE sooner.node = past.node
            AND sooner.until_commit > :as_of_commit AND sooner.until_commit < past.until_commit
    )
) AS named
JOIN graph_statement AS statement ON statement.object = named.node AND statement.asserts = 1
WHERE statement.commit_ts <= :as_of_commit AND statement.until_commit > :as_of_commit
    AND (:public_only = 0 OR statement.private = 0)

-- name: graph_private_subjects_naming
-- Find the subjects of an agent's private assertions about some objects of a shared graph, as of a
-- commit.
WITH named AS (
    SELECT node.kind, node.key, item.value AS root
    FROM json_each(:objects) AS item JOIN graph_node AS node ON node.root = item.value
    WHERE node.commit_ts <= :as_of_commit AND NOT EXISTS (
        SELECT 1 FROM graph_root AS past
        WHERE past.node = node.id AND past.until_commit > :as_of_commit
    )
    UNION ALL
    SELECT node.kind, node.key, past.root
    FROM json_each(:objects) AS item
    JOIN graph_root AS past ON past.root = item.value AND past.until_commit > :as_of_commit
    JOIN graph_node AS node ON node.id = past.node AND node.commit_ts <= :as_of_commit
    WHERE NOT EXISTS (
        SELECT 1 FROM graph_root AS sooner
        WHERE sooner.node = past.node
            AND sooner.until_commit > :as_of_commit AND sooner.until_commit < past.until_commit
    )
)
SELECT DISTINCT COALESCE(
    (
        SELECT COALESCE(
            (
                SELECT past.root FROM graph_root AS past
                WHERE past.node = twin.id AND past.until_commit > :as_of_commit
                ORDER BY past.until_commit LIMIT 1
            ),
            twin.root
        )
        FROM graph_node AS name
        JOIN graph_node AS twin
            ON twin.scope_id = :graph AND twin.kind = name.kind AND twin.key = name.key
            AND twin.commit_ts <= :as_of_commit
        WHERE name.id = statement.subject
    ),
    statement.subject
)
FROM named
JOIN graph_node AS own
    ON own.scope_id = :overlay AND own.kind = named.kind AND own.key = named.key
JOIN graph_statement AS statement ON statement.object = own.id AND statement.asserts = 1
WHERE statement.private > 0 AND statement.private = :overlay
    AND statement.commit_ts <= :as_of_commit AND statement.until_commit > :as_of_commit

-- name: graph_nodes
-- Read some nodes by their ids.
SELECT node.id, node.kind, node.key, node.name
FROM json_each(:ids) AS item JOIN graph_node AS node ON node.id = item.value

-- name: graph_nodes_in
-- Find which of some nodes belong to a graph.
SELECT node.id
FROM json_each(:ids) AS item CROSS JOIN graph_node AS node ON node.id = item.value
WHERE node.scope_id = :graph

-- name: graph_names_at
-- Read the names and aliases of some entities as of a commit.
SELECT named.root, node.id, node.key, node.name, event.committed_at
FROM (
    SELECT node.id AS node, item.value AS root
    FROM json_each(:ids) AS item JOIN graph_node AS node ON node.root = item.value
    WHERE NOT EXISTS (
        SELECT 1 FROM graph_root AS past
        WHERE past.node = node.id AND past.until_commit > :as_of_commit
    )
    UNION ALL
    SELECT past.node, past.root
    FROM json_each(:ids) AS item
    JOIN graph_root AS past ON past.root = item.value AND past.until_commit > :as_of_commit
    WHERE NOT EXISTS (
        SELECT 1 FROM graph_root AS sooner
        WHERE sooner.node = past.node
            AND sooner.until_commit > :as_of_commit AND sooner.until_commit < past.until_commit
    )
) AS named
JOIN graph_node AS node ON node.id = named.node
JOIN event ON event.commit_ts = node.commit_ts
WHERE node.commit_ts <= :as_of_commit
ORDER BY named.root, node.id

-- name: graph_edge_of_assertion
-- Find the edge that an assertion is part of, if it stands: the last edge of its object that begins
-- by then, in its agent's own graph or in the shared one.
WITH statement AS (
    SELECT subject_root, relation, object_root, at, commit_ts, position FROM graph_statement
    WHERE assertion_id = :assertion_id AND asserts = 1 AND until_commit = OPEN_END
        AND CASE WHEN author > 0 THEN 1 ELSE 0 END = :shared
)
SELECT
    edge.subject, edge.relation, edge.object, edge.valid_from, edge.from_commit, edge.from_position,
    edge.last_at, edge.last_commit, edge.last_position,
    edge.valid_to, edge.to_commit, edge.to_position
FROM graph_edge AS edge INDEXED BY graph_edge_by_object
WHERE edge.object = (SELECT object_root FROM statement)
    AND edge.subject = (SELECT subject_root FROM statement)
    AND edge.relation = (SELECT relation FROM statement)
    AND edge.valid_from <= (SELECT at FROM statement)
    AND (edge.valid_from, edge.from_commit, edge.from_position)
        <= (SELECT at, commit_ts, position FROM statement)
    AND (edge.last_at, edge.last_commit, edge.last_position)
        >= (SELECT at, commit_ts, position FROM statement)
ORDER BY edge.valid_from DESC, edge.from_commit DESC, edge.from_position DESC LIMIT 1

-- name: graph_edges_between
-- Read the edges of an object in a timeline; the index by object skips all other objects.
SELECT
    subject, relation, object, valid_from, from_commit, from_position,
    last_at, last_commit, last_position, valid_to, to_commit, to_position
FROM graph_edge INDEXED BY graph_edge_by_object
WHERE object = :object AND subject = :subject AND relation = :relation

-- name: graph_edge_of_object
-- Find the edge of an object that begins at an instant; the index by object skips all others.
SELECT
    object, valid_from, from_commit, from_position, last_at, last_commit, last_position,
    valid_to, to_commit, to_position
FROM graph_edge INDEXED BY graph_edge_by_object
WHERE object = :object AND subject = :subject AND relation = :relation AND valid_from = :at

-- name: graph_edges_crossing_of_object
-- Find the edges of an object that hold at a position but were last asserted before it.
SELECT
    object, valid_from, from_commit, from_position, last_at, last_commit, last_position,
    valid_to, to_commit, to_position
FROM graph_edge INDEXED BY graph_edge_by_object
WHERE object = :object AND subject = :subject AND relation = :relation
    AND valid_from BETWEEN :since AND :at AND valid_to >= :at
    AND (last_at, last_commit, last_position) < (:at, :commit_ts, :position)
    AND (valid_to, to_commit, to_position) > (:at, :commit_ts, :position)

-- name: graph_nodes_named
-- Find what some names meant at a commit, in the scopes of some namespaces or of one agent there.
SELECT scope.namespace, scope.agent_id, scope.id, node.key, COALESCE(
    (
        SELECT past.root FROM graph_root AS past
        WHERE past.node = node.id AND past.until_commit > :as_of_commit
        ORDER BY past.until_commit LIMIT 1
    ),
    node.root
)
FROM scope
CROSS JOIN json_each(:names) AS item
JOIN graph_node AS node
    ON node.scope_id = scope.id AND node.kind = 'entity' AND node.key = item.value
WHERE scope.namespace IN (SELECT value FROM json_each(:namespaces))
    AND (:agent_id IS NULL OR scope.agent_id = :agent_id) AND node.commit_ts <= :as_of_commit
ORDER BY node.id LIMIT :limit

-- name: graph_shared_nodes_named
-- Find what some names meant at a commit, in the shared graphs of some namespaces.
SELECT graph_shared.namespace, '', graph_shared.id, node.key, COALESCE(
    (
        SELECT past.root FROM graph_root AS past
        WHERE past.node = node.id AND past.until_commit > :as_of_commit
        ORDER BY past.until_commit LIMIT 1
    ),
    node.root
)
FROM graph_shared
CROSS JOIN json_each(:names) AS item
JOIN graph_node AS node
    ON node.scope_id = graph_shared.id AND node.kind = 'entity' AND node.key = item.value
WHERE graph_shared.namespace IN (SELECT value FROM json_each(:namespaces))
    AND node.commit_ts <= :as_of_commit
ORDER BY node.id LIMIT :limit

-- name: graph_edges_of_assertions
-- Read the edges that some assertions are part of, if they stand; of several, the last one counts.
SELECT
    COALESCE(scope.namespace, shared.namespace), COALESCE(scope.agent_id, ''),
    statement.assertion_id,
    edge.subject, edge.relation, edge.object, edge.valid_from, edge.from_commit, edge.from_position,
    edge.last_at, edge.last_commit, edge.last_position,
    edge.valid_to, edge.to_commit, edge.to_position
FROM json_each(:ids) AS item
JOIN graph_statement AS statement ON statement.assertion_id = item.value AND statement.asserts = 1
JOIN graph_node AS subject ON subject.id = statement.subject
LEFT JOIN scope ON scope.id = subject.scope_id
LEFT JOIN graph_shared AS shared ON shared.id = subject.scope_id
JOIN graph_edge AS edge
    ON edge.subject = statement.subject_root AND edge.relation = statement.relation
    AND edge.object = statement.object_root
    AND (edge.valid_from, edge.from_commit, edge.from_position)
        <= (statement.at, statement.commit_ts, statement.position)
    AND (edge.last_at, edge.last_commit, edge.last_position)
        >= (statement.at, statement.commit_ts, statement.position)
WHERE statement.until_commit = OPEN_END AND CASE WHEN statement.author > 0 THEN 1 ELSE 0 END = :shared
ORDER BY item.key, edge.valid_from, edge.from_commit, edge.from_position

-- name: graph_subjects_of_assertions
-- Find the subjects of some assertions that stood at a commit.
SELECT DISTINCT scope.namespace, scope.agent_id, scope.id, COALESCE(
    (
        SELECT past.root FROM graph_root AS past
        WHERE past.node = statement.subject AND past.until_commit > :as_of_commit
        ORDER BY past.until_commit LIMIT 1
    ),
    subject.root
)
FROM json_each(:ids) AS item
JOIN graph_statement AS statement ON statement.assertion_id = item.value AND statement.asserts = 1
JOIN graph_node AS subject ON subject.id = statement.subject
JOIN scope ON scope.id = subject.scope_id
WHERE statement.commit_ts <= :as_of_commit AND statement.until_commit > :as_of_commit

-- name: graph_assertion_scopes
-- Find the scopes and the subjects of some assertions.
SELECT statement.assertion_id, scope.namespace, scope.agent_id, subject.key
FROM json_each(:ids) AS item
JOIN graph_statement AS statement
    ON statement.assertion_id = item.value AND statement.asserts = 1 AND statement.author = 0
JOIN graph_node AS subject ON subject.id = statement.subject
JOIN scope ON scope.id = subject.scope_id

-- name: memory_superseders
-- Find the memories that superseded some memories as of a commit, as far as an agent may see them.
SELECT target.memory_id, newer.memory_id, newer.namespace
FROM json_each(:memory_ids) AS item
JOIN memory AS target ON target.memory_id = item.value
JOIN memory_link AS link ON link.target = target.id AND link.relation = 'supersedes'
JOIN memory AS newer ON newer.id = link.source
WHERE link.commit_ts <= :at AND link.until_commit > :at
    AND (newer.private = 0 OR newer.agent_id = :viewer)
ORDER BY link.commit_ts, link.position

-- name: citations_of_transcripts
-- Read the spans of some transcripts that memories cite, as far as an agent may see these.
SELECT item.value, memory.memory_id, memory.namespace, citation.first, citation.beyond
FROM json_each(:transcript_ids) AS item
JOIN transcript ON transcript.transcript_id = item.value
JOIN citation ON citation.transcript = transcript.id
JOIN memory ON memory.id = citation.memory
WHERE citation.commit_ts <= :at AND (memory.private = 0 OR memory.agent_id = :viewer)

-- name: memories_withdrawn
-- Find which of some memories were superseded, retracted or expired as of a commit.
SELECT memory.memory_id
FROM json_each(:memory_ids) AS item
JOIN memory ON memory.memory_id = item.value
JOIN memory_state AS state ON state.id = (
    SELECT id FROM memory_state
    WHERE memory = memory.id AND commit_ts <= :at
    ORDER BY commit_ts DESC, position DESC LIMIT 1
)
WHERE state.retracted = 1 OR state.expires_at <= :now OR EXISTS (
    SELECT 1 FROM memory_link AS link
    WHERE link.target = memory.id AND link.relation = 'supersedes'
        AND link.commit_ts <= :at AND link.until_commit > :at
)

-- name: assertions_of_transcripts
-- Read the assertions whose source is in some transcripts, as far as an agent may see them. An
-- encoded source is the header, the transcript's id, and its spans.
SELECT
    statement.assertion_id, statement.source, scope.namespace, statement.at, statement.until_commit
FROM json_each(:transcript_ids) AS item
JOIN graph_statement AS statement INDEXED BY graph_statement_by_source
    ON statement.source >= CAST(:header || item.value AS BLOB)
    AND statement.source < CAST(:header || item.value || X'FF' AS BLOB)
JOIN graph_node AS subject ON subject.id = statement.subject
JOIN scope ON scope.id = subject.scope_id
WHERE statement.asserts = 1 AND statement.author = 0 AND statement.commit_ts <= :at
    AND (statement.private = 0 OR scope.agent_id = :viewer)

-- name: memories_seen
-- Find which of some memories existed at a commit and are visible to an agent.
SELECT memory.memory_id
FROM json_each(:memory_ids) AS item JOIN memory ON memory.memory_id = item.value
WHERE memory.commit_ts <= :at AND (memory.private = 0 OR memory.agent_id = :viewer)

-- name: event_places_of_scopes
-- Read events, each with the positions of some scopes' operations in it; NULL where they are unknown.
-- An item is a commit and its scopes.
SELECT
    event.commit_ts, event.committed_at, event.hash, event.envelope,
    (
        SELECT json_group_array(hex(own.places))
        FROM json_each(item.value ->> 1) AS touched
        LEFT JOIN event_scope AS own
            ON own.scope_id = touched.value AND own.commit_ts = event.commit_ts
    ),
    event.operations
FROM json_each(:events) AS item CROSS JOIN event ON event.commit_ts = item.value ->> 0

-- name: event_list
-- Return several events, in the order in which they are named.
SELECT
    event.commit_ts, event.committed_at, event.hash, event.salts, event.envelope, event.operations
FROM json_each(:commits) AS item CROSS JOIN event ON event.commit_ts = item.value

-- name: event_times
-- Return the times of some commits, in the order in which they are named.
SELECT event.committed_at
FROM json_each(:commits) AS item JOIN event ON event.commit_ts = item.value
ORDER BY item.key

-- name: commits_at_times
-- Find the last commit at or before each of some times, as commit_at_time does for one. Each item
-- is a time, and the first and the last commit that it can be.
WITH RECURSIVE bisect (place, time, low, high) AS (
    SELECT
        item.key, CAST(item.value ->> 0 AS INTEGER), CAST(item.value ->> 1 AS INTEGER),
        CAST(item.value ->> 2 AS INTEGER)
    FROM json_each(:searches) AS item
    UNION ALL
    SELECT
        place, time,
        CASE WHEN middle.committed_at <= time THEN middle.commit_ts ELSE low END,
        CASE WHEN middle.committed_at <= time THEN high ELSE middle.commit_ts - 1 END
    FROM bisect CROSS JOIN event AS middle ON middle.commit_ts = (low + high + 1) / 2
    WHERE low < high
)
SELECT low FROM bisect WHERE low = high ORDER BY place

-- name: kind_counts_of_blocks
-- Sum a scope's operations over ranges of blocks of commits. Each item is a number for the range,
-- the first and the last block.
SELECT CAST(item.value ->> 0 AS INTEGER), kind_count.kind, SUM(kind_count.count)
FROM json_each(:ranges) AS item CROSS JOIN kind_count
WHERE kind_count.scope_id = :scope_id
    AND kind_count.block >= item.value ->> 1 AND kind_count.block <= item.value ->> 2
GROUP BY item.key, item.value ->> 0, kind_count.kind

-- name: kinds_of_ranges
-- Count a scope's events over ranges of commits, by what kinds of operations they have. Each item
-- is a number for the range, the commit before it and its last one.
SELECT CAST(item.value ->> 0 AS INTEGER), event_scope.kinds, COUNT(*)
FROM json_each(:ranges) AS item CROSS JOIN event_scope
WHERE event_scope.scope_id = :scope_id
    AND event_scope.commit_ts > item.value ->> 1 AND event_scope.commit_ts <= item.value ->> 2
GROUP BY item.key, item.value ->> 0, event_scope.kinds

-- name: event_commit_infos
-- Read the times and envelopes of some commits.
SELECT event.commit_ts, event.committed_at, event.envelope
FROM json_each(:commits) AS item JOIN event ON event.commit_ts = item.value

-- name: state_places
-- Find the log positions of versions of keys as of a commit, and the newest version of each key
-- then.
-- Each requested item is agent, namespace, key and version; without a version, the newest.
SELECT item.key, place.commit_ts, place.position, newest.version, newest.live
FROM json_each(:requested) AS item
JOIN scope ON scope.agent_id = item.value ->> 0 AND scope.namespace = item.value ->> 1
JOIN state ON state.scope_id = scope.id AND state.key = item.value ->> 2
JOIN state_version AS newest ON newest.key_id = state.id
    AND (newest.commit_ts, newest.version) = (
        SELECT commit_ts, version FROM state_version
        WHERE key_id = state.id AND commit_ts <= :at
        ORDER BY commit_ts DESC, version DESC LIMIT 1
    )
JOIN state_version AS place ON place.key_id = state.id AND place.commit_ts <= :at
    AND place.version = COALESCE(item.value ->> 3, newest.version)

-- name: memory_states_of_versions
-- Find the last state row of versions of memories as of a commit, and the commits that made them.
-- Each requested item is id and version; without a version, the newest.
SELECT item.key, state.id, state.version, (
    SELECT commit_ts FROM memory_state
    WHERE memory = memory.id AND version = state.version
    ORDER BY commit_ts, position LIMIT 1
)
FROM json_each(:requested) AS item
JOIN memory ON memory.memory_id = item.value ->> 0
JOIN memory_state AS state ON state.id = (
    SELECT id FROM memory_state
    WHERE memory = memory.id AND commit_ts <= :at
        AND (item.value ->> 1 IS NULL OR version = item.value ->> 1 OR kind = '')
    ORDER BY commit_ts DESC, position DESC LIMIT 1
)

-- name: links_relied_on
-- Read what some memories reflect on and derive from as of a commit, each target at the version
-- that it had when the link was made.
SELECT source.memory_id, link.relation, target.memory_id, (
    SELECT version FROM memory_state
    WHERE memory = target.id AND (commit_ts, position) <= (link.commit_ts, link.position)
    ORDER BY commit_ts DESC, position DESC LIMIT 1
)
FROM json_each(:memory_ids) AS item
JOIN memory AS source ON source.memory_id = item.value
JOIN memory_link AS link ON link.source = source.id
    AND link.relation IN ('reflects_on', 'derived_from')
JOIN memory AS target ON target.id = link.target
WHERE link.commit_ts <= :at AND link.until_commit > :at
ORDER BY link.relation DESC, target.memory_id

-- name: transcripts_at
-- Read which of some transcripts existed at a commit; those whose text was erased since are
-- included.
SELECT
    transcript.transcript_id, transcript.namespace, transcript.agent_id, transcript.commit_ts,
    transcript.position, transcript.created_at, transcript.occurred_at, transcript.expires_at,
    transcript.size, transcript.digest, COALESCE(LENGTH(blob.content), 0), transcript.form,
    transcript.messages_size
FROM json_each(:transcript_ids) AS item
JOIN transcript ON transcript.transcript_id = item.value
LEFT JOIN blob ON blob.commit_ts = transcript.commit_ts AND blob.position = transcript.position
WHERE transcript.commit_ts <= :at

-- name: graph_assertions_by_id
-- Read the commits of some assertions, and whether each was withdrawn since.
SELECT statement.commit_ts, statement.until_commit < OPEN_END
FROM (SELECT DISTINCT value AS id FROM json_each(:ids)) AS item
JOIN graph_statement AS statement ON statement.assertion_id = item.id
    AND statement.asserts = 1 AND statement.author = 0

-- name: events_with
-- Find the commits of a range with some bytes in their operations or envelopes.
SELECT commit_ts FROM event
WHERE commit_ts > :after AND commit_ts <= :through
    AND (instr(operations, :needle) > 0 OR instr(envelope, :needle) > 0)

-- name: graph_statements_from
-- Find the assertions whose source, an encoded reference, is in a range of bytes.
SELECT assertion_id FROM graph_statement INDEXED BY graph_statement_by_source
WHERE source >= :first AND source < :end

-- name: graph_node_merged
-- Return a row if a node took part in a merge, or in an alias.
SELECT 1 FROM graph_node AS node
WHERE node.id = :id AND (
    node.root <> node.id
    OR EXISTS (SELECT 1 FROM graph_node AS other WHERE other.root = :id AND other.id <> :id)
    OR EXISTS (SELECT 1 FROM graph_root WHERE graph_root.node = :id)
    OR EXISTS (SELECT 1 FROM graph_root WHERE graph_root.root = :id)
)

-- name: graph_node_first_mention
-- Return the first commit whose statements name a node that is its own root. No index finds relations
-- and the objects of ends, so the entries of one are looked through.
SELECT MIN(commit_ts) FROM (
    SELECT MIN(commit_ts) AS commit_ts FROM graph_statement WHERE subject_root = :id
    UNION ALL
    SELECT MIN(commit_ts) FROM graph_statement INDEXED BY graph_assertion_by_object
    WHERE object = :id AND asserts = 1
    UNION ALL
    SELECT MIN(commit_ts) FROM graph_statement INDEXED BY graph_statement_by_time
    WHERE relation = :id
    UNION ALL
    SELECT MIN(commit_ts) FROM graph_statement INDEXED BY graph_statement_by_time
    WHERE asserts = 0 AND object = :id
) HAVING MIN(commit_ts) IS NOT NULL

-- name: graph_node_drop
-- Delete a node.
DELETE FROM graph_node WHERE id = :id

-- name: graph_node_before
-- Return the last node that comes before another one, which a commit mentions first now: those of
-- earlier commits, and those that the commit mentions earlier. These are pairs of kind and key.
SELECT MAX(node.id) FROM graph_node AS node
WHERE node.scope_id = (SELECT own.scope_id FROM graph_node AS own WHERE own.id = :id)
    AND node.id <> :id AND (
        node.commit_ts < :commit_ts
        OR (
            node.commit_ts = :commit_ts AND EXISTS (
                SELECT 1 FROM json_each(:earlier) AS item
                WHERE item.value ->> 0 = node.kind AND item.value ->> 1 = node.key
            )
        )
    )
HAVING MAX(node.id) IS NOT NULL

-- name: graph_node_next
-- Return the next node of all graphs.
SELECT id FROM graph_node WHERE id > :id ORDER BY id LIMIT 1

-- name: graph_node_move
-- Give a node another id, and the name and the commit of its new first mention.
UPDATE graph_node SET id = :new_id, root = :new_id, name = :name, commit_ts = :commit_ts
WHERE id = :id

-- name: graph_subjects_move
-- Let the statements about a node that is its own root name it by another id.
UPDATE graph_statement SET subject = :new_id, subject_root = :new_id WHERE subject_root = :id

-- name: graph_objects_move
-- Let the assertions of a node that is its own root name it by another id.
UPDATE graph_statement SET object = :new_id, object_root = :new_id
WHERE object = :id AND asserts = 1

-- name: graph_ended_objects_move
-- Let the ends of a node that is its own root name it by another id.
UPDATE graph_statement SET object = :new_id, object_root = :new_id
WHERE id IN (
    SELECT id FROM graph_statement INDEXED BY graph_statement_by_time
    WHERE asserts = 0 AND object = :id
)

-- name: graph_edge_subjects_move
-- Let the intervals of a node name it by another id.
UPDATE graph_edge SET subject = :new_id WHERE subject = :id

-- name: graph_edge_objects_move
-- Let the intervals in which a node is the object name it by another id.
UPDATE graph_edge SET object = :new_id WHERE object = :id

-- name: fulltext_add
-- Add the tokens of a document.
INSERT INTO words (rowid, own, before, after) VALUES (:id, :own, :before, :after)

-- name: fulltext_remove
-- Remove the tokens of a document.
DELETE FROM words WHERE rowid = :id

-- name: fulltext_mark_deleted
-- From here on, mark removed tokens as deleted, instead of overwriting each of them in its page.
INSERT INTO words (words, rank) VALUES ('secure-delete', 0)

-- name: fulltext_overwrite_deleted
-- From here on, overwrite removed tokens again.
INSERT INTO words (words, rank) VALUES ('secure-delete', 1)

-- name: fulltext_flush
-- Write the changes of the full-text index that are gathered in memory.
INSERT INTO words (words) VALUES ('flush')

-- name: fulltext_by_id
-- Read the tokens of some documents.
SELECT words.rowid, words.own, words.before, words.after
FROM json_each(:ids) AS item JOIN words ON words.rowid = item.value

-- name: fulltext_empty
-- Delete all tokens at once: row by row is slow. `fulltext_rebuild` has to follow.
DELETE FROM words_content

-- name: fulltext_rebuild
-- Rebuild the full-text index from the stored tokens: deleted tokens leave prefixes between pages.
INSERT INTO words (words) VALUES ('rebuild')

-- name: fulltext_refresh
-- Read the full-text index, so that the connection reloads what others wrote; a structure check
-- alone does not.
SELECT term FROM word_count LIMIT 1

-- name: fulltext_document_counts
-- Count the documents with each of some tokens.
SELECT token.value, word_count.doc
FROM json_each(:tokens) AS token CROSS JOIN word_count
WHERE word_count.term = token.value

-- name: fulltext_search
-- Find the best documents for some tokens, each token with the weight of its score.
WITH part AS MATERIALIZED (
    SELECT words.rowid AS id, -bm25(words, 1.0, 0.5, 0.3) * (term.value ->> 1) AS score
    FROM json_each(:terms) AS term, words WHERE words MATCH term.value ->> 0
)
SELECT part.id, SUM(part.score) AS total FROM part
GROUP BY part.id ORDER BY total DESC, part.id DESC LIMIT :limit

-- name: fulltext_search_any
-- Find the best documents for any of some tokens, by the score of FTS5.
SELECT words.rowid, -bm25(words, 1.0, 0.5, 0.3) AS score
FROM words WHERE words MATCH :tokens
ORDER BY score DESC LIMIT :limit

-- name: fulltext_columns
-- Read the tokens of some documents.
SELECT words.rowid, words.own, words.before, words.after
FROM json_each(:ids) AS item CROSS JOIN words ON words.rowid = item.value

-- name: fulltext_search_one
-- Find the best documents for one token, with the weight of its score, and read them. They are scored
-- from the newest to the oldest (`LIMIT -1` keeps that order), so that one never displaces another of
-- the same score.
SELECT
    passage.id, passage.shelf, passage.source, passage.first, passage.beyond, passage.since,
    passage.until_commit, passage.length, best.total
FROM (
    SELECT part.id, part.total
    FROM (
        SELECT words.rowid AS id, -bm25(words, 1.0, 0.5, 0.3) * :weight AS total
        FROM words WHERE words MATCH :token
        ORDER BY words.rowid DESC LIMIT -1
    ) AS part
    ORDER BY part.total DESC, part.id DESC LIMIT :limit
) AS best
CROSS JOIN passage ON passage.id = best.id

-- name: fulltext_document_count
-- Count the documents with a token.
SELECT term, doc FROM word_count WHERE term = :token

-- name: fulltext_search_as_of
-- Find the best documents for some tokens as of a commit.
WITH part AS MATERIALIZED (
    SELECT words.rowid AS id, -bm25(words, 1.0, 0.5, 0.3) * (term.value ->> 1) AS score
    FROM json_each(:terms) AS term, words WHERE words MATCH term.value ->> 0
)
SELECT part.id, SUM(part.score) AS total
FROM part JOIN passage ON passage.id = part.id
WHERE passage.since <= :as_of_commit AND passage.until_commit > :as_of_commit
GROUP BY part.id ORDER BY total DESC, part.id DESC LIMIT :limit

-- name: partitions_of_namespaces
-- Read the partitions of some namespaces that a viewer may see.
SELECT
    shelf.id, shelf.namespace, shelf.owner, shelf.kind, shelf.past, shelf.size, shelf.length,
    shelf.removals
FROM json_each(:namespaces) AS item
JOIN shelf ON shelf.namespace = item.value AND shelf.owner IN ('', :viewer)
ORDER BY shelf.id

-- name: documents_by_id
-- Read some documents by their ids.
SELECT
    passage.id, passage.shelf, passage.source, passage.first, passage.beyond, passage.since,
    passage.until_commit, passage.length
FROM json_each(:ids) AS item CROSS JOIN passage ON passage.id = item.value

-- name: documents_of_sources
-- Read the indexed documents of some sources.
SELECT
    passage.id, passage.shelf, shelf.namespace, shelf.owner, shelf.kind, shelf.past, passage.source,
    passage.first, passage.beyond, passage.since, passage.until_commit, passage.length
FROM json_each(:sources) AS item
JOIN passage ON passage.source = item.value
JOIN shelf ON shelf.id = passage.shelf
ORDER BY passage.id

-- name: search_memories
-- Read every state of some memories with its content; a private memory has an owner.
SELECT
    memory.memory_id, memory.namespace, CASE memory.private WHEN 1 THEN memory.agent_id ELSE '' END,
    state.id, state.commit_ts, state.position, state.kind <> '' AND state.retracted = 0,
    state.title, COALESCE(state.details_in, state.id), COALESCE(state.content_in, state.id),
    state.details, state.digest, state.size, state.content
FROM json_each(:memory_ids) AS item
JOIN memory ON memory.memory_id = item.value
JOIN memory_state AS state ON state.memory = memory.id
ORDER BY memory.id, state.commit_ts, state.position

-- name: search_memories_at
-- Read the state of each of some memories at a commit.
SELECT
    memory.memory_id, item.value ->> 1, state.kind <> '' AND state.retracted = 0, state.title,
    details_state.details, content_state.commit_ts, content_state.position, content_state.digest,
    content_state.size, content_state.content
FROM json_each(:requested) AS item
JOIN memory ON memory.memory_id = item.value ->> 0
JOIN memory_state AS state ON state.id = (
    SELECT latest.id FROM memory_state AS latest
    WHERE latest.memory = memory.id AND latest.commit_ts <= item.value ->> 1
    ORDER BY latest.commit_ts DESC, latest.position DESC LIMIT 1
)
JOIN memory_state AS details_state ON details_state.id = COALESCE(state.details_in, state.id)
JOIN memory_state AS content_state ON content_state.id = COALESCE(state.content_in, state.id)

-- name: search_citations
-- Read the citations of some memories: of transcripts that are not erased, in their namespace.
SELECT memory.memory_id, citation.commit_ts, transcript.transcript_id, citation.first,
    citation.beyond
FROM json_each(:memory_ids) AS item
JOIN memory ON memory.memory_id = item.value
JOIN citation ON citation.memory = memory.id
JOIN transcript ON transcript.id = citation.transcript
WHERE LENGTH(transcript.digest) > 0 AND transcript.namespace = memory.namespace
ORDER BY memory.id, transcript.transcript_id, citation.first, citation.beyond

-- name: search_facts
-- Read some assertions with the names of their entities.
SELECT
    statement.assertion_id, scope.namespace,
        CASE statement.private WHEN 0 THEN '' ELSE scope.agent_id END,
    statement.commit_ts, statement.until_commit, subject.name, relation.name, object.name
FROM json_each(:assertion_ids) AS item
JOIN graph_statement AS statement ON statement.assertion_id = item.value AND statement.asserts = 1
JOIN graph_node AS subject ON subject.id = statement.subject
JOIN graph_node AS relation ON relation.id = statement.relation
JOIN graph_node AS object ON object.id = statement.object
JOIN scope ON scope.id = subject.scope_id
ORDER BY statement.id

-- name: search_citing
-- Find the memories that cite some transcripts.
SELECT DISTINCT memory.memory_id
FROM json_each(:transcript_ids) AS item
JOIN transcript ON transcript.transcript_id = item.value
JOIN citation ON citation.transcript = transcript.id
JOIN memory ON memory.id = citation.memory

-- name: search_begun
-- Find the commits in which some sources were created.
SELECT memory.commit_ts
FROM json_each(:sources) AS item JOIN memory ON memory.memory_id = item.value
UNION
SELECT statement.commit_ts
FROM json_each(:sources) AS item
JOIN graph_statement AS statement ON statement.assertion_id = item.value
WHERE statement.asserts = 1

-- name: vectors_by_id
-- Read the vectors of some documents.
SELECT vector.passage, vector.content
FROM json_each(:ids) AS item JOIN vector ON vector.passage = item.value

-- name: partition_last_documents
-- Find the last document of each of some partitions.
SELECT item.value, (SELECT MAX(passage.id) FROM passage WHERE passage.shelf = item.value)
FROM json_each(:ids) AS item

-- name: partition_removals
-- Read how often documents of some partitions were erased.
SELECT shelf.id, shelf.removals
FROM json_each(:ids) AS item JOIN shelf ON shelf.id = item.value

-- name: fulltext_of_sources
-- Read the indexed tokens of some sources.
SELECT passage.id, words.own, words.before, words.after
FROM json_each(:sources) AS item
JOIN passage ON passage.source = item.value
JOIN words ON words.rowid = passage.id

-- name: event_salts_without_effect
-- Return the salts of transactions that changed nothing, if the request's salt is not zero.
-- It is the first of two, or in chain version 2 the second of two behind one byte.
SELECT commit_ts, salts FROM event
WHERE LENGTH(operations) = 1 AND CASE LENGTH(salts)
    WHEN 2 * :size THEN SUBSTR(salts, 1, :size)
    ELSE SUBSTR(salts, 2 + :size, :size)
END <> ZEROBLOB(:size)

-- name: vectors_generation
-- Read the generation of the vectors; of a damaged row, one that no counter has reached.
SELECT CASE WHEN json_valid(value) THEN COALESCE((value ->> 2) + 0, 0) ELSE 1 << 40 END
FROM meta WHERE name = :name

-- name: vectors_restart
-- Increment the generation after all vectors were deleted, which invalidates caches.
UPDATE meta SET value = json_set(value, '$[2]', (value ->> 2) + 1)
WHERE name = 'vectors' AND json_valid(value) AND json_array_length(value) > 2

-- name: index_strays
-- Count vectors and tokens without a document.
SELECT
    (SELECT COUNT(*) FROM vector WHERE passage NOT IN (SELECT id FROM passage)),
    (SELECT COUNT(*) FROM words WHERE rowid NOT IN (SELECT id FROM passage))
