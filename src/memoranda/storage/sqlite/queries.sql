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

-- name: table_there
SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = :name

-- name: column_there
SELECT 1 FROM pragma_table_info(:table) WHERE name = :name

-- name: schema_rows
-- Everything that is defined in the database, as it was defined.
SELECT type, name, tbl_name, sql FROM sqlite_schema
WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY type, name

-- name: definitions
-- As `schema_rows`, with what SQLite adds by itself; statistics are no definition, and anybody's.
SELECT type, name, tbl_name, sql FROM sqlite_schema
WHERE NOT (type = 'table' AND name IN ('sqlite_stat1', 'sqlite_stat4'))

-- name: structure_check
-- Complaints about the pages, indexes and columns of a table; "ok" if there are none.
SELECT integrity_check FROM pragma_integrity_check(:name)

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

-- name: has_erasures
-- Whether the format knows erasures: an older one is looked at as it is.
SELECT 1 FROM sqlite_schema WHERE name = 'erased'

-- name: vacuum
-- Write every page anew, from what is in the tables.
VACUUM

-- Lists are given as JSON arrays, which SQLite takes for tables.

-- name: memory_states_at
-- The rows that say what memories were like at a commit.
SELECT (
    SELECT state.id FROM memory_state AS state
    WHERE state.memory = memory.id AND state.commit_ts <= :at
    ORDER BY state.commit_ts DESC, state.position DESC LIMIT 1
)
FROM json_each(:memory_ids) AS wanted JOIN memory ON memory.memory_id = wanted.value
WHERE memory.commit_ts <= :at

-- name: memory_states
-- Everything these rows say, and what supersedes the memory as far as an agent may see.
SELECT
    state.id, memory.memory_id, memory.namespace, memory.agent_id, memory.private,
    memory.created_at, state.commit_ts, state.version, state.updated_at, state.kind, state.tier,
    state.title, state.retracted, state.reason, state.expires_at, state.depth, state.access_count,
    state.last_accessed_at, (
        SELECT newer.memory_id FROM memory_link AS link JOIN memory AS newer ON newer.id = link.source
        WHERE link.target = memory.id AND link.relation = 'supersedes'
            AND link.commit_ts <= :at AND link.until_commit > :at
            AND (:viewer IS NULL OR newer.private = 0 OR newer.agent_id = :viewer)
        ORDER BY link.commit_ts DESC, link.position DESC LIMIT 1
    ), details.details, content.commit_ts, content.position, content.digest, content.size,
    CASE WHEN :content = 1 THEN content.content END, content.updated_at
FROM json_each(:states) AS wanted
JOIN memory_state AS state ON state.id = wanted.value
JOIN memory ON memory.id = state.memory
JOIN memory_state AS details ON details.id = COALESCE(state.details_in, state.id)
JOIN memory_state AS content ON content.id = COALESCE(state.content_in, state.id)

-- name: links_from
-- Where the links of one relation lead from these memories, as of a commit.
SELECT source.memory_id, target.memory_id
FROM json_each(:memory_ids) AS wanted
JOIN memory AS source ON source.memory_id = wanted.value
JOIN memory_link AS link ON link.source = source.id AND link.relation = :relation
JOIN memory AS target ON target.id = link.target
WHERE link.commit_ts <= :at AND link.until_commit > :at

-- name: links_to
-- From where the links of one relation lead to these memories, as of a commit.
SELECT target.memory_id, source.memory_id
FROM json_each(:memory_ids) AS wanted
JOIN memory AS target ON target.memory_id = wanted.value
JOIN memory_link AS link ON link.target = target.id AND link.relation = :relation
JOIN memory AS source ON source.id = link.source
WHERE link.commit_ts <= :at AND link.until_commit > :at

