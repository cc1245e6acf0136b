-- Facts: nodes, what was said, and the timelines that follow.

-- name: graph_node_find
SELECT id, root FROM graph_node WHERE scope_id = :scope_id AND kind = :kind AND key = :key

-- name: graph_node_last
SELECT COALESCE(MAX(id), 0) FROM graph_node

-- name: graph_node_add
-- A name that is new means itself.
INSERT INTO graph_node (id, scope_id, kind, key, name, root, commit_ts)
VALUES (:id, :scope_id, :kind, :key, :name, :id, :commit_ts)

-- name: graph_cardinality_find
SELECT single FROM graph_cardinality
WHERE namespace = :namespace AND relation = :relation AND until_commit = 9223372036854775807

-- name: graph_cardinalities
SELECT relation, single FROM graph_cardinality
WHERE namespace = :namespace AND until_commit = 9223372036854775807
ORDER BY relation

-- name: graph_cardinality_at
SELECT single FROM graph_cardinality
WHERE namespace = :namespace AND relation = :relation
    AND commit_ts <= :known AND until_commit > :known

-- name: graph_cardinality_close
UPDATE graph_cardinality SET until_commit = :commit_ts
WHERE namespace = :namespace AND relation = :relation
    AND until_commit = 9223372036854775807 AND commit_ts < :commit_ts

-- name: graph_cardinality_put
INSERT INTO graph_cardinality (namespace, relation, commit_ts, until_commit, single)
VALUES (:namespace, :relation, :commit_ts, 9223372036854775807, :single)
ON CONFLICT (namespace, relation, commit_ts) DO UPDATE SET single = excluded.single

-- name: graph_timelines_of_relation
-- The timelines of a relation in a namespace, whoever's they are.
SELECT DISTINCT statement.subject_root, statement.relation
FROM scope
JOIN graph_node AS relation
    ON relation.scope_id = scope.id AND relation.kind = 'relation' AND relation.key = :relation
JOIN graph_node AS subject ON subject.scope_id = scope.id
JOIN graph_statement AS statement
    ON statement.subject_root = subject.id AND statement.relation = relation.id
WHERE scope.namespace = :namespace

-- name: graph_statement_add
INSERT INTO graph_statement (
    assertion_id, asserts, subject, relation, object, subject_root, object_root, at,
    bound, commit_ts, position, committed_at, confidence, source, private, until_commit, reason
) VALUES (
    :assertion_id, :asserts, :subject, :relation, :object, :subject_root, :object_root, :at,
    :bound, :commit_ts, :position, :committed_at, :confidence, :source,
    CASE WHEN :private THEN (SELECT scope_id FROM graph_node WHERE id = :subject) ELSE 0 END,
    9223372036854775807, NULL
)

-- name: graph_statements_live
-- What was said under an id and stands.
SELECT id, subject_root, relation, at, commit_ts, position, asserts, object_root, bound
FROM graph_statement
WHERE assertion_id = :assertion_id AND until_commit = 9223372036854775807
ORDER BY position

-- name: graph_statement_withdraw
UPDATE graph_statement SET until_commit = :commit_ts, reason = :reason WHERE id = :id

-- name: graph_assertion_after
SELECT at, commit_ts, position, object_root FROM graph_statement
WHERE subject_root = :subject AND relation = :relation AND asserts = 1
    AND (at, commit_ts, position) > (:at, :commit_ts, :position)
    AND until_commit = 9223372036854775807
ORDER BY at, commit_ts, position LIMIT 1

-- name: graph_assertion_before
SELECT at, commit_ts, position, object_root FROM graph_statement
WHERE subject_root = :subject AND relation = :relation AND asserts = 1
    AND (at, commit_ts, position) < (:at, :commit_ts, :position)
    AND until_commit = 9223372036854775807
ORDER BY at DESC, commit_ts DESC, position DESC LIMIT 1

