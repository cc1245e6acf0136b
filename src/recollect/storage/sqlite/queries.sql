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
    CASE WHEN :content = 1 THEN content.content END
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
    transcript.size, transcript.digest, LENGTH(blob.content)
FROM json_each(:memory_ids) AS wanted
JOIN memory ON memory.memory_id = wanted.value
JOIN citation ON citation.memory = memory.id
LEFT JOIN transcript ON transcript.id = citation.transcript
LEFT JOIN blob ON blob.commit_ts = transcript.commit_ts AND blob.position = transcript.position
WHERE citation.commit_ts <= :at
ORDER BY memory.memory_id, transcript.transcript_id, citation.first, citation.beyond
