-- Facts: nodes, statements, and the intervals that follow from the statements that stand.
--
-- A point of a timeline is (at, commit_ts, position): valid time first, then the order of the log.
-- A statement stands while its until_commit is OPEN_END. Its bound is the end that came with it.
-- graph_edge stores intervals: they start at (valid_from, from_commit, from_position), their last
-- assertion is at (last_at, last_commit, last_position), and they end before (valid_to, to_commit,
-- to_position).
--
-- A graph has an id: that of an agent's scope, or a negative one if the agents of a namespace share
-- it. Nodes belong to graphs. A statement is in its agent's own graph and, unless it is private, in
-- the shared graph of its namespace, if that exists; there its author is the scope of its agent.

-- name: graph_node_find
-- Find the node of a name, and its root.
SELECT id, root FROM graph_node WHERE scope_id = :scope_id AND kind = :kind AND key = :key

-- name: graph_node_last
-- Return the highest node id.
SELECT COALESCE(MAX(id), 0) FROM graph_node

-- name: graph_node_add
-- Add a node for a new name. It is its own root.
INSERT INTO graph_node (id, scope_id, kind, key, name, root, commit_ts)
VALUES (:id, :scope_id, :kind, :key, :name, :id, :commit_ts)

-- name: graph_cardinality_find
-- Return the current cardinality of a relation.
SELECT single FROM graph_cardinality
WHERE namespace = :namespace AND relation = :relation AND until_commit = OPEN_END

-- name: graph_cardinalities
-- List the current cardinalities of a namespace.
SELECT relation, single FROM graph_cardinality
WHERE namespace = :namespace AND until_commit = OPEN_END
ORDER BY relation

-- name: graph_cardinality_at
-- Return the cardinality of a relation as of a commit.
SELECT single FROM graph_cardinality
WHERE namespace = :namespace AND relation = :relation
    AND commit_ts <= :as_of_commit AND until_commit > :as_of_commit

-- name: graph_cardinality_close
-- End the current cardinality of a relation with a commit.
UPDATE graph_cardinality SET until_commit = :commit_ts
WHERE namespace = :namespace AND relation = :relation
    AND until_commit = OPEN_END AND commit_ts < :commit_ts

-- name: graph_cardinality_put
-- Set the cardinality of a relation from a commit on; the last one of a commit counts.
INSERT INTO graph_cardinality (namespace, relation, commit_ts, until_commit, single)
VALUES (:namespace, :relation, :commit_ts, OPEN_END, :single)
ON CONFLICT (namespace, relation, commit_ts) DO UPDATE SET single = excluded.single

-- name: graph_timelines_of_relation
-- List the timelines of a relation in the graphs of a namespace, of all agents and shared.
SELECT DISTINCT statement.subject_root, statement.relation
FROM (
    SELECT id FROM scope WHERE namespace = :namespace
    UNION ALL
    SELECT id FROM graph_shared WHERE namespace = :namespace
) AS graph
JOIN graph_node AS relation
    ON relation.scope_id = graph.id AND relation.kind = 'relation' AND relation.key = :relation
JOIN graph_node AS subject ON subject.scope_id = graph.id
JOIN graph_statement AS statement
    ON statement.subject_root = subject.id AND statement.relation = relation.id

-- name: graph_statement_add
-- Add a statement. A private one carries the id of its scope, so that an index finds a scope's own.
INSERT INTO graph_statement (
    assertion_id, asserts, subject, relation, object, subject_root, object_root, at,
    bound, commit_ts, position, committed_at, confidence, source, private, author, until_commit,
    reason
) VALUES (
    :assertion_id, :asserts, :subject, :relation, :object, :subject_root, :object_root, :at,
    :bound, :commit_ts, :position, :committed_at, :confidence, :source,
    CASE WHEN :private = 1 THEN (SELECT scope_id FROM graph_node WHERE id = :subject) ELSE 0 END,
    :author, OPEN_END, NULL
)

-- name: graph_statements_live
-- List the statements with an assertion id that stand: an assertion, and the end it came with, in
-- every graph.
SELECT id, subject_root, relation, at, commit_ts, position, asserts, object_root, bound
FROM graph_statement
WHERE assertion_id = :assertion_id AND until_commit = OPEN_END
ORDER BY position

-- name: graph_statement_withdraw
-- Mark a statement as withdrawn by a commit.
UPDATE graph_statement SET until_commit = :commit_ts, reason = :reason WHERE id = :id

-- name: graph_assertion_after
-- Find the first assertion of a timeline after a point.
SELECT at, commit_ts, position, object_root FROM graph_statement
WHERE subject_root = :subject AND relation = :relation AND asserts = 1
    AND (at, commit_ts, position) > (:at, :commit_ts, :position)
    AND until_commit = OPEN_END
ORDER BY at, commit_ts, position LIMIT 1

-- name: graph_assertion_before
-- Find the last assertion of a timeline before a point.
SELECT at, commit_ts, position, object_root FROM graph_statement
WHERE subject_root = :subject AND relation = :relation AND asserts = 1
    AND (at, commit_ts, position) < (:at, :commit_ts, :position)
    AND until_commit = OPEN_END
ORDER BY at DESC, commit_ts DESC, position DESC LIMIT 1