-- name: graph_statements_at
-- What was said at an instant of an object: that it holds from then on, or that it, or whatever
-- there is, stopped.
SELECT commit_ts, position, asserts, bound FROM (
    SELECT commit_ts, position, asserts, bound FROM graph_statement
    WHERE subject_root = :subject AND relation = :relation AND asserts = 1
        AND at = :at AND object_root = :object AND until_commit = 9223372036854775807
        AND (commit_ts, position) >= (:commit_ts, :position)
        AND (commit_ts, position) <= (:last_commit, :last_position)
    UNION ALL
    SELECT commit_ts, position, asserts, bound FROM graph_statement
    WHERE object_root IN (0, :object) AND subject_root = :subject AND relation = :relation
        AND asserts = 0 AND bound = 9223372036854775807 AND at = :at
        AND until_commit = 9223372036854775807
) AS said
ORDER BY commit_ts, position

-- name: graph_statement_bound
-- The end that the assertion at a place was made with, if it stands.
SELECT bound FROM graph_statement
WHERE subject_root = :subject AND relation = :relation AND asserts = 1
    AND until_commit = 9223372036854775807
    AND at = :at AND commit_ts = :commit_ts AND position = :position

-- name: graph_timeline_size
-- How many statements of a timeline stand.
SELECT COUNT(*) FROM graph_statement
WHERE subject_root = :subject AND relation = :relation AND asserts IN (0, 1)
    AND until_commit = 9223372036854775807

-- name: graph_end_after
-- The next end of an object, or of whatever there is, that was not said with an assertion.
SELECT at, commit_ts, position FROM (
    SELECT at, commit_ts, position FROM graph_statement
    WHERE object_root = :object AND subject_root = :subject AND relation = :relation
        AND asserts = 0 AND bound = 9223372036854775807
        AND (at, commit_ts, position) > (:at, :commit_ts, :position)
        AND until_commit = 9223372036854775807
    ORDER BY at, commit_ts, position LIMIT 1
) AS own
UNION ALL
SELECT at, commit_ts, position FROM (
    SELECT at, commit_ts, position FROM graph_statement
    WHERE object_root = 0 AND subject_root = :subject AND relation = :relation
        AND asserts = 0 AND bound = 9223372036854775807
        AND (at, commit_ts, position) > (:at, :commit_ts, :position)
        AND until_commit = 9223372036854775807
    ORDER BY at, commit_ts, position LIMIT 1
) AS whatever
ORDER BY at, commit_ts, position LIMIT 1

-- name: graph_bound_after
-- The next end of an object that was said with an assertion.
SELECT at, commit_ts, position FROM graph_statement
WHERE object_root = :object AND subject_root = :subject AND relation = :relation
    AND asserts = 0 AND bound < 9223372036854775807
    AND (at, commit_ts, position) > (:at, :commit_ts, :position)
    AND until_commit = 9223372036854775807
ORDER BY at, commit_ts, position LIMIT 1

-- name: graph_end_before
-- The last end of an object, or of whatever there is, that was not said with an assertion.
SELECT at FROM (
    SELECT at, commit_ts, position FROM graph_statement
    WHERE object_root = :object AND subject_root = :subject AND relation = :relation
        AND asserts = 0 AND bound = 9223372036854775807
        AND (at, commit_ts, position) < (:at, :commit_ts, :position)
        AND until_commit = 9223372036854775807
    ORDER BY at DESC, commit_ts DESC, position DESC LIMIT 1
) AS own
UNION ALL
SELECT at FROM (
    SELECT at, commit_ts, position FROM graph_statement
    WHERE object_root = 0 AND subject_root = :subject AND relation = :relation
        AND asserts = 0 AND bound = 9223372036854775807
        AND (at, commit_ts, position) < (:at, :commit_ts, :position)
        AND until_commit = 9223372036854775807
    ORDER BY at DESC, commit_ts DESC, position DESC LIMIT 1
) AS whatever
ORDER BY at DESC LIMIT 1

-- name: graph_edge_before
SELECT
    object, valid_from, from_commit, from_position, last_at, last_commit, last_position,
    valid_to, to_commit, to_position