-- name: memory_depths
-- How deep reflections go at these memories, and in which namespace they are.
SELECT memory.memory_id, memory.namespace, (
    SELECT state.depth FROM memory_state AS state
    WHERE state.memory = memory.id AND state.commit_ts <= :at
    ORDER BY state.commit_ts DESC, state.position DESC LIMIT 1
)
FROM json_each(:memory_ids) AS wanted JOIN memory ON memory.memory_id = wanted.value

-- name: notices_known
-- Those of the notices that there are: a notice's id says what it is about.
SELECT memory.memory_id
FROM json_each(:notice_ids) AS wanted JOIN memory ON memory.memory_id = wanted.value

-- name: memory_brief
-- What a walk has to know of a memory: whose it is, and whether it is over.
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
-- One hop of a walk along links: for each of these memories, where its links lead as of a commit.
SELECT
    source.memory_id, target.memory_id, target.namespace, target.agent_id, target.private,
    state.kind, state.retracted, state.expires_at
FROM json_each(:memory_ids) AS wanted
JOIN memory AS source ON source.memory_id = wanted.value
JOIN memory_link AS link ON link.source = source.id AND link.relation = :relation
JOIN memory AS target ON target.id = link.target
JOIN memory_state AS state ON state.id = (
    SELECT id FROM memory_state
    WHERE memory = target.id AND commit_ts <= :at
    ORDER BY commit_ts DESC, position DESC LIMIT 1
)
WHERE link.commit_ts <= :at AND link.until_commit > :at

-- name: walk_to
-- One hop of a walk against links: for each of these memories, from where links lead to it.
SELECT
    target.memory_id, source.memory_id, source.namespace, source.agent_id, source.private,
    state.kind, state.retracted, state.expires_at
FROM json_each(:memory_ids) AS wanted
JOIN memory AS target ON target.memory_id = wanted.value
JOIN memory_link AS link ON link.target = target.id AND link.relation = :relation
JOIN memory AS source ON source.id = link.source
JOIN memory_state AS state ON state.id = (
    SELECT id FROM memory_state
    WHERE memory = source.id AND commit_ts <= :at
    ORDER BY commit_ts DESC, position DESC LIMIT 1
)
WHERE link.commit_ts <= :at AND link.until_commit > :at

-- name: citations_of_memories
-- The transcripts these memories come from; no time: the transcript itself is gone.
SELECT
    memory.memory_id, citation.transcript, citation.first, citation.beyond,
    transcript.transcript_id, transcript.namespace, transcript.agent_id, transcript.commit_ts,
    transcript.position, transcript.created_at, transcript.occurred_at, transcript.expires_at,
    transcript.size, transcript.digest, COALESCE(LENGTH(blob.content), 0), transcript.form,
    transcript.messages_size
FROM json_each(:memory_ids) AS wanted
JOIN memory ON memory.memory_id = wanted.value
JOIN citation ON citation.memory = memory.id
LEFT JOIN transcript ON transcript.id = citation.transcript
LEFT JOIN blob ON blob.commit_ts = transcript.commit_ts AND blob.position = transcript.position
WHERE citation.commit_ts <= :at
ORDER BY memory.memory_id, transcript.transcript_id, citation.first, citation.beyond

-- name: graph_edges_of
-- What holds, or held, of some subjects: at an instant, or ever (no instant).
SELECT
    edge.subject, edge.relation, edge.object, edge.valid_from, edge.from_commit, edge.from_position,
    edge.last_at, edge.last_commit, edge.last_position,
    edge.valid_to, edge.to_commit, edge.to_position
FROM json_each(:subjects) AS wanted JOIN graph_edge AS edge ON edge.subject = wanted.value
WHERE (:relation IS NULL OR edge.relation = :relation)
    AND (:object IS NULL OR edge.object = :object)
    AND (:valid IS NULL OR (edge.valid_from <= :valid AND edge.valid_to > :valid))
ORDER BY edge.subject, edge.relation, edge.valid_from, edge.from_commit, edge.from_position

-- name: graph_edges_to
-- The same, by objects.
SELECT
    edge.subject, edge.relation, edge.object, edge.valid_from, edge.from_commit, edge.from_position,
    edge.last_at, edge.last_commit, edge.last_position,
    edge.valid_to, edge.to_commit, edge.to_position
