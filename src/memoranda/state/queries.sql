-- State: current values, and versions as places in the log.

-- name: state_get
SELECT state.value, state.version, state.commit_ts, event.committed_at
FROM scope
JOIN state ON state.scope_id = scope.id AND state.key = :key
JOIN event ON event.commit_ts = state.commit_ts
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace AND state.value IS NOT NULL

-- name: state_head
-- A key's row, its newest version, when that was made, and whether it has a value.
SELECT state.id, state.version, state.commit_ts, state.value IS NOT NULL
FROM scope JOIN state ON state.scope_id = scope.id AND state.key = :key
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace

-- name: state_page
-- A page of the keys that had a value at a commit, in order of their UTF-8 bytes. The value is here
-- if it is still the current one; else its place in the log is.
SELECT
    state.key, place.version, place.commit_ts, place.position, event.committed_at,
    CASE WHEN state.version = place.version THEN state.value END
FROM scope
JOIN state ON state.scope_id = scope.id
JOIN state_version AS place ON place.key_id = state.id
    AND (place.commit_ts, place.version) = (
        SELECT commit_ts, version FROM state_version
        WHERE key_id = state.id AND commit_ts <= :at
        ORDER BY commit_ts DESC, version DESC LIMIT 1
    )
JOIN event ON event.commit_ts = place.commit_ts
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace
    AND state.key > :after AND state.key >= :first AND state.key < :beyond
    AND place.live = 1
ORDER BY state.key LIMIT :most

-- name: state_keys
-- As state_page, the keys alone.
SELECT state.key
FROM scope
JOIN state ON state.scope_id = scope.id
JOIN state_version AS place ON place.key_id = state.id
    AND (place.commit_ts, place.version) = (
        SELECT commit_ts, version FROM state_version
        WHERE key_id = state.id AND commit_ts <= :at
        ORDER BY commit_ts DESC, version DESC LIMIT 1
    )
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace
    AND state.key > :after AND state.key >= :first AND state.key < :beyond
    AND place.live = 1
ORDER BY state.key LIMIT :most

-- name: state_diff
-- A page of the keys whose version at one commit is not that at another.
SELECT
    state.key, old.commit_ts, old.version, old.position, new.commit_ts, new.version, new.position
FROM scope
JOIN state ON state.scope_id = scope.id AND state.commit_ts > :unchanged_through
LEFT JOIN state_version AS old ON old.key_id = state.id AND old.live = 1
    AND (old.commit_ts, old.version) = (
        SELECT commit_ts, version FROM state_version
        WHERE key_id = state.id AND commit_ts <= :old_at
        ORDER BY commit_ts DESC, version DESC LIMIT 1
    )
LEFT JOIN state_version AS new ON new.key_id = state.id AND new.live = 1
    AND (new.commit_ts, new.version) = (
        SELECT commit_ts, version FROM state_version
        WHERE key_id = state.id AND commit_ts <= :new_at
        ORDER BY commit_ts DESC, version DESC LIMIT 1
    )
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace
    AND state.key > :after AND old.version IS DISTINCT FROM new.version
ORDER BY state.key LIMIT :most

-- name: state_place_at
-- Where a key's newest version at a commit stands in the log.
SELECT place.commit_ts, place.version, place.position
FROM scope
JOIN state ON state.scope_id = scope.id AND state.key = :key
JOIN state_version AS place ON place.key_id = state.id AND place.commit_ts <= :at
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace
ORDER BY place.commit_ts DESC, place.version DESC LIMIT 1

-- name: state_place_of_version
-- Where one version of a key stands. The rows are narrow, and a scan of a key's is quick enough to
-- do without an index by version.
SELECT place.commit_ts, place.version, place.position
FROM scope
JOIN state ON state.scope_id = scope.id AND state.key = :key
JOIN state_version AS place ON place.key_id = state.id AND place.version = :version
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace AND place.commit_ts <= :at

-- name: state_history
-- A page of a key's versions, oldest first.
SELECT place.commit_ts, place.version, place.position
FROM scope
JOIN state ON state.scope_id = scope.id AND state.key = :key
JOIN state_version AS place ON place.key_id = state.id
    AND (place.commit_ts, place.version) > (:after_commit, :after_version)
    AND place.commit_ts <= :through
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace
ORDER BY place.commit_ts, place.version LIMIT :most

-- name: state_changed_in_range
-- Whether any key of a range changed after a commit.
SELECT 1
FROM scope JOIN state ON state.scope_id = scope.id
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace
    AND state.key >= :first AND state.key < :beyond AND state.commit_ts > :since
LIMIT 1

-- name: state_add
-- The first version of a key.
INSERT INTO state (scope_id, key, version, commit_ts, value)
VALUES (:scope_id, :key, :version, :commit_ts, :value)
RETURNING id

-- name: state_set
UPDATE state SET version = :version, commit_ts = :commit_ts, value = :value WHERE id = :key_id

-- name: state_version_add
INSERT INTO state_version (key_id, commit_ts, version, position, live)
VALUES (:key_id, :commit_ts, :version, :position, :live)

-- name: state_clear
DELETE FROM state

-- name: state_version_clear
DELETE FROM state_version

-- name: state_rows
SELECT
    scope.agent_id, scope.namespace, state.key, state.version, state.commit_ts, state.value
FROM state LEFT JOIN scope ON scope.id = state.scope_id
ORDER BY scope.agent_id, scope.namespace, state.key

-- name: state_version_rows
SELECT
    scope.agent_id, scope.namespace, state.key,
    place.commit_ts, place.version, place.position, place.live
FROM state_version AS place
LEFT JOIN state ON state.id = place.key_id
LEFT JOIN scope ON scope.id = state.scope_id
ORDER BY scope.agent_id, scope.namespace, state.key, place.commit_ts, place.version

-- name: state_count
SELECT COUNT(*) FROM state WHERE value IS NOT NULL

-- name: state_key_places
-- Where the versions of a key stand in the log.
SELECT place.commit_ts, place.position
FROM scope
JOIN state ON state.scope_id = scope.id AND state.key = :key
JOIN state_version AS place ON place.key_id = state.id
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace

-- name: state_version_remove
DELETE FROM state_version
WHERE commit_ts = :commit_ts AND position = :position AND key_id = (
    SELECT state.id FROM scope JOIN state ON state.scope_id = scope.id AND state.key = :key
    WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace
)

-- name: state_remove
-- A key of which no version is left.
DELETE FROM state
WHERE key = :key
    AND scope_id = (SELECT id FROM scope WHERE agent_id = :agent_id AND namespace = :namespace)
    AND NOT EXISTS (SELECT 1 FROM state_version WHERE key_id = state.id)
