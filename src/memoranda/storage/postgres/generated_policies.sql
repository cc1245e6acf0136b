-- The row policies, for PostgreSQL.
-- Written by scripts/generate_postgres_queries.py: do not edit it.

-- name: citation
SELECT stored.* FROM memoranda.citation AS stored WHERE NOT EXISTS(SELECT 1 FROM
memoranda.transcript AS owner WHERE (owner.id = stored.transcript AND NOT (CAST(:covered_namespaces
AS TEXT) IS NULL OR EXISTS(SELECT 1 FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}'
AS TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:covered_namespaces AS JSONB)) WITH ORDINALITY AS
list(element, place)) AS granted WHERE owner.namespace = granted.value OR SUBSTRING(owner.namespace
FROM 1 FOR LENGTH(granted.value) + 1) = granted.value || '/'))) AND owner.store_id = :store_id) AND
stored.store_id = :store_id

-- name: event_scope
SELECT stored.* FROM memoranda.event_scope AS stored WHERE EXISTS(SELECT 1 FROM memoranda.scope AS
owner WHERE (owner.id = stored.scope_id AND (CAST(:covered_namespaces AS TEXT) IS NULL OR
EXISTS(SELECT 1 FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value
FROM JSONB_ARRAY_ELEMENTS(CAST(:covered_namespaces AS JSONB)) WITH ORDINALITY AS list(element,
place)) AS granted WHERE owner.namespace = granted.value OR SUBSTRING(owner.namespace FROM 1 FOR
LENGTH(granted.value) + 1) = granted.value || '/')) AND (CAST(:covered_agents AS TEXT) IS NULL OR
owner.agent_id IN (SELECT item.value FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}'
AS TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:covered_agents AS JSONB)) WITH ORDINALITY AS
list(element, place)) AS item))) AND owner.store_id = :store_id) AND stored.store_id = :store_id

-- name: graph_cardinality
SELECT owner.* FROM memoranda.graph_cardinality AS owner WHERE (CAST(:covered_namespaces AS TEXT) IS
NULL OR EXISTS(SELECT 1 FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS
value FROM JSONB_ARRAY_ELEMENTS(CAST(:covered_namespaces AS JSONB)) WITH ORDINALITY AS list(element,
place)) AS granted WHERE owner.namespace = granted.value OR SUBSTRING(owner.namespace FROM 1 FOR
LENGTH(granted.value) + 1) = granted.value || '/')) AND owner.store_id = :store_id

-- name: graph_shared
SELECT owner.* FROM memoranda.graph_shared AS owner WHERE (CAST(:covered_namespaces AS TEXT) IS NULL
OR EXISTS(SELECT 1 FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value
FROM JSONB_ARRAY_ELEMENTS(CAST(:covered_namespaces AS JSONB)) WITH ORDINALITY AS list(element,
place)) AS granted WHERE owner.namespace = granted.value OR SUBSTRING(owner.namespace FROM 1 FOR
LENGTH(granted.value) + 1) = granted.value || '/')) AND owner.store_id = :store_id

-- name: graph_statement
SELECT stored.* FROM memoranda.graph_statement AS stored WHERE (EXISTS(SELECT 1 FROM
memoranda.graph_node AS subject JOIN memoranda.scope AS owner ON owner.id = subject.scope_id AND
owner.store_id = :store_id WHERE (subject.id = stored.subject AND (CAST(:covered_namespaces AS TEXT)
IS NULL OR EXISTS(SELECT 1 FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT)
AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:covered_namespaces AS JSONB)) WITH ORDINALITY AS
list(element, place)) AS granted WHERE owner.namespace = granted.value OR SUBSTRING(owner.namespace
FROM 1 FOR LENGTH(granted.value) + 1) = granted.value || '/'))) AND subject.store_id = :store_id) OR
EXISTS(SELECT 1 FROM memoranda.graph_node AS subject JOIN memoranda.graph_shared AS owner ON
owner.id = subject.scope_id AND owner.store_id = :store_id WHERE (subject.id = stored.subject AND
(CAST(:covered_namespaces AS TEXT) IS NULL OR EXISTS(SELECT 1 FROM (SELECT list.place - 1 AS key,
CAST(list.element #>> '{}' AS TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:covered_namespaces AS
JSONB)) WITH ORDINALITY AS list(element, place)) AS granted WHERE owner.namespace = granted.value OR
SUBSTRING(owner.namespace FROM 1 FOR LENGTH(granted.value) + 1) = granted.value || '/'))) AND
subject.store_id = :store_id)) AND stored.store_id = :store_id