-- name: graph_statements_at
-- List the statements about one object at one instant: the assertions of an interval, and the ends
-- of its object or of any object. They are in the order in which they take effect.
SELECT commit_ts, position, asserts, bound FROM (
    SELECT commit_ts, position, asserts, bound FROM graph_statement
    WHERE subject_root = :subject AND relation = :relation AND asserts = 1
        AND at = :at AND object_root = :object AND until_commit = OPEN_END
        AND (commit_ts, position) >= (:commit_ts, :position)
        AND (commit_ts, position) <= (:last_commit, :last_position)
    UNION ALL
    SELECT commit_ts, position, asserts, bound FROM graph_statement
    WHERE object_root IN (0, :object) AND subject_root = :subject AND relation = :relation
        AND asserts = 0 AND bound = OPEN_END AND at = :at
        AND until_commit = OPEN_END
) AS statement
ORDER BY commit_ts, position

-- name: graph_statement_bound
-- Return the end that the assertion at a point came with, if the assertion stands.
SELECT bound FROM graph_statement
WHERE subject_root = :subject AND relation = :relation AND asserts = 1
    AND until_commit = OPEN_END
    AND at = :at AND commit_ts = :commit_ts AND position = :position

-- name: graph_timeline_size
-- Count the statements of a timeline that stand.
SELECT COUNT(*) FROM graph_statement
WHERE subject_root = :subject AND relation = :relation AND asserts IN (0, 1)
    AND until_commit = OPEN_END

-- name: graph_end_after
-- Find the next end, after a point, of an object or of any object, that came with no assertion.
SELECT at, commit_ts, position FROM (
    SELECT at, commit_ts, position FROM graph_statement
    WHERE object_root = :object AND subject_root = :subject AND relation = :relation
        AND asserts = 0 AND bound = OPEN_END
        AND (at, commit_ts, position) > (:at, :commit_ts, :position)
        AND until_commit = OPEN_END
    ORDER BY at, commit_ts, position LIMIT 1
) AS of_object
UNION ALL
SELECT at, commit_ts, position FROM (
    SELECT at, commit_ts, position FROM graph_statement
    WHERE object_root = 0 AND subject_root = :subject AND relation = :relation
        AND asserts = 0 AND bound = OPEN_END
        AND (at, commit_ts, position) > (:at, :commit_ts, :position)
        AND until_commit = OPEN_END
    ORDER BY at, commit_ts, position LIMIT 1
) AS of_any
ORDER BY at, commit_ts, position LIMIT 1

-- name: graph_bound_after
-- Find the next end of an object, after a point, that came with an assertion.
SELECT at, commit_ts, position FROM graph_statement
WHERE object_root = :object AND subject_root = :subject AND relation = :relation
    AND asserts = 0 AND bound < OPEN_END
    AND (at, commit_ts, position) > (:at, :commit_ts, :position)
    AND until_commit = OPEN_END
ORDER BY at, commit_ts, position LIMIT 1

-- name: graph_end_before
-- Find the last end, before a point, of an object or of any object, that came with no assertion.
SELECT at FROM (
    SELECT at, commit_ts, position FROM graph_statement
    WHERE object_root = :object AND subject_root = :subject AND relation = :relation
        AND asserts = 0 AND bound = OPEN_END
        AND (at, commit_ts, position) < (:at, :commit_ts, :position)
        AND until_commit = OPEN_END
    ORDER BY at DESC, commit_ts DESC, position DESC LIMIT 1
) AS of_object
UNION ALL
SELECT at FROM (
    SELECT at, commit_ts, position FROM graph_statement
    WHERE object_root = 0 AND subject_root = :subject AND relation = :relation
        AND asserts = 0 AND bound = OPEN_END
        AND (at, commit_ts, position) < (:at, :commit_ts, :position)
        AND until_commit = OPEN_END
    ORDER BY at DESC, commit_ts DESC, position DESC LIMIT 1
) AS of_any
ORDER BY at DESC LIMIT 1

-- name: graph_edge_before
-- Find the last interval of a timeline that starts before a point.
SELECT
    object, valid_from, from_commit, from_position, last_at, last_commit, last_position,
    valid_to, to_commit, to_position
FROM graph_edge
WHERE subject = :subject AND relation = :relation
    AND (valid_from, from_commit, from_position) < (:at, :commit_ts, :position)
ORDER BY valid_from DESC, from_commit DESC, from_position DESC LIMIT 1

-- name: graph_edge_from
-- Find the interval of a timeline that starts at a point.
SELECT
    object, valid_from, from_commit, from_position, last_at, last_commit, last_position,
    valid_to, to_commit, to_position
FROM graph_edge
WHERE subject = :subject AND relation = :relation
    AND valid_from = :at AND from_commit = :commit_ts AND from_position = :position

-- name: graph_edges_crossing
-- List the intervals whose assertions are all before a point and whose end is after it.
SELECT
    object, valid_from, from_commit, from_position, last_at, last_commit, last_position,
    valid_to, to_commit, to_position
FROM graph_edge
WHERE subject = :subject AND relation = :relation
    AND valid_from BETWEEN :since AND :at AND valid_to >= :at
    AND (last_at, last_commit, last_position) < (:at, :commit_ts, :position)
    AND (valid_to, to_commit, to_position) > (:at, :commit_ts, :position)

-- name: graph_edges_ended_at
-- List the intervals that an end may have ended: those that end there, and those that start at the
-- same instant, of which it may have ended some assertions.
SELECT
    object, valid_from, from_commit, from_position, last_at, last_commit, last_position,
    valid_to, to_commit, to_position