FROM graph_edge
WHERE subject = :subject AND relation = :relation
    AND (valid_from, from_commit, from_position) < (:at, :commit_ts, :position)
ORDER BY valid_from DESC, from_commit DESC, from_position DESC LIMIT 1

-- name: graph_edge_from
SELECT
    object, valid_from, from_commit, from_position, last_at, last_commit, last_position,
    valid_to, to_commit, to_position
FROM graph_edge
WHERE subject = :subject AND relation = :relation
    AND valid_from = :at AND from_commit = :commit_ts AND from_position = :position

-- name: graph_edges_crossing
-- Edges whose assertions all stand before a place, and whose end behind it.
SELECT
    object, valid_from, from_commit, from_position, last_at, last_commit, last_position,
    valid_to, to_commit, to_position
FROM graph_edge
WHERE subject = :subject AND relation = :relation
    AND valid_from BETWEEN :since AND :at AND valid_to >= :at
    AND (last_at, last_commit, last_position) < (:at, :commit_ts, :position)
    AND (valid_to, to_commit, to_position) > (:at, :commit_ts, :position)

-- name: graph_edges_ended_at
-- Edges that an end may have ended: wholly, or what was said before it at the instant they begin.
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
DELETE FROM graph_edge
WHERE subject = :subject AND relation = :relation
    AND valid_from = :at AND from_commit = :commit_ts AND from_position = :position

-- name: graph_timeline_drop
DELETE FROM graph_edge WHERE subject = :subject AND relation = :relation

-- name: graph_timeline_statements
-- What was said of a timeline and stands, in order.
SELECT at, commit_ts, position, asserts, object_root, bound FROM graph_statement
WHERE subject_root = :subject AND relation = :relation AND asserts IN (0, 1)
    AND until_commit = 9223372036854775807
ORDER BY at, commit_ts, position

-- name: graph_timeline_short
-- What was ever said of a timeline, if that is little; in no order, as one would take all of it.
SELECT at, commit_ts, position, asserts, object_root, bound, until_commit FROM graph_statement
WHERE subject_root = :subject AND relation = :relation LIMIT :most

-- name: graph_timelines_touched
-- The timelines that an entity is the subject of, or named in.
SELECT DISTINCT subject_root, relation FROM graph_statement WHERE subject_root = :entity
UNION
SELECT subject, relation FROM graph_edge WHERE object = :entity
UNION
SELECT subject_root, relation FROM graph_statement
WHERE object_root = :entity AND asserts = 0 AND bound = 9223372036854775807
    AND until_commit = 9223372036854775807

-- name: graph_roots_keep
-- Note what the names of an entity meant until now.
INSERT INTO graph_root (node, until_commit, root)
SELECT id, :commit_ts, root FROM graph_node WHERE root = :entity
ON CONFLICT (node, until_commit) DO NOTHING

-- name: graph_nodes_point
UPDATE graph_node SET root = :into WHERE root = :entity

-- name: graph_objects_point
UPDATE graph_statement SET object_root = :into
WHERE subject_root = :subject AND relation = :relation AND object_root = :entity

-- name: graph_subjects_point
UPDATE graph_statement SET subject_root = :into WHERE subject_root = :entity

-- name: graph_timeline_changed
-- Whether anything that a timeline follows from has changed after a commit.
SELECT 1 FROM scope WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace AND (
    EXISTS (
        SELECT 1
        FROM graph_node AS relation
        JOIN graph_node AS subject
            ON subject.scope_id = scope.id AND subject.kind = 'entity' AND subject.key = :subject
        JOIN graph_statement AS statement
            ON statement.subject_root = subject.root AND statement.relation = relation.id
        WHERE relation.scope_id = scope.id AND relation.kind = 'relation'
            AND relation.key = :relation
            AND (
                statement.commit_ts > :since
                OR (statement.until_commit > :since AND statement.until_commit < 9223372036854775807)
            )
    ) OR EXISTS (
        SELECT 1 FROM graph_root
        WHERE graph_root.until_commit > :since
            AND (SELECT node.scope_id FROM graph_node AS node WHERE node.id = graph_root.node)
                = scope.id
    )
)