FROM json_each(:objects) AS wanted JOIN graph_edge AS edge ON edge.object = wanted.value
WHERE (:relation IS NULL OR edge.relation = :relation)
    AND (:valid IS NULL OR (edge.valid_from <= :valid AND edge.valid_to > :valid))
ORDER BY edge.subject, edge.relation, edge.valid_from, edge.from_commit, edge.from_position

-- name: graph_edges_touching
-- What holds at an instant that leads from some nodes (outward), to them (inward), or both. It leads
-- to a literal, but not from there: that two entities have the same value does not connect them.
SELECT
    edge.subject, edge.relation, edge.object, edge.valid_from, edge.from_commit, edge.from_position,
    edge.last_at, edge.last_commit, edge.last_position,
    edge.valid_to, edge.to_commit, edge.to_position
FROM json_each(:nodes) AS wanted JOIN graph_edge AS edge ON edge.subject = wanted.value
WHERE :outward AND (:relation IS NULL OR edge.relation = :relation)
    AND edge.valid_from <= :valid AND edge.valid_to > :valid
UNION
SELECT
    edge.subject, edge.relation, edge.object, edge.valid_from, edge.from_commit, edge.from_position,
    edge.last_at, edge.last_commit, edge.last_position,
    edge.valid_to, edge.to_commit, edge.to_position
FROM json_each(:nodes) AS wanted
JOIN graph_node AS node ON node.id = wanted.value AND node.kind = 'entity'
JOIN graph_edge AS edge ON edge.object = node.id
WHERE :inward AND (:relation IS NULL OR edge.relation = :relation)
    AND edge.valid_from <= :valid AND edge.valid_to > :valid
ORDER BY 1, 2, 4, 5, 6
LIMIT :most

-- name: graph_edges_among
-- What holds at an instant from some nodes to others of them.
SELECT
    edge.subject, edge.relation, edge.object, edge.valid_from, edge.from_commit, edge.from_position,
    edge.last_at, edge.last_commit, edge.last_position,
    edge.valid_to, edge.to_commit, edge.to_position
FROM json_each(:nodes) AS wanted JOIN graph_edge AS edge ON edge.subject = wanted.value
WHERE (:relation IS NULL OR edge.relation = :relation)
    AND edge.valid_from <= :valid AND edge.valid_to > :valid
    AND edge.object IN (SELECT value FROM json_each(:nodes))
ORDER BY edge.subject, edge.relation, edge.valid_from, edge.from_commit, edge.from_position
LIMIT :most

-- name: graph_assertions_of_edges
-- What was said for edges, by their places in the list.
SELECT
    wanted.key, said.assertion_id, said.at, said.commit_ts, said.position, said.committed_at,
    said.confidence, said.source
FROM json_each(:edges) AS wanted
JOIN graph_statement AS said
    ON said.subject_root = wanted.value ->> 0 AND said.relation = wanted.value ->> 1
    AND said.asserts = 1
    AND (said.at, said.commit_ts, said.position)
        >= (wanted.value ->> 3, wanted.value ->> 4, wanted.value ->> 5)
    AND (said.at, said.commit_ts, said.position)
        <= (wanted.value ->> 6, wanted.value ->> 7, wanted.value ->> 8)
WHERE said.object_root = wanted.value ->> 2 AND said.until_commit = 9223372036854775807
ORDER BY wanted.key, said.commit_ts, said.position