FROM graph_edge
WHERE subject = :subject AND relation = :relation AND valid_from BETWEEN :since AND :at
    AND (
        (valid_to = :at AND to_commit = :commit_ts AND to_position = :position)
        OR (
            valid_from = :at AND from_commit <= :commit_ts
            AND (:object IS NULL OR object = :object)
        )
    )

-- name: graph_edge_put
-- Add or replace an interval.
INSERT INTO graph_edge (
    subject, relation, object, valid_from, from_commit, from_position,
    last_at, last_commit, last_position, valid_to, to_commit, to_position
) VALUES (
    :subject, :relation, :object, :valid_from, :from_commit, :from_position,
    :last_at, :last_commit, :last_position, :valid_to, :to_commit, :to_position
)
ON CONFLICT (subject, relation, valid_from, from_commit, from_position) DO UPDATE SET
    object = excluded.object,
    last_at = excluded.last_at,
    last_commit = excluded.last_commit,
    last_position = excluded.last_position,
    valid_to = excluded.valid_to,
    to_commit = excluded.to_commit,
    to_position = excluded.to_position

-- name: graph_edge_drop
-- Delete the interval that starts at a point.
DELETE FROM graph_edge
WHERE subject = :subject AND relation = :relation
    AND valid_from = :at AND from_commit = :commit_ts AND from_position = :position

-- name: graph_timeline_drop
-- Delete the intervals of a timeline.
DELETE FROM graph_edge WHERE subject = :subject AND relation = :relation

-- name: graph_timeline_statements
-- List the statements of a timeline that stand, in timeline order.
SELECT at, commit_ts, position, asserts, object_root, bound FROM graph_statement
WHERE subject_root = :subject AND relation = :relation AND asserts IN (0, 1)
    AND until_commit = OPEN_END
ORDER BY at, commit_ts, position

-- name: graph_timeline_short
-- List the statements of a small timeline, withdrawn ones included, in any order. A full page means
-- that the timeline is not small.
SELECT at, commit_ts, position, asserts, object_root, bound, until_commit FROM graph_statement
WHERE subject_root = :subject AND relation = :relation LIMIT :limit

-- name: graph_timelines_touched
-- List the timelines that a merge of an entity changes: those it is the subject of, and those with
-- it as an object, of an interval or of an end.
SELECT DISTINCT subject_root, relation FROM graph_statement WHERE subject_root = :entity
UNION
SELECT subject, relation FROM graph_edge WHERE object = :entity
UNION
SELECT subject_root, relation FROM graph_statement
WHERE object_root = :entity AND asserts = 0 AND bound = OPEN_END
    AND until_commit = OPEN_END

-- name: graph_roots_keep
-- Keep the roots that the names of an entity had until a commit.
INSERT INTO graph_root (node, until_commit, root)
SELECT id, :commit_ts, root FROM graph_node WHERE root = :entity
ON CONFLICT (node, until_commit) DO NOTHING

-- name: graph_nodes_point
-- Point the names of an entity to the root it was merged into.
UPDATE graph_node SET root = :into WHERE root = :entity

-- name: graph_objects_point
-- Point the objects of a timeline from an entity to the root it was merged into.
UPDATE graph_statement SET object_root = :into
WHERE subject_root = :subject AND relation = :relation AND object_root = :entity

-- name: graph_subjects_point
-- Point the subjects of statements from an entity to the root it was merged into.
UPDATE graph_statement SET subject_root = :into WHERE subject_root = :entity

-- name: graph_timeline_changed
-- Say whether a statement of a timeline was added or withdrawn, or a name of its graph changed its
-- root, after a commit; with public_only, whether one that is not private was.
SELECT 1 WHERE EXISTS (
    SELECT 1
    FROM graph_node AS relation
    JOIN graph_node AS subject
        ON subject.scope_id = :graph AND subject.kind = 'entity' AND subject.key = :subject
    JOIN graph_statement AS statement
        ON statement.subject_root = subject.root AND statement.relation = relation.id
    WHERE relation.scope_id = :graph AND relation.kind = 'relation' AND relation.key = :relation
        AND (statement.private = 0 OR :public_only = 0)
        AND (
            statement.commit_ts > :since
            OR (statement.until_commit > :since AND statement.until_commit < OPEN_END)
        )
) OR EXISTS (
    SELECT 1 FROM graph_root
    WHERE graph_root.until_commit > :since
        AND (SELECT node.scope_id FROM graph_node AS node WHERE node.id = graph_root.node) = :graph
)

-- name: graph_private_changed
-- Say whether a private statement of a scope about a relation was added or withdrawn after a commit.
SELECT 1
FROM graph_statement AS statement JOIN graph_node AS relation ON relation.id = statement.relation
WHERE statement.private > 0 AND statement.private = :scope_id AND relation.key = :relation
    AND (
        statement.commit_ts > :since
        OR (statement.until_commit > :since AND statement.until_commit < OPEN_END)
    )
LIMIT 1

-- name: graph_sharing_changed
-- Say whether a namespace, or one above it, changed after a commit whether it shares its facts.
SELECT 1 FROM graph_sharing
WHERE commit_ts > :since AND SUBSTR(:namespace || '/', 1, LENGTH(namespace) + 1) = namespace || '/'
LIMIT 1

