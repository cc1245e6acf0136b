-- State: current values, and versions as positions in the log.

-- name: state_get
-- Read the current value of a key.
-- The last column says whether an erasure left the value in an event of chain version 1, where
-- nothing proves it. The salts of such an event are a multiple of 16 bytes long; those of a newer
-- event are not.
SELECT
    state.value, state.version, state.commit_ts, event.committed_at,
    CASE WHEN LENGTH(event.salts) % 16 = 0 THEN EXISTS (
        SELECT 1
        FROM state_version AS place
        JOIN erased ON erased.commit_ts = place.commit_ts AND erased.position = place.position
        WHERE place.key_id = state.id AND place.commit_ts = state.commit_ts
            AND place.version = state.version
    ) ELSE FALSE END
FROM scope
JOIN state ON state.scope_id = scope.id AND state.key = :key
JOIN event ON event.commit_ts = state.commit_ts
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace AND state.value IS NOT NULL

-- name: state_head
-- Read a key's row id, its newest version, the commit of that version, and whether it has a value,
-- whether the value rests on anything, and whether the value of any key rests on this one.
SELECT
    state.id, state.version, state.commit_ts, state.value IS NOT NULL,
    EXISTS (SELECT 1 FROM state_because WHERE key_id = state.id),
    EXISTS (SELECT 1 FROM state_because WHERE kind = 1 AND target = CAST(state.id AS TEXT))
FROM scope JOIN state ON state.scope_id = scope.id AND state.key = :key
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace

-- name: state_page
-- Read a page of the keys that had a value at a commit, in the order of their UTF-8 bytes.
-- The value is included if it is still the current one; otherwise it is read at its log position.
-- The column before it says whether the value is unproven, as in state_get.
SELECT
    state.key, place.version, place.commit_ts, place.position, event.committed_at,
    CASE WHEN LENGTH(event.salts) % 16 = 0 THEN EXISTS (
        SELECT 1 FROM erased
        WHERE erased.commit_ts = place.commit_ts AND erased.position = place.position
    ) ELSE FALSE END,
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
    AND state.key > :after AND state.key >= :first AND state.key < :end
    AND place.live = 1
ORDER BY state.key LIMIT :limit

-- name: state_keys
-- Read a page of the keys that had a value at a commit, without their values.
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
    AND state.key > :after AND state.key >= :first AND state.key < :end
    AND place.live = 1
ORDER BY state.key LIMIT :limit

-- name: state_diff
-- Read a page of the keys that have different versions at two commits.
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
ORDER BY state.key LIMIT :limit

-- name: state_place_at
-- Find the log position of a key's newest version as of a commit.
SELECT place.commit_ts, place.version, place.position
FROM scope
JOIN state ON state.scope_id = scope.id AND state.key = :key
JOIN state_version AS place ON place.key_id = state.id AND place.commit_ts <= :at
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace
ORDER BY place.commit_ts DESC, place.version DESC LIMIT 1

-- name: state_place_of_version
-- Find the log position of one version of a key.
-- It scans the key's versions: the rows are narrow, so that no index by version is needed.
SELECT place.commit_ts, place.version, place.position
FROM scope
JOIN state ON state.scope_id = scope.id AND state.key = :key
JOIN state_version AS place ON place.key_id = state.id AND place.version = :version
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace AND place.commit_ts <= :at

-- name: state_version_live
-- Say whether one version of a key has a value.
SELECT place.live
FROM scope
JOIN state ON state.scope_id = scope.id AND state.key = :key
JOIN state_version AS place ON place.key_id = state.id AND place.version = :version
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace

-- name: state_history
-- Read a page of a key's versions, oldest first.
SELECT place.commit_ts, place.version, place.position
FROM scope
JOIN state ON state.scope_id = scope.id AND state.key = :key
JOIN state_version AS place ON place.key_id = state.id
    AND (place.commit_ts, place.version) > (:after_commit, :after_version)
    AND place.commit_ts <= :through
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace
ORDER BY place.commit_ts, place.version LIMIT :limit

-- name: state_changed_in_range
-- Check whether any key of a range changed after a commit.
SELECT 1
FROM scope JOIN state ON state.scope_id = scope.id
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace
    AND state.key >= :first AND state.key < :end AND state.commit_ts > :since
LIMIT 1

-- name: state_add
-- Add a key with its first version.
INSERT INTO state (id, scope_id, key, version, commit_ts, value)
VALUES (:key_id, :scope_id, :key, :version, :commit_ts, :value)

-- name: state_last_id
-- Return the last id of any key.
SELECT COALESCE(MAX(id), 0) FROM state

-- name: state_set
-- Set the current version and value of a key.
UPDATE state SET version = :version, commit_ts = :commit_ts, value = :value WHERE id = :key_id

-- name: state_version_add
-- Add a version of a key.
INSERT INTO state_version (key_id, commit_ts, version, position, live)
VALUES (:key_id, :commit_ts, :version, :position, :live)

-- name: state_because_add
-- Add a reference of a key's current value; one that exists stays.
INSERT INTO state_because (kind, target, version, key_id, commit_ts, position)
VALUES (:kind, :target, :version, :key_id, :commit_ts, :position)
ON CONFLICT DO NOTHING

-- name: state_version_place
-- Find the log position of a key's current version, or, with a scan, of an older one.
SELECT place.commit_ts, place.position
FROM state JOIN state_version AS place
    ON place.key_id = state.id AND place.commit_ts = state.commit_ts AND place.version = :version
