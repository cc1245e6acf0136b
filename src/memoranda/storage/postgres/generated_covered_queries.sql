-- The covered queries with a text of their own, for PostgreSQL.
-- Written by scripts/generate_postgres_queries.py: do not edit it.

-- name: assertion_neighbours
SELECT item.value, (SELECT MAX(statement.assertion_id) FROM graph_statement AS statement WHERE
statement.assertion_id < item.value AND (statement.private = 0 OR EXISTS(SELECT 1 FROM scope AS
owner WHERE owner.id = statement.private AND (CAST(:covered_agents AS TEXT) IS NULL OR
owner.agent_id IN (SELECT item.value FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}'
AS TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:covered_agents AS JSONB)) WITH ORDINALITY AS
list(element, place)) AS item))))), (SELECT MIN(statement.assertion_id) FROM graph_statement AS
statement WHERE statement.assertion_id > item.value AND (statement.private = 0 OR EXISTS(SELECT 1
FROM scope AS owner WHERE owner.id = statement.private AND (CAST(:covered_agents AS TEXT) IS NULL OR
owner.agent_id IN (SELECT item.value FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}'
AS TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:covered_agents AS JSONB)) WITH ORDINALITY AS
list(element, place)) AS item))))) FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS
TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:ids AS JSONB)) WITH ORDINALITY AS list(element,
place)) AS item

-- name: erased_counts
SELECT COUNT(CASE WHEN position >= 0 THEN 1 END), COUNT(DISTINCT commit_ts) FROM memoranda.erased AS
erased WHERE (erasure = :erasure AND EXISTS(SELECT 1 FROM event_scope WHERE event_scope.commit_ts =
erased.commit_ts)) AND erased.store_id = :store_id

-- name: erasures_page
SELECT erasure FROM memoranda.erased WHERE (erasure > :after AND 1 = 0) AND erased.store_id =
:store_id LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: graph_assertions_by_id
SELECT statement.commit_ts, statement.until_commit < 9223372036854775807 FROM (SELECT DISTINCT
item.value AS id FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value
FROM JSONB_ARRAY_ELEMENTS(CAST(:ids AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item) AS
item JOIN graph_statement AS statement ON statement.assertion_id = item.id AND statement.asserts = 1
AND statement.author = 0 WHERE statement.private = 0 OR EXISTS(SELECT 1 FROM scope AS owner WHERE
owner.id = statement.private AND (CAST(:covered_agents AS TEXT) IS NULL OR owner.agent_id IN (SELECT
item.value FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value FROM
JSONB_ARRAY_ELEMENTS(CAST(:covered_agents AS JSONB)) WITH ORDINALITY AS list(element, place)) AS
item)))

-- name: graph_assertions_private
SELECT stored.assertion_id FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT)
AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:ids AS JSONB)) WITH ORDINALITY AS list(element, place)) AS
item JOIN LATERAL (SELECT stored.* FROM memoranda.graph_statement AS stored WHERE
(stored.assertion_id = item.value AND stored.author = 0) AND stored.store_id = :store_id OFFSET 0)
AS stored ON TRUE WHERE NOT EXISTS(SELECT 1 FROM graph_statement AS statement WHERE statement.id =
stored.id AND (statement.private = 0 OR CAST(:viewer AS TEXT) IS NULL OR (SELECT scope.agent_id FROM
scope WHERE scope.id = statement.private) = :viewer))

-- name: links_relied_on
SELECT source.memory_id, link.relation, target.memory_id, (SELECT version FROM
memoranda.memory_state WHERE (memory = target.id AND (commit_ts, position) <= (link.commit_ts,
link.position)) AND memory_state.store_id = :store_id ORDER BY commit_ts DESC, position DESC LIMIT
1) FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value FROM
JSONB_ARRAY_ELEMENTS(CAST(:memory_ids AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item
JOIN memory AS source ON source.memory_id = item.value JOIN LATERAL (SELECT link.* FROM
memoranda.memory_link AS link WHERE (link.source = source.id AND link.relation IN ('reflects_on',
'derived_from')) AND link.store_id = :store_id OFFSET 0) AS link ON TRUE JOIN LATERAL (SELECT
target.* FROM memoranda.memory AS target WHERE target.id = link.target AND target.store_id =
:store_id OFFSET 0) AS target ON TRUE WHERE link.commit_ts <= :at AND link.until_commit > :at ORDER
BY link.relation DESC, target.memory_id

-- name: memories_hidden
SELECT stored.memory_id FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS
value FROM JSONB_ARRAY_ELEMENTS(CAST(:memory_ids AS JSONB)) WITH ORDINALITY AS list(element, place))
AS requested JOIN LATERAL (SELECT stored.* FROM memoranda.memory AS stored WHERE stored.memory_id =
requested.value AND stored.store_id = :store_id OFFSET 0) AS stored ON TRUE WHERE NOT EXISTS(SELECT
1 FROM memory WHERE memory.id = stored.id AND (memory.private = 0 OR CAST(:viewer AS TEXT) IS NULL
OR memory.agent_id = :viewer))

-- name: transcripts_hidden
SELECT stored.transcript_id FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT)
AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:transcript_ids AS JSONB)) WITH ORDINALITY AS list(element,
place)) AS requested JOIN LATERAL (SELECT stored.* FROM memoranda.transcript AS stored WHERE
stored.transcript_id = requested.value AND stored.store_id = :store_id OFFSET 0) AS stored ON TRUE
WHERE NOT EXISTS(SELECT 1 FROM transcript WHERE transcript.id = stored.id)