-- name: graph_sharing_at
-- Say whether a namespace shares its facts as of a commit, and return the id of its shared graph.
SELECT shared, (SELECT id FROM graph_shared WHERE graph_shared.namespace = :namespace)
FROM graph_sharing
WHERE commit_ts <= :as_of_commit
    AND SUBSTR(:namespace || '/', 1, LENGTH(namespace) + 1) = namespace || '/'
ORDER BY LENGTH(namespace) DESC, commit_ts DESC LIMIT 1

-- name: graph_sharing_ever
-- Say whether a namespace, or one above it, ever shared its facts.
SELECT 1 FROM graph_sharing
WHERE shared = 1 AND SUBSTR(:namespace || '/', 1, LENGTH(namespace) + 1) = namespace || '/'
LIMIT 1

-- name: graph_node_any
-- Say whether any entity or relation was ever named.
SELECT 1 FROM graph_node LIMIT 1

-- name: graph_sharing_any
-- Say whether any namespace ever shared its facts.
SELECT 1 FROM graph_sharing WHERE shared = 1 LIMIT 1

-- name: graph_sharing_own
-- Return the last setting of a namespace itself: whether it shares its facts.
SELECT shared FROM graph_sharing WHERE namespace = :namespace ORDER BY commit_ts DESC LIMIT 1

-- name: graph_sharing_put
-- Set whether a namespace shares its facts from a commit on; the last setting of a commit counts.
INSERT INTO graph_sharing (namespace, commit_ts, shared) VALUES (:namespace, :commit_ts, :shared)
ON CONFLICT (namespace, commit_ts) DO UPDATE SET shared = excluded.shared

-- name: graph_sharing_drop
-- Delete the settings of a namespace.
DELETE FROM graph_sharing WHERE namespace = :namespace

-- name: graph_sharing_clear
-- Delete all settings.
DELETE FROM graph_sharing

-- name: graph_sharing_rows
-- List all settings.
SELECT namespace, commit_ts, shared FROM graph_sharing ORDER BY namespace, commit_ts

-- name: graph_sharing_size
-- Count the statements of a namespace, and of those below it, that its agents would share.
SELECT COUNT(*)
FROM scope
JOIN graph_node AS subject ON subject.scope_id = scope.id
JOIN graph_statement AS statement
    ON statement.subject_root = subject.id AND statement.private = 0
WHERE SUBSTR(scope.namespace || '/', 1, LENGTH(:namespace) + 1) = :namespace || '/'

-- name: graph_namespaces_below
-- List the namespaces at or below one whose agents have facts.
SELECT DISTINCT scope.namespace
FROM scope JOIN graph_node AS node ON node.scope_id = scope.id
WHERE SUBSTR(scope.namespace || '/', 1, LENGTH(:namespace) + 1) = :namespace || '/'
ORDER BY scope.namespace

-- name: graph_commits_of_namespace
-- List the commits that changed the agents' own graphs of a namespace, in order.
WITH node AS (
    SELECT graph_node.id, graph_node.commit_ts
    FROM scope JOIN graph_node ON graph_node.scope_id = scope.id
    WHERE scope.namespace = :namespace
)
SELECT commit_ts FROM node
UNION
SELECT graph_root.until_commit FROM node JOIN graph_root ON graph_root.node = node.id
UNION
SELECT statement.commit_ts
FROM node JOIN graph_statement AS statement ON statement.subject_root = node.id
UNION
SELECT statement.until_commit
FROM node JOIN graph_statement AS statement ON statement.subject_root = node.id
WHERE statement.until_commit < OPEN_END
ORDER BY 1

-- name: graph_shared_find
-- Return the id of the shared graph of a namespace.
SELECT id FROM graph_shared WHERE namespace = :namespace

-- name: graph_shared_add
-- Give the shared graph of a namespace the next id, downwards from -1.
INSERT INTO graph_shared (id, namespace)
SELECT COALESCE(MIN(id), 0) - 1, :namespace FROM graph_shared

-- name: graph_shared_drop
-- Delete the id of the shared graph of a namespace.
DELETE FROM graph_shared WHERE namespace = :namespace

-- name: graph_shared_clear
-- Delete the ids of all shared graphs.
DELETE FROM graph_shared

-- name: graph_shared_rows
-- List all namespaces with a shared graph.
SELECT namespace FROM graph_shared ORDER BY namespace

-- name: graph_scope_ids
-- List the ids of all scopes of a namespace.
SELECT id FROM scope WHERE namespace = :namespace ORDER BY id

-- name: graph_scopes_of_namespace
-- List the agents of a namespace that have facts.
SELECT scope.agent_id FROM scope
WHERE scope.namespace = :namespace
    AND EXISTS (SELECT 1 FROM graph_node AS node WHERE node.scope_id = scope.id)
ORDER BY scope.agent_id

-- name: graph_cardinality_changed
-- Say whether the cardinality of a relation was set after a commit.
SELECT 1 FROM graph_cardinality
WHERE namespace = :namespace AND relation = :relation AND commit_ts > :since