WHERE state.id = :key_id
UNION ALL
SELECT place.commit_ts, place.position
FROM state JOIN state_version AS place ON place.key_id = state.id AND place.version = :version
WHERE state.id = :key_id AND state.version > :version
LIMIT 1

-- name: state_because_drop
-- Delete the references of a value that is no longer current.
DELETE FROM state_because WHERE key_id = :key_id

-- name: state_because_clear
-- Empty the table for a rebuild.
DELETE FROM state_because

-- name: state_because_rows
-- Read every reference, for a comparison with a rebuild; a key stands for its row number, if that is
-- spelled as a number is.
SELECT
    scope.agent_id, scope.namespace, state.key, because.kind, because.version,
    because.commit_ts, because.position,
    CASE because.kind WHEN 1 THEN cited_scope.agent_id END AS cited_agent,
    CASE because.kind WHEN 1 THEN cited_scope.namespace END AS cited_namespace,
    CASE because.kind WHEN 1 THEN cited.key ELSE because.target END AS cited
FROM state_because AS because
LEFT JOIN state ON state.id = because.key_id
LEFT JOIN scope ON scope.id = state.scope_id
LEFT JOIN state AS cited
    ON cited.id = CASE because.kind WHEN 1 THEN CAST(because.target AS INTEGER) END
    AND because.target = CAST(cited.id AS TEXT)
LEFT JOIN scope AS cited_scope ON cited_scope.id = cited.scope_id
ORDER BY
    scope.agent_id, scope.namespace, state.key, because.kind, because.version, cited_agent,
    cited_namespace, cited

-- name: state_because_cited
-- List those of some memories and transcripts that a current value cites.
SELECT DISTINCT because.target
FROM EACH(:names) AS name
JOIN state_because AS because ON because.kind IN (2, 4) AND because.target = name.value

-- name: state_because_of_old_versions
-- List the versions of keys that current values cite and that are no longer current.
SELECT DISTINCT state.key, because.version, scope.agent_id, scope.namespace
FROM state_because AS because
JOIN state ON state.id = CASE because.kind WHEN 1 THEN CAST(because.target AS INTEGER) END
JOIN scope ON scope.id = state.scope_id
WHERE because.kind = 1 AND because.version < state.version

-- name: state_rests_on_facts
-- Say whether the current value of any key rests on a fact.
SELECT 1 FROM state_because WHERE kind = 3 LIMIT 1

-- name: state_reference_add
-- Add a commit in which a value cites something by its name; one that exists stays.
INSERT INTO state_reference (scope_id, name, commit_ts) VALUES (:scope_id, :name, :commit_ts)
ON CONFLICT DO NOTHING

-- name: state_reference_remove
-- Delete a commit in which no value cites something any more.
DELETE FROM state_reference
WHERE scope_id = :scope_id AND name = :name AND commit_ts = :commit_ts

-- name: state_references_to_scopes
-- List the commits in which values cite any key of some scopes.
SELECT reference.commit_ts
FROM EACH(:scope_ids) AS item
JOIN state_reference AS reference ON reference.scope_id = item.value

-- name: state_references_to_names
-- List the commits in which values cite some names of a scope.
SELECT reference.commit_ts
FROM EACH(:names) AS item
JOIN state_reference AS reference
    ON reference.scope_id = :scope_id AND reference.name = item.value

-- name: state_reference_clear
-- Empty the table for a rebuild.
DELETE FROM state_reference

-- name: state_reference_rows
-- Read every reference of every value, for a comparison with a rebuild.
SELECT
    reference.scope_id = 0, scope.agent_id, scope.namespace, reference.name, reference.commit_ts
FROM state_reference AS reference LEFT JOIN scope ON scope.id = reference.scope_id
ORDER BY 1, scope.agent_id, scope.namespace, reference.name, reference.commit_ts

-- name: state_clear
-- Delete all keys, before a rebuild.
DELETE FROM state

-- name: state_version_clear
-- Delete all versions, before a rebuild.
DELETE FROM state_version

-- name: state_rows
-- Read every key, for a comparison with a rebuild.
SELECT
    scope.agent_id, scope.namespace, state.key, state.version, state.commit_ts, state.value
FROM state LEFT JOIN scope ON scope.id = state.scope_id
ORDER BY scope.agent_id, scope.namespace, state.key

-- name: state_version_rows
-- Read every version, for a comparison with a rebuild.
SELECT
    scope.agent_id, scope.namespace, state.key,
    place.commit_ts, place.version, place.position, place.live
FROM state_version AS place
LEFT JOIN state ON state.id = place.key_id
LEFT JOIN scope ON scope.id = state.scope_id
ORDER BY scope.agent_id, scope.namespace, state.key, place.commit_ts, place.version

-- name: state_count
-- Count the keys that have a value.
SELECT COUNT(*) FROM state WHERE value IS NOT NULL

-- name: state_key_places
-- Find the log positions of all versions of a key.
SELECT place.commit_ts, place.position
FROM scope
JOIN state ON state.scope_id = scope.id AND state.key = :key
JOIN state_version AS place ON place.key_id = state.id
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace

-- name: state_version_remove
-- Delete the version of a key at a log position.
DELETE FROM state_version
WHERE commit_ts = :commit_ts AND position = :position AND key_id = (
    SELECT state.id FROM scope JOIN state ON state.scope_id = scope.id AND state.key = :key
    WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace
)

-- name: state_remove
-- Delete a key that has no version left.
DELETE FROM state
WHERE key = :key
    AND scope_id = (SELECT id FROM scope WHERE agent_id = :agent_id AND namespace = :namespace)
    AND NOT EXISTS (SELECT 1 FROM state_version WHERE key_id = state.id)