-- name: graph_cardinality_changed
SELECT 1 FROM graph_cardinality
WHERE namespace = :namespace AND relation = :relation AND commit_ts > :since

-- name: graph_node_clear
DELETE FROM graph_node

-- name: graph_root_clear
DELETE FROM graph_root

-- name: graph_cardinality_clear
DELETE FROM graph_cardinality

-- name: graph_statement_clear
DELETE FROM graph_statement

-- name: graph_edge_clear
DELETE FROM graph_edge

-- name: graph_node_rows
-- Those of a scope in the order of their numbers, which is that of first mention.
SELECT
    scope.namespace, scope.agent_id, node.kind, node.key, node.name,
    root.scope_id = node.scope_id AS root_here, root.kind AS root_kind, root.key AS root,
    node.commit_ts
FROM graph_node AS node
LEFT JOIN scope ON scope.id = node.scope_id
LEFT JOIN graph_node AS root ON root.id = node.root
ORDER BY scope.namespace, scope.agent_id, node.id

-- name: graph_root_rows
SELECT
    scope.namespace, scope.agent_id, node.kind, node.key, graph_root.until_commit,
    root.scope_id = node.scope_id AS root_here, root.kind AS root_kind, root.key AS root
FROM graph_root
LEFT JOIN graph_node AS node ON node.id = graph_root.node
LEFT JOIN graph_node AS root ON root.id = graph_root.root
LEFT JOIN scope ON scope.id = node.scope_id
ORDER BY scope.namespace, scope.agent_id, node.kind, node.key, graph_root.until_commit

-- name: graph_cardinality_rows
SELECT namespace, relation, commit_ts, until_commit, single FROM graph_cardinality
ORDER BY namespace, relation, commit_ts

-- name: graph_statement_rows
-- An end of whatever there is names no object, which is not the same as one that is not there.
SELECT
    said.commit_ts, said.position, said.asserts, said.assertion_id, scope.namespace, scope.agent_id,
    subject.kind AS subject_kind, subject.key AS subject,
    relation.scope_id = subject.scope_id AS relation_here, relation.kind AS relation_kind,
    relation.key AS relation, said.object = 0 AS of_all, object.scope_id = subject.scope_id
        AS object_here, object.kind AS object_kind, object.key AS object,
    subject_root.scope_id = subject.scope_id AS subject_root_here, subject_root.key AS subject_root,
    subject_root.kind AS subject_root_kind, said.object_root = 0 AS of_all_roots,
    object_root.scope_id = subject.scope_id AS object_root_here, object_root.key AS object_root,
    object_root.kind AS object_root_kind, said.at, said.bound, said.committed_at, said.confidence,
    said.source,
    CASE said.private WHEN 0 THEN 0 WHEN subject.scope_id THEN 1 ELSE 2 END AS private,
    said.until_commit, said.reason
FROM graph_statement AS said
LEFT JOIN graph_node AS subject ON subject.id = said.subject
LEFT JOIN scope ON scope.id = subject.scope_id
LEFT JOIN graph_node AS relation ON relation.id = said.relation
LEFT JOIN graph_node AS subject_root ON subject_root.id = said.subject_root
LEFT JOIN graph_node AS object ON object.id = said.object
LEFT JOIN graph_node AS object_root ON object_root.id = said.object_root
ORDER BY said.commit_ts, said.position, said.asserts, said.assertion_id

-- name: graph_edge_rows
SELECT
    scope.namespace, scope.agent_id, subject.kind AS subject_kind, subject.key AS subject,
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
ORDER BY
    scope.namespace, scope.agent_id, subject.kind, subject.key, relation.key,
    edge.valid_from, edge.from_commit, edge.from_position

-- name: graph_relation_place
SELECT scope.namespace, node.key
FROM graph_node AS node JOIN scope ON scope.id = node.scope_id WHERE node.id = :relation