-- name: graph_timeline_changes
-- Return the last commits that added a statement to a timeline, added an end of its own, withdrew a
-- statement, and set the cardinality of its relation; and whether that is single-valued.
SELECT
    COALESCE(MAX(statement.commit_ts), 0),
    COALESCE(
        MAX(statement.commit_ts)
        FILTER (WHERE statement.asserts = 0 AND statement.bound = OPEN_END),
        0
    ),
    COALESCE(MAX(statement.until_commit) FILTER (WHERE statement.until_commit < OPEN_END), 0),
    COALESCE((
        SELECT MAX(cardinality.commit_ts) FROM graph_cardinality AS cardinality
        WHERE cardinality.namespace = :namespace AND cardinality.relation = :relation
    ), 0),
    COALESCE((
        SELECT cardinality.single FROM graph_cardinality AS cardinality
        WHERE cardinality.namespace = :namespace AND cardinality.relation = :relation
            AND cardinality.until_commit = OPEN_END
    ), 0)
FROM scope
JOIN graph_node AS subject
    ON subject.scope_id = scope.id AND subject.kind = 'entity' AND subject.key = :subject
JOIN graph_node AS relation
    ON relation.scope_id = scope.id AND relation.kind = 'relation' AND relation.key = :relation
JOIN graph_statement AS statement
    ON statement.subject_root = subject.root AND statement.relation = relation.id
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace

-- name: graph_roots_last_change
-- Return the last commit that changed the root of a name of a scope.
SELECT past.until_commit
FROM graph_root AS past JOIN graph_node AS node ON node.id = past.node
JOIN scope ON scope.id = node.scope_id
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace
ORDER BY past.until_commit DESC LIMIT 1

-- name: graph_node_clear
-- Delete all nodes.
DELETE FROM graph_node

-- name: graph_root_clear
-- Delete all past roots.
DELETE FROM graph_root

-- name: graph_cardinality_clear
-- Delete all cardinalities.
DELETE FROM graph_cardinality

-- name: graph_statement_clear
-- Delete all statements.
DELETE FROM graph_statement

-- name: graph_edge_clear
-- Delete all intervals.
DELETE FROM graph_edge

-- name: graph_node_rows
-- List all nodes. Those of a scope come in the order of their ids, which is that of first mention.
SELECT
    COALESCE(scope.namespace, shared.namespace) AS namespace, scope.agent_id,
    node.kind, node.key, node.name,
    root.scope_id = node.scope_id AS root_here, root.kind AS root_kind, root.key AS root,
    node.commit_ts
FROM graph_node AS node
LEFT JOIN scope ON scope.id = node.scope_id
LEFT JOIN graph_shared AS shared ON shared.id = node.scope_id
LEFT JOIN graph_node AS root ON root.id = node.root
ORDER BY 1, scope.agent_id, node.id

-- name: graph_root_rows
-- List all past roots.
SELECT
    COALESCE(scope.namespace, shared.namespace) AS namespace, scope.agent_id,
    node.kind, node.key, graph_root.until_commit,
    root.scope_id = node.scope_id AS root_here, root.kind AS root_kind, root.key AS root
FROM graph_root
LEFT JOIN graph_node AS node ON node.id = graph_root.node
LEFT JOIN graph_node AS root ON root.id = graph_root.root
LEFT JOIN scope ON scope.id = node.scope_id
LEFT JOIN graph_shared AS shared ON shared.id = node.scope_id
ORDER BY 1, scope.agent_id, node.kind, node.key, graph_root.until_commit

-- name: graph_cardinality_rows
-- List all cardinalities.
SELECT namespace, relation, commit_ts, until_commit, single FROM graph_cardinality
ORDER BY namespace, relation, commit_ts

-- name: graph_statement_rows
-- List all statements. An end of any object has the object id 0, which differs from a missing node;
-- so has a statement of an agent's own graph the author 0.
SELECT
    statement.commit_ts, statement.position, statement.asserts, statement.assertion_id,
    COALESCE(scope.namespace, shared.namespace) AS namespace, scope.agent_id,
    statement.author = 0 AS of_own_graph, author.namespace AS author_namespace,
    author.agent_id AS author,
    subject.kind AS subject_kind, subject.key AS subject,
    relation.scope_id = subject.scope_id AS relation_here, relation.kind AS relation_kind,
    relation.key AS relation, statement.object = 0 AS of_all, object.scope_id = subject.scope_id
        AS object_here, object.kind AS object_kind, object.key AS object,
    subject_root.scope_id = subject.scope_id AS subject_root_here, subject_root.key AS subject_root,
    subject_root.kind AS subject_root_kind, statement.object_root = 0 AS of_all_roots,
    object_root.scope_id = subject.scope_id AS object_root_here, object_root.key AS object_root,
    object_root.kind AS object_root_kind, statement.at, statement.bound,
    statement.committed_at, statement.confidence,
    statement.source,
    CASE statement.private WHEN 0 THEN 0 WHEN subject.scope_id THEN 1 ELSE 2 END AS private,
    statement.until_commit, statement.reason
FROM graph_statement AS statement
LEFT JOIN graph_node AS subject ON subject.id = statement.subject
LEFT JOIN scope ON scope.id = subject.scope_id
LEFT JOIN graph_shared AS shared ON shared.id = subject.scope_id
LEFT JOIN scope AS author ON author.id = statement.author
LEFT JOIN graph_node AS relation ON relation.id = statement.relation
LEFT JOIN graph_node AS subject_root ON subject_root.id = statement.subject_root
LEFT JOIN graph_node AS object ON object.id = statement.object
LEFT JOIN graph_node AS object_root ON object_root.id = statement.object_root
ORDER BY
    statement.commit_ts, statement.position, statement.asserts, statement.assertion_id,
    statement.author > 0

