-- What `recollect sql` can read: views that keep their columns whatever the tables become. They are
-- made on the query's own connection, and docs/reference/sql.md documents them.

-- The agents, in each namespace they wrote in.
CREATE TEMP VIEW agents AS
SELECT
    scope.namespace AS namespace,
    scope.agent_id AS agent_id,
    MIN(event_scope.commit_ts) AS first_commit,
    MAX(event_scope.commit_ts) AS last_commit
FROM main.scope JOIN main.event_scope ON event_scope.scope_id = scope.id
WHERE scope.namespace <> '_log'
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
    lower(hex(hash)) AS hash
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