-- name: horizon
SELECT owner.* FROM memoranda.horizon AS owner WHERE (CAST(:covered_namespaces AS TEXT) IS NULL OR
EXISTS(SELECT 1 FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value
FROM JSONB_ARRAY_ELEMENTS(CAST(:covered_namespaces AS JSONB)) WITH ORDINALITY AS list(element,
place)) AS granted WHERE owner.namespace = granted.value OR SUBSTRING(owner.namespace FROM 1 FOR
LENGTH(granted.value) + 1) = granted.value || '/')) AND owner.store_id = :store_id

-- name: kind_count
SELECT stored.* FROM memoranda.kind_count AS stored WHERE EXISTS(SELECT 1 FROM memoranda.scope AS
owner WHERE (owner.id = stored.scope_id AND (CAST(:covered_namespaces AS TEXT) IS NULL OR
EXISTS(SELECT 1 FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value
FROM JSONB_ARRAY_ELEMENTS(CAST(:covered_namespaces AS JSONB)) WITH ORDINALITY AS list(element,
place)) AS granted WHERE owner.namespace = granted.value OR SUBSTRING(owner.namespace FROM 1 FOR
LENGTH(granted.value) + 1) = granted.value || '/')) AND (CAST(:covered_agents AS TEXT) IS NULL OR
owner.agent_id IN (SELECT item.value FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}'
AS TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:covered_agents AS JSONB)) WITH ORDINALITY AS
list(element, place)) AS item))) AND owner.store_id = :store_id) AND stored.store_id = :store_id

-- name: memory
SELECT owner.* FROM memoranda.memory AS owner WHERE ((CAST(:covered_namespaces AS TEXT) IS NULL OR
EXISTS(SELECT 1 FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value
FROM JSONB_ARRAY_ELEMENTS(CAST(:covered_namespaces AS JSONB)) WITH ORDINALITY AS list(element,
place)) AS granted WHERE owner.namespace = granted.value OR SUBSTRING(owner.namespace FROM 1 FOR
LENGTH(granted.value) + 1) = granted.value || '/')) AND ((CAST(:covered_agents AS TEXT) IS NULL OR
owner.agent_id IN (SELECT item.value FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}'
AS TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:covered_agents AS JSONB)) WITH ORDINALITY AS
list(element, place)) AS item)) OR (owner.private = 0 AND NOT EXISTS(SELECT 1 FROM memoranda.notice
AS notice WHERE notice.memory = owner.id AND notice.store_id = :store_id)))) AND owner.store_id =
:store_id

-- name: scope
SELECT owner.* FROM memoranda.scope AS owner WHERE (CAST(:covered_namespaces AS TEXT) IS NULL OR
EXISTS(SELECT 1 FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value
FROM JSONB_ARRAY_ELEMENTS(CAST(:covered_namespaces AS JSONB)) WITH ORDINALITY AS list(element,
place)) AS granted WHERE owner.namespace = granted.value OR SUBSTRING(owner.namespace FROM 1 FOR
LENGTH(granted.value) + 1) = granted.value || '/')) AND owner.store_id = :store_id

-- name: state
SELECT stored.* FROM memoranda.state AS stored WHERE EXISTS(SELECT 1 FROM memoranda.scope AS owner
WHERE (owner.id = stored.scope_id AND (CAST(:covered_namespaces AS TEXT) IS NULL OR EXISTS(SELECT 1
FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value FROM
JSONB_ARRAY_ELEMENTS(CAST(:covered_namespaces AS JSONB)) WITH ORDINALITY AS list(element, place)) AS
granted WHERE owner.namespace = granted.value OR SUBSTRING(owner.namespace FROM 1 FOR
LENGTH(granted.value) + 1) = granted.value || '/')) AND (CAST(:covered_agents AS TEXT) IS NULL OR
owner.agent_id IN (SELECT item.value FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}'
AS TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:covered_agents AS JSONB)) WITH ORDINALITY AS
list(element, place)) AS item))) AND owner.store_id = :store_id) AND stored.store_id = :store_id

-- name: transcript
SELECT owner.* FROM memoranda.transcript AS owner WHERE (CAST(:covered_namespaces AS TEXT) IS NULL
OR EXISTS(SELECT 1 FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value
FROM JSONB_ARRAY_ELEMENTS(CAST(:covered_namespaces AS JSONB)) WITH ORDINALITY AS list(element,
place)) AS granted WHERE owner.namespace = granted.value OR SUBSTRING(owner.namespace FROM 1 FOR
LENGTH(granted.value) + 1) = granted.value || '/')) AND owner.store_id = :store_id