-- name: graph_root_key
-- What a name meant at a commit.
SELECT root.key
FROM scope
JOIN graph_node AS node ON node.scope_id = scope.id AND node.kind = 'entity' AND node.key = :key
JOIN graph_node AS root ON root.id = COALESCE(
    (
        SELECT past.root FROM graph_root AS past
        WHERE past.node = node.id AND past.until_commit > :known
        ORDER BY past.until_commit LIMIT 1
    ),
    node.root
)
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace AND node.commit_ts <= :known

-- name: graph_assertion_find
-- Whose assertion or end an id is, whether it asserts, whether it stands, and whether it is private.
SELECT
    scope.namespace, scope.agent_id, said.asserts, said.until_commit = 9223372036854775807, said.at,
    said.private > 0
FROM graph_statement AS said
JOIN graph_node AS subject ON subject.id = said.subject
JOIN scope ON scope.id = subject.scope_id
WHERE said.assertion_id = :assertion_id
ORDER BY said.asserts DESC, said.position LIMIT 1

-- name: graph_private_any
-- Whether anything of a scope is private.
SELECT 1 FROM graph_statement WHERE private > 0 AND private = :scope_id LIMIT 1

-- name: graph_nodes_private
-- Those of some nodes of which nothing was said but privately, nor in other names for them.
SELECT node.id
FROM json_each(:ids) AS wanted JOIN graph_node AS node ON node.id = wanted.value
WHERE EXISTS (
        SELECT 1 FROM graph_statement AS said
        WHERE said.private > 0 AND said.private = node.scope_id
            AND (said.subject = node.id OR said.object = node.id)
    )
    AND NOT EXISTS (
        SELECT 1 FROM graph_statement AS said
        WHERE said.subject_root = node.root AND said.private = 0
    )
    AND NOT EXISTS (
        SELECT 1 FROM graph_statement AS said
        WHERE said.object = node.id AND said.asserts = 1 AND said.private = 0
    )
    AND NOT EXISTS (SELECT 1 FROM graph_root AS past WHERE past.root = node.id OR past.node = node.id)

-- name: graph_assertions_beside_private
-- Those of some assertions that are of others, in a scope of which something is private.
SELECT said.assertion_id
FROM json_each(:ids) AS wanted
JOIN graph_statement AS said ON said.assertion_id = wanted.value AND said.asserts = 1
JOIN graph_node AS subject ON subject.id = said.subject
JOIN scope ON scope.id = subject.scope_id
WHERE scope.agent_id <> :viewer AND EXISTS (
    SELECT 1 FROM graph_statement AS other WHERE other.private > 0 AND other.private = scope.id
)

-- name: graph_assertions_private
-- Those of some assertions that another agent keeps to itself.
SELECT said.assertion_id
FROM json_each(:ids) AS wanted
JOIN graph_statement AS said ON said.assertion_id = wanted.value AND said.private > 0
JOIN scope ON scope.id = said.private
WHERE scope.agent_id <> :viewer

-- name: graph_assertion_known
SELECT 1 FROM graph_statement WHERE assertion_id = :assertion_id LIMIT 1

-- name: graph_assertions_matching
-- The assertions that stand of one fact, or of all of a subject and relation.
SELECT said.assertion_id
FROM scope
JOIN graph_node AS subject
    ON subject.scope_id = scope.id AND subject.kind = 'entity' AND subject.key = :subject
JOIN graph_node AS relation
    ON relation.scope_id = scope.id AND relation.kind = 'relation' AND relation.key = :relation
JOIN graph_statement AS said
    ON said.subject_root = subject.id AND said.relation = relation.id AND said.asserts = 1
JOIN graph_node AS object ON object.id = said.object_root
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace
    AND said.until_commit = 9223372036854775807
    AND (:object IS NULL OR (object.kind = :kind AND object.key = :object))
ORDER BY said.commit_ts, said.position

-- name: graph_relation_size
-- How many statements there are of a relation in a namespace.
SELECT COUNT(*)
FROM scope
JOIN graph_node AS relation
    ON relation.scope_id = scope.id AND relation.kind = 'relation' AND relation.key = :relation
