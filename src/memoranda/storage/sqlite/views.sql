-- What `memoranda sql` can read: views that keep their columns whatever the tables become. They are
-- made on the query's own connection, and docs/reference/sql.md documents them.

-- The agents, in each namespace they wrote in.
CREATE TEMP VIEW agents AS
SELECT
    scope.namespace AS namespace,
    scope.agent_id AS agent_id,
    MIN(event_scope.commit_ts) AS first_commit,
    MAX(event_scope.commit_ts) AS last_commit
FROM main.scope JOIN main.event_scope ON event_scope.scope_id = scope.id
WHERE scope.namespace NOT IN ('_log', '_audit')
GROUP BY scope.id;

-- The log: one row a transaction.
CREATE TEMP VIEW events AS
SELECT
    commit_ts AS commit_ts,
    strftime('%Y-%m-%dT%H:%M:%S', committed_at / 1000000, 'unixepoch')
        || printf('.%06dZ', committed_at % 1000000) AS committed_at,
    envelope_txn_id(envelope) AS txn_id,
    envelope_actor(envelope) AS actor,
    operation_count(operations) AS operations,
    lower(hex(hash)) AS hash,
    envelope_trace_id(envelope) AS trace_id
FROM main.event;

-- What the transactions did: one row an operation.
CREATE TEMP VIEW operations AS
SELECT
    event.commit_ts AS commit_ts,
    part.key AS position,
    part.value ->> 'type' AS type,
    part.value ->> 'namespace' AS namespace,
    part.value ->> 'agent_id' AS agent_id,
    part.value ->> 'key' AS key,
    part.value ->> 'version' AS version,
    part.value ->> 'value' AS value,
    part.value ->> 'because' AS because
FROM main.event JOIN json_each(operations_json(event.operations)) AS part;

-- The values that keys have now.
CREATE TEMP VIEW state AS
SELECT
    scope.namespace AS namespace,
    scope.agent_id AS agent_id,
    state.key AS key,
    state.version AS version,
    state.commit_ts AS commit_ts,
    strftime('%Y-%m-%dT%H:%M:%S', event.committed_at / 1000000, 'unixepoch')
        || printf('.%06dZ', event.committed_at % 1000000) AS committed_at,
    CAST(state.value AS TEXT) AS value
FROM main.state AS state
JOIN main.scope ON scope.id = state.scope_id
JOIN main.event ON event.commit_ts = state.commit_ts
WHERE state.value IS NOT NULL;

-- Every version of every key, deletions too.
CREATE TEMP VIEW state_history AS
SELECT
    scope.namespace AS namespace,
    scope.agent_id AS agent_id,
    state.key AS key,
    place.version AS version,
    place.commit_ts AS commit_ts,
    place.position AS position,
    strftime('%Y-%m-%dT%H:%M:%S', event.committed_at / 1000000, 'unixepoch')
        || printf('.%06dZ', event.committed_at % 1000000) AS committed_at,
    operation_value(event.operations, place.position) AS value
FROM main.state_version AS place
JOIN main.state AS state ON state.id = place.key_id
JOIN main.scope ON scope.id = state.scope_id
JOIN main.event ON event.commit_ts = place.commit_ts;

-- The memories there are now: the newest state of each that is not retracted. Notices have a view
-- of their own.
CREATE TEMP VIEW memories AS
SELECT
    memory.memory_id AS id,
    memory.namespace AS namespace,
    memory.agent_id AS agent_id,
    CASE memory.private WHEN 1 THEN 'private' ELSE 'namespace' END AS visibility,
    state.kind AS kind,
    state.tier AS tier,
    state.title AS title,
    state.version AS version,
    memory.commit_ts AS commit_ts,
    instant_text(memory.created_at) AS created_at,
    instant_text(state.updated_at) AS updated_at,
    instant_text(state.expires_at) AS expires_at,
    state.depth AS reflection_depth,
    state.access_count AS access_count,
    instant_text(state.last_accessed_at) AS last_accessed_at,
    details_json(described.details) AS details,
    COALESCE(said.size, LENGTH(CAST(said.content AS BLOB))) AS size,
    said.content AS content
FROM main.memory AS memory
JOIN main.memory_state AS state ON state.id = (
    SELECT id FROM main.memory_state
    WHERE memory = memory.id ORDER BY commit_ts DESC, position DESC LIMIT 1
)
JOIN main.memory_state AS described ON described.id = COALESCE(state.details_in, state.id)
JOIN main.memory_state AS said ON said.id = COALESCE(state.content_in, state.id)
WHERE state.retracted = 0 AND state.kind <> ''
    AND NOT EXISTS (SELECT 1 FROM main.notice WHERE notice.memory = memory.id);

-- The links that hold now.
CREATE TEMP VIEW links AS
SELECT
    source.memory_id AS source,
    link.relation AS relation,
    target.memory_id AS target,
    link.commit_ts AS commit_ts,
    instant_text(link.valid_from) AS since
FROM main.memory_link AS link
JOIN main.memory AS source ON source.id = link.source
JOIN main.memory AS target ON target.id = link.target
WHERE link.valid_until IS NULL;