-- name: graph_said_at
-- What was known at a commit to have been said of some subjects: of everything that meant them then.
WITH named AS (
    SELECT node.id AS node, node.root AS now, wanted.value AS root
    FROM json_each(:subjects) AS wanted JOIN graph_node AS node ON node.root = wanted.value
    WHERE NOT EXISTS (
        SELECT 1 FROM graph_root AS past
        WHERE past.node = node.id AND past.until_commit > :known
    )
    UNION ALL
    SELECT past.node, node.root, past.root
    FROM json_each(:subjects) AS wanted
    JOIN graph_root AS past ON past.root = wanted.value AND past.until_commit > :known
    JOIN graph_node AS node ON node.id = past.node
    WHERE NOT EXISTS (
        SELECT 1 FROM graph_root AS sooner
        WHERE sooner.node = past.node
            AND sooner.until_commit > :known AND sooner.until_commit < past.until_commit
    )
)
SELECT
    named.root, said.relation, said.at, said.commit_ts, said.position, said.asserts,
    COALESCE(
        (
            SELECT past.root FROM graph_root AS past
            WHERE past.node = said.object AND past.until_commit > :known
            ORDER BY past.until_commit LIMIT 1
        ),
        object.root
    ),
    said.assertion_id, said.committed_at, said.confidence, said.source, said.bound
FROM named
JOIN graph_statement AS said ON said.subject_root = named.now AND said.subject = named.node
LEFT JOIN graph_node AS object ON object.id = said.object
WHERE said.commit_ts <= :known AND said.until_commit > :known
    AND (:relation IS NULL OR said.relation = :relation) AND (:public = 0 OR said.private = 0)
ORDER BY named.root, said.relation, said.at, said.commit_ts, said.position

-- name: graph_subjects_naming
-- Whose facts were known at a commit to name some objects, or whatever meant them then.
SELECT DISTINCT COALESCE(
    (
        SELECT past.root FROM graph_root AS past
        WHERE past.node = said.subject AND past.until_commit > :known
        ORDER BY past.until_commit LIMIT 1
    ),
    said.subject_root
)
FROM (
    SELECT node.id AS node
    FROM json_each(:objects) AS wanted JOIN graph_node AS node ON node.root = wanted.value
    WHERE NOT EXISTS (
        SELECT 1 FROM graph_root AS past
        WHERE past.node = node.id AND past.until_commit > :known
    )
    UNION
    SELECT past.node
    FROM json_each(:objects) AS wanted
    JOIN graph_root AS past ON past.root = wanted.value AND past.until_commit > :known
    WHERE NOT EXISTS (
        SELECT 1 FROM graph_root AS sooner
        WHERE sooner.node = past.node
            AND sooner.until_commit > :known AND sooner.until_commit < past.until_commit
    )
) AS named
JOIN graph_statement AS said ON said.object = named.node AND said.asserts = 1
WHERE said.commit_ts <= :known AND said.until_commit > :known

-- name: graph_nodes
SELECT node.id, node.kind, node.key, node.name
FROM json_each(:ids) AS wanted JOIN graph_node AS node ON node.id = wanted.value

-- name: graph_names_at
-- Everything that meant some entities at a commit: their own names, and their aliases.
SELECT named.root, node.id, node.key, node.name, event.committed_at
FROM (
    SELECT node.id AS node, wanted.value AS root
    FROM json_each(:ids) AS wanted JOIN graph_node AS node ON node.root = wanted.value
    WHERE NOT EXISTS (
        SELECT 1 FROM graph_root AS past
        WHERE past.node = node.id AND past.until_commit > :known
    )
    UNION ALL
    SELECT past.node, past.root
    FROM json_each(:ids) AS wanted
    JOIN graph_root AS past ON past.root = wanted.value AND past.until_commit > :known
    WHERE NOT EXISTS (
        SELECT 1 FROM graph_root AS sooner
        WHERE sooner.node = past.node
            AND sooner.until_commit > :known AND sooner.until_commit < past.until_commit
    )
) AS named
JOIN graph_node AS node ON node.id = named.node
JOIN event ON event.commit_ts = node.commit_ts
WHERE node.commit_ts <= :known
ORDER BY named.root, node.id

-- name: graph_edge_of_object
-- Along the index of objects: at one instant there may be very many others.
SELECT
    object, valid_from, from_commit, from_position, last_at, last_commit, last_position,
    valid_to, to_commit, to_position
