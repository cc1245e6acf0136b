-- The log and its own indexes.

-- name: meta_get
SELECT value FROM meta WHERE name = :name

-- name: meta_set
INSERT INTO meta (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- name: meta_remove
DELETE FROM meta WHERE name = :name

-- name: meta_range
SELECT name, value FROM meta WHERE name >= :first AND name < :beyond ORDER BY name

-- name: meta_rows
-- What views leave here: the epoch, and which version of each wrote its rows.
SELECT name, value FROM meta WHERE name = 'epoch' OR (name >= 'view:' AND name < 'view;')
ORDER BY name

-- name: event_head
SELECT commit_ts, committed_at, hash FROM event ORDER BY commit_ts DESC LIMIT 1

-- name: event_before_first
-- A commit where none can be.
SELECT commit_ts FROM event WHERE commit_ts < 1 ORDER BY commit_ts LIMIT 1

-- name: event_append
INSERT INTO event (commit_ts, committed_at, hash, salts, envelope, operations)
VALUES (:commit_ts, :committed_at, :hash, :salts, :envelope, :operations)

-- name: event_get
SELECT commit_ts, committed_at, hash, salts, envelope, operations
FROM event WHERE commit_ts = :commit_ts

-- name: event_time
SELECT committed_at FROM event WHERE commit_ts = :commit_ts

-- name: event_hash
SELECT hash FROM event WHERE commit_ts = :commit_ts

-- name: event_page
-- A page of the whole log, with everything a hash covers.
SELECT commit_ts, committed_at, hash, salts, envelope, operations
FROM event WHERE commit_ts > :after AND commit_ts <= :through
ORDER BY commit_ts LIMIT :most

-- name: event_page_of_all
-- A page of everybody's replay.
SELECT commit_ts, committed_at, hash, envelope, operations
FROM event WHERE commit_ts > :after AND commit_ts <= :through
ORDER BY commit_ts LIMIT :most

-- name: event_page_of_scope
-- A page of one scope's replay.
SELECT event.commit_ts, event.committed_at, event.hash, event.envelope, event.operations
FROM event_scope JOIN event ON event.commit_ts = event_scope.commit_ts
WHERE event_scope.scope_id = :scope_id
  AND event_scope.commit_ts > :after AND event_scope.commit_ts <= :through
ORDER BY event_scope.commit_ts LIMIT :most

-- name: event_places_of_scope
-- The same, with where in the operations those of the scope stand, if that is known.
SELECT
    event.commit_ts, event.committed_at, event.hash, event.envelope, event_scope.places,
    event.operations
FROM event_scope JOIN event ON event.commit_ts = event_scope.commit_ts
WHERE event_scope.scope_id = :scope_id
  AND event_scope.commit_ts > :after AND event_scope.commit_ts <= :through
ORDER BY event_scope.commit_ts LIMIT :most

-- name: event_shown
-- One event, as replay shows it.
SELECT commit_ts, committed_at, hash, envelope, operations FROM event WHERE commit_ts = :commit_ts

-- name: commits_of_scope
-- A page of the numbers of the commits that touched a scope.
SELECT commit_ts FROM event_scope
WHERE scope_id = :scope_id AND commit_ts > :after AND commit_ts <= :through
ORDER BY commit_ts LIMIT :most

-- name: commit_at_time
-- The last commit at or before a time. Times grow with commits, so bisecting the commits finds it
-- and no index on time is needed.
WITH RECURSIVE bisect (low, high) AS (
    SELECT 0, COALESCE(MAX(commit_ts), 0) FROM event
    UNION ALL
    SELECT
        CASE WHEN middle.committed_at <= :time THEN middle.commit_ts ELSE low END,
        CASE WHEN middle.committed_at <= :time THEN high ELSE middle.commit_ts - 1 END
    FROM bisect JOIN event AS middle ON middle.commit_ts = (low + high + 1) / 2
    WHERE low < high
)
SELECT low FROM bisect WHERE low = high

-- name: scope_add
INSERT INTO scope (agent_id, namespace) VALUES (:agent_id, :namespace) ON CONFLICT DO NOTHING

-- name: scope_find
SELECT id FROM scope WHERE agent_id = :agent_id AND namespace = :namespace

-- name: scopes_with_events
-- An agent's scopes that some of these commits touched; the audit's is asked for by name.
SELECT id FROM scope
WHERE agent_id = :agent_id AND namespace <> '_audit' AND EXISTS (
    SELECT 1 FROM event_scope
    WHERE event_scope.scope_id = scope.id
      AND event_scope.commit_ts > :after AND event_scope.commit_ts <= :through
)

-- name: scopes_of_agent
-- Every scope of an agent, the audit's too, under which stands what it did to others.
SELECT id FROM scope WHERE agent_id = :agent_id

-- name: event_scope_add
INSERT INTO event_scope (scope_id, commit_ts, places) VALUES (:scope_id, :commit_ts, :places)
ON CONFLICT (scope_id, commit_ts) DO UPDATE SET places = excluded.places

-- name: event_scope_clear
DELETE FROM event_scope

-- name: event_scope_rows
SELECT scope.agent_id, scope.namespace, event_scope.commit_ts, event_scope.places
FROM event_scope LEFT JOIN scope ON scope.id = event_scope.scope_id
ORDER BY scope.agent_id, scope.namespace, event_scope.commit_ts

-- name: event_scope_census
-- How many rows there are of the first commits, and a commit that the log does not have.
SELECT
    COUNT(*) FILTER (WHERE commit_ts BETWEEN 1 AND :through),
    MIN(commit_ts) FILTER (
        WHERE commit_ts < 1 OR commit_ts > (SELECT COALESCE(MAX(commit_ts), 0) FROM event)
    )
FROM event_scope

-- name: txn_add
INSERT INTO txn (txn_id, actor, commit_ts) VALUES (:txn_id, :actor, :commit_ts)

-- name: txn_find
SELECT commit_ts FROM txn WHERE txn_id = :txn_id AND actor = :actor

-- name: txn_clear
DELETE FROM txn

-- name: txn_rows
SELECT txn_id, actor, commit_ts FROM txn ORDER BY txn_id, actor

-- name: txn_census
-- How many rows there are of the first commits, and a commit that the log does not have.
SELECT
    COUNT(*) FILTER (WHERE commit_ts BETWEEN 1 AND :through),
    MIN(commit_ts) FILTER (
        WHERE commit_ts < 1 OR commit_ts > (SELECT COALESCE(MAX(commit_ts), 0) FROM event)
    )
FROM txn

-- name: scope_rows
SELECT agent_id, namespace FROM scope ORDER BY agent_id, namespace

-- name: scope_prune
-- Drop the numbers of scopes that no commit touched.
DELETE FROM scope WHERE id NOT IN (SELECT scope_id FROM event_scope)

-- name: scope_counts
-- How many agents and namespaces users have; the engine's own are not theirs.
SELECT COUNT(DISTINCT CASE WHEN agent_id <> '_engine' THEN agent_id END), COUNT(DISTINCT namespace)
FROM scope WHERE namespace NOT IN ('_log', '_audit')

-- name: blob_add
INSERT INTO blob (commit_ts, position, content) VALUES (:commit_ts, :position, :content)

-- name: blob_get
SELECT content FROM blob WHERE commit_ts = :commit_ts AND position = :position

-- name: blobs_of_commit
SELECT position, content FROM blob WHERE commit_ts = :commit_ts ORDER BY position

-- name: blob_remove
DELETE FROM blob WHERE commit_ts = :commit_ts AND position = :position

-- name: event_rewrite
-- What is left of an event of which something was erased; its hash covers that as it is.
UPDATE event SET salts = :salts, envelope = :envelope, operations = :operations
WHERE commit_ts = :commit_ts

-- name: erased_add
INSERT INTO erased (erasure, commit_ts, position, digest)
VALUES (:erasure, :commit_ts, :position, :digest)

-- name: event_page_back
-- A page of the whole log, the newest first.
SELECT commit_ts, operations FROM event WHERE commit_ts < :before ORDER BY commit_ts DESC LIMIT :most

-- name: horizon_set
-- Set a namespace's horizon; the commit that set the same one before stays the one that did.
INSERT INTO horizon (namespace, commit_ts, summed_in, unfinished)
VALUES (:namespace, :commit_ts, :summed_in, :unfinished)
ON CONFLICT (namespace) DO UPDATE SET
    summed_in = CASE commit_ts WHEN excluded.commit_ts THEN summed_in ELSE excluded.summed_in END,
    commit_ts = excluded.commit_ts, unfinished = excluded.unfinished

-- name: horizon_get
SELECT namespace, commit_ts, summed_in, unfinished FROM horizon WHERE namespace = :namespace

-- name: horizon_above
SELECT commit_ts FROM horizon WHERE namespace = :namespace AND commit_ts > :at

-- name: horizon_above_in_range
-- A namespace of a range that is not known as of a commit; the range is as that of memory_page.
SELECT namespace, commit_ts FROM horizon
WHERE commit_ts > :at AND namespace >= :namespace AND namespace < :beyond
    AND (namespace = :namespace OR namespace >= :children)
ORDER BY namespace LIMIT 1

-- name: horizon_clear
DELETE FROM horizon

-- name: horizon_rows
SELECT namespace, commit_ts, summed_in, unfinished FROM horizon ORDER BY namespace

-- name: horizons_behind
-- The horizons that were set after a commit.
SELECT namespace, commit_ts, summed_in, unfinished FROM horizon
WHERE summed_in > :since ORDER BY namespace

-- name: horizon_highest
SELECT commit_ts FROM horizon ORDER BY commit_ts DESC LIMIT 1

-- name: namespace_touched
-- Whether some of these commits touched a namespace, by one agent or by any.
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
-- A page of what one commit erased, in order.
SELECT commit_ts, position, digest FROM erased
WHERE erasure = :erasure AND (commit_ts, position) > (:after, :after_position)
ORDER BY commit_ts, position LIMIT :most

-- name: erased_counts
-- How many operations and events a commit erased something of.
SELECT COUNT(CASE WHEN position >= 0 THEN 1 END), COUNT(DISTINCT commit_ts)
FROM erased WHERE erasure = :erasure

-- name: envelope_erasure
-- The last commit up to one that erased an envelope, and a txn_id with it.
SELECT erasure FROM erased WHERE position = -1 AND erasure <= :through
ORDER BY erasure DESC LIMIT 1

-- name: erased_get
SELECT digest FROM erased
WHERE erasure = :erasure AND commit_ts = :commit_ts AND position = :position

-- name: erasures
-- The commits that erased something.
SELECT DISTINCT erasure FROM erased ORDER BY erasure

-- name: erased_through
SELECT erasure, commit_ts, position, digest FROM erased WHERE erasure <= :through

-- name: erased_between
-- What was erased of a stretch of the log, by which commit.
SELECT erasure, commit_ts, position, digest FROM erased
WHERE commit_ts > :after AND commit_ts <= :through
ORDER BY commit_ts, position, erasure

-- name: erased_since
-- Whether anything was erased after a commit.
SELECT 1 FROM erased WHERE erasure > :since LIMIT 1

-- name: erasure_behind
-- The next commit that erased something.
SELECT erasure FROM erased WHERE erasure > :after ORDER BY erasure LIMIT 1

-- name: erasures_page
SELECT DISTINCT erasure FROM erased WHERE erasure > :after ORDER BY erasure LIMIT :most

-- name: txn_remove
DELETE FROM txn WHERE txn_id = :txn_id AND actor = :actor

-- name: txn_any
-- The commits that a transaction of this name became, whoever's it was.
SELECT actor, commit_ts FROM txn WHERE txn_id = :txn_id

-- name: event_scope_remove
DELETE FROM event_scope
WHERE commit_ts = :commit_ts AND scope_id = (
    SELECT id FROM scope WHERE agent_id = :agent_id AND namespace = :namespace
)

-- name: scope_drop_agent
DELETE FROM scope
WHERE agent_id = :agent_id AND (agent_id <> '_engine' OR namespace NOT IN ('_log', '_audit'))

-- name: scope_drop_namespace
DELETE FROM scope WHERE namespace = :namespace

-- name: scope_drop_unused
-- Drop the number of a scope, if no commit touches it any more.
DELETE FROM scope
WHERE agent_id = :agent_id AND namespace = :namespace
    AND NOT EXISTS (SELECT 1 FROM event_scope WHERE event_scope.scope_id = scope.id)

-- name: scope_drop_below
DELETE FROM scope WHERE namespace >= :first AND namespace < :beyond

-- name: horizon_remove
DELETE FROM horizon WHERE namespace = :namespace

-- name: blob_places
-- Which operations of some commits have content beside the log.
SELECT commit_ts, position FROM blob WHERE commit_ts > :after AND commit_ts <= :through

-- name: blob_beyond_log
-- A commit that there is content of, and that the log does not have.
SELECT commit_ts FROM blob
WHERE commit_ts < 1 OR commit_ts > (SELECT COALESCE(MAX(commit_ts), 0) FROM event)
ORDER BY commit_ts LIMIT 1

-- name: event_salts_without_effect
-- The salts of transactions that changed nothing, where the request's is not gone yet: it is the
-- first of two, or in chain version 2 the last of two behind a byte.
SELECT commit_ts, salts FROM event
WHERE LENGTH(operations) = 1 AND CASE LENGTH(salts)
    WHEN 2 * :size THEN SUBSTR(salts, 1, :size)
    ELSE SUBSTR(salts, 2 + :size, :size)
END <> ZEROBLOB(:size)

-- name: event_salts_without_effect_page
-- A page of the salts of transactions that changed nothing, whether the request's is gone or not.
SELECT commit_ts, salts FROM event
WHERE LENGTH(operations) = 1 AND commit_ts > :after ORDER BY commit_ts LIMIT :most

-- name: event_salts_set
UPDATE event SET salts = :salts WHERE commit_ts = :commit_ts

-- name: agent_known
SELECT 1 FROM scope WHERE agent_id = :agent_id LIMIT 1

-- name: erased_behind
-- How much of the first commits was erased by commits behind them.
SELECT COUNT(*) FROM erased WHERE commit_ts <= :size AND erasure > :size
