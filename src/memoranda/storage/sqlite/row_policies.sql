-- Row policies: the rows of each table that a coverage extends to. A covered query reads these in
-- place of the table; a table without a policy is read as a whole. COVERED_NAMESPACE and
-- COVERED_AGENT stand for the conditions below, of the columns of `owner`.
--
-- Keys, notices, and the commits and counts of a scope are of one agent. Other memories, transcripts,
-- facts and documents are of a namespace: what is private in it, the visibility of the viewer
-- decides, and a viewer that is not covered sees nothing of that.

-- name: covered_namespace
-- Say whether a namespace is covered: it is granted itself, or one above it is.
(:covered_namespaces IS NULL OR EXISTS (
    SELECT 1 FROM json_each(:covered_namespaces) AS granted
    WHERE owner.namespace = granted.value
        OR SUBSTR(owner.namespace, 1, LENGTH(granted.value) + 1) = granted.value || '/'
))

-- name: covered_agent
-- Say whether an agent is covered.
(:covered_agents IS NULL OR owner.agent_id IN (SELECT value FROM json_each(:covered_agents)))

-- name: scope
-- Restrict scopes to covered namespaces: their agents own facts that others may see.
SELECT owner.* FROM main.scope AS owner WHERE COVERED_NAMESPACE

-- name: event_scope
-- Restrict the commits of scopes to covered agents in covered namespaces.
SELECT stored.* FROM main.event_scope AS stored WHERE EXISTS (
    SELECT 1 FROM main.scope AS owner
    WHERE owner.id = stored.scope_id AND COVERED_NAMESPACE AND COVERED_AGENT
)

-- name: kind_count
-- Restrict the counts of scopes to covered agents in covered namespaces.
SELECT stored.* FROM main.kind_count AS stored WHERE EXISTS (
    SELECT 1 FROM main.scope AS owner
    WHERE owner.id = stored.scope_id AND COVERED_NAMESPACE AND COVERED_AGENT
)

-- name: state
-- Restrict keys to covered agents in covered namespaces.
SELECT stored.* FROM main.state AS stored WHERE EXISTS (
    SELECT 1 FROM main.scope AS owner
    WHERE owner.id = stored.scope_id AND COVERED_NAMESPACE AND COVERED_AGENT
)

-- name: memory
-- Restrict memories to covered namespaces, and private ones and notices to covered agents.
SELECT owner.* FROM main.memory AS owner
WHERE COVERED_NAMESPACE AND (COVERED_AGENT OR (
    owner.private = 0 AND NOT EXISTS (
        SELECT 1 FROM main.notice AS notice WHERE notice.memory = owner.id
    )
))

-- name: transcript
-- Restrict transcripts to covered namespaces.
SELECT owner.* FROM main.transcript AS owner WHERE COVERED_NAMESPACE

-- name: citation
-- Leave out citations of transcripts that are stored and not covered.
SELECT stored.* FROM main.citation AS stored WHERE NOT EXISTS (
    SELECT 1 FROM main.transcript AS owner
    WHERE owner.id = stored.transcript AND NOT COVERED_NAMESPACE
)

-- name: graph_shared
-- Restrict shared graphs to covered namespaces.
SELECT owner.* FROM main.graph_shared AS owner WHERE COVERED_NAMESPACE

-- name: graph_statement
-- Restrict statements to graphs of covered namespaces, of an agent or shared. Private ones stay: by
-- them a reader knows that it must derive the public facts of a graph anew.
SELECT stored.* FROM main.graph_statement AS stored WHERE EXISTS (
    SELECT 1
    FROM main.graph_node AS subject JOIN main.scope AS owner ON owner.id = subject.scope_id
    WHERE subject.id = stored.subject AND COVERED_NAMESPACE
) OR EXISTS (
    SELECT 1
    FROM main.graph_node AS subject JOIN main.graph_shared AS owner ON owner.id = subject.scope_id
    WHERE subject.id = stored.subject AND COVERED_NAMESPACE
)

-- name: graph_cardinality
-- Restrict cardinalities to covered namespaces.
SELECT owner.* FROM main.graph_cardinality AS owner WHERE COVERED_NAMESPACE

-- name: horizon
-- Restrict compaction horizons to covered namespaces.
SELECT owner.* FROM main.horizon AS owner WHERE COVERED_NAMESPACE

-- name: shelf
-- Restrict partitions of the index to covered namespaces, and private ones to covered agents. If not
-- all agents are covered, leave out inboxes, where one partition has the notices of all.
SELECT owner.* FROM main.shelf AS owner
WHERE COVERED_NAMESPACE AND (:covered_agents IS NULL OR (
    owner.namespace NOT LIKE '%/!_%' ESCAPE '!'
    AND (owner.owner = '' OR owner.owner IN (SELECT value FROM json_each(:covered_agents)))
))