FROM graph_edge INDEXED BY graph_edge_by_object
WHERE object = :object AND subject = :subject AND relation = :relation AND valid_from = :at

-- name: graph_edges_crossing_of_object
SELECT
    object, valid_from, from_commit, from_position, last_at, last_commit, last_position,
    valid_to, to_commit, to_position
FROM graph_edge INDEXED BY graph_edge_by_object
WHERE object = :object AND subject = :subject AND relation = :relation
    AND valid_from BETWEEN :since AND :at AND valid_to >= :at
    AND (last_at, last_commit, last_position) < (:at, :commit_ts, :position)
    AND (valid_to, to_commit, to_position) > (:at, :commit_ts, :position)

-- name: graph_nodes_named
-- What some names meant at a commit, in the scopes of some namespaces, or of one agent there.
SELECT scope.namespace, scope.agent_id, scope.id, node.key, COALESCE(
    (
        SELECT past.root FROM graph_root AS past
        WHERE past.node = node.id AND past.until_commit > :known
        ORDER BY past.until_commit LIMIT 1
    ),
    node.root
)
FROM scope
CROSS JOIN json_each(:names) AS wanted
JOIN graph_node AS node
    ON node.scope_id = scope.id AND node.kind = 'entity' AND node.key = wanted.value
WHERE scope.namespace IN (SELECT value FROM json_each(:namespaces))
    AND (:agent_id IS NULL OR scope.agent_id = :agent_id) AND node.commit_ts <= :known
ORDER BY node.id LIMIT :most

-- name: graph_edges_of_assertions
-- The edges that some assertions are part of, as far as they stand; of several, the last one counts.
SELECT
    scope.namespace, scope.agent_id, said.assertion_id,
    edge.subject, edge.relation, edge.object, edge.valid_from, edge.from_commit, edge.from_position,
    edge.last_at, edge.last_commit, edge.last_position,
    edge.valid_to, edge.to_commit, edge.to_position
FROM json_each(:ids) AS wanted
JOIN graph_statement AS said ON said.assertion_id = wanted.value AND said.asserts = 1
JOIN graph_node AS subject ON subject.id = said.subject
JOIN scope ON scope.id = subject.scope_id
JOIN graph_edge AS edge
    ON edge.subject = said.subject_root AND edge.relation = said.relation
    AND edge.object = said.object_root
    AND (edge.valid_from, edge.from_commit, edge.from_position)
        <= (said.at, said.commit_ts, said.position)
    AND (edge.last_at, edge.last_commit, edge.last_position)
        >= (said.at, said.commit_ts, said.position)
WHERE said.until_commit = 9223372036854775807
ORDER BY wanted.key, edge.valid_from, edge.from_commit, edge.from_position

-- name: graph_subjects_of_assertions
-- What some assertions were about at a commit, as far as they stood then.
SELECT DISTINCT scope.namespace, scope.agent_id, scope.id, COALESCE(
    (
        SELECT past.root FROM graph_root AS past
        WHERE past.node = said.subject AND past.until_commit > :known
        ORDER BY past.until_commit LIMIT 1
    ),
    subject.root
)
FROM json_each(:ids) AS wanted
JOIN graph_statement AS said ON said.assertion_id = wanted.value AND said.asserts = 1
JOIN graph_node AS subject ON subject.id = said.subject
JOIN scope ON scope.id = subject.scope_id
WHERE said.commit_ts <= :known AND said.until_commit > :known

-- name: memory_superseders
-- What superseded these memories as of a commit, as far as an agent may see.
SELECT target.memory_id, newer.memory_id, newer.namespace
FROM json_each(:memory_ids) AS wanted
JOIN memory AS target ON target.memory_id = wanted.value
JOIN memory_link AS link ON link.target = target.id AND link.relation = 'supersedes'
JOIN memory AS newer ON newer.id = link.source
WHERE link.commit_ts <= :at AND link.until_commit > :at
    AND (newer.private = 0 OR newer.agent_id = :viewer)