-- The transcripts that are kept, without their words.
CREATE TEMP VIEW transcripts AS
SELECT
    transcript_id AS id,
    namespace AS namespace,
    agent_id AS agent_id,
    commit_ts AS commit_ts,
    instant_text(created_at) AS created_at,
    instant_text(occurred_at) AS occurred_at,
    instant_text(expires_at) AS expires_at,
    size AS size
FROM main.transcript
WHERE LENGTH(digest) > 0;

-- The notices: what was said to whom about whom, and what was decided.
CREATE TEMP VIEW notices AS
SELECT
    memory.memory_id AS id,
    memory.namespace AS namespace,
    memory.agent_id AS agent_id,
    notice.kind AS kind,
    notice.change AS change,
    dependent.memory_id AS dependent,
    notice.dependent_commit AS dependent_commit,
    notice.dependent_position AS dependent_position,
    invalidated.memory_id AS invalidated,
    notice.invalidated_commit AS invalidated_commit,
    notice.invalidated_position AS invalidated_position,
    invalidating.memory_id AS invalidating,
    notice.by_agent AS by_agent,
    notice.commit_ts AS commit_ts,
    instant_text(memory.created_at) AS created_at,
    notice.decision AS decision,
    notice.note AS note,
    notice.replacement AS replacement,
    instant_text(notice.resolved_at) AS resolved_at,
    notice.resolved_by AS resolved_by
FROM main.notice AS notice
JOIN main.memory AS memory ON memory.id = notice.memory
LEFT JOIN main.memory AS dependent ON dependent.id = notice.dependent
LEFT JOIN main.memory AS invalidated ON invalidated.id = notice.invalidated
LEFT JOIN main.memory AS invalidating ON invalidating.id = notice.invalidating;

-- What facts are about: each name, and the entity it means now. Where agents share their facts, the
-- graph they share counts, which has no agent and a negative id; elsewhere, the graph of each agent.
CREATE TEMP VIEW entities AS
WITH graph AS (
    SELECT id, namespace, agent_id, COALESCE((
        SELECT sharing.shared FROM main.graph_sharing AS sharing
        WHERE SUBSTR(some.namespace || '/', 1, LENGTH(sharing.namespace) + 1)
            = sharing.namespace || '/'
        ORDER BY LENGTH(sharing.namespace) DESC, sharing.commit_ts DESC LIMIT 1
    ), 0) AS shared
    FROM (
        SELECT id, namespace, agent_id FROM main.scope
        UNION ALL
        SELECT id, namespace, NULL FROM main.graph_shared
    ) AS some
)
SELECT
    graph.namespace AS namespace,
    graph.agent_id AS agent_id,
    node.name AS name,
    node.key AS key,
    root.name AS entity,
    node.commit_ts AS commit_ts
FROM main.graph_node AS node
JOIN main.graph_node AS root ON root.id = node.root
JOIN graph ON graph.id = node.scope_id AND graph.shared = (graph.id < 0)
WHERE node.kind = 'entity';

-- What was said, that something began to hold or that it stopped, and whether it stands.
CREATE TEMP VIEW assertions AS
SELECT
    said.assertion_id AS id,
    scope.namespace AS namespace,
    scope.agent_id AS agent_id,
    CASE said.asserts WHEN 1 THEN 'assert' ELSE 'end' END AS kind,
    subject.name AS subject,
    relation.name AS relation,
    object.name AS object,
    object.kind AS object_kind,
    instant_text(said.at) AS at,
    said.confidence AS confidence,
    said.commit_ts AS commit_ts,
    instant_text(said.committed_at) AS committed_at,
    CASE WHEN said.until_commit < OPEN_END THEN said.until_commit END AS retracted_in,
    said.reason AS reason
FROM main.graph_statement AS said
JOIN main.graph_node AS subject ON subject.id = said.subject
JOIN main.graph_node AS relation ON relation.id = said.relation
LEFT JOIN main.graph_node AS object ON object.id = said.object
JOIN main.scope ON scope.id = subject.scope_id;

-- What is believed now to hold, or to have held.
CREATE TEMP VIEW facts AS
WITH graph AS (
    SELECT id, namespace, agent_id, COALESCE((
        SELECT sharing.shared FROM main.graph_sharing AS sharing
        WHERE SUBSTR(some.namespace || '/', 1, LENGTH(sharing.namespace) + 1)
            = sharing.namespace || '/'
        ORDER BY LENGTH(sharing.namespace) DESC, sharing.commit_ts DESC LIMIT 1
    ), 0) AS shared
    FROM (
        SELECT id, namespace, agent_id FROM main.scope
        UNION ALL
        SELECT id, namespace, NULL FROM main.graph_shared
    ) AS some
)
SELECT
    graph.namespace AS namespace,
    graph.agent_id AS agent_id,
    subject.name AS subject,
    relation.name AS relation,
    object.name AS object,
    object.kind AS object_kind,
    instant_text(edge.valid_from) AS valid_from,
    CASE WHEN edge.valid_to < OPEN_END THEN instant_text(edge.valid_to) END AS valid_to
FROM main.graph_edge AS edge
JOIN main.graph_node AS subject ON subject.id = edge.subject
JOIN main.graph_node AS relation ON relation.id = edge.relation
JOIN main.graph_node AS object ON object.id = edge.object
JOIN graph ON graph.id = subject.scope_id AND graph.shared = (graph.id < 0);