-- name: graph_edge_rows
-- List all intervals.
SELECT
    COALESCE(scope.namespace, shared.namespace) AS namespace, scope.agent_id,
    subject.kind AS subject_kind, subject.key AS subject,
    relation.scope_id = subject.scope_id AS relation_here, relation.kind AS relation_kind,
    relation.key AS relation, edge.valid_from, edge.from_commit, edge.from_position,
    object.scope_id = subject.scope_id AS object_here, object.kind AS object_kind,
    object.key AS object, edge.last_at, edge.last_commit, edge.last_position,
    edge.valid_to, edge.to_commit, edge.to_position
FROM graph_edge AS edge
LEFT JOIN graph_node AS subject ON subject.id = edge.subject
LEFT JOIN graph_node AS relation ON relation.id = edge.relation
LEFT JOIN graph_node AS object ON object.id = edge.object
LEFT JOIN scope ON scope.id = subject.scope_id
LEFT JOIN graph_shared AS shared ON shared.id = subject.scope_id
ORDER BY
    1, scope.agent_id, subject.kind, subject.key, relation.key,
    edge.valid_from, edge.from_commit, edge.from_position

-- name: graph_relation_scope
-- Return the namespace and the key of a relation.
SELECT COALESCE(scope.namespace, shared.namespace), node.key
FROM graph_node AS node
LEFT JOIN scope ON scope.id = node.scope_id
LEFT JOIN graph_shared AS shared ON shared.id = node.scope_id
WHERE node.id = :relation

-- name: graph_root_key
-- Return the key of what a name meant as of a commit.
SELECT root.key
FROM graph_node AS node
JOIN graph_node AS root ON root.id = COALESCE(
    (
        SELECT past.root FROM graph_root AS past
        WHERE past.node = node.id AND past.until_commit > :as_of_commit
        ORDER BY past.until_commit LIMIT 1
    ),
    node.root
)
WHERE node.scope_id = :graph AND node.kind = 'entity' AND node.key = :key
    AND node.commit_ts <= :as_of_commit

-- name: graph_assertion_find
-- Return whose statement an id is, whether it asserts, stands and is private, and its valid time.
SELECT
    scope.namespace, scope.agent_id, statement.asserts, statement.until_commit = OPEN_END,
    statement.at,
    statement.private > 0
FROM graph_statement AS statement
JOIN graph_node AS subject ON subject.id = statement.subject
JOIN scope ON scope.id = subject.scope_id
WHERE statement.assertion_id = :assertion_id
ORDER BY statement.asserts DESC, statement.position LIMIT 1

-- name: graph_private_any
-- Say whether a scope has a private statement.
SELECT 1 FROM graph_statement WHERE private > 0 AND private = :scope_id LIMIT 1

-- name: graph_nodes_private
-- Return the nodes that only private statements mention. Other names for the same entity count too.
SELECT node.id
FROM EACH(:ids) AS item JOIN graph_node AS node ON node.id = item.value
WHERE EXISTS (
        SELECT 1 FROM graph_statement AS statement
        WHERE statement.private > 0 AND statement.private = node.scope_id
            AND (statement.subject = node.id OR statement.object = node.id)
    )
    AND NOT EXISTS (
        SELECT 1 FROM graph_statement AS statement
        WHERE statement.subject_root = node.root AND statement.private = 0
    )
    AND NOT EXISTS (
        SELECT 1 FROM graph_statement AS statement
        WHERE statement.object = node.id AND statement.asserts = 1 AND statement.private = 0
    )
    AND NOT EXISTS (
        SELECT 1 FROM graph_root AS past WHERE past.root = node.id OR past.node = node.id
    )

-- name: graph_assertions_beside_private
-- Return the assertions of other agents in scopes that have private statements.
SELECT statement.assertion_id
FROM EACH(:ids) AS item
JOIN graph_statement AS statement ON statement.assertion_id = item.value AND statement.asserts = 1
JOIN graph_node AS subject ON subject.id = statement.subject
JOIN scope ON scope.id = subject.scope_id
WHERE scope.agent_id <> :viewer AND EXISTS (
    SELECT 1 FROM graph_statement AS other WHERE other.private > 0 AND other.private = scope.id
)

-- name: graph_assertions_private
-- Return the assertions that are private to agents other than the viewer.
SELECT statement.assertion_id
FROM EACH(:ids) AS item
JOIN graph_statement AS statement ON statement.assertion_id = item.value AND statement.private > 0
JOIN scope ON scope.id = statement.private
WHERE scope.agent_id <> :viewer

-- name: graph_assertion_known
-- Say whether an assertion id was ever used.
SELECT 1 FROM graph_statement WHERE assertion_id = :assertion_id LIMIT 1

-- name: graph_assertions_matching
-- List the assertions of a fact that stand; without an object, of every object.
SELECT statement.assertion_id
FROM graph_node AS subject
JOIN graph_node AS relation
    ON relation.scope_id = subject.scope_id AND relation.kind = 'relation' AND relation.key = :relation
JOIN graph_statement AS statement
    ON statement.subject_root = subject.id AND statement.relation = relation.id
    AND statement.asserts = 1
JOIN graph_node AS object ON object.id = statement.object_root
WHERE subject.scope_id = :graph AND subject.kind = 'entity' AND subject.key = :subject
    AND statement.until_commit = OPEN_END
    AND (:object IS NULL OR (object.kind = :kind AND object.key = :object))