ORDER BY link.commit_ts, link.position

-- name: memories_seen
-- Those of the memories that there were at a commit, as far as an agent may see.
SELECT memory.memory_id
FROM json_each(:memory_ids) AS wanted JOIN memory ON memory.memory_id = wanted.value
WHERE memory.commit_ts <= :at AND (memory.private = 0 OR memory.agent_id = :viewer)

-- name: event_bylines
-- When these commits were made, and the envelopes that say by whom.
SELECT event.commit_ts, event.committed_at, event.envelope
FROM json_each(:commits) AS wanted JOIN event ON event.commit_ts = wanted.value

-- name: state_places
-- Where versions of keys stand in the log as of a commit, and what the newest version was then. Each
-- is wanted as agent, namespace, key and version; no version: the newest.
SELECT wanted.key, place.commit_ts, place.position, newest.version, newest.live
FROM json_each(:wanted) AS wanted
JOIN scope ON scope.agent_id = wanted.value ->> 0 AND scope.namespace = wanted.value ->> 1
JOIN state ON state.scope_id = scope.id AND state.key = wanted.value ->> 2
JOIN state_version AS newest ON newest.key_id = state.id
    AND (newest.commit_ts, newest.version) = (
        SELECT commit_ts, version FROM state_version
        WHERE key_id = state.id AND commit_ts <= :at
        ORDER BY commit_ts DESC, version DESC LIMIT 1
    )
JOIN state_version AS place ON place.key_id = state.id AND place.commit_ts <= :at
    AND place.version = COALESCE(wanted.value ->> 3, newest.version)

-- name: memory_states_of_versions
-- The last rows of versions of memories as of a commit, and the commits that made the versions. Each
-- is wanted as id and version; no version: the newest.
SELECT wanted.key, state.id, state.version, (
    SELECT commit_ts FROM memory_state
    WHERE memory = memory.id AND version = state.version
    ORDER BY commit_ts, position LIMIT 1
)
FROM json_each(:wanted) AS wanted
JOIN memory ON memory.memory_id = wanted.value ->> 0
JOIN memory_state AS state ON state.id = (
    SELECT id FROM memory_state
    WHERE memory = memory.id AND commit_ts <= :at
        AND (wanted.value ->> 1 IS NULL OR version = wanted.value ->> 1 OR kind = '')
    ORDER BY commit_ts DESC, position DESC LIMIT 1
)

-- name: links_relied_on
-- What these memories reflect on and derive from as of a commit, each at the version that it had when
-- the link was made.
SELECT source.memory_id, link.relation, target.memory_id, (
    SELECT version FROM memory_state
    WHERE memory = target.id AND (commit_ts, position) <= (link.commit_ts, link.position)
    ORDER BY commit_ts DESC, position DESC LIMIT 1
)
FROM json_each(:memory_ids) AS wanted
JOIN memory AS source ON source.memory_id = wanted.value
JOIN memory_link AS link ON link.source = source.id
    AND link.relation IN ('reflects_on', 'derived_from')
JOIN memory AS target ON target.id = link.target
WHERE link.commit_ts <= :at AND link.until_commit > :at
ORDER BY link.relation DESC, target.memory_id

-- name: transcripts_at
-- Those of the transcripts that there were at a commit, those too whose words were erased since.
SELECT
    transcript.transcript_id, transcript.namespace, transcript.agent_id, transcript.commit_ts,
    transcript.position, transcript.created_at, transcript.occurred_at, transcript.expires_at,
    transcript.size, transcript.digest, COALESCE(LENGTH(blob.content), 0), transcript.form,
    transcript.messages_size
FROM json_each(:transcript_ids) AS wanted
JOIN transcript ON transcript.transcript_id = wanted.value
LEFT JOIN blob ON blob.commit_ts = transcript.commit_ts AND blob.position = transcript.position
WHERE transcript.commit_ts <= :at