JOIN graph_node AS subject ON subject.scope_id = scope.id
JOIN graph_statement AS said
    ON said.subject_root = subject.id AND said.relation = relation.id
WHERE scope.namespace = :namespace

-- name: graph_relation_used
-- Whether there is any statement of a relation in a namespace.
SELECT 1
FROM scope
JOIN graph_node AS relation
    ON relation.scope_id = scope.id AND relation.kind = 'relation' AND relation.key = :relation
JOIN graph_node AS subject ON subject.scope_id = scope.id
JOIN graph_statement AS said
    ON said.subject_root = subject.id AND said.relation = relation.id
WHERE scope.namespace = :namespace
LIMIT 1

-- name: graph_entity_size
-- How many statements there are in the timelines that become others when an entity becomes another:
-- those it is the subject of or named in, and those of the other that they become part of.
WITH entity AS (
    SELECT node.root AS id
    FROM scope
    JOIN graph_node AS node ON node.scope_id = scope.id AND node.kind = 'entity' AND node.key = :key
    WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace
), other AS (
    SELECT node.root AS id
    FROM scope
    JOIN graph_node AS node ON node.scope_id = scope.id AND node.kind = 'entity' AND node.key = :into
    WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace
), touched AS (
    SELECT said.subject_root AS subject, said.relation
    FROM entity JOIN graph_statement AS said ON said.subject_root = entity.id
    UNION
    SELECT other.id, said.relation
    FROM entity JOIN graph_statement AS said ON said.subject_root = entity.id JOIN other
    UNION
    SELECT edge.subject, edge.relation
    FROM entity JOIN graph_edge AS edge ON edge.object = entity.id
    UNION
    SELECT said.subject_root, said.relation
    FROM entity
    JOIN graph_statement AS said
        ON said.object_root = entity.id AND said.asserts = 0 AND said.bound = 9223372036854775807
        AND said.until_commit = 9223372036854775807
)
SELECT COUNT(*)
FROM touched
JOIN graph_statement AS said
    ON said.subject_root = touched.subject AND said.relation = touched.relation

-- name: graph_node_at
-- What a name meant at a commit.
SELECT COALESCE(
    (
        SELECT past.root FROM graph_root AS past
        WHERE past.node = node.id AND past.until_commit > :known
        ORDER BY past.until_commit LIMIT 1
    ),
    node.root
)
FROM graph_node AS node
WHERE node.scope_id = :scope_id AND node.kind = :kind AND node.key = :key
    AND node.commit_ts <= :known

-- name: graph_singles_at
-- The relations of a scope that had one object at a time at a commit.
SELECT relation.id
FROM graph_cardinality AS cardinality
JOIN graph_node AS relation
    ON relation.scope_id = :scope_id AND relation.kind = 'relation'
    AND relation.key = cardinality.relation
WHERE cardinality.namespace = :namespace AND cardinality.single = 1
    AND cardinality.commit_ts <= :known AND cardinality.until_commit > :known

-- name: graph_entities_page
-- A page of what was an entity of its own at a commit, in the order of first mention.
SELECT node.id
FROM graph_node AS node
WHERE node.scope_id = :scope_id AND node.kind = 'entity' AND node.id > :after
    AND node.commit_ts <= :known
    AND COALESCE(
        (
            SELECT past.root FROM graph_root AS past
            WHERE past.node = node.id AND past.until_commit > :known
            ORDER BY past.until_commit LIMIT 1
        ),
        node.root
    ) = node.id
ORDER BY node.id LIMIT :most

-- name: graph_statement_keys
SELECT subject.key, relation.key
FROM graph_statement AS said
JOIN graph_node AS subject ON subject.id = said.subject
JOIN graph_node AS relation ON relation.id = said.relation
WHERE said.assertion_id = :assertion_id