ORDER BY statement.commit_ts, statement.position

-- name: graph_private_assertions
-- List the private assertions of a scope about a relation that stand, by the keys of their names.
SELECT statement.assertion_id, subject.key, object.kind, object.key
FROM graph_statement AS statement
JOIN graph_node AS subject ON subject.id = statement.subject
JOIN graph_node AS relation ON relation.id = statement.relation
JOIN graph_node AS object ON object.id = statement.object
WHERE statement.private > 0 AND statement.private = :scope_id AND relation.key = :relation
    AND statement.asserts = 1 AND statement.until_commit = OPEN_END
ORDER BY statement.commit_ts, statement.position

-- name: graph_relation_size
-- Count the statements of a relation in the graphs of a namespace.
SELECT COUNT(*)
FROM (
    SELECT id FROM scope WHERE namespace = :namespace
    UNION ALL
    SELECT id FROM graph_shared WHERE namespace = :namespace
) AS graph
JOIN graph_node AS relation
    ON relation.scope_id = graph.id AND relation.kind = 'relation' AND relation.key = :relation
JOIN graph_node AS subject ON subject.scope_id = graph.id
JOIN graph_statement AS statement
    ON statement.subject_root = subject.id AND statement.relation = relation.id

-- name: graph_relation_used
-- Say whether a relation has a statement in a namespace.
SELECT 1
FROM scope
JOIN graph_node AS relation
    ON relation.scope_id = scope.id AND relation.kind = 'relation' AND relation.key = :relation
JOIN graph_node AS subject ON subject.scope_id = scope.id
JOIN graph_statement AS statement
    ON statement.subject_root = subject.id AND statement.relation = relation.id
WHERE scope.namespace = :namespace
LIMIT 1

-- name: graph_entity_size
-- Count the statements of the timelines that a merge derives again: those that the entity is the
-- subject or an object of, and those of the other entity that they become part of.
WITH entity AS (
    SELECT node.root AS id
    FROM graph_node AS node
    WHERE node.scope_id = :graph AND node.kind = 'entity' AND node.key = :key
), other AS (
    SELECT node.root AS id
    FROM graph_node AS node
    WHERE node.scope_id = :graph AND node.kind = 'entity' AND node.key = :into
), touched AS (
    SELECT statement.subject_root AS subject, statement.relation
    FROM entity JOIN graph_statement AS statement ON statement.subject_root = entity.id
    UNION
    SELECT other.id, statement.relation
    FROM entity JOIN graph_statement AS statement ON statement.subject_root = entity.id JOIN other
    UNION
    SELECT edge.subject, edge.relation
    FROM entity JOIN graph_edge AS edge ON edge.object = entity.id
    UNION
    SELECT statement.subject_root, statement.relation
    FROM entity
    JOIN graph_statement AS statement
        ON statement.object_root = entity.id AND statement.asserts = 0
        AND statement.bound = OPEN_END
        AND statement.until_commit = OPEN_END
)
SELECT COUNT(*)
FROM touched
JOIN graph_statement AS statement
    ON statement.subject_root = touched.subject AND statement.relation = touched.relation

-- name: graph_node_at
-- Return the node id of what a name meant as of a commit.
SELECT COALESCE(
    (
        SELECT past.root FROM graph_root AS past
        WHERE past.node = node.id AND past.until_commit > :as_of_commit
        ORDER BY past.until_commit LIMIT 1
    ),
    node.root
)
FROM graph_node AS node
WHERE node.scope_id = :scope_id AND node.kind = :kind AND node.key = :key
    AND node.commit_ts <= :as_of_commit

-- name: graph_singles_at
-- List the single-valued relations of a graph, and of a scope above it, as of a commit.
SELECT relation.id
FROM graph_cardinality AS cardinality
JOIN graph_node AS relation
    ON relation.scope_id IN (:graph, :overlay) AND relation.kind = 'relation'
    AND relation.key = cardinality.relation
WHERE cardinality.namespace = :namespace AND cardinality.single = 1
    AND cardinality.commit_ts <= :as_of_commit AND cardinality.until_commit > :as_of_commit

-- name: graph_entities_page
-- List a page of the entities of a graph as of a commit, in the order of first mention. A name that
-- was merged into another entity by then is not one.
SELECT node.id
FROM graph_node AS node
WHERE node.scope_id = :graph AND node.kind = 'entity' AND node.id > :after
    AND node.commit_ts <= :as_of_commit
    AND COALESCE(
        (
            SELECT past.root FROM graph_root AS past
            WHERE past.node = node.id AND past.until_commit > :as_of_commit
            ORDER BY past.until_commit LIMIT 1
        ),
        node.root
    ) = node.id
ORDER BY node.id LIMIT :limit

-- name: graph_private_entities_page
-- List a page of the names of a scope that the shared graph did not have at a commit, in the order of
-- first mention: only private statements mention them, so none has an alias.
SELECT node.id
FROM graph_node AS node
WHERE node.scope_id = :overlay AND node.kind = 'entity' AND node.id > :after
    AND node.commit_ts <= :as_of_commit
    AND NOT EXISTS (
        SELECT 1 FROM graph_node AS twin
        WHERE twin.scope_id = :graph AND twin.kind = node.kind AND twin.key = node.key
            AND twin.commit_ts <= :as_of_commit
    )