-- name: graph_assertions_by_id
-- When each of some assertions was committed, and whether it was taken back since.
SELECT said.commit_ts, said.until_commit < 9223372036854775807
FROM (SELECT DISTINCT value AS id FROM json_each(:ids)) AS wanted
JOIN graph_statement AS said ON said.assertion_id = wanted.id AND said.asserts = 1

-- name: events_with
-- The commits with these bytes in their operations or their envelopes.
SELECT commit_ts FROM event
WHERE instr(operations, :needle) > 0 OR instr(envelope, :needle) > 0

-- name: graph_statements_from
-- What was said on the ground of a memory or a transcript, whose encoded reference lies in a range.
SELECT assertion_id FROM graph_statement INDEXED BY graph_statement_by_source
WHERE source >= :first AND source < :beyond

-- The index of words.

-- name: words_add
INSERT INTO words (rowid, own, before, after) VALUES (:id, :own, :before, :after)

-- name: words_remove
DELETE FROM words WHERE rowid = :id

-- name: words_empty
-- All at once: one by one, with nothing left behind, would take long. `words_rebuild` has to follow.
DELETE FROM words_content

-- name: words_rebuild
-- Write the index anew from the tokens. What was deleted from it leaves beginnings of words behind
-- that tell one page from the next.
INSERT INTO words (words) VALUES ('rebuild')

-- name: words_look
-- Lets a connection notice what others wrote in the index of words: checking its structure does not.
SELECT term FROM word_count LIMIT 1

-- name: words_count
-- In how many passages each of some tokens stands.
SELECT token.value, word_count.doc
FROM json_each(:tokens) AS token CROSS JOIN word_count
WHERE word_count.term = token.value

-- name: words_search
-- The best passages for some tokens, each with the weight of its score.
WITH part AS MATERIALIZED (
    SELECT words.rowid AS id, -bm25(words, 1.0, 0.5, 0.3) * (term.value ->> 1) AS score
    FROM json_each(:terms) AS term, words WHERE words MATCH term.value ->> 0
)
SELECT part.id, SUM(part.score) AS total FROM part
GROUP BY part.id ORDER BY total DESC, part.id DESC LIMIT :most

-- name: words_search_known
-- The same among what was so at a commit.
WITH part AS MATERIALIZED (
    SELECT words.rowid AS id, -bm25(words, 1.0, 0.5, 0.3) * (term.value ->> 1) AS score
    FROM json_each(:terms) AS term, words WHERE words MATCH term.value ->> 0
)
SELECT part.id, SUM(part.score) AS total
FROM part JOIN passage ON passage.id = part.id
WHERE passage.since <= :known AND passage.until_commit > :known
GROUP BY part.id ORDER BY total DESC, part.id DESC LIMIT :most

-- name: shelves_of_namespaces
SELECT
    shelf.id, shelf.namespace, shelf.owner, shelf.kind, shelf.past, shelf.size, shelf.length,
    shelf.removals
FROM json_each(:namespaces) AS wanted
JOIN shelf ON shelf.namespace = wanted.value AND shelf.owner IN ('', :viewer)
ORDER BY shelf.id

-- name: passages_by_id
SELECT id, shelf, source, first, beyond, since, until_commit
FROM passage WHERE id IN (SELECT value FROM json_each(:ids))

-- name: passages_of_sources
SELECT
    passage.id, passage.shelf, shelf.namespace, shelf.owner, shelf.kind, shelf.past, passage.source,
    passage.first, passage.beyond, passage.since, passage.until_commit, passage.length
FROM json_each(:sources) AS wanted
JOIN passage ON passage.source = wanted.value
JOIN shelf ON shelf.id = passage.shelf
ORDER BY passage.id

-- name: search_memories
-- Every state of some memories, and what was brought with it; private ones have an owner.
SELECT
    memory.memory_id, memory.namespace, CASE memory.private WHEN 1 THEN memory.agent_id ELSE '' END,
    state.id, state.commit_ts, state.position, state.kind <> '' AND state.retracted = 0,
    state.title, COALESCE(state.details_in, state.id), COALESCE(state.content_in, state.id),
    state.details, state.digest, state.size, state.content
