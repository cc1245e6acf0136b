-- The log and its indexes.

-- name: meta_get
-- Return a value of the engine's own settings.
SELECT value FROM meta WHERE name = :name

-- name: view_versions
-- Return the recorded version of every view.
SELECT name, value FROM meta WHERE name >= 'view:' AND name < 'view;'

-- name: meta_set
-- Set a value of the engine's own settings.
INSERT INTO meta (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- name: meta_remove
-- Remove a value of the engine's own settings.
DELETE FROM meta WHERE name = :name

-- name: meta_range
-- Return the settings whose names are in a range.
SELECT name, value FROM meta WHERE name >= :first AND name < :end ORDER BY name

-- name: meta_rows
-- Return the settings that views write: the epoch, and the version that wrote each view's rows.
SELECT name, value FROM meta WHERE name = 'epoch' OR (name >= 'view:' AND name < 'view;')
ORDER BY name

-- name: event_head
-- Return the number, time and hash of the last event.
SELECT commit_ts, committed_at, hash FROM event ORDER BY commit_ts DESC LIMIT 1

-- name: event_before_first
-- Find an event with a number below 1, which no log has.
SELECT commit_ts FROM event WHERE commit_ts < 1 ORDER BY commit_ts LIMIT 1

-- name: event_append
-- Append an event.
INSERT INTO event (commit_ts, committed_at, hash, salts, envelope, operations)
VALUES (:commit_ts, :committed_at, :hash, :salts, :envelope, :operations)

-- name: event_get
-- Return an event.
SELECT commit_ts, committed_at, hash, salts, envelope, operations
FROM event WHERE commit_ts = :commit_ts

-- name: event_time
-- Return the time of a commit.
SELECT committed_at FROM event WHERE commit_ts = :commit_ts

-- name: event_hash
-- Return the hash of a commit.
SELECT hash FROM event WHERE commit_ts = :commit_ts

-- name: event_page
-- Return a page of the whole log, with every column a hash covers.
SELECT commit_ts, committed_at, hash, salts, envelope, operations
FROM event WHERE commit_ts > :after AND commit_ts <= :through
ORDER BY commit_ts LIMIT :limit

-- name: event_page_of_all
-- Return a page of the replay of all agents.
SELECT commit_ts, committed_at, hash, envelope, operations
FROM event WHERE commit_ts > :after AND commit_ts <= :through
ORDER BY commit_ts LIMIT :limit

-- name: event_places_of_scope
-- Return a page of one scope's replay, with the spans of its operations if they are indexed.
SELECT
    event.commit_ts, event.committed_at, event.hash, event.envelope, event_scope.places,
    event.operations
FROM event_scope JOIN event ON event.commit_ts = event_scope.commit_ts
WHERE event_scope.scope_id = :scope_id
  AND event_scope.commit_ts > :after AND event_scope.commit_ts <= :through
ORDER BY event_scope.commit_ts LIMIT :limit

-- name: event_shown
-- Return one event with the columns that a replay needs.
SELECT commit_ts, committed_at, hash, envelope, operations FROM event WHERE commit_ts = :commit_ts

-- name: commits_of_scope
-- Return a page of the commits that touched a scope.
SELECT commit_ts FROM event_scope
WHERE scope_id = :scope_id AND commit_ts > :after AND commit_ts <= :through
ORDER BY commit_ts LIMIT :limit

-- name: commit_at_time
-- Return the last commit at or before a time.
-- Times grow with commits, so bisecting the commits finds it without an index on time.
WITH RECURSIVE bisect (low, high) AS (
    SELECT CAST(0 AS INTEGER), COALESCE(MAX(commit_ts), 0) FROM event
    UNION ALL
    SELECT
        CASE WHEN middle.committed_at <= :time THEN middle.commit_ts ELSE low END,
        CASE WHEN middle.committed_at <= :time THEN high ELSE middle.commit_ts - 1 END
    FROM bisect CROSS JOIN event AS middle ON middle.commit_ts = (low + high + 1) / 2
    WHERE low < high
)
SELECT low FROM bisect WHERE low = high

-- name: scope_add
-- Give a scope its id.
INSERT INTO scope (id, agent_id, namespace) VALUES (:scope_id, :agent_id, :namespace)

-- name: scope_find_or_last
-- Return the id of a scope, NULL if it has none, and the last id of any scope.
SELECT
    (SELECT id FROM scope WHERE agent_id = :agent_id AND namespace = :namespace),
    (SELECT COALESCE(MAX(id), 0) FROM scope)

-- name: scope_find
-- Return the id of a scope.
SELECT id FROM scope WHERE agent_id = :agent_id AND namespace = :namespace

-- name: scopes_after
-- Return the scopes whose ids come after one.
SELECT id, agent_id, namespace FROM scope WHERE id > :after ORDER BY id

-- name: scope_put
-- Add a scope with the id that it has elsewhere.
INSERT INTO scope (id, agent_id, namespace) VALUES (:id, :agent_id, :namespace)

-- name: scopes_with_events
-- Return an agent's scopes that some of these commits touched, except the audit's.
SELECT id, namespace FROM scope
WHERE agent_id = :agent_id AND namespace <> '_audit' AND EXISTS (
    SELECT 1 FROM event_scope
    WHERE event_scope.scope_id = scope.id
      AND event_scope.commit_ts > :after AND event_scope.commit_ts <= :through
)

-- name: scopes_touched
-- Return the scopes of a namespace, or of all but the engine's own, that some of these commits
-- touched.
SELECT id FROM scope
WHERE CASE WHEN :namespace IS NULL THEN namespace NOT IN ('_log', '_audit')
        ELSE namespace = :namespace END
    AND EXISTS (
        SELECT 1 FROM event_scope
        WHERE event_scope.scope_id = scope.id
          AND event_scope.commit_ts > :after AND event_scope.commit_ts <= :through
    )
ORDER BY id

-- name: scopes_of_agent
-- Return every scope of an agent, including the audit's, which has what it did to others.
SELECT id FROM scope WHERE agent_id = :agent_id

-- name: scopes_of_namespaces
-- Return every scope of some namespaces, and of those in a range.
SELECT scope.id FROM EACH(:namespaces) AS item JOIN scope ON scope.namespace = item.value
UNION
SELECT id FROM scope WHERE namespace >= :first AND namespace < :end

-- name: commits_of_scopes
-- Return the commits that touched any of some scopes.
SELECT event_scope.commit_ts
FROM EACH(:scope_ids) AS item JOIN event_scope ON event_scope.scope_id = item.value

-- name: public_keys_of_agent
-- Return the commits that trusted a key of an agent.
SELECT commit_ts FROM public_key WHERE agent_id = :agent_id

-- name: event_scope_add
-- Index a commit under a scope.
INSERT INTO event_scope (scope_id, commit_ts, places, kinds)
VALUES (:scope_id, :commit_ts, :places, :kinds)
ON CONFLICT (scope_id, commit_ts) DO UPDATE SET places = excluded.places, kinds = excluded.kinds

-- name: event_scope_clear
-- Empty the index of scopes.
DELETE FROM event_scope

-- name: event_scope_rows
-- Return all rows of the index of scopes, with names in place of ids.
SELECT
    scope.agent_id, scope.namespace, event_scope.commit_ts, event_scope.places, event_scope.kinds
FROM event_scope LEFT JOIN scope ON scope.id = event_scope.scope_id
ORDER BY scope.agent_id, scope.namespace, event_scope.commit_ts

-- name: kind_count_add
-- Add a number of operations of one kind to the sums of a block of commits.
INSERT INTO kind_count (scope_id, block, kind, count) VALUES (:scope_id, :block, :kind, :count)
ON CONFLICT (scope_id, block, kind) DO UPDATE SET count = kind_count.count + excluded.count

-- name: kind_count_prune
-- Remove the sums of a block of commits that an erasure has brought to zero.
DELETE FROM kind_count WHERE scope_id = :scope_id AND block = :block AND count = 0

-- name: kind_count_clear
-- Empty the sums of operations.
DELETE FROM kind_count

-- name: kind_count_rows
-- Return all sums of operations, with names in place of ids.
SELECT scope.agent_id, scope.namespace, kind_count.block, kind_count.kind, kind_count.count
FROM kind_count LEFT JOIN scope ON scope.id = kind_count.scope_id
ORDER BY scope.agent_id, scope.namespace, kind_count.block, kind_count.kind

-- name: first_block_of_kinds
-- Return the first block of commits in which a scope has operations, private ones or not.
SELECT block FROM kind_count
WHERE scope_id = :scope_id AND kind >= :first_kind AND (:public_only = 0 OR kind % 2 = 0)
ORDER BY block LIMIT 1

-- name: last_block_of_kinds
-- Return the last block of commits in which a scope has operations, private ones or not.
SELECT block FROM kind_count
WHERE scope_id = :scope_id AND kind >= :first_kind AND (:public_only = 0 OR kind % 2 = 0)
ORDER BY block DESC LIMIT 1

-- name: kinds_of_scope
-- Return the commits of a scope in a range, with the kinds of its operations in each.
SELECT commit_ts, kinds FROM event_scope
WHERE scope_id = :scope_id AND commit_ts > :after AND commit_ts <= :through
ORDER BY commit_ts

-- name: event_scope_census
-- Count the rows of the first commits, and find one of a commit that the log does not have.
SELECT
    COUNT(*) FILTER (WHERE commit_ts BETWEEN 1 AND :through),
    MIN(commit_ts) FILTER (
        WHERE commit_ts < 1 OR commit_ts > (SELECT COALESCE(MAX(commit_ts), 0) FROM event)
    )
FROM event_scope

-- name: txn_add
-- Index a commit under its txn_id and actor.
INSERT INTO txn (txn_id, actor, commit_ts) VALUES (:txn_id, :actor, :commit_ts)

-- name: txn_find
-- Return the commit of a txn_id and actor.
SELECT commit_ts FROM txn WHERE txn_id = :txn_id AND actor = :actor

-- name: txn_find_or_token
-- Return the commit of a txn_id and actor, or of the token that has replaced both.
SELECT commit_ts FROM txn WHERE txn_id = :txn_id AND actor = :actor
UNION ALL
SELECT commit_ts FROM txn WHERE txn_id = :token AND actor = ''
LIMIT 1

-- name: txn_clear
-- Empty the index of transactions.
DELETE FROM txn

-- name: txn_rows
-- Return all rows of the index of transactions.
SELECT txn_id, actor, commit_ts FROM txn ORDER BY txn_id, actor

-- name: txn_census
-- Count the rows of the first commits, and find one of a commit that the log does not have.
SELECT
    COUNT(*) FILTER (WHERE commit_ts BETWEEN 1 AND :through),
    MIN(commit_ts) FILTER (
        WHERE commit_ts < 1 OR commit_ts > (SELECT COALESCE(MAX(commit_ts), 0) FROM event)
    )
FROM txn

-- name: scope_rows
-- Return all scopes.
SELECT agent_id, namespace FROM scope ORDER BY agent_id, namespace

-- name: scope_prune
-- Drop the ids of scopes that no commit touched.
DELETE FROM scope WHERE id NOT IN (SELECT scope_id FROM event_scope)

-- name: scope_counts
-- Count the agents and namespaces of users, without the engine's own.
SELECT COUNT(DISTINCT CASE WHEN agent_id <> '_engine' THEN agent_id END), COUNT(DISTINCT namespace)
FROM scope WHERE namespace NOT IN ('_log', '_audit')

-- name: blob_add
-- Store the packed content of an operation.
INSERT INTO blob (commit_ts, position, content) VALUES (:commit_ts, :position, :content)

-- name: blob_get
-- Return the packed content of an operation.
SELECT content FROM blob WHERE commit_ts = :commit_ts AND position = :position

-- name: blobs_of_commit
-- Return the packed content of all operations of a commit.
SELECT position, content FROM blob WHERE commit_ts = :commit_ts ORDER BY position

-- name: blob_remove
-- Drop the content of an operation.
DELETE FROM blob WHERE commit_ts = :commit_ts AND position = :position

-- name: event_rewrite
-- Replace the parts of an event of which something was erased; its hash stays valid.
UPDATE event SET salts = :salts, envelope = :envelope, operations = :operations
WHERE commit_ts = :commit_ts

-- name: erased_add
-- Record that a commit erased a position of an event.
INSERT INTO erased (erasure, commit_ts, position, digest)
VALUES (:erasure, :commit_ts, :position, :digest)

-- name: event_page_back
-- Return a page of the whole log, the newest first.
SELECT commit_ts, operations FROM event WHERE commit_ts < :before ORDER BY commit_ts DESC LIMIT :limit

-- name: event_size
-- Return the size of a commit's operations in bytes.
SELECT LENGTH(operations) FROM event WHERE commit_ts = :commit_ts

-- name: horizon_set
-- Set a namespace's horizon; if it is unchanged, the commit that set it first stays recorded.
INSERT INTO horizon (namespace, commit_ts, summed_in, unfinished)
VALUES (:namespace, :commit_ts, :summed_in, :unfinished)
ON CONFLICT (namespace) DO UPDATE SET
    summed_in = CASE commit_ts WHEN excluded.commit_ts THEN summed_in ELSE excluded.summed_in END,
    commit_ts = excluded.commit_ts, unfinished = excluded.unfinished

-- name: horizon_get
-- Return a namespace's horizon.
SELECT namespace, commit_ts, summed_in, unfinished FROM horizon WHERE namespace = :namespace

-- name: horizon_above
-- Return a namespace's horizon if it is after a commit.
SELECT commit_ts FROM horizon WHERE namespace = :namespace AND commit_ts > :at

-- name: horizon_above_in_range
-- Find a namespace of a range whose horizon is after a commit; the range is that of memory_page.
SELECT namespace, commit_ts FROM horizon
WHERE commit_ts > :at AND namespace >= :namespace AND namespace < :end
    AND (namespace = :namespace OR namespace >= :children)
ORDER BY namespace LIMIT 1

-- name: horizon_clear
-- Drop all horizons.
DELETE FROM horizon

-- name: horizon_rows
-- Return all horizons.
SELECT namespace, commit_ts, summed_in, unfinished FROM horizon ORDER BY namespace

-- name: horizons_set_after
-- Return the horizons that were set after a commit.
SELECT namespace, commit_ts, summed_in, unfinished FROM horizon
WHERE summed_in > :after ORDER BY namespace

-- name: horizon_highest
-- Return the latest horizon of all namespaces.
SELECT commit_ts FROM horizon ORDER BY commit_ts DESC LIMIT 1

-- name: namespace_touched
-- Return a row if some of these commits touched a namespace, by one agent or by any.
SELECT 1
FROM scope
WHERE scope.namespace = :namespace AND (:agent_id IS NULL OR scope.agent_id = :agent_id)
    AND EXISTS (
        SELECT 1 FROM event_scope
        WHERE event_scope.scope_id = scope.id
          AND event_scope.commit_ts > :after AND event_scope.commit_ts <= :through
    )
LIMIT 1

-- name: erased_by
-- Return a page of the positions that one commit erased, in order.
SELECT commit_ts, position, digest FROM erased
WHERE erasure = :erasure AND (commit_ts, position) > (:after, :after_position)
ORDER BY commit_ts, position LIMIT :limit

-- name: erased_counts
-- Count the operations and events that a commit erased something of.
SELECT COUNT(CASE WHEN position >= 0 THEN 1 END), COUNT(DISTINCT commit_ts)
FROM erased WHERE erasure = :erasure

-- name: envelope_erasure
-- Return the last commit, up to one, that erased an envelope and its txn_id.
SELECT erasure FROM erased WHERE position = -1 AND erasure <= :through
ORDER BY erasure DESC LIMIT 1

-- name: erased_get
-- Return the digest of a position that a commit erased.
SELECT digest FROM erased
WHERE erasure = :erasure AND commit_ts = :commit_ts AND position = :position

-- name: erased_of_no_event
-- Find an erasure of a commit before the first one.
SELECT erasure, commit_ts FROM erased WHERE commit_ts < 1 ORDER BY erasure, commit_ts LIMIT 1

-- name: erasures
-- Return the commits that erased something.
SELECT DISTINCT erasure FROM erased ORDER BY erasure

-- name: erased_through
-- Return all positions that commits up to one erased.
SELECT erasure, commit_ts, position, digest FROM erased WHERE erasure <= :through

-- name: erased_between
-- Return what was erased of a range of commits, with the erasing commits.
SELECT erasure, commit_ts, position, digest FROM erased
WHERE commit_ts > :after AND commit_ts <= :through
ORDER BY commit_ts, position, erasure

-- name: erased_since
-- Return a row if anything was erased after a commit.
SELECT 1 FROM erased WHERE erasure > :after LIMIT 1

-- name: next_erasure
-- Return the next commit that erased something.
SELECT erasure FROM erased WHERE erasure > :after ORDER BY erasure LIMIT 1

-- name: erasures_page
-- Return a page of the commits that erased something.
SELECT DISTINCT erasure FROM erased WHERE erasure > :after ORDER BY erasure LIMIT :limit

-- name: txn_remove
-- Remove a txn_id and actor from the index.
DELETE FROM txn WHERE txn_id = :txn_id AND actor = :actor

-- name: txn_any
-- Return the commits of a txn_id, of any actor.
SELECT actor, commit_ts FROM txn WHERE txn_id = :txn_id

-- name: event_scope_remove
-- Remove a commit from the index of a scope.
DELETE FROM event_scope
WHERE commit_ts = :commit_ts AND scope_id = (
    SELECT id FROM scope WHERE agent_id = :agent_id AND namespace = :namespace
)

-- name: scope_drop_agent
-- Drop the scopes of an agent, except the engine's own.
DELETE FROM scope
WHERE agent_id = :agent_id AND (agent_id <> '_engine' OR namespace NOT IN ('_log', '_audit'))

-- name: scope_drop_namespace
-- Drop the scopes of a namespace.
DELETE FROM scope WHERE namespace = :namespace

-- name: scope_drop_unused
-- Drop a scope if no commit touches it any more.
DELETE FROM scope
WHERE agent_id = :agent_id AND namespace = :namespace
    AND NOT EXISTS (SELECT 1 FROM event_scope WHERE event_scope.scope_id = scope.id)

-- name: scope_drop_below
-- Drop the scopes of the namespaces in a range.
DELETE FROM scope WHERE namespace >= :first AND namespace < :end

-- name: horizon_remove
-- Drop a namespace's horizon.
DELETE FROM horizon WHERE namespace = :namespace

-- name: blob_places
-- Return the positions of these commits that have content beside the log.
SELECT commit_ts, position FROM blob WHERE commit_ts > :after AND commit_ts <= :through

-- name: blob_of_missing_commit
-- Find content of a commit that the log does not have.
SELECT commit_ts FROM blob
WHERE commit_ts < 1 OR commit_ts > (SELECT COALESCE(MAX(commit_ts), 0) FROM event)
ORDER BY commit_ts LIMIT 1

-- name: event_salts_without_effect_page
-- Return a page of the salts of transactions that changed nothing.
SELECT commit_ts, salts FROM event
WHERE LENGTH(operations) = 1 AND commit_ts > :after ORDER BY commit_ts LIMIT :limit

-- name: event_salts_set
-- Replace the salts of an event.
UPDATE event SET salts = :salts WHERE commit_ts = :commit_ts

-- name: agent_known
-- Return a row if an agent has any scope.
SELECT 1 FROM scope WHERE agent_id = :agent_id LIMIT 1

-- name: erased_behind
-- Count the positions of the first commits that later commits erased.
SELECT COUNT(*) FROM erased WHERE commit_ts <= :size AND erasure > :size

-- name: agents_page
-- Return the next agents in order, except those with scopes of the engine only.
SELECT DISTINCT agent_id FROM scope
WHERE agent_id > :after AND namespace NOT LIKE '!_%' ESCAPE '!'
    AND namespace NOT LIKE '%/!_%' ESCAPE '!'
    AND EXISTS (SELECT 1 FROM event_scope WHERE scope_id = scope.id)
ORDER BY agent_id LIMIT :limit

-- name: namespaces_page
-- Return the next namespaces in order, except the engine's.
SELECT DISTINCT namespace FROM scope
WHERE namespace > :after AND namespace NOT LIKE '!_%' ESCAPE '!'
    AND namespace NOT LIKE '%/!_%' ESCAPE '!'
    AND EXISTS (SELECT 1 FROM event_scope WHERE scope_id = scope.id)
ORDER BY namespace LIMIT :limit

-- name: activity_of_agent
-- Count the namespaces that an agent wrote in, and the commits; return the last one and its time.
SELECT counts.scopes, counts.commits, counts.last_commit, event.committed_at
FROM (
    SELECT
        COUNT(DISTINCT scope.id) AS scopes, COUNT(DISTINCT event_scope.commit_ts) AS commits,
        MAX(event_scope.commit_ts) AS last_commit
    FROM scope JOIN event_scope ON event_scope.scope_id = scope.id
    WHERE scope.agent_id = :name AND scope.namespace NOT LIKE '!_%' ESCAPE '!'
        AND scope.namespace NOT LIKE '%/!_%' ESCAPE '!'
) AS counts JOIN event ON event.commit_ts = counts.last_commit

-- name: activity_of_namespace
-- Count the agents that wrote in a namespace, and the commits; return the last one and its time.
SELECT counts.scopes, counts.commits, counts.last_commit, event.committed_at
FROM (
    SELECT
        COUNT(DISTINCT scope.id) AS scopes, COUNT(DISTINCT event_scope.commit_ts) AS commits,
        MAX(event_scope.commit_ts) AS last_commit
    FROM scope JOIN event_scope ON event_scope.scope_id = scope.id
    WHERE scope.namespace = :name
) AS counts JOIN event ON event.commit_ts = counts.last_commit