ORDER BY node.id LIMIT :limit

-- name: graph_statement_keys
-- Return the keys of the subject and the relation of a statement.
SELECT subject.key, relation.key
FROM graph_statement AS statement
JOIN graph_node AS subject ON subject.id = statement.subject
JOIN graph_node AS relation ON relation.id = statement.relation
WHERE statement.assertion_id = :assertion_id AND statement.author = 0

-- name: graph_assertion_of
-- Return the scope of an assertion, the keys of its subject and relation, its commit, and when and
-- why it was withdrawn.
SELECT
    scope.namespace, scope.agent_id, subject.key, relation.key, statement.commit_ts,
    statement.until_commit, statement.reason
FROM graph_statement AS statement
JOIN graph_node AS subject ON subject.id = statement.subject
JOIN graph_node AS relation ON relation.id = statement.relation
JOIN scope ON scope.id = subject.scope_id
WHERE statement.assertion_id = :assertion_id AND statement.asserts = 1

-- name: graph_counts
-- Count the intervals and the entities of the agents' own graphs.
SELECT
    (SELECT COUNT(*) FROM graph_edge) - (
        SELECT COUNT(*)
        FROM graph_shared
        JOIN graph_node AS node ON node.scope_id = graph_shared.id
        JOIN graph_edge AS edge ON edge.subject = node.id
    ),
    (SELECT COUNT(*) FROM graph_node WHERE kind = 'entity' AND root = id AND scope_id > 0)

-- name: graph_names_of_entity
-- List all names of the entity that a name means, in the order of first mention.
SELECT other.key, other.name
FROM graph_node AS node JOIN graph_node AS other ON other.root = node.root
WHERE node.scope_id = :scope_id AND node.kind = :kind AND node.key = :key
ORDER BY other.id

-- name: graph_statement_positions
-- Return the log positions of an assertion and of the end it came with, and when they were
-- withdrawn.
SELECT commit_ts, position, until_commit FROM graph_statement
WHERE assertion_id = :assertion_id AND author = 0

-- name: graph_cardinality_drop
-- Delete the cardinalities of a relation.
DELETE FROM graph_cardinality WHERE namespace = :namespace AND relation = :relation

-- name: graph_scope_edges
-- Delete the intervals of a graph.
DELETE FROM graph_edge WHERE subject IN (SELECT id FROM graph_node WHERE scope_id = :scope_id)

-- name: graph_scope_statements
-- Delete the statements of a graph.
DELETE FROM graph_statement
WHERE subject_root IN (SELECT id FROM graph_node WHERE scope_id = :scope_id)

-- name: graph_scope_roots
-- Delete the past roots of a graph.
DELETE FROM graph_root WHERE node IN (SELECT id FROM graph_node WHERE scope_id = :scope_id)

-- name: graph_scope_nodes
-- Delete the nodes of a graph.
DELETE FROM graph_node WHERE scope_id = :scope_id

-- name: graph_node_first_commit
-- Return the commit that mentioned a name first.
SELECT node.commit_ts
FROM scope
JOIN graph_node AS node ON node.scope_id = scope.id AND node.kind = :kind AND node.key = :key
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace

-- name: graph_timeline_withdrawn
-- Return the log positions of the statements of a fact's timeline that were withdrawn by a horizon.
SELECT DISTINCT statement.commit_ts, statement.position
FROM graph_statement AS other
JOIN graph_statement AS statement
    ON statement.subject_root = other.subject_root AND statement.relation = other.relation
WHERE other.assertion_id = :assertion_id
    AND statement.commit_ts <= :horizon AND statement.until_commit <= :horizon

-- name: graph_statement_drop
-- Delete a statement by its log position.
DELETE FROM graph_statement
WHERE assertion_id = :assertion_id AND commit_ts = :commit_ts AND position = :position

-- name: graph_statement_by_position
-- Find the statements of a log position, in every graph, with the ids of their names.
SELECT id, subject, relation, object FROM graph_statement
WHERE assertion_id = :assertion_id AND commit_ts = :commit_ts AND position = :position

-- name: graph_statement_get
-- Return a statement: its timeline, the commit that withdrew it, and what it states.
SELECT
    subject_root, relation, until_commit, at, commit_ts, position, asserts, object_root, bound
FROM graph_statement WHERE id = :id

-- name: graph_statement_remove
-- Delete a statement.
DELETE FROM graph_statement WHERE id = :id

-- name: graph_node_get
-- Return the kind and the key of a node, and the commit that mentioned it first.
SELECT kind, key, commit_ts FROM graph_node WHERE id = :id

-- name: assertion_ids
-- List the ids of assertions in a range that the viewer may see.
SELECT DISTINCT statement.assertion_id
FROM graph_statement AS statement
WHERE statement.assertion_id >= :first AND statement.assertion_id <= :last
    AND statement.asserts = 1 AND (
        statement.private = 0
        OR (SELECT scope.agent_id FROM scope WHERE scope.id = statement.private) = :viewer
    )
ORDER BY statement.assertion_id LIMIT :limit

-- name: assertion_neighbours
-- Return the ids just before and just after each of some assertions' ids.
SELECT
    item.value,
    (SELECT MAX(assertion_id) FROM graph_statement WHERE assertion_id < item.value),
    (SELECT MIN(assertion_id) FROM graph_statement WHERE assertion_id > item.value)
FROM EACH(:ids) AS item
