-- Covered queries that differ from the queries of the same names by more than the row policies. A
-- table is read through its policy, and as a whole with the name of its schema before it.
-- COVERED_NAMESPACE and COVERED_AGENT stand for the conditions of the policies.

-- name: fulltext_totals
-- Count the documents and tokens of the whole full-text index: FTS5 scores by them, and a search
-- takes them out of its scores again.
SELECT COALESCE(SUM(size), 0), COALESCE(SUM(length), 0) FROM main.shelf

-- name: erasures_page
-- Return no erasure: a certificate does not say in which scopes something was erased.
SELECT erasure FROM main.erased WHERE erasure > :after AND 1 = 0 LIMIT :limit

-- name: erased_counts
-- Count the operations and events that a commit erased something of, in the log of covered agents.
SELECT COUNT(CASE WHEN position >= 0 THEN 1 END), COUNT(DISTINCT commit_ts)
FROM main.erased AS erased
WHERE erasure = :erasure
    AND EXISTS (SELECT 1 FROM event_scope WHERE event_scope.commit_ts = erased.commit_ts)

-- name: memories_hidden
-- List which of these memories are private to another agent, or not covered.
SELECT stored.memory_id
FROM json_each(:memory_ids) AS requested
JOIN main.memory AS stored ON stored.memory_id = requested.value
WHERE NOT EXISTS (
    SELECT 1 FROM memory
    WHERE memory.id = stored.id
        AND (memory.private = 0 OR :viewer IS NULL OR memory.agent_id = :viewer)
)

-- name: transcripts_hidden
-- List which of these transcripts are not covered.
SELECT stored.transcript_id
FROM json_each(:transcript_ids) AS requested
JOIN main.transcript AS stored ON stored.transcript_id = requested.value
WHERE NOT EXISTS (SELECT 1 FROM transcript WHERE transcript.id = stored.id)

-- name: graph_assertions_private
-- Return the assertions that are private to agents other than the viewer, or not covered.
SELECT stored.assertion_id
FROM json_each(:ids) AS item
JOIN main.graph_statement AS stored ON stored.assertion_id = item.value AND stored.author = 0
WHERE NOT EXISTS (
    SELECT 1
    FROM graph_statement AS statement
    WHERE statement.id = stored.id AND (
        statement.private = 0 OR :viewer IS NULL
        OR (SELECT scope.agent_id FROM scope WHERE scope.id = statement.private) = :viewer
    )
)

-- name: graph_assertions_by_id
-- Read the commits of some assertions, and whether each was withdrawn since, without private ones of
-- agents that are not covered.
SELECT statement.commit_ts, statement.until_commit < OPEN_END
FROM (SELECT DISTINCT value AS id FROM json_each(:ids)) AS item
JOIN graph_statement AS statement ON statement.assertion_id = item.id
    AND statement.asserts = 1 AND statement.author = 0
WHERE statement.private = 0 OR EXISTS (
    SELECT 1 FROM scope AS owner WHERE owner.id = statement.private AND COVERED_AGENT
)

-- name: links_relied_on
-- Read what some memories reflect on and derive from as of a commit, as links_relied_on does. A
-- target that is not covered is named, as a private one is: whoever reads it shows it as hidden.
SELECT source.memory_id, link.relation, target.memory_id, (
    SELECT version FROM memory_state
    WHERE memory = target.id AND (commit_ts, position) <= (link.commit_ts, link.position)
    ORDER BY commit_ts DESC, position DESC LIMIT 1
)
FROM json_each(:memory_ids) AS item
JOIN memory AS source ON source.memory_id = item.value
JOIN memory_link AS link ON link.source = source.id
    AND link.relation IN ('reflects_on', 'derived_from')
JOIN main.memory AS target ON target.id = link.target
WHERE link.commit_ts <= :at AND link.until_commit > :at
ORDER BY link.relation DESC, target.memory_id

-- name: assertion_neighbours
-- Return the ids just before and just after each of some assertions' ids, without private ones of
-- agents that are not covered.
SELECT
    item.value,
    (
        SELECT MAX(statement.assertion_id) FROM graph_statement AS statement
        WHERE statement.assertion_id < item.value AND (statement.private = 0 OR EXISTS (
            SELECT 1 FROM scope AS owner WHERE owner.id = statement.private AND COVERED_AGENT
        ))
    ),
    (
        SELECT MIN(statement.assertion_id) FROM graph_statement AS statement
        WHERE statement.assertion_id > item.value AND (statement.private = 0 OR EXISTS (
            SELECT 1 FROM scope AS owner WHERE owner.id = statement.private AND COVERED_AGENT
        ))
    )
FROM json_each(:ids) AS item