FROM json_each(:memory_ids) AS wanted
JOIN memory ON memory.memory_id = wanted.value
JOIN memory_state AS state ON state.memory = memory.id
ORDER BY memory.id, state.commit_ts, state.position

-- name: search_memories_at
-- What some memories said at a commit each.
SELECT
    memory.memory_id, wanted.value ->> 1, state.kind <> '' AND state.retracted = 0, state.title,
    described.details, told.commit_ts, told.position, told.digest, told.size, told.content
FROM json_each(:wanted) AS wanted
JOIN memory ON memory.memory_id = wanted.value ->> 0
JOIN memory_state AS state ON state.id = (
    SELECT latest.id FROM memory_state AS latest
    WHERE latest.memory = memory.id AND latest.commit_ts <= wanted.value ->> 1
    ORDER BY latest.commit_ts DESC, latest.position DESC LIMIT 1
)
JOIN memory_state AS described ON described.id = COALESCE(state.details_in, state.id)
JOIN memory_state AS told ON told.id = COALESCE(state.content_in, state.id)

-- name: search_citations
-- What some memories cite that has words, in their own namespace.
SELECT memory.memory_id, citation.commit_ts, transcript.transcript_id, citation.first, citation.beyond
FROM json_each(:memory_ids) AS wanted
JOIN memory ON memory.memory_id = wanted.value
JOIN citation ON citation.memory = memory.id
JOIN transcript ON transcript.id = citation.transcript
WHERE LENGTH(transcript.digest) > 0 AND transcript.namespace = memory.namespace
ORDER BY memory.id, transcript.transcript_id, citation.first, citation.beyond

-- name: search_facts
SELECT
    said.assertion_id, scope.namespace, CASE said.private WHEN 0 THEN '' ELSE scope.agent_id END,
    said.commit_ts, said.until_commit, subject.name, relation.name, object.name
FROM json_each(:assertion_ids) AS wanted
JOIN graph_statement AS said ON said.assertion_id = wanted.value AND said.asserts = 1
JOIN graph_node AS subject ON subject.id = said.subject
JOIN graph_node AS relation ON relation.id = said.relation
JOIN graph_node AS object ON object.id = said.object
JOIN scope ON scope.id = subject.scope_id
ORDER BY said.id

-- name: search_citing
-- The memories that cite some transcripts.
SELECT DISTINCT memory.memory_id
FROM json_each(:transcript_ids) AS wanted
JOIN transcript ON transcript.transcript_id = wanted.value
JOIN citation ON citation.transcript = transcript.id
JOIN memory ON memory.id = citation.memory

-- name: search_begun
-- The commits that some sources began in.
SELECT memory.commit_ts
FROM json_each(:sources) AS wanted JOIN memory ON memory.memory_id = wanted.value
UNION
SELECT said.commit_ts
FROM json_each(:sources) AS wanted JOIN graph_statement AS said ON said.assertion_id = wanted.value
WHERE said.asserts = 1

-- name: vectors_by_id
SELECT vector.passage, vector.content
FROM json_each(:ids) AS wanted JOIN vector ON vector.passage = wanted.value

-- name: shelf_lasts
-- The last passage of each shelf.
SELECT wanted.value, (SELECT MAX(passage.id) FROM passage WHERE passage.shelf = wanted.value)
FROM json_each(:ids) AS wanted

-- name: shelf_removals
SELECT shelf.id, shelf.removals
FROM json_each(:ids) AS wanted JOIN shelf ON shelf.id = wanted.value

-- name: words_of_sources
-- The tokens that the index has of some sources.
SELECT passage.id, words.own, words.before, words.after
FROM json_each(:sources) AS wanted
JOIN passage ON passage.source = wanted.value
JOIN words ON words.rowid = passage.id