-- name: graph_assertion_of
-- An assertion: whose it is, what it is about, where it stands, and until when it was believed.
SELECT
    scope.namespace, scope.agent_id, scope.id, subject.key, said.relation, said.commit_ts,
    said.until_commit, said.reason
FROM graph_statement AS said
JOIN graph_node AS subject ON subject.id = said.subject
JOIN scope ON scope.id = subject.scope_id
WHERE said.assertion_id = :assertion_id AND said.asserts = 1

-- name: graph_assertion_keys
SELECT scope.namespace, scope.agent_id, subject.key, relation.key
FROM graph_statement AS said
JOIN graph_node AS subject ON subject.id = said.subject
JOIN graph_node AS relation ON relation.id = said.relation
JOIN scope ON scope.id = subject.scope_id
WHERE said.assertion_id = :assertion_id AND said.asserts = 1

-- name: graph_edge_of_assertion
-- The edge that an assertion is part of, if it stands.
SELECT
    edge.subject, edge.relation, edge.object, edge.valid_from, edge.from_commit, edge.from_position,
    edge.last_at, edge.last_commit, edge.last_position,
    edge.valid_to, edge.to_commit, edge.to_position
FROM graph_statement AS said
JOIN graph_edge AS edge
    ON edge.subject = said.subject_root AND edge.relation = said.relation
    AND edge.object = said.object_root
    AND (edge.valid_from, edge.from_commit, edge.from_position)
        <= (said.at, said.commit_ts, said.position)
    AND (edge.last_at, edge.last_commit, edge.last_position)
        >= (said.at, said.commit_ts, said.position)
WHERE said.assertion_id = :assertion_id AND said.asserts = 1
    AND said.until_commit = 9223372036854775807
ORDER BY edge.valid_from DESC, edge.from_commit DESC, edge.from_position DESC LIMIT 1

-- name: graph_counts
SELECT
    (SELECT COUNT(*) FROM graph_edge),
    (SELECT COUNT(*) FROM graph_node WHERE kind = 'entity' AND root = id)

-- name: graph_names_of_entity
-- Every name of what a name means, in the order of first mention.
SELECT other.key, other.name
FROM graph_node AS node JOIN graph_node AS other ON other.root = node.root
WHERE node.scope_id = :scope_id AND node.kind = :kind AND node.key = :key
ORDER BY other.id

-- name: graph_places
-- Where an assertion and the end that belongs to it stand in the log, and what took them back.
SELECT commit_ts, position, until_commit FROM graph_statement WHERE assertion_id = :assertion_id

-- name: graph_cardinality_drop
DELETE FROM graph_cardinality WHERE namespace = :namespace AND relation = :relation

-- name: graph_scope_edges
DELETE FROM graph_edge WHERE subject IN (SELECT id FROM graph_node WHERE scope_id = :scope_id)

-- name: graph_scope_statements
DELETE FROM graph_statement
WHERE subject_root IN (SELECT id FROM graph_node WHERE scope_id = :scope_id)

-- name: graph_scope_roots
DELETE FROM graph_root WHERE node IN (SELECT id FROM graph_node WHERE scope_id = :scope_id)

-- name: graph_scope_nodes
DELETE FROM graph_node WHERE scope_id = :scope_id

-- name: graph_node_begun
-- The commit that a name came up in first.
SELECT node.commit_ts
FROM scope
JOIN graph_node AS node ON node.scope_id = scope.id AND node.kind = :kind AND node.key = :key
WHERE scope.agent_id = :agent_id AND scope.namespace = :namespace

-- name: graph_timeline_withdrawn
-- Where the statements of a fact's timeline stand that were taken back by a horizon.
SELECT DISTINCT said.commit_ts, said.position
FROM graph_statement AS other
JOIN graph_statement AS said
    ON said.subject_root = other.subject_root AND said.relation = other.relation
WHERE other.assertion_id = :assertion_id
    AND said.commit_ts <= :horizon AND said.until_commit <= :horizon

-- name: graph_statement_drop
DELETE FROM graph_statement
WHERE assertion_id = :assertion_id AND commit_ts = :commit_ts AND position = :position
