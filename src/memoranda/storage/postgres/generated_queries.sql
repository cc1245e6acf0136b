-- The queries that all engines share, for PostgreSQL.
-- Written by scripts/generate_postgres_queries.py: do not edit it.

-- name: activity_of_agent
SELECT counts.scopes, counts.commits, counts.last_commit, event.committed_at FROM (SELECT
COUNT(DISTINCT scope.id) AS scopes, COUNT(DISTINCT event_scope.commit_ts) AS commits,
MAX(event_scope.commit_ts) AS last_commit FROM memoranda.scope JOIN memoranda.event_scope ON
event_scope.scope_id = scope.id AND event_scope.store_id = :store_id WHERE (scope.agent_id = :name
AND scope.namespace NOT LIKE '!_%' ESCAPE '!' AND scope.namespace NOT LIKE '%/!_%' ESCAPE '!') AND
scope.store_id = :store_id) AS counts JOIN LATERAL (SELECT event.* FROM memoranda.event WHERE
event.commit_ts = counts.last_commit AND event.store_id = :store_id OFFSET 0) AS event ON TRUE

-- name: activity_of_namespace
SELECT counts.scopes, counts.commits, counts.last_commit, event.committed_at FROM (SELECT
COUNT(DISTINCT scope.id) AS scopes, COUNT(DISTINCT event_scope.commit_ts) AS commits,
MAX(event_scope.commit_ts) AS last_commit FROM memoranda.scope JOIN memoranda.event_scope ON
event_scope.scope_id = scope.id AND event_scope.store_id = :store_id WHERE scope.namespace = :name
AND scope.store_id = :store_id) AS counts JOIN LATERAL (SELECT event.* FROM memoranda.event WHERE
event.commit_ts = counts.last_commit AND event.store_id = :store_id OFFSET 0) AS event ON TRUE

-- name: agent_known
SELECT 1 FROM memoranda.scope WHERE agent_id = :agent_id AND scope.store_id = :store_id LIMIT 1

-- name: agents_page
SELECT DISTINCT agent_id FROM memoranda.scope WHERE (agent_id > :after AND namespace NOT LIKE '!_%'
ESCAPE '!' AND namespace NOT LIKE '%/!_%' ESCAPE '!' AND EXISTS(SELECT 1 FROM memoranda.event_scope
WHERE scope_id = scope.id AND event_scope.store_id = :store_id)) AND scope.store_id = :store_id
ORDER BY agent_id LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: assertion_ids
SELECT DISTINCT statement.assertion_id FROM memoranda.graph_statement AS statement WHERE
(statement.assertion_id >= :first AND statement.assertion_id <= :last AND statement.asserts = 1 AND
(statement.private = 0 OR (SELECT scope.agent_id FROM memoranda.scope WHERE scope.id =
statement.private AND scope.store_id = :store_id) = :viewer)) AND statement.store_id = :store_id
ORDER BY statement.assertion_id LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: assertion_neighbours
SELECT item.value, (SELECT MAX(assertion_id) FROM memoranda.graph_statement WHERE assertion_id <
item.value AND graph_statement.store_id = :store_id), (SELECT MIN(assertion_id) FROM
memoranda.graph_statement WHERE assertion_id > item.value AND graph_statement.store_id = :store_id)
FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value FROM
JSONB_ARRAY_ELEMENTS(CAST(:ids AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item

-- name: blob_add
INSERT INTO memoranda.blob (store_id, commit_ts, position, content) VALUES (:store_id, :commit_ts,
:position, :content)

-- name: blob_get
SELECT content FROM memoranda.blob WHERE (commit_ts = :commit_ts AND position = :position) AND
blob.store_id = :store_id

-- name: blob_of_missing_commit
SELECT commit_ts FROM memoranda.blob WHERE (commit_ts < 1 OR commit_ts > (SELECT
COALESCE(MAX(commit_ts), 0) FROM memoranda.event WHERE event.store_id = :store_id)) AND
blob.store_id = :store_id ORDER BY commit_ts LIMIT 1

-- name: blob_places
SELECT commit_ts, position FROM memoranda.blob WHERE (commit_ts > :after AND commit_ts <= :through)
AND blob.store_id = :store_id

-- name: blob_remove
DELETE FROM memoranda.blob WHERE (commit_ts = :commit_ts AND position = :position) AND blob.store_id
= :store_id

-- name: blobs_of_commit
SELECT position, content FROM memoranda.blob WHERE commit_ts = :commit_ts AND blob.store_id =
:store_id ORDER BY position

-- name: checkpoint_covering
SELECT MAX(size) FROM memoranda.checkpoint WHERE size >= :size AND checkpoint.store_id = :store_id

-- name: checkpoint_last
SELECT size, note FROM memoranda.checkpoint WHERE checkpoint.store_id = :store_id ORDER BY size
DESC, note DESC LIMIT 1

-- name: checkpoint_page
SELECT size, note FROM memoranda.checkpoint WHERE (size, note) > (:size, :note) AND
checkpoint.store_id = :store_id ORDER BY size, note LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: checkpoints_between
SELECT size, note FROM memoranda.checkpoint WHERE (size > :after AND size <= :through) AND
checkpoint.store_id = :store_id ORDER BY size, note

-- name: checkpoints_of_size
SELECT note FROM memoranda.checkpoint WHERE size = :size AND checkpoint.store_id = :store_id ORDER
BY note

-- name: citation_add
INSERT INTO memoranda.citation (store_id, memory, transcript, first, beyond, commit_ts) VALUES
(:store_id, :memory, :transcript, :first, :end, :commit_ts) ON CONFLICT DO NOTHING

-- name: citation_any
SELECT 1 FROM memoranda.citation WHERE citation.store_id = :store_id LIMIT 1

-- name: citation_clear
DELETE FROM memoranda.citation WHERE citation.store_id = :store_id

-- name: citation_find
SELECT citation.first, citation.beyond FROM memoranda.citation JOIN memoranda.memory ON memory.id =
citation.memory AND memory.store_id = :store_id JOIN memoranda.transcript ON transcript.id =
citation.transcript AND transcript.store_id = :store_id WHERE (memory.memory_id = :memory_id AND
transcript.transcript_id = :transcript_id) AND citation.store_id = :store_id ORDER BY
citation.first, citation.beyond

-- name: citation_rows
SELECT memory.memory_id, transcript.transcript_id, citation.first, citation.beyond,
citation.commit_ts FROM memoranda.citation LEFT JOIN memoranda.memory ON memory.id = citation.memory
AND memory.store_id = :store_id LEFT JOIN memoranda.transcript ON transcript.id =
citation.transcript AND transcript.store_id = :store_id WHERE citation.store_id = :store_id ORDER BY
memory.memory_id NULLS FIRST, transcript.transcript_id NULLS FIRST, citation.first, citation.beyond

-- name: citations_of_memories
SELECT memory.memory_id, citation.transcript, citation.first, citation.beyond,
transcript.transcript_id, transcript.namespace, transcript.agent_id, transcript.commit_ts,
transcript.position, transcript.created_at, transcript.occurred_at, transcript.expires_at,
transcript.size, transcript.digest, COALESCE(LENGTH(blob.content), 0), transcript.form,
transcript.messages_size FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS
value FROM JSONB_ARRAY_ELEMENTS(CAST(:memory_ids AS JSONB)) WITH ORDINALITY AS list(element, place))
AS item JOIN LATERAL (SELECT memory.* FROM memoranda.memory WHERE memory.memory_id = item.value AND
memory.store_id = :store_id OFFSET 0) AS memory ON TRUE JOIN LATERAL (SELECT citation.* FROM
memoranda.citation WHERE citation.memory = memory.id AND citation.store_id = :store_id OFFSET 0) AS
citation ON TRUE LEFT JOIN LATERAL (SELECT transcript.* FROM memoranda.transcript WHERE
transcript.id = citation.transcript AND transcript.store_id = :store_id OFFSET 0) AS transcript ON
TRUE LEFT JOIN LATERAL (SELECT blob.* FROM memoranda.blob WHERE (blob.commit_ts =
transcript.commit_ts AND blob.position = transcript.position) AND blob.store_id = :store_id OFFSET
0) AS blob ON TRUE WHERE citation.commit_ts <= :at ORDER BY memory.memory_id,
transcript.transcript_id NULLS FIRST, citation.first, citation.beyond

-- name: citations_of_transcript
SELECT memory.memory_id, citation.first, citation.beyond FROM memoranda.transcript JOIN
memoranda.citation ON citation.transcript = transcript.id AND citation.store_id = :store_id JOIN
memoranda.memory ON memory.id = citation.memory AND memory.store_id = :store_id WHERE
(transcript.transcript_id = :transcript_id AND citation.commit_ts <= :at AND (memory.private = 0 OR
memory.agent_id = :viewer)) AND transcript.store_id = :store_id ORDER BY memory.memory_id,
citation.first, citation.beyond

-- name: citations_of_transcripts
SELECT item.value, memory.memory_id, memory.namespace, citation.first, citation.beyond FROM (SELECT
list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value FROM
JSONB_ARRAY_ELEMENTS(CAST(:transcript_ids AS JSONB)) WITH ORDINALITY AS list(element, place)) AS
item JOIN LATERAL (SELECT transcript.* FROM memoranda.transcript WHERE transcript.transcript_id =
item.value AND transcript.store_id = :store_id OFFSET 0) AS transcript ON TRUE JOIN LATERAL (SELECT
citation.* FROM memoranda.citation WHERE citation.transcript = transcript.id AND citation.store_id =
:store_id OFFSET 0) AS citation ON TRUE JOIN LATERAL (SELECT memory.* FROM memoranda.memory WHERE
memory.id = citation.memory AND memory.store_id = :store_id OFFSET 0) AS memory ON TRUE WHERE
citation.commit_ts <= :at AND (memory.private = 0 OR memory.agent_id = :viewer)

-- name: commit_at_time
WITH RECURSIVE bisect(low, high) AS (SELECT CAST(0 AS BIGINT), COALESCE(MAX(commit_ts), 0) FROM
memoranda.event WHERE event.store_id = :store_id UNION ALL SELECT CASE WHEN middle.committed_at <=
:time THEN middle.commit_ts ELSE low END, CASE WHEN middle.committed_at <= :time THEN high ELSE
middle.commit_ts - 1 END FROM bisect JOIN LATERAL (SELECT middle.* FROM memoranda.event AS middle
WHERE middle.commit_ts = (low + high + 1) / NULLIF(2, 0) AND middle.store_id = :store_id OFFSET 0)
AS middle ON TRUE WHERE low < high) SELECT low FROM bisect WHERE low = high

-- name: commits_at_times
WITH RECURSIVE bisect(place, time, low, high) AS (SELECT item.key, CAST(item.element_0 AS BIGINT),
CAST(item.element_1 AS BIGINT), CAST(item.element_2 AS BIGINT) FROM (SELECT list.place - 1 AS key,
CAST(list.element ->> 0 AS BIGINT) AS element_0, CAST(list.element ->> 1 AS BIGINT) AS element_1,
CAST(list.element ->> 2 AS BIGINT) AS element_2 FROM JSONB_ARRAY_ELEMENTS(CAST(:searches AS JSONB))
WITH ORDINALITY AS list(element, place)) AS item UNION ALL SELECT place, time, CASE WHEN
middle.committed_at <= time THEN middle.commit_ts ELSE low END, CASE WHEN middle.committed_at <=
time THEN high ELSE middle.commit_ts - 1 END FROM bisect JOIN LATERAL (SELECT middle.* FROM
memoranda.event AS middle WHERE middle.commit_ts = (low + high + 1) / NULLIF(2, 0) AND
middle.store_id = :store_id OFFSET 0) AS middle ON TRUE WHERE low < high) SELECT low FROM bisect
WHERE low = high ORDER BY place NULLS FIRST

-- name: commits_of_scope
SELECT commit_ts FROM memoranda.event_scope WHERE (scope_id = :scope_id AND commit_ts > :after AND
commit_ts <= :through) AND event_scope.store_id = :store_id ORDER BY commit_ts LIMIT
NULLIF(CAST(:limit AS BIGINT), -1)

-- name: commits_of_scopes
SELECT event_scope.commit_ts FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS
BIGINT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:scope_ids AS JSONB)) WITH ORDINALITY AS
list(element, place)) AS item JOIN LATERAL (SELECT event_scope.* FROM memoranda.event_scope WHERE
event_scope.scope_id = item.value AND event_scope.store_id = :store_id OFFSET 0) AS event_scope ON
TRUE

-- name: envelope_erasure
SELECT erasure FROM memoranda.erased WHERE (position = -1 AND erasure <= :through) AND
erased.store_id = :store_id ORDER BY erasure DESC LIMIT 1

-- name: erased_add
INSERT INTO memoranda.erased (store_id, erasure, commit_ts, position, digest) VALUES (:store_id,
:erasure, :commit_ts, :position, :digest)

-- name: erased_behind
SELECT COUNT(*) FROM memoranda.erased WHERE (commit_ts <= :size AND erasure > :size) AND
erased.store_id = :store_id

-- name: erased_between
SELECT erasure, commit_ts, position, digest FROM memoranda.erased WHERE (commit_ts > :after AND
commit_ts <= :through) AND erased.store_id = :store_id ORDER BY commit_ts, position, erasure

-- name: erased_by
SELECT commit_ts, position, digest FROM memoranda.erased WHERE (erasure = :erasure AND (commit_ts,
position) > (:after, :after_position)) AND erased.store_id = :store_id ORDER BY commit_ts, position
LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: erased_counts
SELECT COUNT(CASE WHEN position >= 0 THEN 1 END), COUNT(DISTINCT commit_ts) FROM memoranda.erased
WHERE erasure = :erasure AND erased.store_id = :store_id

-- name: erased_get
SELECT digest FROM memoranda.erased WHERE (erasure = :erasure AND commit_ts = :commit_ts AND
position = :position) AND erased.store_id = :store_id

-- name: erased_of_no_event
SELECT erasure, commit_ts FROM memoranda.erased WHERE commit_ts < 1 AND erased.store_id = :store_id
ORDER BY erasure, commit_ts LIMIT 1

-- name: erased_since
SELECT 1 FROM memoranda.erased WHERE erasure > :after AND erased.store_id = :store_id LIMIT 1

-- name: erased_through
SELECT erasure, commit_ts, position, digest FROM memoranda.erased WHERE erasure <= :through AND
erased.store_id = :store_id

-- name: erasure_last
SELECT MAX(erasure) FROM memoranda.erased WHERE erased.store_id = :store_id

-- name: erasures
SELECT DISTINCT erasure FROM memoranda.erased WHERE erased.store_id = :store_id ORDER BY erasure

-- name: erasures_page
SELECT DISTINCT erasure FROM memoranda.erased WHERE erasure > :after AND erased.store_id = :store_id
ORDER BY erasure LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: event_append
INSERT INTO memoranda.event (store_id, commit_ts, committed_at, hash, salts, envelope, operations)
VALUES (:store_id, :commit_ts, :committed_at, :hash, :salts, :envelope, :operations)

-- name: event_before_first
SELECT commit_ts FROM memoranda.event WHERE commit_ts < 1 AND event.store_id = :store_id ORDER BY
commit_ts LIMIT 1

-- name: event_commit_infos
SELECT event.commit_ts, event.committed_at, event.envelope FROM (SELECT list.place - 1 AS key,
CAST(list.element #>> '{}' AS BIGINT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:commits AS JSONB))
WITH ORDINALITY AS list(element, place)) AS item JOIN LATERAL (SELECT event.* FROM memoranda.event
WHERE event.commit_ts = item.value AND event.store_id = :store_id OFFSET 0) AS event ON TRUE

-- name: event_get
SELECT commit_ts, committed_at, hash, salts, envelope, operations FROM memoranda.event WHERE
commit_ts = :commit_ts AND event.store_id = :store_id

-- name: event_hash
SELECT hash FROM memoranda.event WHERE commit_ts = :commit_ts AND event.store_id = :store_id

-- name: event_hashes
SELECT commit_ts, hash FROM memoranda.event WHERE (commit_ts > :after AND commit_ts <= :through) AND
event.store_id = :store_id ORDER BY commit_ts

-- name: event_head
SELECT commit_ts, committed_at, hash FROM memoranda.event WHERE event.store_id = :store_id ORDER BY
commit_ts DESC LIMIT 1

-- name: event_list
SELECT event.commit_ts, event.committed_at, event.hash, event.salts, event.envelope,
event.operations FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS BIGINT) AS value
FROM JSONB_ARRAY_ELEMENTS(CAST(:commits AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item
JOIN LATERAL (SELECT event.* FROM memoranda.event WHERE event.commit_ts = item.value AND
event.store_id = :store_id OFFSET 0) AS event ON TRUE

-- name: event_page
SELECT commit_ts, committed_at, hash, salts, envelope, operations FROM memoranda.event WHERE
(commit_ts > :after AND commit_ts <= :through) AND event.store_id = :store_id ORDER BY commit_ts
LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: event_page_back
SELECT commit_ts, operations FROM memoranda.event WHERE commit_ts < :before AND event.store_id =
:store_id ORDER BY commit_ts DESC LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: event_page_back_within
SELECT page.column_1, page.column_2 FROM (SELECT own.*, COALESCE(SUM(LENGTH(own.column_2)) OVER
(ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS size_before FROM (SELECT commit_ts,
operations FROM memoranda.event WHERE commit_ts < :before AND event.store_id = :store_id ORDER BY
commit_ts DESC LIMIT NULLIF(CAST(:limit AS BIGINT), -1)) AS own (column_1, column_2)) AS page WHERE
page.size_before < CAST(:budget AS BIGINT)

-- name: event_page_of_all
SELECT commit_ts, committed_at, hash, envelope, operations FROM memoranda.event WHERE (commit_ts >
:after AND commit_ts <= :through) AND event.store_id = :store_id ORDER BY commit_ts LIMIT
NULLIF(CAST(:limit AS BIGINT), -1)

-- name: event_page_of_all_within
SELECT page.column_1, page.column_2, page.column_3, page.column_4, page.column_5 FROM (SELECT own.*,
COALESCE(SUM(LENGTH(own.column_5)) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS
size_before FROM (SELECT commit_ts, committed_at, hash, envelope, operations FROM memoranda.event
WHERE (commit_ts > :after AND commit_ts <= :through) AND event.store_id = :store_id ORDER BY
commit_ts LIMIT NULLIF(CAST(:limit AS BIGINT), -1)) AS own (column_1, column_2, column_3, column_4,
column_5)) AS page WHERE page.size_before < CAST(:budget AS BIGINT)

-- name: event_page_within
SELECT page.column_1, page.column_2, page.column_3, page.column_4, page.column_5, page.column_6 FROM
(SELECT own.*, COALESCE(SUM(LENGTH(own.column_6)) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND 1
PRECEDING), 0) AS size_before FROM (SELECT commit_ts, committed_at, hash, salts, envelope,
operations FROM memoranda.event WHERE (commit_ts > :after AND commit_ts <= :through) AND
event.store_id = :store_id ORDER BY commit_ts LIMIT NULLIF(CAST(:limit AS BIGINT), -1)) AS own
(column_1, column_2, column_3, column_4, column_5, column_6)) AS page WHERE page.size_before <
CAST(:budget AS BIGINT)

-- name: event_rewrite
UPDATE memoranda.event SET salts = :salts, envelope = :envelope, operations = :operations WHERE
commit_ts = :commit_ts AND event.store_id = :store_id

-- name: event_salts_set
UPDATE memoranda.event SET salts = :salts WHERE commit_ts = :commit_ts AND event.store_id =
:store_id

-- name: event_salts_without_effect_page
SELECT commit_ts, salts FROM memoranda.event WHERE (LENGTH(operations) = 1 AND commit_ts > :after)
AND event.store_id = :store_id ORDER BY commit_ts LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: event_scope_add
INSERT INTO memoranda.event_scope (store_id, scope_id, commit_ts, places, kinds) VALUES (:store_id,
:scope_id, :commit_ts, :places, :kinds) ON CONFLICT(store_id, scope_id, commit_ts) DO UPDATE SET
places = excluded.places, kinds = excluded.kinds

-- name: event_scope_census
SELECT COUNT(*) FILTER(WHERE commit_ts BETWEEN 1 AND :through), MIN(commit_ts) FILTER(WHERE
commit_ts < 1 OR commit_ts > (SELECT COALESCE(MAX(commit_ts), 0) FROM memoranda.event WHERE
event.store_id = :store_id)) FROM memoranda.event_scope WHERE event_scope.store_id = :store_id

-- name: event_scope_clear
DELETE FROM memoranda.event_scope WHERE event_scope.store_id = :store_id

-- name: event_scope_remove
DELETE FROM memoranda.event_scope WHERE (commit_ts = :commit_ts AND scope_id = (SELECT id FROM
memoranda.scope WHERE (agent_id = :agent_id AND namespace = :namespace) AND scope.store_id =
:store_id)) AND event_scope.store_id = :store_id

-- name: event_scope_rows
SELECT scope.agent_id, scope.namespace, event_scope.commit_ts, event_scope.places, event_scope.kinds
FROM memoranda.event_scope LEFT JOIN memoranda.scope ON scope.id = event_scope.scope_id AND
scope.store_id = :store_id WHERE event_scope.store_id = :store_id ORDER BY scope.agent_id NULLS
FIRST, scope.namespace NULLS FIRST, event_scope.commit_ts

-- name: event_shown
SELECT commit_ts, committed_at, hash, envelope, operations FROM memoranda.event WHERE commit_ts =
:commit_ts AND event.store_id = :store_id

-- name: event_size
SELECT LENGTH(operations) FROM memoranda.event WHERE commit_ts = :commit_ts AND event.store_id =
:store_id

-- name: event_time
SELECT committed_at FROM memoranda.event WHERE commit_ts = :commit_ts AND event.store_id = :store_id

-- name: event_times
SELECT event.committed_at FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS BIGINT)
AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:commits AS JSONB)) WITH ORDINALITY AS list(element, place))
AS item JOIN LATERAL (SELECT event.* FROM memoranda.event WHERE event.commit_ts = item.value AND
event.store_id = :store_id OFFSET 0) AS event ON TRUE ORDER BY item.key

-- name: first_block_of_kinds
SELECT block FROM memoranda.kind_count WHERE (scope_id = :scope_id AND kind >= :first_kind AND
(:public_only = 0 OR kind % 2 = 0)) AND kind_count.store_id = :store_id ORDER BY block LIMIT 1

-- name: graph_assertion_after
SELECT at, commit_ts, position, object_root FROM memoranda.graph_statement WHERE (subject_root =
:subject AND relation = :relation AND asserts = 1 AND (at, commit_ts, position) > (:at, :commit_ts,
:position) AND until_commit = 9223372036854775807) AND graph_statement.store_id = :store_id ORDER BY
at, commit_ts, position LIMIT 1

-- name: graph_assertion_before
SELECT at, commit_ts, position, object_root FROM memoranda.graph_statement WHERE (subject_root =
:subject AND relation = :relation AND asserts = 1 AND (at, commit_ts, position) < (:at, :commit_ts,
:position) AND until_commit = 9223372036854775807) AND graph_statement.store_id = :store_id ORDER BY
at DESC, commit_ts DESC, position DESC LIMIT 1

-- name: graph_assertion_find
SELECT scope.namespace, scope.agent_id, statement.asserts, statement.until_commit =
9223372036854775807, statement.at, statement.private > 0 FROM memoranda.graph_statement AS statement
JOIN memoranda.graph_node AS subject ON subject.id = statement.subject AND subject.store_id =
:store_id JOIN memoranda.scope ON scope.id = subject.scope_id AND scope.store_id = :store_id WHERE
statement.assertion_id = :assertion_id AND statement.store_id = :store_id ORDER BY statement.asserts
DESC, statement.position LIMIT 1

-- name: graph_assertion_known
SELECT 1 FROM memoranda.graph_statement WHERE assertion_id = :assertion_id AND
graph_statement.store_id = :store_id LIMIT 1

-- name: graph_assertion_of
SELECT scope.namespace, scope.agent_id, subject.key, relation.key, statement.commit_ts,
statement.until_commit, statement.reason FROM memoranda.graph_statement AS statement JOIN
memoranda.graph_node AS subject ON subject.id = statement.subject AND subject.store_id = :store_id
JOIN memoranda.graph_node AS relation ON relation.id = statement.relation AND relation.store_id =
:store_id JOIN memoranda.scope ON scope.id = subject.scope_id AND scope.store_id = :store_id WHERE
(statement.assertion_id = :assertion_id AND statement.asserts = 1) AND statement.store_id =
:store_id

-- name: graph_assertion_places
SELECT statement.assertion_id, statement.commit_ts, statement.position FROM (SELECT list.place - 1
AS key, CAST(list.element #>> '{}' AS TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:ids AS JSONB))
WITH ORDINALITY AS list(element, place)) AS item JOIN LATERAL (SELECT statement.* FROM
memoranda.graph_statement AS statement WHERE (statement.assertion_id = item.value AND
statement.asserts = 1) AND statement.store_id = :store_id OFFSET 0) AS statement ON TRUE

-- name: graph_assertion_scopes
SELECT statement.assertion_id, scope.namespace, scope.agent_id, subject.key FROM (SELECT list.place
- 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:ids AS
JSONB)) WITH ORDINALITY AS list(element, place)) AS item JOIN LATERAL (SELECT statement.* FROM
memoranda.graph_statement AS statement WHERE (statement.assertion_id = item.value AND
statement.asserts = 1 AND statement.author = 0) AND statement.store_id = :store_id OFFSET 0) AS
statement ON TRUE JOIN LATERAL (SELECT subject.* FROM memoranda.graph_node AS subject WHERE
subject.id = statement.subject AND subject.store_id = :store_id OFFSET 0) AS subject ON TRUE JOIN
LATERAL (SELECT scope.* FROM memoranda.scope WHERE scope.id = subject.scope_id AND scope.store_id =
:store_id OFFSET 0) AS scope ON TRUE

-- name: graph_assertions_beside_private
SELECT statement.assertion_id FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS
TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:ids AS JSONB)) WITH ORDINALITY AS list(element,
place)) AS item JOIN LATERAL (SELECT statement.* FROM memoranda.graph_statement AS statement WHERE
(statement.assertion_id = item.value AND statement.asserts = 1) AND statement.store_id = :store_id
OFFSET 0) AS statement ON TRUE JOIN LATERAL (SELECT subject.* FROM memoranda.graph_node AS subject
WHERE subject.id = statement.subject AND subject.store_id = :store_id OFFSET 0) AS subject ON TRUE
JOIN LATERAL (SELECT scope.* FROM memoranda.scope WHERE scope.id = subject.scope_id AND
scope.store_id = :store_id OFFSET 0) AS scope ON TRUE WHERE scope.agent_id <> :viewer AND
EXISTS(SELECT 1 FROM memoranda.graph_statement AS other WHERE (other.private > 0 AND other.private =
scope.id) AND other.store_id = :store_id)

-- name: graph_assertions_by_id
SELECT statement.commit_ts, statement.until_commit < 9223372036854775807 FROM (SELECT DISTINCT
item.value AS id FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value
FROM JSONB_ARRAY_ELEMENTS(CAST(:ids AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item) AS
item JOIN LATERAL (SELECT statement.* FROM memoranda.graph_statement AS statement WHERE
(statement.assertion_id = item.id AND statement.asserts = 1 AND statement.author = 0) AND
statement.store_id = :store_id OFFSET 0) AS statement ON TRUE

-- name: graph_assertions_matching
SELECT statement.assertion_id FROM memoranda.graph_node AS subject JOIN memoranda.graph_node AS
relation ON (relation.scope_id = subject.scope_id AND relation.kind = 'relation' AND relation.key =
:relation) AND relation.store_id = :store_id JOIN memoranda.graph_statement AS statement ON
(statement.subject_root = subject.id AND statement.relation = relation.id AND statement.asserts = 1)
AND statement.store_id = :store_id JOIN memoranda.graph_node AS object ON object.id =
statement.object_root AND object.store_id = :store_id WHERE (subject.scope_id = :graph AND
subject.kind = 'entity' AND subject.key = :subject AND statement.until_commit = 9223372036854775807
AND (CAST(:object AS TEXT) IS NULL OR (object.kind = :kind AND object.key = :object))) AND
subject.store_id = :store_id ORDER BY statement.commit_ts, statement.position

-- name: graph_assertions_of_edges
SELECT item.key, statement.assertion_id, statement.at, statement.commit_ts, statement.position,
statement.committed_at, statement.confidence, statement.source, (SELECT scope.agent_id FROM
memoranda.scope WHERE scope.id = statement.author AND scope.store_id = :store_id), CASE WHEN (SELECT
LENGTH(salts) % 16 = 0 FROM memoranda.event WHERE commit_ts = 1 AND event.store_id = :store_id) THEN
EXISTS(SELECT 1 FROM memoranda.erased JOIN memoranda.event ON event.commit_ts = erased.commit_ts AND
event.store_id = :store_id WHERE (LENGTH(event.salts) % 16 = 0 AND ((erased.commit_ts =
statement.commit_ts AND erased.position = statement.position) OR (erased.commit_ts = item.element_9
AND erased.position = item.element_10))) AND erased.store_id = :store_id) ELSE FALSE END FROM
(SELECT list.place - 1 AS key, CAST(list.element ->> 0 AS BIGINT) AS element_0, CAST(list.element
->> 1 AS BIGINT) AS element_1, CAST(list.element ->> 2 AS BIGINT) AS element_2, CAST(list.element
->> 3 AS BIGINT) AS element_3, CAST(list.element ->> 4 AS BIGINT) AS element_4, CAST(list.element
->> 5 AS BIGINT) AS element_5, CAST(list.element ->> 6 AS BIGINT) AS element_6, CAST(list.element
->> 7 AS BIGINT) AS element_7, CAST(list.element ->> 8 AS BIGINT) AS element_8, CAST(list.element
->> 9 AS BIGINT) AS element_9, CAST(list.element ->> 10 AS BIGINT) AS element_10 FROM
JSONB_ARRAY_ELEMENTS(CAST(:edges AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item JOIN
LATERAL (SELECT statement.* FROM memoranda.graph_statement AS statement WHERE
((statement.subject_root = item.element_0 AND statement.relation = item.element_1 AND
statement.asserts = 1 AND (statement.at, statement.commit_ts, statement.position) >=
(item.element_3, item.element_4, item.element_5) AND (statement.at, statement.commit_ts,
statement.position) <= (item.element_6, item.element_7, item.element_8)) AND statement.store_id =
:store_id) AND statement.until_commit = 9223372036854775807 OFFSET 0) AS statement ON TRUE WHERE
statement.object_root = item.element_2 ORDER BY item.key, statement.commit_ts, statement.position

-- name: graph_assertions_private
SELECT statement.assertion_id FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS
TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:ids AS JSONB)) WITH ORDINALITY AS list(element,
place)) AS item JOIN LATERAL (SELECT statement.* FROM memoranda.graph_statement AS statement WHERE
(statement.assertion_id = item.value AND statement.private > 0) AND statement.store_id = :store_id
OFFSET 0) AS statement ON TRUE JOIN LATERAL (SELECT scope.* FROM memoranda.scope WHERE scope.id =
statement.private AND scope.store_id = :store_id OFFSET 0) AS scope ON TRUE WHERE scope.agent_id <>
:viewer

-- name: graph_bound_after
SELECT at, commit_ts, position FROM memoranda.graph_statement WHERE (object_root = :object AND
subject_root = :subject AND relation = :relation AND asserts = 0 AND bound < 9223372036854775807 AND
(at, commit_ts, position) > (:at, :commit_ts, :position) AND until_commit = 9223372036854775807) AND
graph_statement.store_id = :store_id ORDER BY at, commit_ts, position LIMIT 1

-- name: graph_cardinalities
SELECT relation, single FROM memoranda.graph_cardinality WHERE (namespace = :namespace AND
until_commit = 9223372036854775807) AND graph_cardinality.store_id = :store_id ORDER BY relation

-- name: graph_cardinality_at
SELECT single FROM memoranda.graph_cardinality WHERE (namespace = :namespace AND relation =
:relation AND commit_ts <= :as_of_commit AND until_commit > :as_of_commit) AND
graph_cardinality.store_id = :store_id

-- name: graph_cardinality_changed
SELECT 1 FROM memoranda.graph_cardinality WHERE (namespace = :namespace AND relation = :relation AND
commit_ts > :since) AND graph_cardinality.store_id = :store_id

-- name: graph_cardinality_clear
DELETE FROM memoranda.graph_cardinality WHERE graph_cardinality.store_id = :store_id

-- name: graph_cardinality_close
UPDATE memoranda.graph_cardinality SET until_commit = :commit_ts WHERE (namespace = :namespace AND
relation = :relation AND until_commit = 9223372036854775807 AND commit_ts < :commit_ts) AND
graph_cardinality.store_id = :store_id

-- name: graph_cardinality_drop
DELETE FROM memoranda.graph_cardinality WHERE (namespace = :namespace AND relation = :relation) AND
graph_cardinality.store_id = :store_id

-- name: graph_cardinality_find
SELECT single FROM memoranda.graph_cardinality WHERE (namespace = :namespace AND relation =
:relation AND until_commit = 9223372036854775807) AND graph_cardinality.store_id = :store_id

-- name: graph_cardinality_put
INSERT INTO memoranda.graph_cardinality (store_id, namespace, relation, commit_ts, until_commit,
single) VALUES (:store_id, :namespace, :relation, :commit_ts, 9223372036854775807, :single) ON
CONFLICT(store_id, namespace, relation, commit_ts) DO UPDATE SET single = excluded.single

-- name: graph_cardinality_rows
SELECT namespace, relation, commit_ts, until_commit, single FROM memoranda.graph_cardinality WHERE
graph_cardinality.store_id = :store_id ORDER BY namespace, relation, commit_ts

-- name: graph_cited
SELECT DISTINCT target FROM memoranda.state_because WHERE kind = 3 AND state_because.store_id =
:store_id

-- name: graph_cited_beside
SELECT DISTINCT because.target FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS
TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:ids AS JSONB)) WITH ORDINALITY AS list(element,
place)) AS item JOIN LATERAL (SELECT own.* FROM memoranda.graph_statement AS own WHERE
own.assertion_id = item.value AND own.store_id = :store_id OFFSET 0) AS own ON TRUE JOIN LATERAL
(SELECT statement.* FROM memoranda.graph_statement AS statement WHERE (statement.subject_root =
own.subject_root AND statement.relation = own.relation AND statement.asserts = 1 AND
statement.until_commit = 9223372036854775807) AND statement.store_id = :store_id OFFSET 0) AS
statement ON TRUE JOIN LATERAL (SELECT because.* FROM memoranda.state_because AS because WHERE
(because.kind = 3 AND because.target = statement.assertion_id) AND because.store_id = :store_id
OFFSET 0) AS because ON TRUE

-- name: graph_cited_on_timelines
WITH graph(id, namespace) AS (SELECT id, namespace FROM memoranda.scope WHERE scope.store_id =
:store_id UNION ALL SELECT id, namespace FROM memoranda.graph_shared WHERE graph_shared.store_id =
:store_id) SELECT DISTINCT because.target FROM (SELECT list.place - 1 AS key, CAST(list.element ->>
0 AS TEXT) AS element_0, CAST(list.element ->> 1 AS TEXT) AS element_1, CAST(list.element ->> 2 AS
TEXT) AS element_2 FROM JSONB_ARRAY_ELEMENTS(CAST(:timelines AS JSONB)) WITH ORDINALITY AS
list(element, place)) AS item JOIN graph ON graph.namespace = item.element_0 JOIN LATERAL (SELECT
subject.* FROM memoranda.graph_node AS subject WHERE (subject.scope_id = graph.id AND subject.kind =
'entity' AND subject.key = item.element_1) AND subject.store_id = :store_id OFFSET 0) AS subject ON
TRUE JOIN LATERAL (SELECT relation.* FROM memoranda.graph_node AS relation WHERE (relation.scope_id
= graph.id AND relation.kind = 'relation' AND relation.key = item.element_2) AND relation.store_id =
:store_id OFFSET 0) AS relation ON TRUE JOIN LATERAL (SELECT statement.* FROM
memoranda.graph_statement AS statement WHERE (statement.subject_root = subject.root AND
statement.relation = relation.id AND statement.asserts = 1 AND statement.until_commit =
9223372036854775807) AND statement.store_id = :store_id OFFSET 0) AS statement ON TRUE JOIN LATERAL
(SELECT because.* FROM memoranda.state_because AS because WHERE (because.kind = 3 AND because.target
= statement.assertion_id) AND because.store_id = :store_id OFFSET 0) AS because ON TRUE

-- name: graph_commits_of_namespace
WITH node AS (SELECT graph_node.id, graph_node.commit_ts FROM memoranda.scope JOIN
memoranda.graph_node ON graph_node.scope_id = scope.id AND graph_node.store_id = :store_id WHERE
scope.namespace = :namespace AND scope.store_id = :store_id) SELECT commit_ts FROM node UNION SELECT
graph_root.until_commit FROM node JOIN memoranda.graph_root ON graph_root.node = node.id AND
graph_root.store_id = :store_id UNION SELECT statement.commit_ts FROM node JOIN
memoranda.graph_statement AS statement ON statement.subject_root = node.id AND statement.store_id =
:store_id UNION SELECT statement.until_commit FROM node JOIN memoranda.graph_statement AS statement
ON statement.subject_root = node.id AND statement.store_id = :store_id WHERE statement.until_commit
< 9223372036854775807 ORDER BY 1

-- name: graph_counts
SELECT (SELECT COUNT(*) FROM memoranda.graph_edge WHERE graph_edge.store_id = :store_id) - (SELECT
COUNT(*) FROM memoranda.graph_shared JOIN memoranda.graph_node AS node ON node.scope_id =
graph_shared.id AND node.store_id = :store_id JOIN memoranda.graph_edge AS edge ON edge.subject =
node.id AND edge.store_id = :store_id WHERE graph_shared.store_id = :store_id), (SELECT COUNT(*)
FROM memoranda.graph_node WHERE (kind = 'entity' AND root = id AND scope_id > 0) AND
graph_node.store_id = :store_id)

-- name: graph_edge_before
SELECT object, valid_from, from_commit, from_position, last_at, last_commit, last_position,
valid_to, to_commit, to_position FROM memoranda.graph_edge WHERE (subject = :subject AND relation =
:relation AND (valid_from, from_commit, from_position) < (:at, :commit_ts, :position)) AND
graph_edge.store_id = :store_id ORDER BY valid_from DESC, from_commit DESC, from_position DESC LIMIT
1

-- name: graph_edge_clear
DELETE FROM memoranda.graph_edge WHERE graph_edge.store_id = :store_id

-- name: graph_edge_drop
DELETE FROM memoranda.graph_edge WHERE (subject = :subject AND relation = :relation AND valid_from =
:at AND from_commit = :commit_ts AND from_position = :position) AND graph_edge.store_id = :store_id

-- name: graph_edge_from
SELECT object, valid_from, from_commit, from_position, last_at, last_commit, last_position,
valid_to, to_commit, to_position FROM memoranda.graph_edge WHERE (subject = :subject AND relation =
:relation AND valid_from = :at AND from_commit = :commit_ts AND from_position = :position) AND
graph_edge.store_id = :store_id

-- name: graph_edge_objects_move
UPDATE memoranda.graph_edge SET object = :new_id WHERE object = :id AND graph_edge.store_id =
:store_id

-- name: graph_edge_of_assertion
WITH statement AS (SELECT subject_root, relation, object_root, at, commit_ts, position FROM
memoranda.graph_statement WHERE (assertion_id = :assertion_id AND asserts = 1 AND until_commit =
9223372036854775807 AND CASE WHEN author > 0 THEN 1 ELSE 0 END = :shared) AND
graph_statement.store_id = :store_id) SELECT edge.subject, edge.relation, edge.object,
edge.valid_from, edge.from_commit, edge.from_position, edge.last_at, edge.last_commit,
edge.last_position, edge.valid_to, edge.to_commit, edge.to_position FROM memoranda.graph_edge AS
edge WHERE (edge.object = (SELECT object_root FROM statement) AND edge.subject = (SELECT
subject_root FROM statement) AND edge.relation = (SELECT relation FROM statement) AND
edge.valid_from <= (SELECT at FROM statement) AND (edge.valid_from, edge.from_commit,
edge.from_position) <= (SELECT at, commit_ts, position FROM statement) AND (edge.last_at,
edge.last_commit, edge.last_position) >= (SELECT at, commit_ts, position FROM statement)) AND
edge.store_id = :store_id ORDER BY edge.valid_from DESC, edge.from_commit DESC, edge.from_position
DESC LIMIT 1

-- name: graph_edge_of_object
SELECT object, valid_from, from_commit, from_position, last_at, last_commit, last_position,
valid_to, to_commit, to_position FROM memoranda.graph_edge WHERE (object = :object AND subject =
:subject AND relation = :relation AND valid_from = :at) AND graph_edge.store_id = :store_id

-- name: graph_edge_put
INSERT INTO memoranda.graph_edge (store_id, subject, relation, object, valid_from, from_commit,
from_position, last_at, last_commit, last_position, valid_to, to_commit, to_position) VALUES
(:store_id, :subject, :relation, :object, :valid_from, :from_commit, :from_position, :last_at,
:last_commit, :last_position, :valid_to, :to_commit, :to_position) ON CONFLICT(store_id, subject,
relation, valid_from, from_commit, from_position) DO UPDATE SET object = excluded.object, last_at =
excluded.last_at, last_commit = excluded.last_commit, last_position = excluded.last_position,
valid_to = excluded.valid_to, to_commit = excluded.to_commit, to_position = excluded.to_position

-- name: graph_edge_rows
SELECT COALESCE(scope.namespace, shared.namespace) AS namespace, scope.agent_id, subject.kind AS
subject_kind, subject.key AS subject, relation.scope_id = subject.scope_id AS relation_here,
relation.kind AS relation_kind, relation.key AS relation, edge.valid_from, edge.from_commit,
edge.from_position, object.scope_id = subject.scope_id AS object_here, object.kind AS object_kind,
object.key AS object, edge.last_at, edge.last_commit, edge.last_position, edge.valid_to,
edge.to_commit, edge.to_position FROM memoranda.graph_edge AS edge LEFT JOIN memoranda.graph_node AS
subject ON subject.id = edge.subject AND subject.store_id = :store_id LEFT JOIN memoranda.graph_node
AS relation ON relation.id = edge.relation AND relation.store_id = :store_id LEFT JOIN
memoranda.graph_node AS object ON object.id = edge.object AND object.store_id = :store_id LEFT JOIN
memoranda.scope ON scope.id = subject.scope_id AND scope.store_id = :store_id LEFT JOIN
memoranda.graph_shared AS shared ON shared.id = subject.scope_id AND shared.store_id = :store_id
WHERE edge.store_id = :store_id ORDER BY 1, scope.agent_id NULLS FIRST, subject.kind NULLS FIRST,
subject.key, relation.key, edge.valid_from, edge.from_commit, edge.from_position

-- name: graph_edge_subjects_move
UPDATE memoranda.graph_edge SET subject = :new_id WHERE subject = :id AND graph_edge.store_id =
:store_id

-- name: graph_edges_among
SELECT edge.subject, edge.relation, edge.object, edge.valid_from, edge.from_commit,
edge.from_position, edge.last_at, edge.last_commit, edge.last_position, edge.valid_to,
edge.to_commit, edge.to_position FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS
BIGINT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:nodes AS JSONB)) WITH ORDINALITY AS list(element,
place)) AS item JOIN LATERAL (SELECT edge.* FROM memoranda.graph_edge AS edge WHERE edge.subject =
item.value AND edge.store_id = :store_id OFFSET 0) AS edge ON TRUE WHERE (CAST(:relation AS BIGINT)
IS NULL OR edge.relation = :relation) AND edge.valid_from <= :valid_at AND edge.valid_to > :valid_at
AND edge.object IN (SELECT item.value FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}'
AS BIGINT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:nodes AS JSONB)) WITH ORDINALITY AS
list(element, place)) AS item) ORDER BY edge.subject, edge.relation, edge.valid_from,
edge.from_commit, edge.from_position LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: graph_edges_between
SELECT subject, relation, object, valid_from, from_commit, from_position, last_at, last_commit,
last_position, valid_to, to_commit, to_position FROM memoranda.graph_edge WHERE (object = :object
AND subject = :subject AND relation = :relation) AND graph_edge.store_id = :store_id

-- name: graph_edges_crossing
SELECT object, valid_from, from_commit, from_position, last_at, last_commit, last_position,
valid_to, to_commit, to_position FROM memoranda.graph_edge WHERE (subject = :subject AND relation =
:relation AND valid_from BETWEEN :since AND :at AND valid_to >= :at AND (last_at, last_commit,
last_position) < (:at, :commit_ts, :position) AND (valid_to, to_commit, to_position) > (:at,
:commit_ts, :position)) AND graph_edge.store_id = :store_id

-- name: graph_edges_crossing_of_object
SELECT object, valid_from, from_commit, from_position, last_at, last_commit, last_position,
valid_to, to_commit, to_position FROM memoranda.graph_edge WHERE (object = :object AND subject =
:subject AND relation = :relation AND valid_from BETWEEN :since AND :at AND valid_to >= :at AND
(last_at, last_commit, last_position) < (:at, :commit_ts, :position) AND (valid_to, to_commit,
to_position) > (:at, :commit_ts, :position)) AND graph_edge.store_id = :store_id

-- name: graph_edges_ended_at
SELECT object, valid_from, from_commit, from_position, last_at, last_commit, last_position,
valid_to, to_commit, to_position FROM memoranda.graph_edge WHERE (subject = :subject AND relation =
:relation AND valid_from BETWEEN :since AND :at AND ((valid_to = :at AND to_commit = :commit_ts AND
to_position = :position) OR (valid_from = :at AND from_commit <= :commit_ts AND (CAST(:object AS
BIGINT) IS NULL OR object = :object)))) AND graph_edge.store_id = :store_id

-- name: graph_edges_of
SELECT edge.subject, edge.relation, edge.object, edge.valid_from, edge.from_commit,
edge.from_position, edge.last_at, edge.last_commit, edge.last_position, edge.valid_to,
edge.to_commit, edge.to_position FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS
BIGINT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:subjects AS JSONB)) WITH ORDINALITY AS
list(element, place)) AS item JOIN LATERAL (SELECT edge.* FROM memoranda.graph_edge AS edge WHERE
edge.subject = item.value AND edge.store_id = :store_id OFFSET 0) AS edge ON TRUE WHERE
(CAST(:relation AS BIGINT) IS NULL OR edge.relation = :relation) AND (CAST(:object AS BIGINT) IS
NULL OR edge.object = :object) AND (CAST(:valid_at AS BIGINT) IS NULL OR (edge.valid_from <=
:valid_at AND edge.valid_to > :valid_at)) ORDER BY edge.subject, edge.relation, edge.valid_from,
edge.from_commit, edge.from_position

-- name: graph_edges_of_assertions
SELECT COALESCE(scope.namespace, shared.namespace), COALESCE(scope.agent_id, ''),
statement.assertion_id, edge.subject, edge.relation, edge.object, edge.valid_from, edge.from_commit,
edge.from_position, edge.last_at, edge.last_commit, edge.last_position, edge.valid_to,
edge.to_commit, edge.to_position FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS
TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:ids AS JSONB)) WITH ORDINALITY AS list(element,
place)) AS item JOIN LATERAL (SELECT statement.* FROM memoranda.graph_statement AS statement WHERE
((statement.assertion_id = item.value AND statement.asserts = 1) AND statement.store_id = :store_id)
AND statement.until_commit = 9223372036854775807 OFFSET 0) AS statement ON TRUE JOIN LATERAL (SELECT
subject.* FROM memoranda.graph_node AS subject WHERE subject.id = statement.subject AND
subject.store_id = :store_id OFFSET 0) AS subject ON TRUE LEFT JOIN LATERAL (SELECT scope.* FROM
memoranda.scope WHERE scope.id = subject.scope_id AND scope.store_id = :store_id OFFSET 0) AS scope
ON TRUE LEFT JOIN LATERAL (SELECT shared.* FROM memoranda.graph_shared AS shared WHERE shared.id =
subject.scope_id AND shared.store_id = :store_id OFFSET 0) AS shared ON TRUE JOIN LATERAL (SELECT
edge.* FROM memoranda.graph_edge AS edge WHERE (edge.subject = statement.subject_root AND
edge.relation = statement.relation AND edge.object = statement.object_root AND (edge.valid_from,
edge.from_commit, edge.from_position) <= (statement.at, statement.commit_ts, statement.position) AND
(edge.last_at, edge.last_commit, edge.last_position) >= (statement.at, statement.commit_ts,
statement.position)) AND edge.store_id = :store_id OFFSET 0) AS edge ON TRUE WHERE CASE WHEN
statement.author > 0 THEN 1 ELSE 0 END = :shared ORDER BY item.key, edge.valid_from,
edge.from_commit, edge.from_position

-- name: graph_edges_to
SELECT edge.subject, edge.relation, edge.object, edge.valid_from, edge.from_commit,
edge.from_position, edge.last_at, edge.last_commit, edge.last_position, edge.valid_to,
edge.to_commit, edge.to_position FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS
BIGINT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:objects AS JSONB)) WITH ORDINALITY AS list(element,
place)) AS item JOIN LATERAL (SELECT edge.* FROM memoranda.graph_edge AS edge WHERE edge.object =
item.value AND edge.store_id = :store_id OFFSET 0) AS edge ON TRUE WHERE (CAST(:relation AS BIGINT)
IS NULL OR edge.relation = :relation) AND (CAST(:valid_at AS BIGINT) IS NULL OR (edge.valid_from <=
:valid_at AND edge.valid_to > :valid_at)) ORDER BY edge.subject, edge.relation, edge.valid_from,
edge.from_commit, edge.from_position

-- name: graph_edges_touching
SELECT edge.subject, edge.relation, edge.object, edge.valid_from, edge.from_commit,
edge.from_position, edge.last_at, edge.last_commit, edge.last_position, edge.valid_to,
edge.to_commit, edge.to_position FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS
BIGINT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:nodes AS JSONB)) WITH ORDINALITY AS list(element,
place)) AS item JOIN LATERAL (SELECT edge.* FROM memoranda.graph_edge AS edge WHERE edge.subject =
item.value AND edge.store_id = :store_id OFFSET 0) AS edge ON TRUE WHERE :outward = 1 AND
(CAST(:relation AS BIGINT) IS NULL OR edge.relation = :relation) AND edge.valid_from <= :valid_at
AND edge.valid_to > :valid_at UNION SELECT edge.subject, edge.relation, edge.object,
edge.valid_from, edge.from_commit, edge.from_position, edge.last_at, edge.last_commit,
edge.last_position, edge.valid_to, edge.to_commit, edge.to_position FROM (SELECT list.place - 1 AS
key, CAST(list.element #>> '{}' AS BIGINT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:nodes AS JSONB))
WITH ORDINALITY AS list(element, place)) AS item JOIN LATERAL (SELECT node.* FROM
memoranda.graph_node AS node WHERE (node.id = item.value AND node.kind = 'entity') AND node.store_id
= :store_id OFFSET 0) AS node ON TRUE JOIN LATERAL (SELECT edge.* FROM memoranda.graph_edge AS edge
WHERE edge.object = node.id AND edge.store_id = :store_id OFFSET 0) AS edge ON TRUE WHERE :inward =
1 AND (CAST(:relation AS BIGINT) IS NULL OR edge.relation = :relation) AND edge.valid_from <=
:valid_at AND edge.valid_to > :valid_at ORDER BY 1, 2, 4, 5, 6 LIMIT NULLIF(CAST(:limit AS BIGINT),
-1)

-- name: graph_end_after
SELECT at, commit_ts, position FROM (SELECT at, commit_ts, position FROM memoranda.graph_statement
WHERE (object_root = :object AND subject_root = :subject AND relation = :relation AND asserts = 0
AND bound = 9223372036854775807 AND (at, commit_ts, position) > (:at, :commit_ts, :position) AND
until_commit = 9223372036854775807) AND graph_statement.store_id = :store_id ORDER BY at, commit_ts,
position LIMIT 1) AS of_object UNION ALL SELECT at, commit_ts, position FROM (SELECT at, commit_ts,
position FROM memoranda.graph_statement WHERE (object_root = 0 AND subject_root = :subject AND
relation = :relation AND asserts = 0 AND bound = 9223372036854775807 AND (at, commit_ts, position) >
(:at, :commit_ts, :position) AND until_commit = 9223372036854775807) AND graph_statement.store_id =
:store_id ORDER BY at, commit_ts, position LIMIT 1) AS of_any ORDER BY at NULLS FIRST, commit_ts
NULLS FIRST, position NULLS FIRST LIMIT 1

-- name: graph_end_before
SELECT at FROM (SELECT at, commit_ts, position FROM memoranda.graph_statement WHERE (object_root =
:object AND subject_root = :subject AND relation = :relation AND asserts = 0 AND bound =
9223372036854775807 AND (at, commit_ts, position) < (:at, :commit_ts, :position) AND until_commit =
9223372036854775807) AND graph_statement.store_id = :store_id ORDER BY at DESC, commit_ts DESC,
position DESC LIMIT 1) AS of_object UNION ALL SELECT at FROM (SELECT at, commit_ts, position FROM
memoranda.graph_statement WHERE (object_root = 0 AND subject_root = :subject AND relation =
:relation AND asserts = 0 AND bound = 9223372036854775807 AND (at, commit_ts, position) < (:at,
:commit_ts, :position) AND until_commit = 9223372036854775807) AND graph_statement.store_id =
:store_id ORDER BY at DESC, commit_ts DESC, position DESC LIMIT 1) AS of_any ORDER BY at DESC NULLS
LAST LIMIT 1

-- name: graph_ended_objects_move
UPDATE memoranda.graph_statement SET object = :new_id, object_root = :new_id WHERE id IN (SELECT id
FROM memoranda.graph_statement WHERE (asserts = 0 AND object = :id) AND graph_statement.store_id =
:store_id) AND graph_statement.store_id = :store_id

-- name: graph_entities_page
SELECT node.id FROM memoranda.graph_node AS node WHERE (node.scope_id = :graph AND node.kind =
'entity' AND node.id > :after AND node.commit_ts <= :as_of_commit AND COALESCE((SELECT past.root
FROM memoranda.graph_root AS past WHERE (past.node = node.id AND past.until_commit > :as_of_commit)
AND past.store_id = :store_id ORDER BY past.until_commit LIMIT 1), node.root) = node.id) AND
node.store_id = :store_id ORDER BY node.id LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: graph_entity_size
WITH entity AS (SELECT node.root AS id FROM memoranda.graph_node AS node WHERE (node.scope_id =
:graph AND node.kind = 'entity' AND node.key = :key) AND node.store_id = :store_id), other AS
(SELECT node.root AS id FROM memoranda.graph_node AS node WHERE (node.scope_id = :graph AND
node.kind = 'entity' AND node.key = :into) AND node.store_id = :store_id), touched AS (SELECT
statement.subject_root AS subject, statement.relation FROM entity JOIN memoranda.graph_statement AS
statement ON statement.subject_root = entity.id AND statement.store_id = :store_id UNION SELECT
other.id, statement.relation FROM entity JOIN memoranda.graph_statement AS statement ON
statement.subject_root = entity.id AND statement.store_id = :store_id JOIN other ON TRUE UNION
SELECT edge.subject, edge.relation FROM entity JOIN memoranda.graph_edge AS edge ON edge.object =
entity.id AND edge.store_id = :store_id UNION SELECT statement.subject_root, statement.relation FROM
entity JOIN memoranda.graph_statement AS statement ON (statement.object_root = entity.id AND
statement.asserts = 0 AND statement.bound = 9223372036854775807 AND statement.until_commit =
9223372036854775807) AND statement.store_id = :store_id) SELECT COUNT(*) FROM touched JOIN
memoranda.graph_statement AS statement ON (statement.subject_root = touched.subject AND
statement.relation = touched.relation) AND statement.store_id = :store_id

-- name: graph_names_at
SELECT named.root, node.id, node.key, node.name, event.committed_at FROM (SELECT node.id AS node,
item.value AS root FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS BIGINT) AS
value FROM JSONB_ARRAY_ELEMENTS(CAST(:ids AS JSONB)) WITH ORDINALITY AS list(element, place)) AS
item JOIN LATERAL (SELECT node.* FROM memoranda.graph_node AS node WHERE node.root = item.value AND
node.store_id = :store_id OFFSET 0) AS node ON TRUE WHERE NOT EXISTS(SELECT 1 FROM
memoranda.graph_root AS past WHERE (past.node = node.id AND past.until_commit > :as_of_commit) AND
past.store_id = :store_id) UNION ALL SELECT past.node, past.root FROM (SELECT list.place - 1 AS key,
CAST(list.element #>> '{}' AS BIGINT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:ids AS JSONB)) WITH
ORDINALITY AS list(element, place)) AS item JOIN LATERAL (SELECT past.* FROM memoranda.graph_root AS
past WHERE (past.root = item.value AND past.until_commit > :as_of_commit) AND past.store_id =
:store_id OFFSET 0) AS past ON TRUE WHERE NOT EXISTS(SELECT 1 FROM memoranda.graph_root AS sooner
WHERE (sooner.node = past.node AND sooner.until_commit > :as_of_commit AND sooner.until_commit <
past.until_commit) AND sooner.store_id = :store_id)) AS named JOIN LATERAL (SELECT node.* FROM
memoranda.graph_node AS node WHERE node.id = named.node AND node.store_id = :store_id OFFSET 0) AS
node ON TRUE JOIN LATERAL (SELECT event.* FROM memoranda.event WHERE event.commit_ts =
node.commit_ts AND event.store_id = :store_id OFFSET 0) AS event ON TRUE WHERE node.commit_ts <=
:as_of_commit ORDER BY named.root NULLS FIRST, node.id

-- name: graph_names_of_entity
SELECT other.key, other.name FROM memoranda.graph_node AS node JOIN memoranda.graph_node AS other ON
other.root = node.root AND other.store_id = :store_id WHERE (node.scope_id = :scope_id AND node.kind
= :kind AND node.key = :key) AND node.store_id = :store_id ORDER BY other.id

-- name: graph_namespaces_below
SELECT DISTINCT scope.namespace FROM memoranda.scope JOIN memoranda.graph_node AS node ON
node.scope_id = scope.id AND node.store_id = :store_id WHERE SUBSTRING(scope.namespace || '/' FROM 1
FOR LENGTH(:namespace) + 1) = :namespace || '/' AND scope.store_id = :store_id ORDER BY
scope.namespace

-- name: graph_node_add
INSERT INTO memoranda.graph_node (store_id, id, scope_id, kind, key, name, root, commit_ts) VALUES
(:store_id, :id, :scope_id, :kind, :key, :name, :id, :commit_ts)

-- name: graph_node_any
SELECT 1 FROM memoranda.graph_node WHERE graph_node.store_id = :store_id LIMIT 1

-- name: graph_node_at
SELECT COALESCE((SELECT past.root FROM memoranda.graph_root AS past WHERE (past.node = node.id AND
past.until_commit > :as_of_commit) AND past.store_id = :store_id ORDER BY past.until_commit LIMIT
1), node.root) FROM memoranda.graph_node AS node WHERE (node.scope_id = :scope_id AND node.kind =
:kind AND node.key = :key AND node.commit_ts <= :as_of_commit) AND node.store_id = :store_id

-- name: graph_node_before
SELECT MAX(node.id) FROM memoranda.graph_node AS node WHERE (node.scope_id = (SELECT own.scope_id
FROM memoranda.graph_node AS own WHERE own.id = :id AND own.store_id = :store_id) AND node.id <> :id
AND (node.commit_ts < :commit_ts OR (node.commit_ts = :commit_ts AND EXISTS(SELECT 1 FROM (SELECT
list.place - 1 AS key, CAST(list.element ->> 0 AS TEXT) AS element_0, CAST(list.element ->> 1 AS
TEXT) AS element_1 FROM JSONB_ARRAY_ELEMENTS(CAST(:earlier AS JSONB)) WITH ORDINALITY AS
list(element, place)) AS item WHERE item.element_0 = node.kind AND item.element_1 = node.key)))) AND
node.store_id = :store_id HAVING NOT MAX(node.id) IS NULL

-- name: graph_node_clear
DELETE FROM memoranda.graph_node WHERE graph_node.store_id = :store_id

-- name: graph_node_drop
DELETE FROM memoranda.graph_node WHERE id = :id AND graph_node.store_id = :store_id

-- name: graph_node_find
SELECT id, root FROM memoranda.graph_node WHERE (scope_id = :scope_id AND kind = :kind AND key =
:key) AND graph_node.store_id = :store_id

-- name: graph_node_first_commit
SELECT node.commit_ts FROM memoranda.scope JOIN memoranda.graph_node AS node ON (node.scope_id =
scope.id AND node.kind = :kind AND node.key = :key) AND node.store_id = :store_id WHERE
(scope.agent_id = :agent_id AND scope.namespace = :namespace) AND scope.store_id = :store_id

-- name: graph_node_first_mention
SELECT MIN(commit_ts) FROM (SELECT MIN(commit_ts) AS commit_ts FROM memoranda.graph_statement WHERE
subject_root = :id AND graph_statement.store_id = :store_id UNION ALL SELECT MIN(commit_ts) FROM
memoranda.graph_statement WHERE (object = :id AND asserts = 1) AND graph_statement.store_id =
:store_id UNION ALL SELECT MIN(commit_ts) FROM memoranda.graph_statement WHERE relation = :id AND
graph_statement.store_id = :store_id UNION ALL SELECT MIN(commit_ts) FROM memoranda.graph_statement
WHERE (asserts = 0 AND object = :id) AND graph_statement.store_id = :store_id) HAVING NOT
MIN(commit_ts) IS NULL

-- name: graph_node_get
SELECT kind, key, commit_ts FROM memoranda.graph_node WHERE id = :id AND graph_node.store_id =
:store_id

-- name: graph_node_last
SELECT COALESCE(MAX(id), 0) FROM memoranda.graph_node WHERE graph_node.store_id = :store_id

-- name: graph_node_merged
SELECT 1 FROM memoranda.graph_node AS node WHERE (node.id = :id AND (node.root <> node.id OR
EXISTS(SELECT 1 FROM memoranda.graph_node AS other WHERE (other.root = :id AND other.id <> :id) AND
other.store_id = :store_id) OR EXISTS(SELECT 1 FROM memoranda.graph_root WHERE graph_root.node = :id
AND graph_root.store_id = :store_id) OR EXISTS(SELECT 1 FROM memoranda.graph_root WHERE
graph_root.root = :id AND graph_root.store_id = :store_id))) AND node.store_id = :store_id

-- name: graph_node_move
UPDATE memoranda.graph_node SET id = :new_id, root = :new_id, name = :name, commit_ts = :commit_ts
WHERE id = :id AND graph_node.store_id = :store_id

-- name: graph_node_next
SELECT id FROM memoranda.graph_node WHERE id > :id AND graph_node.store_id = :store_id ORDER BY id
LIMIT 1

-- name: graph_node_rows
SELECT COALESCE(scope.namespace, shared.namespace) AS namespace, scope.agent_id, node.kind,
node.key, node.name, root.scope_id = node.scope_id AS root_here, root.kind AS root_kind, root.key AS
root, node.commit_ts FROM memoranda.graph_node AS node LEFT JOIN memoranda.scope ON scope.id =
node.scope_id AND scope.store_id = :store_id LEFT JOIN memoranda.graph_shared AS shared ON shared.id
= node.scope_id AND shared.store_id = :store_id LEFT JOIN memoranda.graph_node AS root ON root.id =
node.root AND root.store_id = :store_id WHERE node.store_id = :store_id ORDER BY 1, scope.agent_id
NULLS FIRST, node.id

-- name: graph_nodes
SELECT node.id, node.kind, node.key, node.name FROM (SELECT list.place - 1 AS key, CAST(list.element
#>> '{}' AS BIGINT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:ids AS JSONB)) WITH ORDINALITY AS
list(element, place)) AS item JOIN LATERAL (SELECT node.* FROM memoranda.graph_node AS node WHERE
node.id = item.value AND node.store_id = :store_id OFFSET 0) AS node ON TRUE

-- name: graph_nodes_in
SELECT node.id FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS BIGINT) AS value
FROM JSONB_ARRAY_ELEMENTS(CAST(:ids AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item JOIN
LATERAL (SELECT node.* FROM memoranda.graph_node AS node WHERE node.id = item.value AND
node.store_id = :store_id OFFSET 0) AS node ON TRUE WHERE node.scope_id = :graph

-- name: graph_nodes_named
SELECT scope.namespace, scope.agent_id, scope.id, node.key, COALESCE((SELECT past.root FROM
memoranda.graph_root AS past WHERE (past.node = node.id AND past.until_commit > :as_of_commit) AND
past.store_id = :store_id ORDER BY past.until_commit LIMIT 1), node.root) FROM memoranda.scope CROSS
JOIN (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value FROM
JSONB_ARRAY_ELEMENTS(CAST(:names AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item JOIN
LATERAL (SELECT node.* FROM memoranda.graph_node AS node WHERE (node.scope_id = scope.id AND
node.kind = 'entity' AND node.key = item.value) AND node.store_id = :store_id OFFSET 0) AS node ON
TRUE WHERE (scope.namespace IN (SELECT item.value FROM (SELECT list.place - 1 AS key,
CAST(list.element #>> '{}' AS TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:namespaces AS JSONB))
WITH ORDINALITY AS list(element, place)) AS item) AND (CAST(:agent_id AS TEXT) IS NULL OR
scope.agent_id = :agent_id) AND node.commit_ts <= :as_of_commit) AND scope.store_id = :store_id
ORDER BY node.id LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: graph_nodes_point
UPDATE memoranda.graph_node SET root = :into WHERE root = :entity AND graph_node.store_id =
:store_id

-- name: graph_nodes_private
SELECT node.id FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS BIGINT) AS value
FROM JSONB_ARRAY_ELEMENTS(CAST(:ids AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item JOIN
LATERAL (SELECT node.* FROM memoranda.graph_node AS node WHERE node.id = item.value AND
node.store_id = :store_id OFFSET 0) AS node ON TRUE WHERE EXISTS(SELECT 1 FROM
memoranda.graph_statement AS statement WHERE (statement.private > 0 AND statement.private =
node.scope_id AND (statement.subject = node.id OR statement.object = node.id)) AND
statement.store_id = :store_id) AND NOT EXISTS(SELECT 1 FROM memoranda.graph_statement AS statement
WHERE (statement.subject_root = node.root AND statement.private = 0) AND statement.store_id =
:store_id) AND NOT EXISTS(SELECT 1 FROM memoranda.graph_statement AS statement WHERE
(statement.object = node.id AND statement.asserts = 1 AND statement.private = 0) AND
statement.store_id = :store_id) AND NOT EXISTS(SELECT 1 FROM memoranda.graph_root AS past WHERE
(past.root = node.id OR past.node = node.id) AND past.store_id = :store_id)

-- name: graph_objects_move
UPDATE memoranda.graph_statement SET object = :new_id, object_root = :new_id WHERE (object = :id AND
asserts = 1) AND graph_statement.store_id = :store_id

-- name: graph_objects_point
UPDATE memoranda.graph_statement SET object_root = :into WHERE (subject_root = :subject AND relation
= :relation AND object_root = :entity) AND graph_statement.store_id = :store_id

-- name: graph_private_any
SELECT 1 FROM memoranda.graph_statement WHERE (private > 0 AND private = :scope_id) AND
graph_statement.store_id = :store_id LIMIT 1

-- name: graph_private_assertions
SELECT statement.assertion_id, subject.key, object.kind, object.key FROM memoranda.graph_statement
AS statement JOIN memoranda.graph_node AS subject ON subject.id = statement.subject AND
subject.store_id = :store_id JOIN memoranda.graph_node AS relation ON relation.id =
statement.relation AND relation.store_id = :store_id JOIN memoranda.graph_node AS object ON
object.id = statement.object AND object.store_id = :store_id WHERE (statement.private > 0 AND
statement.private = :scope_id AND relation.key = :relation AND statement.asserts = 1 AND
statement.until_commit = 9223372036854775807) AND statement.store_id = :store_id ORDER BY
statement.commit_ts, statement.position

-- name: graph_private_changed
SELECT 1 FROM memoranda.graph_statement AS statement JOIN memoranda.graph_node AS relation ON
relation.id = statement.relation AND relation.store_id = :store_id WHERE (statement.private > 0 AND
statement.private = :scope_id AND relation.key = :relation AND (statement.commit_ts > :since OR
(statement.until_commit > :since AND statement.until_commit < 9223372036854775807))) AND
statement.store_id = :store_id LIMIT 1

-- name: graph_private_entities_page
SELECT node.id FROM memoranda.graph_node AS node WHERE (node.scope_id = :overlay AND node.kind =
'entity' AND node.id > :after AND node.commit_ts <= :as_of_commit AND NOT EXISTS(SELECT 1 FROM
memoranda.graph_node AS twin WHERE (twin.scope_id = :graph AND twin.kind = node.kind AND twin.key =
node.key AND twin.commit_ts <= :as_of_commit) AND twin.store_id = :store_id)) AND node.store_id =
:store_id ORDER BY node.id LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: graph_private_statements_as_of
WITH named AS (SELECT node.kind, node.key, item.value AS root FROM (SELECT list.place - 1 AS key,
CAST(list.element #>> '{}' AS BIGINT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:subjects AS JSONB))
WITH ORDINALITY AS list(element, place)) AS item JOIN LATERAL (SELECT node.* FROM
memoranda.graph_node AS node WHERE node.root = item.value AND node.store_id = :store_id OFFSET 0) AS
node ON TRUE WHERE node.commit_ts <= :as_of_commit AND NOT EXISTS(SELECT 1 FROM memoranda.graph_root
AS past WHERE (past.node = node.id AND past.until_commit > :as_of_commit) AND past.store_id =
:store_id) UNION ALL SELECT node.kind, node.key, past.root FROM (SELECT list.place - 1 AS key,
CAST(list.element #>> '{}' AS BIGINT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:subjects AS JSONB))
WITH ORDINALITY AS list(element, place)) AS item JOIN LATERAL (SELECT past.* FROM
memoranda.graph_root AS past WHERE (past.root = item.value AND past.until_commit > :as_of_commit)
AND past.store_id = :store_id OFFSET 0) AS past ON TRUE JOIN LATERAL (SELECT node.* FROM
memoranda.graph_node AS node WHERE (node.id = past.node AND node.commit_ts <= :as_of_commit) AND
node.store_id = :store_id OFFSET 0) AS node ON TRUE WHERE NOT EXISTS(SELECT 1 FROM
memoranda.graph_root AS sooner WHERE (sooner.node = past.node AND sooner.until_commit >
:as_of_commit AND sooner.until_commit < past.until_commit) AND sooner.store_id = :store_id)) SELECT
named.root, COALESCE((SELECT COALESCE((SELECT past.root FROM memoranda.graph_root AS past WHERE
(past.node = twin.id AND past.until_commit > :as_of_commit) AND past.store_id = :store_id ORDER BY
past.until_commit LIMIT 1), twin.root) FROM memoranda.graph_node AS name JOIN memoranda.graph_node
AS twin ON (twin.scope_id = :graph AND twin.kind = name.kind AND twin.key = name.key AND
twin.commit_ts <= :as_of_commit) AND twin.store_id = :store_id WHERE name.id = statement.relation
AND name.store_id = :store_id), statement.relation), statement.at, statement.commit_ts,
statement.position, statement.asserts, NULLIF(COALESCE((SELECT COALESCE((SELECT past.root FROM
memoranda.graph_root AS past WHERE (past.node = twin.id AND past.until_commit > :as_of_commit) AND
past.store_id = :store_id ORDER BY past.until_commit LIMIT 1), twin.root) FROM memoranda.graph_node
AS name JOIN memoranda.graph_node AS twin ON (twin.scope_id = :graph AND twin.kind = name.kind AND
twin.key = name.key AND twin.commit_ts <= :as_of_commit) AND twin.store_id = :store_id WHERE name.id
= statement.object AND name.store_id = :store_id), statement.object), 0), statement.assertion_id,
statement.committed_at, statement.confidence, statement.source, statement.bound, (SELECT
scope.agent_id FROM memoranda.scope WHERE scope.id = :overlay AND scope.store_id = :store_id), CASE
WHEN (SELECT LENGTH(salts) % 16 = 0 FROM memoranda.event WHERE commit_ts = 1 AND event.store_id =
:store_id) THEN EXISTS(SELECT 1 FROM memoranda.erased JOIN memoranda.event ON event.commit_ts =
erased.commit_ts AND event.store_id = :store_id WHERE (erased.commit_ts = statement.commit_ts AND
erased.position = statement.position AND LENGTH(event.salts) % 16 = 0) AND erased.store_id =
:store_id) ELSE FALSE END FROM named JOIN memoranda.graph_node AS own ON (own.scope_id = :overlay
AND own.kind = named.kind AND own.key = named.key) AND own.store_id = :store_id JOIN
memoranda.graph_statement AS statement ON (statement.private > 0 AND statement.private = :overlay
AND statement.subject = own.id) AND statement.store_id = :store_id WHERE statement.commit_ts <=
:as_of_commit AND statement.until_commit > :as_of_commit

-- name: graph_private_subjects_naming
WITH named AS (SELECT node.kind, node.key, item.value AS root FROM (SELECT list.place - 1 AS key,
CAST(list.element #>> '{}' AS BIGINT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:objects AS JSONB))
WITH ORDINALITY AS list(element, place)) AS item JOIN LATERAL (SELECT node.* FROM
memoranda.graph_node AS node WHERE node.root = item.value AND node.store_id = :store_id OFFSET 0) AS
node ON TRUE WHERE node.commit_ts <= :as_of_commit AND NOT EXISTS(SELECT 1 FROM memoranda.graph_root
AS past WHERE (past.node = node.id AND past.until_commit > :as_of_commit) AND past.store_id =
:store_id) UNION ALL SELECT node.kind, node.key, past.root FROM (SELECT list.place - 1 AS key,
CAST(list.element #>> '{}' AS BIGINT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:objects AS JSONB))
WITH ORDINALITY AS list(element, place)) AS item JOIN LATERAL (SELECT past.* FROM
memoranda.graph_root AS past WHERE (past.root = item.value AND past.until_commit > :as_of_commit)
AND past.store_id = :store_id OFFSET 0) AS past ON TRUE JOIN LATERAL (SELECT node.* FROM
memoranda.graph_node AS node WHERE (node.id = past.node AND node.commit_ts <= :as_of_commit) AND
node.store_id = :store_id OFFSET 0) AS node ON TRUE WHERE NOT EXISTS(SELECT 1 FROM
memoranda.graph_root AS sooner WHERE (sooner.node = past.node AND sooner.until_commit >
:as_of_commit AND sooner.until_commit < past.until_commit) AND sooner.store_id = :store_id)) SELECT
DISTINCT COALESCE((SELECT COALESCE((SELECT past.root FROM memoranda.graph_root AS past WHERE
(past.node = twin.id AND past.until_commit > :as_of_commit) AND past.store_id = :store_id ORDER BY
past.until_commit LIMIT 1), twin.root) FROM memoranda.graph_node AS name JOIN memoranda.graph_node
AS twin ON (twin.scope_id = :graph AND twin.kind = name.kind AND twin.key = name.key AND
twin.commit_ts <= :as_of_commit) AND twin.store_id = :store_id WHERE name.id = statement.subject AND
name.store_id = :store_id), statement.subject) FROM named JOIN memoranda.graph_node AS own ON
(own.scope_id = :overlay AND own.kind = named.kind AND own.key = named.key) AND own.store_id =
:store_id JOIN memoranda.graph_statement AS statement ON (statement.object = own.id AND
statement.asserts = 1) AND statement.store_id = :store_id WHERE statement.private > 0 AND
statement.private = :overlay AND statement.commit_ts <= :as_of_commit AND statement.until_commit >
:as_of_commit

-- name: graph_relation_scope
SELECT COALESCE(scope.namespace, shared.namespace), node.key FROM memoranda.graph_node AS node LEFT
JOIN memoranda.scope ON scope.id = node.scope_id AND scope.store_id = :store_id LEFT JOIN
memoranda.graph_shared AS shared ON shared.id = node.scope_id AND shared.store_id = :store_id WHERE
node.id = :relation AND node.store_id = :store_id

-- name: graph_relation_size
SELECT COUNT(*) FROM (SELECT id FROM memoranda.scope WHERE namespace = :namespace AND scope.store_id
= :store_id UNION ALL SELECT id FROM memoranda.graph_shared WHERE namespace = :namespace AND
graph_shared.store_id = :store_id) AS graph JOIN LATERAL (SELECT relation.* FROM
memoranda.graph_node AS relation WHERE (relation.scope_id = graph.id AND relation.kind = 'relation'
AND relation.key = :relation) AND relation.store_id = :store_id OFFSET 0) AS relation ON TRUE JOIN
LATERAL (SELECT subject.* FROM memoranda.graph_node AS subject WHERE subject.scope_id = graph.id AND
subject.store_id = :store_id OFFSET 0) AS subject ON TRUE JOIN LATERAL (SELECT statement.* FROM
memoranda.graph_statement AS statement WHERE (statement.subject_root = subject.id AND
statement.relation = relation.id) AND statement.store_id = :store_id OFFSET 0) AS statement ON TRUE

-- name: graph_relation_used
SELECT 1 FROM memoranda.scope JOIN memoranda.graph_node AS relation ON (relation.scope_id = scope.id
AND relation.kind = 'relation' AND relation.key = :relation) AND relation.store_id = :store_id JOIN
memoranda.graph_node AS subject ON subject.scope_id = scope.id AND subject.store_id = :store_id JOIN
memoranda.graph_statement AS statement ON (statement.subject_root = subject.id AND
statement.relation = relation.id) AND statement.store_id = :store_id WHERE scope.namespace =
:namespace AND scope.store_id = :store_id LIMIT 1

-- name: graph_root_clear
DELETE FROM memoranda.graph_root WHERE graph_root.store_id = :store_id

-- name: graph_root_key
SELECT root.key FROM memoranda.graph_node AS node JOIN memoranda.graph_node AS root ON root.id =
COALESCE((SELECT past.root FROM memoranda.graph_root AS past WHERE (past.node = node.id AND
past.until_commit > :as_of_commit) AND past.store_id = :store_id ORDER BY past.until_commit LIMIT
1), node.root) AND root.store_id = :store_id WHERE (node.scope_id = :graph AND node.kind = 'entity'
AND node.key = :key AND node.commit_ts <= :as_of_commit) AND node.store_id = :store_id

-- name: graph_root_rows
SELECT COALESCE(scope.namespace, shared.namespace) AS namespace, scope.agent_id, node.kind,
node.key, graph_root.until_commit, root.scope_id = node.scope_id AS root_here, root.kind AS
root_kind, root.key AS root FROM memoranda.graph_root LEFT JOIN memoranda.graph_node AS node ON
node.id = graph_root.node AND node.store_id = :store_id LEFT JOIN memoranda.graph_node AS root ON
root.id = graph_root.root AND root.store_id = :store_id LEFT JOIN memoranda.scope ON scope.id =
node.scope_id AND scope.store_id = :store_id LEFT JOIN memoranda.graph_shared AS shared ON shared.id
= node.scope_id AND shared.store_id = :store_id WHERE graph_root.store_id = :store_id ORDER BY 1,
scope.agent_id NULLS FIRST, node.kind NULLS FIRST, node.key, graph_root.until_commit

-- name: graph_roots_keep
INSERT INTO memoranda.graph_root (store_id, node, until_commit, root) SELECT :store_id, id,
:commit_ts, root FROM memoranda.graph_node WHERE root = :entity AND graph_node.store_id = :store_id
ON CONFLICT(store_id, node, until_commit) DO NOTHING

-- name: graph_roots_last_change
SELECT past.until_commit FROM memoranda.graph_root AS past JOIN memoranda.graph_node AS node ON
node.id = past.node AND node.store_id = :store_id JOIN memoranda.scope ON scope.id = node.scope_id
AND scope.store_id = :store_id WHERE (scope.agent_id = :agent_id AND scope.namespace = :namespace)
AND past.store_id = :store_id ORDER BY past.until_commit DESC LIMIT 1

-- name: graph_scope_edges
DELETE FROM memoranda.graph_edge WHERE subject IN (SELECT id FROM memoranda.graph_node WHERE
scope_id = :scope_id AND graph_node.store_id = :store_id) AND graph_edge.store_id = :store_id

-- name: graph_scope_ids
SELECT id FROM memoranda.scope WHERE namespace = :namespace AND scope.store_id = :store_id ORDER BY
id

-- name: graph_scope_nodes
DELETE FROM memoranda.graph_node WHERE scope_id = :scope_id AND graph_node.store_id = :store_id

-- name: graph_scope_roots
DELETE FROM memoranda.graph_root WHERE node IN (SELECT id FROM memoranda.graph_node WHERE scope_id =
:scope_id AND graph_node.store_id = :store_id) AND graph_root.store_id = :store_id

-- name: graph_scope_statements
DELETE FROM memoranda.graph_statement WHERE subject_root IN (SELECT id FROM memoranda.graph_node
WHERE scope_id = :scope_id AND graph_node.store_id = :store_id) AND graph_statement.store_id =
:store_id

-- name: graph_scopes_of_namespace
SELECT scope.agent_id FROM memoranda.scope WHERE (scope.namespace = :namespace AND EXISTS(SELECT 1
FROM memoranda.graph_node AS node WHERE node.scope_id = scope.id AND node.store_id = :store_id)) AND
scope.store_id = :store_id ORDER BY scope.agent_id

-- name: graph_shared_add
INSERT INTO memoranda.graph_shared (store_id, id, namespace) SELECT :store_id, COALESCE(MIN(id), 0)
- 1, :namespace FROM memoranda.graph_shared WHERE graph_shared.store_id = :store_id

-- name: graph_shared_clear
DELETE FROM memoranda.graph_shared WHERE graph_shared.store_id = :store_id

-- name: graph_shared_drop
DELETE FROM memoranda.graph_shared WHERE namespace = :namespace AND graph_shared.store_id =
:store_id

-- name: graph_shared_find
SELECT id FROM memoranda.graph_shared WHERE namespace = :namespace AND graph_shared.store_id =
:store_id

-- name: graph_shared_nodes_named
SELECT graph_shared.namespace, '', graph_shared.id, node.key, COALESCE((SELECT past.root FROM
memoranda.graph_root AS past WHERE (past.node = node.id AND past.until_commit > :as_of_commit) AND
past.store_id = :store_id ORDER BY past.until_commit LIMIT 1), node.root) FROM
memoranda.graph_shared CROSS JOIN (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT)
AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:names AS JSONB)) WITH ORDINALITY AS list(element, place))
AS item JOIN LATERAL (SELECT node.* FROM memoranda.graph_node AS node WHERE (node.scope_id =
graph_shared.id AND node.kind = 'entity' AND node.key = item.value) AND node.store_id = :store_id
OFFSET 0) AS node ON TRUE WHERE (graph_shared.namespace IN (SELECT item.value FROM (SELECT
list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value FROM
JSONB_ARRAY_ELEMENTS(CAST(:namespaces AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item)
AND node.commit_ts <= :as_of_commit) AND graph_shared.store_id = :store_id ORDER BY node.id LIMIT
NULLIF(CAST(:limit AS BIGINT), -1)

-- name: graph_shared_rows
SELECT namespace FROM memoranda.graph_shared WHERE graph_shared.store_id = :store_id ORDER BY
namespace

-- name: graph_sharing_any
SELECT 1 FROM memoranda.graph_sharing WHERE shared = 1 AND graph_sharing.store_id = :store_id LIMIT
1

-- name: graph_sharing_at
SELECT shared, (SELECT id FROM memoranda.graph_shared WHERE graph_shared.namespace = :namespace AND
graph_shared.store_id = :store_id) FROM memoranda.graph_sharing WHERE (commit_ts <= :as_of_commit
AND SUBSTRING(:namespace || '/' FROM 1 FOR LENGTH(namespace) + 1) = namespace || '/') AND
graph_sharing.store_id = :store_id ORDER BY LENGTH(namespace) DESC NULLS LAST, commit_ts DESC LIMIT
1

-- name: graph_sharing_changed
SELECT 1 FROM memoranda.graph_sharing WHERE (commit_ts > :since AND SUBSTRING(:namespace || '/' FROM
1 FOR LENGTH(namespace) + 1) = namespace || '/') AND graph_sharing.store_id = :store_id LIMIT 1

-- name: graph_sharing_clear
DELETE FROM memoranda.graph_sharing WHERE graph_sharing.store_id = :store_id

-- name: graph_sharing_drop
DELETE FROM memoranda.graph_sharing WHERE namespace = :namespace AND graph_sharing.store_id =
:store_id

-- name: graph_sharing_ever
SELECT 1 FROM memoranda.graph_sharing WHERE (shared = 1 AND SUBSTRING(:namespace || '/' FROM 1 FOR
LENGTH(namespace) + 1) = namespace || '/') AND graph_sharing.store_id = :store_id LIMIT 1

-- name: graph_sharing_own
SELECT shared FROM memoranda.graph_sharing WHERE namespace = :namespace AND graph_sharing.store_id =
:store_id ORDER BY commit_ts DESC LIMIT 1

-- name: graph_sharing_put
INSERT INTO memoranda.graph_sharing (store_id, namespace, commit_ts, shared) VALUES (:store_id,
:namespace, :commit_ts, :shared) ON CONFLICT(store_id, namespace, commit_ts) DO UPDATE SET shared =
excluded.shared

-- name: graph_sharing_rows
SELECT namespace, commit_ts, shared FROM memoranda.graph_sharing WHERE graph_sharing.store_id =
:store_id ORDER BY namespace, commit_ts

-- name: graph_sharing_size
SELECT COUNT(*) FROM memoranda.scope JOIN memoranda.graph_node AS subject ON subject.scope_id =
scope.id AND subject.store_id = :store_id JOIN memoranda.graph_statement AS statement ON
(statement.subject_root = subject.id AND statement.private = 0) AND statement.store_id = :store_id
WHERE SUBSTRING(scope.namespace || '/' FROM 1 FOR LENGTH(:namespace) + 1) = :namespace || '/' AND
scope.store_id = :store_id

-- name: graph_singles_at
SELECT relation.id FROM memoranda.graph_cardinality AS cardinality JOIN memoranda.graph_node AS
relation ON (relation.scope_id IN (:graph, :overlay) AND relation.kind = 'relation' AND relation.key
= cardinality.relation) AND relation.store_id = :store_id WHERE (cardinality.namespace = :namespace
AND cardinality.single = 1 AND cardinality.commit_ts <= :as_of_commit AND cardinality.until_commit >
:as_of_commit) AND cardinality.store_id = :store_id

-- name: graph_statement_add
INSERT INTO memoranda.graph_statement (store_id, id, assertion_id, asserts, subject, relation,
object, subject_root, object_root, at, bound, commit_ts, position, committed_at, confidence, source,
private, author, until_commit, reason) VALUES (:store_id, (SELECT COALESCE(MAX(own.id), 0) + 1 FROM
memoranda.graph_statement AS own WHERE own.store_id = :store_id), :assertion_id, :asserts, :subject,
:relation, :object, :subject_root, :object_root, :at, :bound, :commit_ts, :position, :committed_at,
:confidence, :source, CASE WHEN :private = 1 THEN (SELECT scope_id FROM memoranda.graph_node WHERE
id = :subject AND graph_node.store_id = :store_id) ELSE 0 END, :author, 9223372036854775807, NULL)

-- name: graph_statement_bound
SELECT bound FROM memoranda.graph_statement WHERE (subject_root = :subject AND relation = :relation
AND asserts = 1 AND until_commit = 9223372036854775807 AND at = :at AND commit_ts = :commit_ts AND
position = :position) AND graph_statement.store_id = :store_id

-- name: graph_statement_by_position
SELECT id, subject, relation, object FROM memoranda.graph_statement WHERE (assertion_id =
:assertion_id AND commit_ts = :commit_ts AND position = :position) AND graph_statement.store_id =
:store_id

-- name: graph_statement_clear
DELETE FROM memoranda.graph_statement WHERE graph_statement.store_id = :store_id

-- name: graph_statement_drop
DELETE FROM memoranda.graph_statement WHERE (assertion_id = :assertion_id AND commit_ts = :commit_ts
AND position = :position) AND graph_statement.store_id = :store_id

-- name: graph_statement_get
SELECT subject_root, relation, until_commit, at, commit_ts, position, asserts, object_root, bound
FROM memoranda.graph_statement WHERE id = :id AND graph_statement.store_id = :store_id

-- name: graph_statement_keys
SELECT subject.key, relation.key FROM memoranda.graph_statement AS statement JOIN
memoranda.graph_node AS subject ON subject.id = statement.subject AND subject.store_id = :store_id
JOIN memoranda.graph_node AS relation ON relation.id = statement.relation AND relation.store_id =
:store_id WHERE (statement.assertion_id = :assertion_id AND statement.author = 0) AND
statement.store_id = :store_id

-- name: graph_statement_positions
SELECT commit_ts, position, until_commit FROM memoranda.graph_statement WHERE (assertion_id =
:assertion_id AND author = 0) AND graph_statement.store_id = :store_id

-- name: graph_statement_remove
DELETE FROM memoranda.graph_statement WHERE id = :id AND graph_statement.store_id = :store_id

-- name: graph_statement_rows
SELECT statement.commit_ts, statement.position, statement.asserts, statement.assertion_id,
COALESCE(scope.namespace, shared.namespace) AS namespace, scope.agent_id, statement.author = 0 AS
of_own_graph, author.namespace AS author_namespace, author.agent_id AS author, subject.kind AS
subject_kind, subject.key AS subject, relation.scope_id = subject.scope_id AS relation_here,
relation.kind AS relation_kind, relation.key AS relation, statement.object = 0 AS of_all,
object.scope_id = subject.scope_id AS object_here, object.kind AS object_kind, object.key AS object,
subject_root.scope_id = subject.scope_id AS subject_root_here, subject_root.key AS subject_root,
subject_root.kind AS subject_root_kind, statement.object_root = 0 AS of_all_roots,
object_root.scope_id = subject.scope_id AS object_root_here, object_root.key AS object_root,
object_root.kind AS object_root_kind, statement.at, statement.bound, statement.committed_at,
statement.confidence, statement.source, CASE statement.private WHEN 0 THEN 0 WHEN subject.scope_id
THEN 1 ELSE 2 END AS private, statement.until_commit, statement.reason FROM
memoranda.graph_statement AS statement LEFT JOIN memoranda.graph_node AS subject ON subject.id =
statement.subject AND subject.store_id = :store_id LEFT JOIN memoranda.scope ON scope.id =
subject.scope_id AND scope.store_id = :store_id LEFT JOIN memoranda.graph_shared AS shared ON
shared.id = subject.scope_id AND shared.store_id = :store_id LEFT JOIN memoranda.scope AS author ON
author.id = statement.author AND author.store_id = :store_id LEFT JOIN memoranda.graph_node AS
relation ON relation.id = statement.relation AND relation.store_id = :store_id LEFT JOIN
memoranda.graph_node AS subject_root ON subject_root.id = statement.subject_root AND
subject_root.store_id = :store_id LEFT JOIN memoranda.graph_node AS object ON object.id =
statement.object AND object.store_id = :store_id LEFT JOIN memoranda.graph_node AS object_root ON
object_root.id = statement.object_root AND object_root.store_id = :store_id WHERE statement.store_id
= :store_id ORDER BY statement.commit_ts, statement.position, statement.asserts,
statement.assertion_id, statement.author > 0 NULLS FIRST

-- name: graph_statement_withdraw
UPDATE memoranda.graph_statement SET until_commit = :commit_ts, reason = :reason WHERE id = :id AND
graph_statement.store_id = :store_id

-- name: graph_statements_as_of
WITH named AS (SELECT node.id AS node, node.root AS now, item.value AS root FROM (SELECT list.place
- 1 AS key, CAST(list.element #>> '{}' AS BIGINT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:subjects
AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item JOIN LATERAL (SELECT node.* FROM
memoranda.graph_node AS node WHERE node.root = item.value AND node.store_id = :store_id OFFSET 0) AS
node ON TRUE WHERE NOT EXISTS(SELECT 1 FROM memoranda.graph_root AS past WHERE (past.node = node.id
AND past.until_commit > :as_of_commit) AND past.store_id = :store_id) UNION ALL SELECT past.node,
node.root, past.root FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS BIGINT) AS
value FROM JSONB_ARRAY_ELEMENTS(CAST(:subjects AS JSONB)) WITH ORDINALITY AS list(element, place))
AS item JOIN LATERAL (SELECT past.* FROM memoranda.graph_root AS past WHERE (past.root = item.value
AND past.until_commit > :as_of_commit) AND past.store_id = :store_id OFFSET 0) AS past ON TRUE JOIN
LATERAL (SELECT node.* FROM memoranda.graph_node AS node WHERE node.id = past.node AND node.store_id
= :store_id OFFSET 0) AS node ON TRUE WHERE NOT EXISTS(SELECT 1 FROM memoranda.graph_root AS sooner
WHERE (sooner.node = past.node AND sooner.until_commit > :as_of_commit AND sooner.until_commit <
past.until_commit) AND sooner.store_id = :store_id)) SELECT named.root, statement.relation,
statement.at, statement.commit_ts, statement.position, statement.asserts, COALESCE((SELECT past.root
FROM memoranda.graph_root AS past WHERE (past.node = statement.object AND past.until_commit >
:as_of_commit) AND past.store_id = :store_id ORDER BY past.until_commit LIMIT 1), object.root),
statement.assertion_id, statement.committed_at, statement.confidence, statement.source,
statement.bound, (SELECT scope.agent_id FROM memoranda.scope WHERE scope.id = statement.author AND
scope.store_id = :store_id), CASE WHEN (SELECT LENGTH(salts) % 16 = 0 FROM memoranda.event WHERE
commit_ts = 1 AND event.store_id = :store_id) THEN EXISTS(SELECT 1 FROM memoranda.erased JOIN
memoranda.event ON event.commit_ts = erased.commit_ts AND event.store_id = :store_id WHERE
(erased.commit_ts = statement.commit_ts AND erased.position = statement.position AND
LENGTH(event.salts) % 16 = 0) AND erased.store_id = :store_id) ELSE FALSE END FROM named JOIN
memoranda.graph_statement AS statement ON (statement.subject_root = named.now AND statement.subject
= named.node) AND statement.store_id = :store_id LEFT JOIN memoranda.graph_node AS object ON
object.id = statement.object AND object.store_id = :store_id WHERE statement.commit_ts <=
:as_of_commit AND statement.until_commit > :as_of_commit AND (CAST(:relation AS BIGINT) IS NULL OR
statement.relation = :relation) AND (:public_only = 0 OR statement.private = 0) ORDER BY named.root
NULLS FIRST, statement.relation, statement.at, statement.commit_ts, statement.position

-- name: graph_statements_at
SELECT commit_ts, position, asserts, bound FROM (SELECT commit_ts, position, asserts, bound FROM
memoranda.graph_statement WHERE (subject_root = :subject AND relation = :relation AND asserts = 1
AND at = :at AND object_root = :object AND until_commit = 9223372036854775807 AND (commit_ts,
position) >= (:commit_ts, :position) AND (commit_ts, position) <= (:last_commit, :last_position))
AND graph_statement.store_id = :store_id UNION ALL SELECT commit_ts, position, asserts, bound FROM
memoranda.graph_statement WHERE (object_root IN (0, :object) AND subject_root = :subject AND
relation = :relation AND asserts = 0 AND bound = 9223372036854775807 AND at = :at AND until_commit =
9223372036854775807) AND graph_statement.store_id = :store_id) AS statement ORDER BY commit_ts NULLS
FIRST, position NULLS FIRST

-- name: graph_statements_live
SELECT id, subject_root, relation, at, commit_ts, position, asserts, object_root, bound FROM
memoranda.graph_statement WHERE (assertion_id = :assertion_id AND until_commit =
9223372036854775807) AND graph_statement.store_id = :store_id ORDER BY position

-- name: graph_subjects_move
UPDATE memoranda.graph_statement SET subject = :new_id, subject_root = :new_id WHERE subject_root =
:id AND graph_statement.store_id = :store_id

-- name: graph_subjects_naming
SELECT DISTINCT COALESCE((SELECT past.root FROM memoranda.graph_root AS past WHERE (past.node =
statement.subject AND past.until_commit > :as_of_commit) AND past.store_id = :store_id ORDER BY
past.until_commit LIMIT 1), statement.subject_root) FROM (SELECT node.id AS node FROM (SELECT
list.place - 1 AS key, CAST(list.element #>> '{}' AS BIGINT) AS value FROM
JSONB_ARRAY_ELEMENTS(CAST(:objects AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item JOIN
LATERAL (SELECT node.* FROM memoranda.graph_node AS node WHERE node.root = item.value AND
node.store_id = :store_id OFFSET 0) AS node ON TRUE WHERE NOT EXISTS(SELECT 1 FROM
memoranda.graph_root AS past WHERE (past.node = node.id AND past.until_commit > :as_of_commit) AND
past.store_id = :store_id) UNION SELECT past.node FROM (SELECT list.place - 1 AS key,
CAST(list.element #>> '{}' AS BIGINT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:objects AS JSONB))
WITH ORDINALITY AS list(element, place)) AS item JOIN LATERAL (SELECT past.* FROM
memoranda.graph_root AS past WHERE (past.root = item.value AND past.until_commit > :as_of_commit)
AND past.store_id = :store_id OFFSET 0) AS past ON TRUE WHERE NOT EXISTS(SELECT 1 FROM
memoranda.graph_root AS sooner WHERE (sooner.node = past.node AND sooner.until_commit >
:as_of_commit AND sooner.until_commit < past.until_commit) AND sooner.store_id = :store_id)) AS
named JOIN LATERAL (SELECT statement.* FROM memoranda.graph_statement AS statement WHERE
(statement.object = named.node AND statement.asserts = 1) AND statement.store_id = :store_id OFFSET
0) AS statement ON TRUE WHERE statement.commit_ts <= :as_of_commit AND statement.until_commit >
:as_of_commit AND (:public_only = 0 OR statement.private = 0)

-- name: graph_subjects_of_assertions
SELECT DISTINCT scope.namespace, scope.agent_id, scope.id, COALESCE((SELECT past.root FROM
memoranda.graph_root AS past WHERE (past.node = statement.subject AND past.until_commit >
:as_of_commit) AND past.store_id = :store_id ORDER BY past.until_commit LIMIT 1), subject.root) FROM
(SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value FROM
JSONB_ARRAY_ELEMENTS(CAST(:ids AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item JOIN
LATERAL (SELECT statement.* FROM memoranda.graph_statement AS statement WHERE
(statement.assertion_id = item.value AND statement.asserts = 1) AND statement.store_id = :store_id
OFFSET 0) AS statement ON TRUE JOIN LATERAL (SELECT subject.* FROM memoranda.graph_node AS subject
WHERE subject.id = statement.subject AND subject.store_id = :store_id OFFSET 0) AS subject ON TRUE
JOIN LATERAL (SELECT scope.* FROM memoranda.scope WHERE scope.id = subject.scope_id AND
scope.store_id = :store_id OFFSET 0) AS scope ON TRUE WHERE statement.commit_ts <= :as_of_commit AND
statement.until_commit > :as_of_commit

-- name: graph_subjects_point
UPDATE memoranda.graph_statement SET subject_root = :into WHERE subject_root = :entity AND
graph_statement.store_id = :store_id

-- name: graph_timeline_changed
SELECT 1 WHERE EXISTS(SELECT 1 FROM memoranda.graph_node AS relation JOIN memoranda.graph_node AS
subject ON (subject.scope_id = :graph AND subject.kind = 'entity' AND subject.key = :subject) AND
subject.store_id = :store_id JOIN memoranda.graph_statement AS statement ON (statement.subject_root
= subject.root AND statement.relation = relation.id) AND statement.store_id = :store_id WHERE
(relation.scope_id = :graph AND relation.kind = 'relation' AND relation.key = :relation AND
(statement.private = 0 OR :public_only = 0) AND (statement.commit_ts > :since OR
(statement.until_commit > :since AND statement.until_commit < 9223372036854775807))) AND
relation.store_id = :store_id) OR EXISTS(SELECT 1 FROM memoranda.graph_root WHERE
(graph_root.until_commit > :since AND (SELECT node.scope_id FROM memoranda.graph_node AS node WHERE
node.id = graph_root.node AND node.store_id = :store_id) = :graph) AND graph_root.store_id =
:store_id)

-- name: graph_timeline_changes
SELECT COALESCE(MAX(statement.commit_ts), 0), COALESCE(MAX(statement.commit_ts) FILTER(WHERE
statement.asserts = 0 AND statement.bound = 9223372036854775807), 0),
COALESCE(MAX(statement.until_commit) FILTER(WHERE statement.until_commit < 9223372036854775807), 0),
COALESCE((SELECT MAX(cardinality.commit_ts) FROM memoranda.graph_cardinality AS cardinality WHERE
(cardinality.namespace = :namespace AND cardinality.relation = :relation) AND cardinality.store_id =
:store_id), 0), COALESCE((SELECT cardinality.single FROM memoranda.graph_cardinality AS cardinality
WHERE (cardinality.namespace = :namespace AND cardinality.relation = :relation AND
cardinality.until_commit = 9223372036854775807) AND cardinality.store_id = :store_id), 0) FROM
memoranda.scope JOIN memoranda.graph_node AS subject ON (subject.scope_id = scope.id AND
subject.kind = 'entity' AND subject.key = :subject) AND subject.store_id = :store_id JOIN
memoranda.graph_node AS relation ON (relation.scope_id = scope.id AND relation.kind = 'relation' AND
relation.key = :relation) AND relation.store_id = :store_id JOIN memoranda.graph_statement AS
statement ON (statement.subject_root = subject.root AND statement.relation = relation.id) AND
statement.store_id = :store_id WHERE (scope.agent_id = :agent_id AND scope.namespace = :namespace)
AND scope.store_id = :store_id

-- name: graph_timeline_drop
DELETE FROM memoranda.graph_edge WHERE (subject = :subject AND relation = :relation) AND
graph_edge.store_id = :store_id

-- name: graph_timeline_short
SELECT at, commit_ts, position, asserts, object_root, bound, until_commit FROM
memoranda.graph_statement WHERE (subject_root = :subject AND relation = :relation) AND
graph_statement.store_id = :store_id LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: graph_timeline_size
SELECT COUNT(*) FROM memoranda.graph_statement WHERE (subject_root = :subject AND relation =
:relation AND asserts IN (0, 1) AND until_commit = 9223372036854775807) AND graph_statement.store_id
= :store_id

-- name: graph_timeline_statements
SELECT at, commit_ts, position, asserts, object_root, bound FROM memoranda.graph_statement WHERE
(subject_root = :subject AND relation = :relation AND asserts IN (0, 1) AND until_commit =
9223372036854775807) AND graph_statement.store_id = :store_id ORDER BY at, commit_ts, position

-- name: graph_timeline_withdrawn
SELECT DISTINCT statement.commit_ts, statement.position FROM memoranda.graph_statement AS other JOIN
memoranda.graph_statement AS statement ON (statement.subject_root = other.subject_root AND
statement.relation = other.relation) AND statement.store_id = :store_id WHERE (other.assertion_id =
:assertion_id AND statement.commit_ts <= :horizon AND statement.until_commit <= :horizon) AND
other.store_id = :store_id

-- name: graph_timelines_of_relation
SELECT DISTINCT statement.subject_root, statement.relation FROM (SELECT id FROM memoranda.scope
WHERE namespace = :namespace AND scope.store_id = :store_id UNION ALL SELECT id FROM
memoranda.graph_shared WHERE namespace = :namespace AND graph_shared.store_id = :store_id) AS graph
JOIN LATERAL (SELECT relation.* FROM memoranda.graph_node AS relation WHERE (relation.scope_id =
graph.id AND relation.kind = 'relation' AND relation.key = :relation) AND relation.store_id =
:store_id OFFSET 0) AS relation ON TRUE JOIN LATERAL (SELECT subject.* FROM memoranda.graph_node AS
subject WHERE subject.scope_id = graph.id AND subject.store_id = :store_id OFFSET 0) AS subject ON
TRUE JOIN LATERAL (SELECT statement.* FROM memoranda.graph_statement AS statement WHERE
(statement.subject_root = subject.id AND statement.relation = relation.id) AND statement.store_id =
:store_id OFFSET 0) AS statement ON TRUE

-- name: graph_timelines_touched
SELECT DISTINCT subject_root, relation FROM memoranda.graph_statement WHERE subject_root = :entity
AND graph_statement.store_id = :store_id UNION SELECT subject, relation FROM memoranda.graph_edge
WHERE object = :entity AND graph_edge.store_id = :store_id UNION SELECT subject_root, relation FROM
memoranda.graph_statement WHERE (object_root = :entity AND asserts = 0 AND bound =
9223372036854775807 AND until_commit = 9223372036854775807) AND graph_statement.store_id = :store_id

-- name: horizon_above
SELECT commit_ts FROM memoranda.horizon WHERE (namespace = :namespace AND commit_ts > :at) AND
horizon.store_id = :store_id

-- name: horizon_above_in_range
SELECT namespace, commit_ts FROM memoranda.horizon WHERE (commit_ts > :at AND namespace >=
:namespace AND namespace < :end AND (namespace = :namespace OR namespace >= :children)) AND
horizon.store_id = :store_id ORDER BY namespace LIMIT 1

-- name: horizon_clear
DELETE FROM memoranda.horizon WHERE horizon.store_id = :store_id

-- name: horizon_get
SELECT namespace, commit_ts, summed_in, unfinished FROM memoranda.horizon WHERE namespace =
:namespace AND horizon.store_id = :store_id

-- name: horizon_highest
SELECT commit_ts FROM memoranda.horizon WHERE horizon.store_id = :store_id ORDER BY commit_ts DESC
LIMIT 1

-- name: horizon_remove
DELETE FROM memoranda.horizon WHERE namespace = :namespace AND horizon.store_id = :store_id

-- name: horizon_rows
SELECT namespace, commit_ts, summed_in, unfinished FROM memoranda.horizon WHERE horizon.store_id =
:store_id ORDER BY namespace

-- name: horizon_set
INSERT INTO memoranda.horizon (store_id, namespace, commit_ts, summed_in, unfinished) VALUES
(:store_id, :namespace, :commit_ts, :summed_in, :unfinished) ON CONFLICT(store_id, namespace) DO
UPDATE SET summed_in = CASE horizon.commit_ts WHEN excluded.commit_ts THEN horizon.summed_in ELSE
excluded.summed_in END, commit_ts = excluded.commit_ts, unfinished = excluded.unfinished

-- name: horizons_set_after
SELECT namespace, commit_ts, summed_in, unfinished FROM memoranda.horizon WHERE summed_in > :after
AND horizon.store_id = :store_id ORDER BY namespace

-- name: index_commits
SELECT event.commit_ts, NOT to_index.commit_ts IS NULL FROM memoranda.event LEFT JOIN
memoranda.to_index ON to_index.commit_ts = event.commit_ts AND to_index.store_id = :store_id WHERE
event.commit_ts > :after AND event.store_id = :store_id ORDER BY event.commit_ts LIMIT
NULLIF(CAST(:limit AS BIGINT), -1)

-- name: index_queue_add
INSERT INTO memoranda.to_index (store_id, commit_ts, size) VALUES (:store_id, :commit_ts, :size) ON
CONFLICT(store_id, commit_ts) DO NOTHING

-- name: index_queue_clear
DELETE FROM memoranda.to_index WHERE to_index.store_id = :store_id

-- name: index_queue_last
SELECT MAX(commit_ts) FROM memoranda.to_index WHERE to_index.store_id = :store_id

-- name: index_queue_page
SELECT commit_ts, size FROM memoranda.to_index WHERE commit_ts > :after AND to_index.store_id =
:store_id ORDER BY commit_ts LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: index_queue_remove
DELETE FROM memoranda.to_index WHERE commit_ts = :commit_ts AND to_index.store_id = :store_id

-- name: index_queue_strays
SELECT COUNT(*) FROM memoranda.to_index WHERE NOT commit_ts IN (SELECT commit_ts FROM
memoranda.event WHERE event.store_id = :store_id) AND to_index.store_id = :store_id

-- name: index_queue_totals
SELECT COUNT(*), COALESCE(CAST(SUM(size) AS BIGINT), 0) FROM memoranda.to_index WHERE
to_index.store_id = :store_id

-- name: index_stamp_renew
INSERT INTO memoranda.meta (store_id, name, value) VALUES (:store_id, 'index', '1') ON
CONFLICT(store_id, name) DO UPDATE SET value = CAST(CAST(meta.value AS BIGINT) + 1 AS TEXT)

-- name: kind_count_add
INSERT INTO memoranda.kind_count (store_id, scope_id, block, kind, count) VALUES (:store_id,
:scope_id, :block, :kind, :count) ON CONFLICT(store_id, scope_id, block, kind) DO UPDATE SET count =
kind_count.count + excluded.count

-- name: kind_count_clear
DELETE FROM memoranda.kind_count WHERE kind_count.store_id = :store_id

-- name: kind_count_prune
DELETE FROM memoranda.kind_count WHERE (scope_id = :scope_id AND block = :block AND count = 0) AND
kind_count.store_id = :store_id

-- name: kind_count_rows
SELECT scope.agent_id, scope.namespace, kind_count.block, kind_count.kind, kind_count.count FROM
memoranda.kind_count LEFT JOIN memoranda.scope ON scope.id = kind_count.scope_id AND scope.store_id
= :store_id WHERE kind_count.store_id = :store_id ORDER BY scope.agent_id NULLS FIRST,
scope.namespace NULLS FIRST, kind_count.block, kind_count.kind

-- name: kind_counts_of_blocks
SELECT CAST(item.element_0 AS BIGINT), kind_count.kind, CAST(SUM(kind_count.count) AS BIGINT) FROM
(SELECT list.place - 1 AS key, CAST(list.element ->> 0 AS BIGINT) AS element_0, CAST(list.element
->> 1 AS BIGINT) AS element_1, CAST(list.element ->> 2 AS BIGINT) AS element_2 FROM
JSONB_ARRAY_ELEMENTS(CAST(:ranges AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item JOIN
LATERAL (SELECT kind_count.* FROM memoranda.kind_count WHERE kind_count.store_id = :store_id OFFSET
0) AS kind_count ON TRUE WHERE kind_count.scope_id = :scope_id AND kind_count.block >=
item.element_1 AND kind_count.block <= item.element_2 GROUP BY item.key, item.element_0,
kind_count.kind

-- name: kinds_of_ranges
SELECT CAST(item.element_0 AS BIGINT), event_scope.kinds, COUNT(*) FROM (SELECT list.place - 1 AS
key, CAST(list.element ->> 0 AS BIGINT) AS element_0, CAST(list.element ->> 1 AS BIGINT) AS
element_1, CAST(list.element ->> 2 AS BIGINT) AS element_2 FROM JSONB_ARRAY_ELEMENTS(CAST(:ranges AS
JSONB)) WITH ORDINALITY AS list(element, place)) AS item JOIN LATERAL (SELECT event_scope.* FROM
memoranda.event_scope WHERE event_scope.store_id = :store_id OFFSET 0) AS event_scope ON TRUE WHERE
event_scope.scope_id = :scope_id AND event_scope.commit_ts > item.element_1 AND
event_scope.commit_ts <= item.element_2 GROUP BY item.key, item.element_0, event_scope.kinds

-- name: kinds_of_scope
SELECT commit_ts, kinds FROM memoranda.event_scope WHERE (scope_id = :scope_id AND commit_ts >
:after AND commit_ts <= :through) AND event_scope.store_id = :store_id ORDER BY commit_ts

-- name: last_block_of_kinds
SELECT block FROM memoranda.kind_count WHERE (scope_id = :scope_id AND kind >= :first_kind AND
(:public_only = 0 OR kind % 2 = 0)) AND kind_count.store_id = :store_id ORDER BY block DESC LIMIT 1

-- name: link_add
INSERT INTO memoranda.memory_link (store_id, source, relation, target, commit_ts, position,
valid_from, until_commit, valid_until) VALUES (:store_id, :source, :relation, :target, :commit_ts,
:position, :valid_from, 9223372036854775807, NULL)

-- name: link_any
SELECT 1 FROM memoranda.memory_link WHERE memory_link.store_id = :store_id LIMIT 1

-- name: link_close
UPDATE memoranda.memory_link SET until_commit = :commit_ts, valid_until = :valid_until WHERE (source
= :source AND relation = :relation AND target = :target AND until_commit = 9223372036854775807) AND
memory_link.store_id = :store_id

-- name: link_exists_to
SELECT 1 FROM memoranda.memory AS target JOIN memoranda.memory_link AS link ON (link.target =
target.id AND link.relation = :relation) AND link.store_id = :store_id WHERE (target.memory_id =
:target AND link.commit_ts <= :at AND link.until_commit > :at) AND target.store_id = :store_id LIMIT
1

-- name: link_find
SELECT source.memory_id, target.memory_id, link.relation, link.valid_from, CASE WHEN
link.until_commit > :at THEN NULL ELSE link.valid_until END FROM memoranda.memory AS source JOIN
memoranda.memory AS target ON target.memory_id = :target AND target.store_id = :store_id JOIN
memoranda.memory_link AS link ON (link.source = source.id AND link.target = target.id AND
link.relation = :relation) AND link.store_id = :store_id WHERE (source.memory_id = :source AND
link.commit_ts <= :at) AND source.store_id = :store_id ORDER BY link.commit_ts DESC, link.position
DESC LIMIT 1

-- name: links_changed
SELECT 1 FROM memoranda.memory JOIN memoranda.memory_link AS link ON (link.source = memory.id OR
link.target = memory.id) AND link.store_id = :store_id WHERE (memory.memory_id = :memory_id AND
(link.commit_ts > :since OR (link.until_commit > :since AND link.until_commit <
9223372036854775807))) AND memory.store_id = :store_id LIMIT 1

-- name: links_from
SELECT source.memory_id, target.memory_id FROM (SELECT list.place - 1 AS key, CAST(list.element #>>
'{}' AS TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:memory_ids AS JSONB)) WITH ORDINALITY AS
list(element, place)) AS item JOIN LATERAL (SELECT source.* FROM memoranda.memory AS source WHERE
source.memory_id = item.value AND source.store_id = :store_id OFFSET 0) AS source ON TRUE JOIN
LATERAL (SELECT link.* FROM memoranda.memory_link AS link WHERE (link.source = source.id AND
link.relation = :relation) AND link.store_id = :store_id OFFSET 0) AS link ON TRUE JOIN LATERAL
(SELECT target.* FROM memoranda.memory AS target WHERE target.id = link.target AND target.store_id =
:store_id OFFSET 0) AS target ON TRUE WHERE link.commit_ts <= :at AND link.until_commit > :at

-- name: links_of
SELECT source.memory_id, target.memory_id, link.relation, link.valid_from, CASE WHEN
link.until_commit > :at THEN NULL ELSE link.valid_until END, link.commit_ts, link.position FROM
memoranda.memory AS own JOIN memoranda.memory_link AS link ON link.source = own.id AND link.store_id
= :store_id JOIN memoranda.memory AS source ON source.id = link.source AND source.store_id =
:store_id JOIN memoranda.memory AS target ON target.id = link.target AND target.store_id = :store_id
WHERE (own.memory_id = :memory_id AND link.commit_ts <= :at AND (:include_closed = 1 OR
link.until_commit > :at) AND (target.private = 0 OR target.agent_id = :viewer)) AND own.store_id =
:store_id UNION ALL SELECT source.memory_id, target.memory_id, link.relation, link.valid_from, CASE
WHEN link.until_commit > :at THEN NULL ELSE link.valid_until END, link.commit_ts, link.position FROM
memoranda.memory AS own JOIN memoranda.memory_link AS link ON link.target = own.id AND link.store_id
= :store_id JOIN memoranda.memory AS source ON source.id = link.source AND source.store_id =
:store_id JOIN memoranda.memory AS target ON target.id = link.target AND target.store_id = :store_id
WHERE (own.memory_id = :memory_id AND link.commit_ts <= :at AND (:include_closed = 1 OR
link.until_commit > :at) AND (source.private = 0 OR source.agent_id = :viewer)) AND own.store_id =
:store_id ORDER BY 6, 7

-- name: links_relied_on
SELECT source.memory_id, link.relation, target.memory_id, (SELECT version FROM
memoranda.memory_state WHERE (memory = target.id AND (commit_ts, position) <= (link.commit_ts,
link.position)) AND memory_state.store_id = :store_id ORDER BY commit_ts DESC, position DESC LIMIT
1) FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value FROM
JSONB_ARRAY_ELEMENTS(CAST(:memory_ids AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item
JOIN LATERAL (SELECT source.* FROM memoranda.memory AS source WHERE source.memory_id = item.value
AND source.store_id = :store_id OFFSET 0) AS source ON TRUE JOIN LATERAL (SELECT link.* FROM
memoranda.memory_link AS link WHERE (link.source = source.id AND link.relation IN ('reflects_on',
'derived_from')) AND link.store_id = :store_id OFFSET 0) AS link ON TRUE JOIN LATERAL (SELECT
target.* FROM memoranda.memory AS target WHERE target.id = link.target AND target.store_id =
:store_id OFFSET 0) AS target ON TRUE WHERE link.commit_ts <= :at AND link.until_commit > :at ORDER
BY link.relation DESC, target.memory_id

-- name: links_to
SELECT target.memory_id, source.memory_id FROM (SELECT list.place - 1 AS key, CAST(list.element #>>
'{}' AS TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:memory_ids AS JSONB)) WITH ORDINALITY AS
list(element, place)) AS item JOIN LATERAL (SELECT target.* FROM memoranda.memory AS target WHERE
target.memory_id = item.value AND target.store_id = :store_id OFFSET 0) AS target ON TRUE JOIN
LATERAL (SELECT link.* FROM memoranda.memory_link AS link WHERE (link.target = target.id AND
link.relation = :relation) AND link.store_id = :store_id OFFSET 0) AS link ON TRUE JOIN LATERAL
(SELECT source.* FROM memoranda.memory AS source WHERE source.id = link.source AND source.store_id =
:store_id OFFSET 0) AS source ON TRUE WHERE link.commit_ts <= :at AND link.until_commit > :at

-- name: memories_citing_transcript
SELECT DISTINCT memory.memory_id FROM memoranda.transcript JOIN memoranda.citation ON
citation.transcript = transcript.id AND citation.store_id = :store_id JOIN memoranda.memory ON
memory.id = citation.memory AND memory.store_id = :store_id WHERE transcript.transcript_id =
:transcript_id AND transcript.store_id = :store_id

-- name: memories_hidden
SELECT memory.memory_id FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS
value FROM JSONB_ARRAY_ELEMENTS(CAST(:memory_ids AS JSONB)) WITH ORDINALITY AS list(element, place))
AS requested JOIN LATERAL (SELECT memory.* FROM memoranda.memory WHERE (memory.memory_id =
requested.value AND memory.store_id = :store_id) AND memory.private = 1 OFFSET 0) AS memory ON TRUE
WHERE memory.agent_id <> :viewer

-- name: memories_seen
SELECT memory.memory_id FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS
value FROM JSONB_ARRAY_ELEMENTS(CAST(:memory_ids AS JSONB)) WITH ORDINALITY AS list(element, place))
AS item JOIN LATERAL (SELECT memory.* FROM memoranda.memory WHERE memory.memory_id = item.value AND
memory.store_id = :store_id OFFSET 0) AS memory ON TRUE WHERE memory.commit_ts <= :at AND
(memory.private = 0 OR memory.agent_id = :viewer)

-- name: memories_withdrawn
SELECT memory.memory_id FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS
value FROM JSONB_ARRAY_ELEMENTS(CAST(:memory_ids AS JSONB)) WITH ORDINALITY AS list(element, place))
AS item JOIN LATERAL (SELECT memory.* FROM memoranda.memory WHERE memory.memory_id = item.value AND
memory.store_id = :store_id OFFSET 0) AS memory ON TRUE JOIN LATERAL (SELECT state.* FROM
memoranda.memory_state AS state WHERE state.id = (SELECT id FROM memoranda.memory_state WHERE
(memory = memory.id AND commit_ts <= :at) AND memory_state.store_id = :store_id ORDER BY commit_ts
DESC, position DESC LIMIT 1) AND state.store_id = :store_id OFFSET 0) AS state ON TRUE WHERE
state.retracted = 1 OR state.expires_at <= :now OR EXISTS(SELECT 1 FROM memoranda.memory_link AS
link WHERE (link.target = memory.id AND link.relation = 'supersedes' AND link.commit_ts <= :at AND
link.until_commit > :at) AND link.store_id = :store_id)

-- name: memory_add
INSERT INTO memoranda.memory (store_id, id, memory_id, namespace, agent_id, private, commit_ts,
created_at) VALUES (:store_id, :id, :memory_id, :namespace, :agent_id, :private, :commit_ts,
:created_at)

-- name: memory_all_places
SELECT state.commit_ts, state.position FROM memoranda.memory JOIN memoranda.memory_state AS state ON
state.memory = memory.id AND state.store_id = :store_id WHERE memory.memory_id = :memory_id AND
memory.store_id = :store_id

-- name: memory_brief
SELECT memory.memory_id, memory.memory_id, memory.namespace, memory.agent_id, memory.private,
state.kind, state.retracted, state.expires_at FROM memoranda.memory JOIN memoranda.memory_state AS
state ON state.id = (SELECT id FROM memoranda.memory_state WHERE (memory = memory.id AND commit_ts
<= :at) AND memory_state.store_id = :store_id ORDER BY commit_ts DESC, position DESC LIMIT 1) AND
state.store_id = :store_id WHERE (memory.memory_id = :memory_id AND memory.commit_ts <= :at) AND
memory.store_id = :store_id

-- name: memory_changed
SELECT 1 FROM memoranda.memory WHERE (memory.memory_id = :memory_id AND (EXISTS(SELECT 1 FROM
memoranda.memory_state WHERE (memory = memory.id AND commit_ts > :since) AND memory_state.store_id =
:store_id) OR EXISTS(SELECT 1 FROM memoranda.memory_link AS link WHERE (link.target = memory.id AND
link.relation = 'supersedes' AND (link.commit_ts > :since OR (link.until_commit > :since AND
link.until_commit < 9223372036854775807))) AND link.store_id = :store_id))) AND memory.store_id =
:store_id

-- name: memory_clear
DELETE FROM memoranda.memory WHERE memory.store_id = :store_id

-- name: memory_content_redirect
UPDATE memoranda.memory_state SET content_in = :into WHERE id = :id AND memory_state.store_id =
:store_id

-- name: memory_counts
SELECT (SELECT COUNT(*) FROM memoranda.memory JOIN memoranda.memory_state AS state ON state.id =
(SELECT id FROM memoranda.memory_state WHERE memory = memory.id AND memory_state.store_id =
:store_id ORDER BY commit_ts DESC, position DESC LIMIT 1) AND state.store_id = :store_id WHERE
(state.retracted = 0 AND state.kind <> '' AND (state.expires_at IS NULL OR state.expires_at > :now)
AND NOT EXISTS(SELECT 1 FROM memoranda.notice WHERE notice.memory = memory.id AND notice.store_id =
:store_id)) AND memory.store_id = :store_id), (SELECT COUNT(*) FROM memoranda.transcript WHERE
LENGTH(digest) > 0 AND transcript.store_id = :store_id), (SELECT COUNT(*) FROM memoranda.notice
WHERE decision IS NULL AND notice.store_id = :store_id)

-- name: memory_dependents
SELECT target.memory_id, source.memory_id, link.relation, (SELECT version FROM
memoranda.memory_state WHERE (memory = target.id AND (commit_ts, position) <= (link.commit_ts,
link.position)) AND memory_state.store_id = :store_id ORDER BY commit_ts DESC, position DESC LIMIT
1) FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value FROM
JSONB_ARRAY_ELEMENTS(CAST(:memory_ids AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item
JOIN LATERAL (SELECT target.* FROM memoranda.memory AS target WHERE target.memory_id = item.value
AND target.store_id = :store_id OFFSET 0) AS target ON TRUE JOIN LATERAL (SELECT link.* FROM
memoranda.memory_link AS link WHERE (link.target = target.id AND link.relation IN ('reflects_on',
'derived_from') AND link.until_commit = 9223372036854775807) AND link.store_id = :store_id OFFSET 0)
AS link ON TRUE JOIN LATERAL (SELECT source.* FROM memoranda.memory AS source WHERE source.id =
link.source AND source.store_id = :store_id OFFSET 0) AS source ON TRUE ORDER BY source.memory_id

-- name: memory_depths
SELECT memory.memory_id, memory.namespace, (SELECT state.depth FROM memoranda.memory_state AS state
WHERE (state.memory = memory.id AND state.commit_ts <= :at) AND state.store_id = :store_id ORDER BY
state.commit_ts DESC, state.position DESC LIMIT 1) FROM (SELECT list.place - 1 AS key,
CAST(list.element #>> '{}' AS TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:memory_ids AS JSONB))
WITH ORDINALITY AS list(element, place)) AS item JOIN LATERAL (SELECT memory.* FROM memoranda.memory
WHERE memory.memory_id = item.value AND memory.store_id = :store_id OFFSET 0) AS memory ON TRUE

-- name: memory_details_redirect
UPDATE memoranda.memory_state SET details_in = :into WHERE id = :id AND memory_state.store_id =
:store_id

-- name: memory_ids
SELECT memory_id FROM memoranda.memory WHERE (memory_id >= :first AND memory_id <= :last AND
(private = 0 OR agent_id = :viewer)) AND memory.store_id = :store_id ORDER BY memory_id LIMIT
NULLIF(CAST(:limit AS BIGINT), -1)

-- name: memory_last_number
SELECT COALESCE(MAX(id), 0) FROM memoranda.memory WHERE memory.store_id = :store_id

-- name: memory_last_state
SELECT id, version, updated_at, kind, tier, title, retracted, reason, expires_at, depth,
access_count, last_accessed_at, details_in, content_in FROM memoranda.memory_state WHERE memory =
:memory AND memory_state.store_id = :store_id ORDER BY commit_ts DESC, position DESC LIMIT 1

-- name: memory_lifetime
SELECT state.expires_at - GREATEST(state.updated_at, COALESCE(state.last_accessed_at, 0)) FROM
memoranda.memory JOIN memoranda.memory_state AS state ON state.memory = memory.id AND state.store_id
= :store_id WHERE (memory.memory_id = :memory_id AND state.expires_at = :expires_at) AND
memory.store_id = :store_id ORDER BY state.commit_ts, state.position LIMIT 1

-- name: memory_link_clear
DELETE FROM memoranda.memory_link WHERE memory_link.store_id = :store_id

-- name: memory_link_rows
SELECT source.memory_id AS source, link.relation, target.memory_id AS target, link.commit_ts,
link.position, link.valid_from, link.until_commit, link.valid_until FROM memoranda.memory_link AS
link LEFT JOIN memoranda.memory AS source ON source.id = link.source AND source.store_id = :store_id
LEFT JOIN memoranda.memory AS target ON target.id = link.target AND target.store_id = :store_id
WHERE link.store_id = :store_id ORDER BY source.memory_id NULLS FIRST, link.relation,
target.memory_id NULLS FIRST, link.commit_ts, link.position

-- name: memory_member_add
INSERT INTO memoranda.memory_member (store_id, digest, namespace, memory) VALUES (:store_id,
:digest, :namespace, :memory) ON CONFLICT DO NOTHING

-- name: memory_member_add_of
INSERT INTO memoranda.memory_member (store_id, digest, namespace, memory) SELECT :store_id, :digest,
namespace, id FROM memoranda.memory WHERE id = :memory AND memory.store_id = :store_id ON CONFLICT
DO NOTHING

-- name: memory_member_clear
DELETE FROM memoranda.memory_member WHERE memory_member.store_id = :store_id

-- name: memory_member_count
SELECT COUNT(*) FROM (SELECT 1 FROM memoranda.memory_member WHERE (digest = :digest AND namespace >=
:namespace AND namespace < :end) AND memory_member.store_id = :store_id LIMIT NULLIF(CAST(:limit AS
BIGINT), -1))

-- name: memory_member_drop
DELETE FROM memoranda.memory_member WHERE (digest = :digest AND namespace = :namespace AND memory =
:memory) AND memory_member.store_id = :store_id

-- name: memory_member_rows
SELECT member.digest, member.namespace, memory.memory_id FROM memoranda.memory_member AS member LEFT
JOIN memoranda.memory ON memory.id = member.memory AND memory.store_id = :store_id WHERE
member.store_id = :store_id ORDER BY member.digest, member.namespace, memory.memory_id NULLS FIRST

-- name: memory_neighbours
SELECT item.value, (SELECT MAX(memory_id) FROM memoranda.memory WHERE memory_id < item.value AND
memory.store_id = :store_id), (SELECT MIN(memory_id) FROM memoranda.memory WHERE memory_id >
item.value AND memory.store_id = :store_id) FROM (SELECT list.place - 1 AS key, CAST(list.element
#>> '{}' AS TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:ids AS JSONB)) WITH ORDINALITY AS
list(element, place)) AS item

-- name: memory_number
SELECT id FROM memoranda.memory WHERE memory_id = :memory_id AND memory.store_id = :store_id

-- name: memory_numbers_at
SELECT state.expires_at, state.depth, state.access_count, state.last_accessed_at FROM
memoranda.memory JOIN memoranda.memory_state AS state ON state.memory = memory.id AND state.store_id
= :store_id WHERE (memory.memory_id = :memory_id AND state.commit_ts = :commit_ts AND state.position
= :position) AND memory.store_id = :store_id

-- name: memory_page
SELECT state.id, memory.namespace, memory.id FROM memoranda.memory JOIN memoranda.memory_state AS
state ON state.id = (SELECT id FROM memoranda.memory_state WHERE (memory = memory.id AND commit_ts
<= :at) AND memory_state.store_id = :store_id ORDER BY commit_ts DESC, position DESC LIMIT 1) AND
state.store_id = :store_id WHERE (memory.namespace >= :namespace AND memory.namespace < :end AND
(memory.namespace = :namespace OR memory.namespace >= :children) AND (memory.namespace, memory.id) >
(:after_namespace, :after) AND memory.commit_ts <= :at AND (memory.private = 0 OR memory.agent_id =
:viewer) AND (CAST(:agent_id AS TEXT) IS NULL OR memory.agent_id = :agent_id) AND
(CAST(:created_after AS BIGINT) IS NULL OR memory.created_at >= :created_after) AND
(CAST(:created_before AS BIGINT) IS NULL OR memory.created_at < :created_before) AND (CAST(:kind AS
TEXT) IS NULL OR state.kind = :kind) AND (CAST(:tier AS TEXT) IS NULL OR state.tier = :tier) AND
(:with_inboxes = 1 OR memory.namespace NOT LIKE '%/!_%' ESCAPE '!') AND state.retracted = 0 AND
state.kind <> '' AND (state.expires_at IS NULL OR state.expires_at > :now)) AND memory.store_id =
:store_id ORDER BY memory.namespace, memory.id LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: memory_page_with_member
SELECT state.id, memory.namespace, memory.id FROM memoranda.memory_member AS member JOIN
memoranda.memory ON memory.id = member.memory AND memory.store_id = :store_id JOIN
memoranda.memory_state AS state ON state.id = (SELECT id FROM memoranda.memory_state WHERE (memory =
memory.id AND commit_ts <= :at) AND memory_state.store_id = :store_id ORDER BY commit_ts DESC,
position DESC LIMIT 1) AND state.store_id = :store_id WHERE (member.digest = :digest AND
member.namespace >= :namespace AND member.namespace < :end AND (member.namespace = :namespace OR
member.namespace >= :children) AND (member.namespace, member.memory) > (:after_namespace, :after)
AND NOT EXISTS(SELECT 1 FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS BIGINT) AS
value FROM JSONB_ARRAY_ELEMENTS(CAST(:others AS JSONB)) WITH ORDINALITY AS list(element, place)) AS
item WHERE NOT EXISTS(SELECT 1 FROM memoranda.memory_member AS other WHERE (other.digest =
item.value AND other.namespace = member.namespace AND other.memory = member.memory) AND
other.store_id = :store_id)) AND memory.commit_ts <= :at AND (memory.private = 0 OR memory.agent_id
= :viewer) AND (CAST(:agent_id AS TEXT) IS NULL OR memory.agent_id = :agent_id) AND
(CAST(:created_after AS BIGINT) IS NULL OR memory.created_at >= :created_after) AND
(CAST(:created_before AS BIGINT) IS NULL OR memory.created_at < :created_before) AND (CAST(:kind AS
TEXT) IS NULL OR state.kind = :kind) AND (CAST(:tier AS TEXT) IS NULL OR state.tier = :tier) AND
(:with_inboxes = 1 OR memory.namespace NOT LIKE '%/!_%' ESCAPE '!') AND state.retracted = 0 AND
state.kind <> '' AND (state.expires_at IS NULL OR state.expires_at > :now)) AND member.store_id =
:store_id ORDER BY member.namespace, member.memory LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: memory_places
SELECT state.commit_ts, state.position FROM memoranda.memory JOIN memoranda.memory_state AS state ON
state.memory = memory.id AND state.store_id = :store_id WHERE (memory.memory_id = :memory_id AND
state.kind <> '' AND (memory.private = 0 OR CAST(:viewer AS TEXT) IS NULL OR memory.agent_id =
:viewer)) AND memory.store_id = :store_id

-- name: memory_rows
SELECT memory_id, namespace, agent_id, private, commit_ts, created_at FROM memoranda.memory WHERE
memory.store_id = :store_id ORDER BY id

-- name: memory_rows_after
SELECT memory.id, memory.memory_id, state.id, state.commit_ts, state.position, state.version,
state.expires_at, state.details_in, state.content_in FROM memoranda.memory JOIN
memoranda.memory_state AS state ON state.memory = memory.id AND state.store_id = :store_id WHERE
(memory.id = :memory AND state.commit_ts <= :horizon AND (state.commit_ts, state.position) >
(:after, :after_position)) AND memory.store_id = :store_id ORDER BY state.commit_ts, state.position
LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: memory_rows_up_to
SELECT memory.id, memory.memory_id, state.id, state.commit_ts, state.position, state.version,
state.expires_at, state.details_in, state.content_in FROM memoranda.memory JOIN
memoranda.memory_state AS state ON state.memory = memory.id AND state.store_id = :store_id WHERE
(memory.namespace = :namespace AND memory.id > :after AND state.commit_ts <= :horizon) AND
memory.store_id = :store_id ORDER BY memory.id, state.commit_ts, state.position LIMIT
NULLIF(CAST(:limit AS BIGINT), -1)

-- name: memory_set_owner
UPDATE memoranda.memory SET namespace = :namespace, agent_id = :agent_id WHERE memory_id =
:memory_id AND memory.store_id = :store_id

-- name: memory_state_add
INSERT INTO memoranda.memory_state (store_id, id, memory, commit_ts, position, version, updated_at,
kind, tier, title, retracted, reason, expires_at, depth, access_count, last_accessed_at, details_in,
content_in, details, digest, size, content) VALUES (:store_id, (SELECT COALESCE(MAX(own.id), 0) + 1
FROM memoranda.memory_state AS own WHERE own.store_id = :store_id), :memory, :commit_ts, :position,
:version, :updated_at, :kind, :tier, :title, :retracted, :reason, :expires_at, :depth,
:access_count, :last_accessed_at, :details_in, :content_in, :details, :digest, :size, :content)

-- name: memory_state_around
SELECT memory.id, state.id, state.title, last.id, last.details_in, last.content_in, last.title,
next.commit_ts, next.position, next.title, state.details_in IS NULL, state.content_in IS NULL FROM
memoranda.memory JOIN memoranda.memory_state AS state ON (state.memory = memory.id AND
state.commit_ts = :commit_ts AND state.position = :position) AND state.store_id = :store_id LEFT
JOIN memoranda.memory_state AS last ON last.id = (SELECT id FROM memoranda.memory_state WHERE
(memory = memory.id AND (commit_ts, position) < (:commit_ts, :position)) AND memory_state.store_id =
:store_id ORDER BY commit_ts DESC, position DESC LIMIT 1) AND last.store_id = :store_id LEFT JOIN
memoranda.memory_state AS next ON next.id = (SELECT id FROM memoranda.memory_state WHERE (memory =
memory.id AND (commit_ts, position) > (:commit_ts, :position)) AND memory_state.store_id = :store_id
ORDER BY commit_ts, position LIMIT 1) AND next.store_id = :store_id WHERE memory.memory_id =
:memory_id AND memory.store_id = :store_id

-- name: memory_state_clear
DELETE FROM memoranda.memory_state WHERE memory_state.store_id = :store_id

-- name: memory_state_details
UPDATE memoranda.memory_state SET details_in = :details_in, details = :details WHERE id = :id AND
memory_state.store_id = :store_id

-- name: memory_state_drop
DELETE FROM memoranda.memory_state WHERE id = :id AND memory_state.store_id = :store_id

-- name: memory_state_of_version
SELECT state.id FROM memoranda.memory JOIN memoranda.memory_state AS state ON state.memory =
memory.id AND state.store_id = :store_id WHERE (memory.memory_id = :memory_id AND state.version =
:version AND state.commit_ts <= :at) AND memory.store_id = :store_id ORDER BY state.commit_ts DESC,
state.position DESC LIMIT 1

-- name: memory_state_rows
SELECT memory.memory_id, state.commit_ts, state.position, state.version, state.updated_at,
state.kind, state.tier, state.title, state.retracted, state.reason, state.expires_at, state.depth,
state.access_count, state.last_accessed_at, NOT state.details_in IS NULL AS details_elsewhere,
details.memory = state.memory AS own_details, details.commit_ts AS details_commit, details.position
AS details_position, NOT state.content_in IS NULL AS content_elsewhere, content.memory =
state.memory AS own_content, content.commit_ts AS content_commit, content.position AS
content_position, state.details, state.digest, state.size, state.content FROM memoranda.memory_state
AS state LEFT JOIN memoranda.memory ON memory.id = state.memory AND memory.store_id = :store_id LEFT
JOIN memoranda.memory_state AS details ON details.id = state.details_in AND details.store_id =
:store_id LEFT JOIN memoranda.memory_state AS content ON content.id = state.content_in AND
content.store_id = :store_id WHERE state.store_id = :store_id ORDER BY memory.memory_id NULLS FIRST,
state.commit_ts, state.position

-- name: memory_state_title
UPDATE memoranda.memory_state SET title = :title WHERE id = :id AND memory_state.store_id =
:store_id

-- name: memory_state_without_content
UPDATE memoranda.memory_state SET content_in = :content_in, digest = NULL, size = NULL, content =
NULL WHERE id = :id AND memory_state.store_id = :store_id

-- name: memory_states
SELECT state.id, memory.memory_id, memory.namespace, memory.agent_id, memory.private,
memory.created_at, state.commit_ts, state.version, state.updated_at, state.kind, state.tier,
state.title, state.retracted, state.reason, state.expires_at, state.depth, state.access_count,
state.last_accessed_at, (SELECT newer.memory_id FROM memoranda.memory_link AS link JOIN LATERAL
(SELECT newer.* FROM memoranda.memory AS newer WHERE newer.id = link.source AND newer.store_id =
:store_id OFFSET 0) AS newer ON TRUE WHERE (link.target = memory.id AND link.relation = 'supersedes'
AND link.commit_ts <= :at AND link.until_commit > :at AND (CAST(:viewer AS TEXT) IS NULL OR
newer.private = 0 OR newer.agent_id = :viewer)) AND link.store_id = :store_id ORDER BY
link.commit_ts DESC, link.position DESC LIMIT 1), COALESCE(details.details, state.details),
COALESCE(content.commit_ts, state.commit_ts), COALESCE(content.position, state.position),
COALESCE(content.digest, state.digest), COALESCE(content.size, state.size), CASE WHEN :content = 1
THEN COALESCE(content.content, state.content) END, COALESCE(content.updated_at, state.updated_at),
CASE WHEN (SELECT LENGTH(salts) % 16 = 0 FROM memoranda.event WHERE commit_ts = 1 AND event.store_id
= :store_id) THEN EXISTS(SELECT 1 FROM memoranda.memory_state AS part JOIN memoranda.erased ON
(erased.commit_ts = part.commit_ts AND erased.position = part.position) AND erased.store_id =
:store_id JOIN memoranda.event ON event.commit_ts = part.commit_ts AND event.store_id = :store_id
WHERE (part.memory = state.memory AND LENGTH(event.salts) % 16 = 0 AND (part.commit_ts,
part.position) <= (state.commit_ts, state.position) AND (part.version BETWEEN state.version -
state.retracted AND state.version OR part.id IN (state.details_in, state.content_in))) AND
part.store_id = :store_id) ELSE FALSE END FROM (SELECT list.place - 1 AS key, CAST(list.element #>>
'{}' AS TEXT) AS value, CASE JSONB_TYPEOF(list.element) WHEN 'number' THEN 'integer' ELSE 'text' END
AS type FROM JSONB_ARRAY_ELEMENTS(CAST(:items AS JSONB)) WITH ORDINALITY AS list(element, place)) AS
item JOIN LATERAL (SELECT state.* FROM memoranda.memory_state AS state WHERE state.id = CASE
item.type WHEN 'integer' THEN CAST(item.value AS BIGINT) ELSE (SELECT last.id FROM
memoranda.memory_state AS last WHERE (last.memory = (SELECT own.id FROM memoranda.memory AS own
WHERE (own.memory_id = item.value AND own.commit_ts <= :at) AND own.store_id = :store_id) AND
last.commit_ts <= :at) AND last.store_id = :store_id ORDER BY last.commit_ts DESC, last.position
DESC LIMIT 1) END AND state.store_id = :store_id OFFSET 0) AS state ON TRUE JOIN LATERAL (SELECT
memory.* FROM memoranda.memory WHERE memory.id = state.memory AND memory.store_id = :store_id OFFSET
0) AS memory ON TRUE LEFT JOIN LATERAL (SELECT details.* FROM memoranda.memory_state AS details
WHERE details.id = state.details_in AND details.store_id = :store_id OFFSET 0) AS details ON TRUE
LEFT JOIN LATERAL (SELECT content.* FROM memoranda.memory_state AS content WHERE content.id =
state.content_in AND content.store_id = :store_id OFFSET 0) AS content ON TRUE

-- name: memory_states_after
SELECT id, commit_ts, position, details_in, content_in FROM memoranda.memory_state WHERE (memory =
:memory AND (commit_ts, position) > (:commit_ts, :position)) AND memory_state.store_id = :store_id
ORDER BY commit_ts, position LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: memory_states_of_versions
SELECT item.key, state.id, state.version, (SELECT commit_ts FROM memoranda.memory_state WHERE
(memory = memory.id AND version = state.version) AND memory_state.store_id = :store_id ORDER BY
commit_ts, position LIMIT 1) FROM (SELECT list.place - 1 AS key, CAST(list.element ->> 0 AS TEXT) AS
element_0, CAST(list.element ->> 1 AS BIGINT) AS element_1 FROM JSONB_ARRAY_ELEMENTS(CAST(:requested
AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item JOIN LATERAL (SELECT memory.* FROM
memoranda.memory WHERE memory.memory_id = item.element_0 AND memory.store_id = :store_id OFFSET 0)
AS memory ON TRUE JOIN LATERAL (SELECT state.* FROM memoranda.memory_state AS state WHERE state.id =
(SELECT id FROM memoranda.memory_state WHERE (memory = memory.id AND commit_ts <= :at AND
(item.element_1 IS NULL OR version = item.element_1 OR kind = '')) AND memory_state.store_id =
:store_id ORDER BY commit_ts DESC, position DESC LIMIT 1) AND state.store_id = :store_id OFFSET 0)
AS state ON TRUE

-- name: memory_states_remove
DELETE FROM memoranda.memory_state WHERE memory = (SELECT id FROM memoranda.memory WHERE memory_id =
:memory_id AND memory.store_id = :store_id) AND memory_state.store_id = :store_id

-- name: memory_stored_details
SELECT memory.namespace, memory.id, state.details FROM memoranda.memory JOIN memoranda.memory_state
AS state ON state.memory = memory.id AND state.store_id = :store_id WHERE (memory.memory_id =
:memory_id AND NOT state.details IS NULL) AND memory.store_id = :store_id

-- name: memory_superseders
SELECT target.memory_id, newer.memory_id, newer.namespace FROM (SELECT list.place - 1 AS key,
CAST(list.element #>> '{}' AS TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:memory_ids AS JSONB))
WITH ORDINALITY AS list(element, place)) AS item JOIN LATERAL (SELECT target.* FROM memoranda.memory
AS target WHERE target.memory_id = item.value AND target.store_id = :store_id OFFSET 0) AS target ON
TRUE JOIN LATERAL (SELECT link.* FROM memoranda.memory_link AS link WHERE (link.target = target.id
AND link.relation = 'supersedes') AND link.store_id = :store_id OFFSET 0) AS link ON TRUE JOIN
LATERAL (SELECT newer.* FROM memoranda.memory AS newer WHERE newer.id = link.source AND
newer.store_id = :store_id OFFSET 0) AS newer ON TRUE WHERE link.commit_ts <= :at AND
link.until_commit > :at AND (newer.private = 0 OR newer.agent_id = :viewer) ORDER BY link.commit_ts,
link.position

-- name: memory_title_clear
DELETE FROM memoranda.memory_title WHERE memory_title.store_id = :store_id

-- name: memory_title_rows
SELECT title.namespace, title.owner, title.title, title.commit_ts, title.position,
title.until_commit, memory.memory_id FROM memoranda.memory_title AS title LEFT JOIN memoranda.memory
ON memory.id = title.memory AND memory.store_id = :store_id WHERE title.store_id = :store_id ORDER
BY title.namespace, title.owner, title.title, title.commit_ts, title.position

-- name: memory_titles_remove
DELETE FROM memoranda.memory_title WHERE (namespace, owner, title, memory) IN (SELECT
memory.namespace, CASE memory.private WHEN 1 THEN memory.agent_id ELSE '' END, state.title,
memory.id FROM memoranda.memory JOIN memoranda.memory_state AS state ON state.memory = memory.id AND
state.store_id = :store_id WHERE (memory.memory_id = :memory_id AND NOT state.title IS NULL) AND
memory.store_id = :store_id) AND memory_title.store_id = :store_id

-- name: memory_tombstone_put
INSERT INTO memoranda.memory (store_id, id, memory_id, namespace, agent_id, private, commit_ts,
created_at) VALUES (:store_id, :id, :memory_id, :namespace, :agent_id, :private, :commit_ts,
:created_at) ON CONFLICT(store_id, memory_id) DO UPDATE SET namespace = excluded.namespace, agent_id
= excluded.agent_id

-- name: memory_version_at_horizon
SELECT horizon.commit_ts, state.version FROM memoranda.memory JOIN memoranda.horizon ON
horizon.namespace = memory.namespace AND horizon.store_id = :store_id JOIN memoranda.memory_state AS
state ON state.id = (SELECT id FROM memoranda.memory_state WHERE (memory = memory.id AND commit_ts
<= horizon.commit_ts) AND memory_state.store_id = :store_id ORDER BY commit_ts DESC, position DESC
LIMIT 1) AND state.store_id = :store_id WHERE memory.memory_id = :memory_id AND memory.store_id =
:store_id

-- name: memory_version_start
SELECT first.commit_ts, first.position FROM memoranda.memory JOIN memoranda.memory_state AS last ON
last.id = (SELECT id FROM memoranda.memory_state WHERE (memory = memory.id AND commit_ts <= :at) AND
memory_state.store_id = :store_id ORDER BY commit_ts DESC, position DESC LIMIT 1) AND last.store_id
= :store_id JOIN memoranda.memory_state AS first ON (first.memory = memory.id AND first.version =
last.version) AND first.store_id = :store_id WHERE memory.memory_id = :memory_id AND memory.store_id
= :store_id ORDER BY first.commit_ts, first.position LIMIT 1

-- name: memory_versions
SELECT state.version, state.id, state.commit_ts, state.position FROM memoranda.memory JOIN
memoranda.memory_state AS state ON state.memory = memory.id AND state.store_id = :store_id WHERE
(memory.memory_id = :memory_id AND (state.commit_ts, state.position) > (:after, :after_position) AND
state.commit_ts <= :to_commit) AND memory.store_id = :store_id ORDER BY state.commit_ts,
state.position LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: memory_versions_linked
SELECT DISTINCT (SELECT version FROM memoranda.memory_state WHERE (memory = link.target AND
(commit_ts, position) <= (link.commit_ts, link.position)) AND memory_state.store_id = :store_id
ORDER BY commit_ts DESC, position DESC LIMIT 1) FROM memoranda.memory_link AS link WHERE
(link.target = :memory AND link.relation IN ('reflects_on', 'derived_from') AND link.until_commit >
:horizon) AND link.store_id = :store_id

-- name: meta_get
SELECT value FROM memoranda.meta WHERE name = :name AND meta.store_id = :store_id

-- name: meta_range
SELECT name, value FROM memoranda.meta WHERE (name >= :first AND name < :end) AND meta.store_id =
:store_id ORDER BY name

-- name: meta_remove
DELETE FROM memoranda.meta WHERE name = :name AND meta.store_id = :store_id

-- name: meta_rows
SELECT name, value FROM memoranda.meta WHERE (name = 'epoch' OR (name >= 'view:' AND name <
'view;')) AND meta.store_id = :store_id ORDER BY name

-- name: meta_set
INSERT INTO memoranda.meta (store_id, name, value) VALUES (:store_id, :name, :value) ON
CONFLICT(store_id, name) DO UPDATE SET value = excluded.value

-- name: namespace_touched
SELECT 1 FROM memoranda.scope WHERE (scope.namespace = :namespace AND (CAST(:agent_id AS TEXT) IS
NULL OR scope.agent_id = :agent_id) AND EXISTS(SELECT 1 FROM memoranda.event_scope WHERE
(event_scope.scope_id = scope.id AND event_scope.commit_ts > :after AND event_scope.commit_ts <=
:through) AND event_scope.store_id = :store_id)) AND scope.store_id = :store_id LIMIT 1

-- name: namespaces_below
SELECT DISTINCT namespace FROM memoranda.scope WHERE (namespace = :namespace OR (namespace >= :start
AND namespace < :end)) AND scope.store_id = :store_id ORDER BY namespace

-- name: namespaces_page
SELECT DISTINCT namespace FROM memoranda.scope WHERE (namespace > :after AND namespace NOT LIKE
'!_%' ESCAPE '!' AND namespace NOT LIKE '%/!_%' ESCAPE '!' AND EXISTS(SELECT 1 FROM
memoranda.event_scope WHERE scope_id = scope.id AND event_scope.store_id = :store_id)) AND
scope.store_id = :store_id ORDER BY namespace LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: namespaces_written
SELECT DISTINCT namespace FROM memoranda.scope WHERE scope.store_id = :store_id ORDER BY namespace

-- name: next_erasure
SELECT erasure FROM memoranda.erased WHERE erasure > :after AND erased.store_id = :store_id ORDER BY
erasure LIMIT 1

-- name: notice_add
INSERT INTO memoranda.notice (store_id, memory, kind, dependent, dependent_commit,
dependent_position, invalidated_kind, invalidated, invalidated_version, invalidated_commit,
invalidated_position, change, invalidating, by_agent, commit_ts) VALUES (:store_id, :memory, :kind,
:dependent, :dependent_commit, :dependent_position, :invalidated_kind, :invalidated,
:invalidated_version, :invalidated_commit, :invalidated_position, :change, :invalidating, :by_agent,
:commit_ts)

-- name: notice_by
UPDATE memoranda.notice SET by_agent = :by_agent WHERE memory = (SELECT id FROM memoranda.memory
WHERE memory_id = :memory_id AND memory.store_id = :store_id) AND notice.store_id = :store_id

-- name: notice_clear
DELETE FROM memoranda.notice WHERE notice.store_id = :store_id

-- name: notice_find
SELECT dependent.memory_id, notice.dependent_commit, notice.dependent_position, notice.decision,
notice.replacement FROM memoranda.memory JOIN memoranda.notice ON notice.memory = memory.id AND
notice.store_id = :store_id LEFT JOIN memoranda.memory AS dependent ON dependent.id =
notice.dependent AND dependent.store_id = :store_id WHERE memory.memory_id = :memory_id AND
memory.store_id = :store_id

-- name: notice_get
SELECT memory.id, memory.memory_id, memory.namespace, memory.agent_id, notice.kind,
dependent.memory_id, notice.dependent_commit, notice.dependent_position, invalidated.memory_id,
notice.invalidated_version, notice.invalidated_commit, notice.invalidated_position, notice.change,
invalidating.memory_id, notice.by_agent, memory.created_at, CASE WHEN notice.resolved_commit <= :at
THEN notice.decision END, CASE WHEN notice.resolved_commit <= :at THEN notice.note END, CASE WHEN
notice.resolved_commit <= :at THEN notice.replacement END, CASE WHEN notice.resolved_commit <= :at
THEN notice.resolved_at END, CASE WHEN notice.resolved_commit <= :at THEN notice.resolved_by END
FROM memoranda.notice JOIN memoranda.memory ON memory.id = notice.memory AND memory.store_id =
:store_id LEFT JOIN memoranda.memory AS dependent ON dependent.id = notice.dependent AND
dependent.store_id = :store_id LEFT JOIN memoranda.memory AS invalidated ON invalidated.id =
notice.invalidated AND invalidated.store_id = :store_id LEFT JOIN memoranda.memory AS invalidating
ON invalidating.id = notice.invalidating AND invalidating.store_id = :store_id WHERE
memory.memory_id = :notice_id AND notice.store_id = :store_id

-- name: notice_ids
SELECT memory.memory_id FROM memoranda.memory JOIN memoranda.notice ON notice.memory = memory.id AND
notice.store_id = :store_id WHERE (memory.memory_id >= :first AND memory.memory_id <= :last AND
(memory.private = 0 OR memory.agent_id = :viewer)) AND memory.store_id = :store_id ORDER BY
memory.memory_id LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: notice_note
UPDATE memoranda.notice SET resolved_by = :by_agent, note = :note WHERE memory = (SELECT id FROM
memoranda.memory WHERE memory_id = :memory_id AND memory.store_id = :store_id) AND notice.store_id =
:store_id

-- name: notice_page
SELECT memory.id, memory.memory_id, memory.namespace, memory.agent_id, notice.kind,
dependent.memory_id, notice.dependent_commit, notice.dependent_position, invalidated.memory_id,
notice.invalidated_version, notice.invalidated_commit, notice.invalidated_position, notice.change,
invalidating.memory_id, notice.by_agent, memory.created_at, CASE WHEN notice.resolved_commit <= :at
THEN notice.decision END, CASE WHEN notice.resolved_commit <= :at THEN notice.note END, CASE WHEN
notice.resolved_commit <= :at THEN notice.replacement END, CASE WHEN notice.resolved_commit <= :at
THEN notice.resolved_at END, CASE WHEN notice.resolved_commit <= :at THEN notice.resolved_by END
FROM memoranda.notice JOIN memoranda.memory ON memory.id = notice.memory AND memory.store_id =
:store_id LEFT JOIN memoranda.memory AS dependent ON dependent.id = notice.dependent AND
dependent.store_id = :store_id LEFT JOIN memoranda.memory AS invalidated ON invalidated.id =
notice.invalidated AND invalidated.store_id = :store_id LEFT JOIN memoranda.memory AS invalidating
ON invalidating.id = notice.invalidating AND invalidating.store_id = :store_id WHERE (notice.memory
> :after AND notice.commit_ts <= :at AND (CAST(:agent_id AS TEXT) IS NULL OR memory.agent_id =
:agent_id) AND (memory.private = 0 OR memory.agent_id = :viewer) AND (CAST(:is_open AS BIGINT) IS
NULL OR :is_open = CASE WHEN notice.resolved_commit <= :at THEN 0 ELSE 1 END)) AND notice.store_id =
:store_id ORDER BY notice.memory LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: notice_resolve
UPDATE memoranda.notice SET resolved_commit = :commit_ts, resolved_at = :resolved_at, resolved_by =
:resolved_by, decision = :decision, note = :note, replacement = :replacement WHERE memory = :memory
AND notice.store_id = :store_id

-- name: notice_rows
SELECT memory.memory_id, notice.kind, notice.dependent IS NULL AS of_no_memory, dependent.memory_id
AS dependent, notice.dependent_commit, notice.dependent_position, notice.invalidated_kind,
notice.invalidated IS NULL AS by_no_memory, invalidated.memory_id AS invalidated,
notice.invalidated_version, notice.invalidated_commit, notice.invalidated_position, notice.change,
notice.invalidating IS NULL AS for_no_memory, invalidating.memory_id AS invalidating,
notice.by_agent, notice.commit_ts, notice.resolved_commit, notice.resolved_at, notice.resolved_by,
notice.decision, notice.note, notice.replacement FROM memoranda.notice LEFT JOIN memoranda.memory ON
memory.id = notice.memory AND memory.store_id = :store_id LEFT JOIN memoranda.memory AS dependent ON
dependent.id = notice.dependent AND dependent.store_id = :store_id LEFT JOIN memoranda.memory AS
invalidated ON invalidated.id = notice.invalidated AND invalidated.store_id = :store_id LEFT JOIN
memoranda.memory AS invalidating ON invalidating.id = notice.invalidating AND invalidating.store_id
= :store_id WHERE notice.store_id = :store_id ORDER BY memory.memory_id NULLS FIRST

-- name: notices_decided
SELECT memory.memory_id, notice.resolved_commit FROM memoranda.memory AS dependent JOIN
memoranda.notice ON notice.dependent = dependent.id AND notice.store_id = :store_id JOIN
memoranda.memory ON memory.id = notice.memory AND memory.store_id = :store_id WHERE
(dependent.memory_id = :memory_id AND NOT notice.note IS NULL) AND dependent.store_id = :store_id

-- name: notices_decided_at
SELECT memory.memory_id, notice.resolved_commit FROM (SELECT list.place - 1 AS key,
CAST(list.element ->> 0 AS BIGINT) AS element_0, CAST(list.element ->> 1 AS BIGINT) AS element_1
FROM JSONB_ARRAY_ELEMENTS(CAST(:places AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item
JOIN LATERAL (SELECT notice.* FROM memoranda.notice WHERE ((notice.dependent IS NULL AND
notice.dependent_commit = item.element_0 AND notice.dependent_position = item.element_1) AND
notice.store_id = :store_id) AND NOT notice.note IS NULL OFFSET 0) AS notice ON TRUE JOIN LATERAL
(SELECT memory.* FROM memoranda.memory WHERE memory.id = notice.memory AND memory.store_id =
:store_id OFFSET 0) AS memory ON TRUE

-- name: notices_known
SELECT memory.memory_id FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS
value FROM JSONB_ARRAY_ELEMENTS(CAST(:notice_ids AS JSONB)) WITH ORDINALITY AS list(element, place))
AS item JOIN LATERAL (SELECT memory.* FROM memoranda.memory WHERE memory.memory_id = item.value AND
memory.store_id = :store_id OFFSET 0) AS memory ON TRUE

-- name: notices_open_at
SELECT memory.memory_id, memory.namespace, memory.agent_id, memory.private, notice.dependent_commit,
notice.dependent_position FROM (SELECT list.place - 1 AS key, CAST(list.element ->> 0 AS BIGINT) AS
element_0, CAST(list.element ->> 1 AS BIGINT) AS element_1 FROM JSONB_ARRAY_ELEMENTS(CAST(:places AS
JSONB)) WITH ORDINALITY AS list(element, place)) AS item JOIN LATERAL (SELECT notice.* FROM
memoranda.notice WHERE ((notice.dependent IS NULL AND notice.dependent_commit = item.element_0 AND
notice.dependent_position = item.element_1) AND notice.store_id = :store_id) AND notice.decision IS
NULL OFFSET 0) AS notice ON TRUE JOIN LATERAL (SELECT memory.* FROM memoranda.memory WHERE memory.id
= notice.memory AND memory.store_id = :store_id OFFSET 0) AS memory ON TRUE ORDER BY memory.id

-- name: public_key_add
INSERT INTO memoranda.public_key (store_id, name, public_key, agent_id, commit_ts, until_commit)
VALUES (:store_id, :name, :public_key, :agent_id, :commit_ts, 9223372036854775807)

-- name: public_key_clear
DELETE FROM memoranda.public_key WHERE public_key.store_id = :store_id

-- name: public_key_find
SELECT agent_id, commit_ts, until_commit FROM memoranda.public_key WHERE (name = :name AND
public_key = :public_key) AND public_key.store_id = :store_id

-- name: public_key_retire
UPDATE memoranda.public_key SET until_commit = :commit_ts WHERE (name = :name AND public_key =
:public_key) AND public_key.store_id = :store_id

-- name: public_key_rows
SELECT name, public_key, agent_id, commit_ts, until_commit FROM memoranda.public_key WHERE
public_key.store_id = :store_id ORDER BY commit_ts, name, public_key

-- name: public_key_set_agent
UPDATE memoranda.public_key SET agent_id = :agent_id WHERE (name = :name AND public_key =
:public_key) AND public_key.store_id = :store_id

-- name: public_keys_of_agent
SELECT commit_ts FROM memoranda.public_key WHERE agent_id = :agent_id AND public_key.store_id =
:store_id

-- name: scope_add
INSERT INTO memoranda.scope (store_id, id, agent_id, namespace) VALUES (:store_id, :scope_id,
:agent_id, :namespace)

-- name: scope_counts
SELECT COUNT(DISTINCT CASE WHEN agent_id <> '_engine' THEN agent_id END), COUNT(DISTINCT namespace)
FROM memoranda.scope WHERE NOT namespace IN ('_log', '_audit') AND scope.store_id = :store_id

-- name: scope_drop_agent
DELETE FROM memoranda.scope WHERE (agent_id = :agent_id AND (agent_id <> '_engine' OR NOT namespace
IN ('_log', '_audit'))) AND scope.store_id = :store_id

-- name: scope_drop_below
DELETE FROM memoranda.scope WHERE (namespace >= :first AND namespace < :end) AND scope.store_id =
:store_id

-- name: scope_drop_namespace
DELETE FROM memoranda.scope WHERE namespace = :namespace AND scope.store_id = :store_id

-- name: scope_drop_unused
DELETE FROM memoranda.scope WHERE (agent_id = :agent_id AND namespace = :namespace AND NOT
EXISTS(SELECT 1 FROM memoranda.event_scope WHERE event_scope.scope_id = scope.id AND
event_scope.store_id = :store_id)) AND scope.store_id = :store_id

-- name: scope_find
SELECT id FROM memoranda.scope WHERE (agent_id = :agent_id AND namespace = :namespace) AND
scope.store_id = :store_id

-- name: scope_find_or_last
SELECT (SELECT id FROM memoranda.scope WHERE (agent_id = :agent_id AND namespace = :namespace) AND
scope.store_id = :store_id), (SELECT COALESCE(MAX(id), 0) FROM memoranda.scope WHERE scope.store_id
= :store_id)

-- name: scope_prune
DELETE FROM memoranda.scope WHERE NOT id IN (SELECT scope_id FROM memoranda.event_scope WHERE
event_scope.store_id = :store_id) AND scope.store_id = :store_id

-- name: scope_put
INSERT INTO memoranda.scope (store_id, id, agent_id, namespace) VALUES (:store_id, :id, :agent_id,
:namespace)

-- name: scope_rows
SELECT agent_id, namespace FROM memoranda.scope WHERE scope.store_id = :store_id ORDER BY agent_id,
namespace

-- name: scopes_after
SELECT id, agent_id, namespace FROM memoranda.scope WHERE id > :after AND scope.store_id = :store_id
ORDER BY id

-- name: scopes_of_agent
SELECT id FROM memoranda.scope WHERE agent_id = :agent_id AND scope.store_id = :store_id

-- name: scopes_of_namespaces
SELECT scope.id FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value
FROM JSONB_ARRAY_ELEMENTS(CAST(:namespaces AS JSONB)) WITH ORDINALITY AS list(element, place)) AS
item JOIN LATERAL (SELECT scope.* FROM memoranda.scope WHERE scope.namespace = item.value AND
scope.store_id = :store_id OFFSET 0) AS scope ON TRUE UNION SELECT id FROM memoranda.scope WHERE
(namespace >= :first AND namespace < :end) AND scope.store_id = :store_id

-- name: scopes_touched
SELECT id FROM memoranda.scope WHERE (CASE WHEN CAST(:namespace AS TEXT) IS NULL THEN NOT namespace
IN ('_log', '_audit') ELSE namespace = :namespace END AND EXISTS(SELECT 1 FROM memoranda.event_scope
WHERE (event_scope.scope_id = scope.id AND event_scope.commit_ts > :after AND event_scope.commit_ts
<= :through) AND event_scope.store_id = :store_id)) AND scope.store_id = :store_id ORDER BY id

-- name: scopes_with_events
SELECT id, namespace FROM memoranda.scope WHERE (agent_id = :agent_id AND namespace <> '_audit' AND
EXISTS(SELECT 1 FROM memoranda.event_scope WHERE (event_scope.scope_id = scope.id AND
event_scope.commit_ts > :after AND event_scope.commit_ts <= :through) AND event_scope.store_id =
:store_id)) AND scope.store_id = :store_id

-- name: search_begun
SELECT memory.commit_ts FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS
value FROM JSONB_ARRAY_ELEMENTS(CAST(:sources AS JSONB)) WITH ORDINALITY AS list(element, place)) AS
item JOIN LATERAL (SELECT memory.* FROM memoranda.memory WHERE memory.memory_id = item.value AND
memory.store_id = :store_id OFFSET 0) AS memory ON TRUE UNION SELECT statement.commit_ts FROM
(SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value FROM
JSONB_ARRAY_ELEMENTS(CAST(:sources AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item JOIN
LATERAL (SELECT statement.* FROM memoranda.graph_statement AS statement WHERE
(statement.assertion_id = item.value AND statement.store_id = :store_id) AND statement.asserts = 1
OFFSET 0) AS statement ON TRUE

-- name: search_citations
SELECT memory.memory_id, citation.commit_ts, transcript.transcript_id, citation.first,
citation.beyond FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value
FROM JSONB_ARRAY_ELEMENTS(CAST(:memory_ids AS JSONB)) WITH ORDINALITY AS list(element, place)) AS
item JOIN LATERAL (SELECT memory.* FROM memoranda.memory WHERE memory.memory_id = item.value AND
memory.store_id = :store_id OFFSET 0) AS memory ON TRUE JOIN LATERAL (SELECT citation.* FROM
memoranda.citation WHERE citation.memory = memory.id AND citation.store_id = :store_id OFFSET 0) AS
citation ON TRUE JOIN LATERAL (SELECT transcript.* FROM memoranda.transcript WHERE (transcript.id =
citation.transcript AND transcript.store_id = :store_id) AND LENGTH(transcript.digest) > 0 OFFSET 0)
AS transcript ON TRUE WHERE transcript.namespace = memory.namespace ORDER BY memory.id,
transcript.transcript_id, citation.first, citation.beyond

-- name: search_citing
SELECT DISTINCT memory.memory_id FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS
TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:transcript_ids AS JSONB)) WITH ORDINALITY AS
list(element, place)) AS item JOIN LATERAL (SELECT transcript.* FROM memoranda.transcript WHERE
transcript.transcript_id = item.value AND transcript.store_id = :store_id OFFSET 0) AS transcript ON
TRUE JOIN LATERAL (SELECT citation.* FROM memoranda.citation WHERE citation.transcript =
transcript.id AND citation.store_id = :store_id OFFSET 0) AS citation ON TRUE JOIN LATERAL (SELECT
memory.* FROM memoranda.memory WHERE memory.id = citation.memory AND memory.store_id = :store_id
OFFSET 0) AS memory ON TRUE

-- name: search_facts
SELECT statement.assertion_id, scope.namespace, CASE statement.private WHEN 0 THEN '' ELSE
scope.agent_id END, statement.commit_ts, statement.until_commit, subject.name, relation.name,
object.name FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value FROM
JSONB_ARRAY_ELEMENTS(CAST(:assertion_ids AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item
JOIN LATERAL (SELECT statement.* FROM memoranda.graph_statement AS statement WHERE
(statement.assertion_id = item.value AND statement.asserts = 1) AND statement.store_id = :store_id
OFFSET 0) AS statement ON TRUE JOIN LATERAL (SELECT subject.* FROM memoranda.graph_node AS subject
WHERE subject.id = statement.subject AND subject.store_id = :store_id OFFSET 0) AS subject ON TRUE
JOIN LATERAL (SELECT relation.* FROM memoranda.graph_node AS relation WHERE relation.id =
statement.relation AND relation.store_id = :store_id OFFSET 0) AS relation ON TRUE JOIN LATERAL
(SELECT object.* FROM memoranda.graph_node AS object WHERE object.id = statement.object AND
object.store_id = :store_id OFFSET 0) AS object ON TRUE JOIN LATERAL (SELECT scope.* FROM
memoranda.scope WHERE scope.id = subject.scope_id AND scope.store_id = :store_id OFFSET 0) AS scope
ON TRUE ORDER BY statement.id

-- name: search_memories
SELECT memory.memory_id, memory.namespace, CASE memory.private WHEN 1 THEN memory.agent_id ELSE ''
END, state.id, state.commit_ts, state.position, state.kind <> '' AND state.retracted = 0,
state.title, COALESCE(state.details_in, state.id), COALESCE(state.content_in, state.id),
state.details, state.digest, state.size, state.content FROM (SELECT list.place - 1 AS key,
CAST(list.element #>> '{}' AS TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:memory_ids AS JSONB))
WITH ORDINALITY AS list(element, place)) AS item JOIN LATERAL (SELECT memory.* FROM memoranda.memory
WHERE memory.memory_id = item.value AND memory.store_id = :store_id OFFSET 0) AS memory ON TRUE JOIN
LATERAL (SELECT state.* FROM memoranda.memory_state AS state WHERE state.memory = memory.id AND
state.store_id = :store_id OFFSET 0) AS state ON TRUE ORDER BY memory.id, state.commit_ts,
state.position

-- name: search_memories_at
SELECT memory.memory_id, item.element_1, state.kind <> '' AND state.retracted = 0, state.title,
details_state.details, content_state.commit_ts, content_state.position, content_state.digest,
content_state.size, content_state.content FROM (SELECT list.place - 1 AS key, CAST(list.element ->>
0 AS TEXT) AS element_0, CAST(list.element ->> 1 AS BIGINT) AS element_1 FROM
JSONB_ARRAY_ELEMENTS(CAST(:requested AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item
JOIN LATERAL (SELECT memory.* FROM memoranda.memory WHERE memory.memory_id = item.element_0 AND
memory.store_id = :store_id OFFSET 0) AS memory ON TRUE JOIN LATERAL (SELECT state.* FROM
memoranda.memory_state AS state WHERE state.id = (SELECT latest.id FROM memoranda.memory_state AS
latest WHERE (latest.memory = memory.id AND latest.commit_ts <= item.element_1) AND latest.store_id
= :store_id ORDER BY latest.commit_ts DESC, latest.position DESC LIMIT 1) AND state.store_id =
:store_id OFFSET 0) AS state ON TRUE JOIN LATERAL (SELECT details_state.* FROM
memoranda.memory_state AS details_state WHERE details_state.id = COALESCE(state.details_in,
state.id) AND details_state.store_id = :store_id OFFSET 0) AS details_state ON TRUE JOIN LATERAL
(SELECT content_state.* FROM memoranda.memory_state AS content_state WHERE content_state.id =
COALESCE(state.content_in, state.id) AND content_state.store_id = :store_id OFFSET 0) AS
content_state ON TRUE

-- name: setting_clear
DELETE FROM memoranda.setting WHERE setting.store_id = :store_id

-- name: setting_remove
DELETE FROM memoranda.setting WHERE (namespace = :namespace AND name = :name) AND setting.store_id =
:store_id

-- name: setting_rows
SELECT namespace, name, value FROM memoranda.setting WHERE setting.store_id = :store_id ORDER BY
namespace, name

-- name: setting_set
INSERT INTO memoranda.setting (store_id, namespace, name, value) VALUES (:store_id, :namespace,
:name, :value) ON CONFLICT(store_id, namespace, name) DO UPDATE SET value = excluded.value

-- name: state_add
INSERT INTO memoranda.state (store_id, id, scope_id, key, version, commit_ts, value) VALUES
(:store_id, :key_id, :scope_id, :key, :version, :commit_ts, :value)

-- name: state_because_add
INSERT INTO memoranda.state_because (store_id, kind, target, version, key_id, commit_ts, position)
VALUES (:store_id, :kind, :target, :version, :key_id, :commit_ts, :position) ON CONFLICT DO NOTHING

-- name: state_because_cited
SELECT DISTINCT because.target FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS
TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:names AS JSONB)) WITH ORDINALITY AS list(element,
place)) AS name JOIN LATERAL (SELECT because.* FROM memoranda.state_because AS because WHERE
(because.kind IN (2, 4) AND because.target = name.value) AND because.store_id = :store_id OFFSET 0)
AS because ON TRUE

-- name: state_because_clear
DELETE FROM memoranda.state_because WHERE state_because.store_id = :store_id

-- name: state_because_drop
DELETE FROM memoranda.state_because WHERE key_id = :key_id AND state_because.store_id = :store_id

-- name: state_because_of_old_versions
SELECT DISTINCT state.key, because.version, scope.agent_id, scope.namespace FROM
memoranda.state_because AS because JOIN memoranda.state ON state.id = CASE because.kind WHEN 1 THEN
CAST(because.target AS BIGINT) END AND state.store_id = :store_id JOIN memoranda.scope ON scope.id =
state.scope_id AND scope.store_id = :store_id WHERE (because.kind = 1 AND because.version <
state.version) AND because.store_id = :store_id

-- name: state_because_rows
SELECT scope.agent_id, scope.namespace, state.key, because.kind, because.version, because.commit_ts,
because.position, CASE because.kind WHEN 1 THEN cited_scope.agent_id END AS cited_agent, CASE
because.kind WHEN 1 THEN cited_scope.namespace END AS cited_namespace, CASE because.kind WHEN 1 THEN
cited.key ELSE because.target END AS cited FROM memoranda.state_because AS because LEFT JOIN
memoranda.state ON state.id = because.key_id AND state.store_id = :store_id LEFT JOIN
memoranda.scope ON scope.id = state.scope_id AND scope.store_id = :store_id LEFT JOIN
memoranda.state AS cited ON (cited.id = CASE because.kind WHEN 1 THEN CAST(because.target AS BIGINT)
END AND because.target = CAST(cited.id AS TEXT)) AND cited.store_id = :store_id LEFT JOIN
memoranda.scope AS cited_scope ON cited_scope.id = cited.scope_id AND cited_scope.store_id =
:store_id WHERE because.store_id = :store_id ORDER BY scope.agent_id NULLS FIRST, scope.namespace
NULLS FIRST, state.key, because.kind, because.version, cited_agent NULLS FIRST, cited_namespace
NULLS FIRST, cited NULLS FIRST

-- name: state_changed_in_range
SELECT 1 FROM memoranda.scope JOIN memoranda.state ON state.scope_id = scope.id AND state.store_id =
:store_id WHERE (scope.agent_id = :agent_id AND scope.namespace = :namespace AND state.key >= :first
AND state.key < :end AND state.commit_ts > :since) AND scope.store_id = :store_id LIMIT 1

-- name: state_clear
DELETE FROM memoranda.state WHERE state.store_id = :store_id

-- name: state_count
SELECT COUNT(*) FROM memoranda.state WHERE NOT value IS NULL AND state.store_id = :store_id

-- name: state_dependents
SELECT item.key, because.version, because.commit_ts, because.position, scope.namespace,
scope.agent_id, state.key, place.commit_ts, place.position FROM (SELECT list.place - 1 AS key,
CAST(list.element ->> 0 AS BIGINT) AS element_0, CAST(list.element ->> 1 AS TEXT) AS element_1 FROM
JSONB_ARRAY_ELEMENTS(CAST(:evidence AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item JOIN
LATERAL (SELECT because.* FROM memoranda.state_because AS because WHERE (because.kind =
item.element_0 AND because.target = item.element_1) AND because.store_id = :store_id OFFSET 0) AS
because ON TRUE JOIN LATERAL (SELECT state.* FROM memoranda.state WHERE state.id = because.key_id
AND state.store_id = :store_id OFFSET 0) AS state ON TRUE JOIN LATERAL (SELECT scope.* FROM
memoranda.scope WHERE scope.id = state.scope_id AND scope.store_id = :store_id OFFSET 0) AS scope ON
TRUE JOIN LATERAL (SELECT place.* FROM memoranda.state_version AS place WHERE (place.key_id =
state.id AND place.commit_ts = state.commit_ts AND place.version = state.version) AND place.store_id
= :store_id OFFSET 0) AS place ON TRUE ORDER BY item.key, state.id

-- name: state_diff
SELECT state.key, old.commit_ts, old.version, old.position, new.commit_ts, new.version, new.position
FROM memoranda.scope JOIN memoranda.state ON (state.scope_id = scope.id AND state.commit_ts >
:unchanged_through) AND state.store_id = :store_id LEFT JOIN memoranda.state_version AS old ON
(old.key_id = state.id AND old.live = 1 AND (old.commit_ts, old.version) = (SELECT commit_ts,
version FROM memoranda.state_version WHERE (key_id = state.id AND commit_ts <= :old_at) AND
state_version.store_id = :store_id ORDER BY commit_ts DESC, version DESC LIMIT 1)) AND old.store_id
= :store_id LEFT JOIN memoranda.state_version AS new ON (new.key_id = state.id AND new.live = 1 AND
(new.commit_ts, new.version) = (SELECT commit_ts, version FROM memoranda.state_version WHERE (key_id
= state.id AND commit_ts <= :new_at) AND state_version.store_id = :store_id ORDER BY commit_ts DESC,
version DESC LIMIT 1)) AND new.store_id = :store_id WHERE (scope.agent_id = :agent_id AND
scope.namespace = :namespace AND state.key > :after AND old.version IS DISTINCT FROM new.version)
AND scope.store_id = :store_id ORDER BY state.key LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: state_get
SELECT state.value, state.version, state.commit_ts, event.committed_at, CASE WHEN
LENGTH(event.salts) % 16 = 0 THEN EXISTS(SELECT 1 FROM memoranda.state_version AS place JOIN
memoranda.erased ON (erased.commit_ts = place.commit_ts AND erased.position = place.position) AND
erased.store_id = :store_id WHERE (place.key_id = state.id AND place.commit_ts = state.commit_ts AND
place.version = state.version) AND place.store_id = :store_id) ELSE FALSE END FROM memoranda.scope
JOIN memoranda.state ON (state.scope_id = scope.id AND state.key = :key) AND state.store_id =
:store_id JOIN memoranda.event ON event.commit_ts = state.commit_ts AND event.store_id = :store_id
WHERE (scope.agent_id = :agent_id AND scope.namespace = :namespace AND NOT state.value IS NULL) AND
scope.store_id = :store_id

-- name: state_head
SELECT state.id, state.version, state.commit_ts, NOT state.value IS NULL, EXISTS(SELECT 1 FROM
memoranda.state_because WHERE key_id = state.id AND state_because.store_id = :store_id),
EXISTS(SELECT 1 FROM memoranda.state_because WHERE (kind = 1 AND target = CAST(state.id AS TEXT))
AND state_because.store_id = :store_id) FROM memoranda.scope JOIN memoranda.state ON (state.scope_id
= scope.id AND state.key = :key) AND state.store_id = :store_id WHERE (scope.agent_id = :agent_id
AND scope.namespace = :namespace) AND scope.store_id = :store_id

-- name: state_history
SELECT place.commit_ts, place.version, place.position FROM memoranda.scope JOIN memoranda.state ON
(state.scope_id = scope.id AND state.key = :key) AND state.store_id = :store_id JOIN
memoranda.state_version AS place ON (place.key_id = state.id AND (place.commit_ts, place.version) >
(:after_commit, :after_version) AND place.commit_ts <= :through) AND place.store_id = :store_id
WHERE (scope.agent_id = :agent_id AND scope.namespace = :namespace) AND scope.store_id = :store_id
ORDER BY place.commit_ts, place.version LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: state_key_places
SELECT place.commit_ts, place.position FROM memoranda.scope JOIN memoranda.state ON (state.scope_id
= scope.id AND state.key = :key) AND state.store_id = :store_id JOIN memoranda.state_version AS
place ON place.key_id = state.id AND place.store_id = :store_id WHERE (scope.agent_id = :agent_id
AND scope.namespace = :namespace) AND scope.store_id = :store_id

-- name: state_keys
SELECT state.key FROM memoranda.scope JOIN memoranda.state ON state.scope_id = scope.id AND
state.store_id = :store_id JOIN memoranda.state_version AS place ON (place.key_id = state.id AND
(place.commit_ts, place.version) = (SELECT commit_ts, version FROM memoranda.state_version WHERE
(key_id = state.id AND commit_ts <= :at) AND state_version.store_id = :store_id ORDER BY commit_ts
DESC, version DESC LIMIT 1)) AND place.store_id = :store_id WHERE (scope.agent_id = :agent_id AND
scope.namespace = :namespace AND state.key > :after AND state.key >= :first AND state.key < :end AND
place.live = 1) AND scope.store_id = :store_id ORDER BY state.key LIMIT NULLIF(CAST(:limit AS
BIGINT), -1)

-- name: state_last_id
SELECT COALESCE(MAX(id), 0) FROM memoranda.state WHERE state.store_id = :store_id

-- name: state_page
SELECT state.key, place.version, place.commit_ts, place.position, event.committed_at, CASE WHEN
LENGTH(event.salts) % 16 = 0 THEN EXISTS(SELECT 1 FROM memoranda.erased WHERE (erased.commit_ts =
place.commit_ts AND erased.position = place.position) AND erased.store_id = :store_id) ELSE FALSE
END, CASE WHEN state.version = place.version THEN state.value END FROM memoranda.scope JOIN
memoranda.state ON state.scope_id = scope.id AND state.store_id = :store_id JOIN
memoranda.state_version AS place ON (place.key_id = state.id AND (place.commit_ts, place.version) =
(SELECT commit_ts, version FROM memoranda.state_version WHERE (key_id = state.id AND commit_ts <=
:at) AND state_version.store_id = :store_id ORDER BY commit_ts DESC, version DESC LIMIT 1)) AND
place.store_id = :store_id JOIN memoranda.event ON event.commit_ts = place.commit_ts AND
event.store_id = :store_id WHERE (scope.agent_id = :agent_id AND scope.namespace = :namespace AND
state.key > :after AND state.key >= :first AND state.key < :end AND place.live = 1) AND
scope.store_id = :store_id ORDER BY state.key LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: state_page_within
SELECT page.column_1, page.column_2, page.column_3, page.column_4, page.column_5, page.column_6,
page.column_7 FROM (SELECT own.*, COALESCE(SUM(LENGTH(own.column_7)) OVER (ROWS BETWEEN UNBOUNDED
PRECEDING AND 1 PRECEDING), 0) AS size_before FROM (SELECT state.key, place.version,
place.commit_ts, place.position, event.committed_at, CASE WHEN LENGTH(event.salts) % 16 = 0 THEN
EXISTS(SELECT 1 FROM memoranda.erased WHERE (erased.commit_ts = place.commit_ts AND erased.position
= place.position) AND erased.store_id = :store_id) ELSE FALSE END, CASE WHEN state.version =
place.version THEN state.value END FROM memoranda.scope JOIN memoranda.state ON state.scope_id =
scope.id AND state.store_id = :store_id JOIN memoranda.state_version AS place ON (place.key_id =
state.id AND (place.commit_ts, place.version) = (SELECT commit_ts, version FROM
memoranda.state_version WHERE (key_id = state.id AND commit_ts <= :at) AND state_version.store_id =
:store_id ORDER BY commit_ts DESC, version DESC LIMIT 1)) AND place.store_id = :store_id JOIN
memoranda.event ON event.commit_ts = place.commit_ts AND event.store_id = :store_id WHERE
(scope.agent_id = :agent_id AND scope.namespace = :namespace AND state.key > :after AND state.key >=
:first AND state.key < :end AND place.live = 1) AND scope.store_id = :store_id ORDER BY state.key
LIMIT NULLIF(CAST(:limit AS BIGINT), -1)) AS own (column_1, column_2, column_3, column_4, column_5,
column_6, column_7)) AS page WHERE page.size_before < CAST(:budget AS BIGINT)

-- name: state_place_at
SELECT place.commit_ts, place.version, place.position FROM memoranda.scope JOIN memoranda.state ON
(state.scope_id = scope.id AND state.key = :key) AND state.store_id = :store_id JOIN
memoranda.state_version AS place ON (place.key_id = state.id AND place.commit_ts <= :at) AND
place.store_id = :store_id WHERE (scope.agent_id = :agent_id AND scope.namespace = :namespace) AND
scope.store_id = :store_id ORDER BY place.commit_ts DESC, place.version DESC LIMIT 1

-- name: state_place_of_version
SELECT place.commit_ts, place.version, place.position FROM memoranda.scope JOIN memoranda.state ON
(state.scope_id = scope.id AND state.key = :key) AND state.store_id = :store_id JOIN
memoranda.state_version AS place ON (place.key_id = state.id AND place.version = :version) AND
place.store_id = :store_id WHERE (scope.agent_id = :agent_id AND scope.namespace = :namespace AND
place.commit_ts <= :at) AND scope.store_id = :store_id

-- name: state_places
SELECT item.key, place.commit_ts, place.position, newest.version, newest.live FROM (SELECT
list.place - 1 AS key, CAST(list.element ->> 0 AS TEXT) AS element_0, CAST(list.element ->> 1 AS
TEXT) AS element_1, CAST(list.element ->> 2 AS TEXT) AS element_2, CAST(list.element ->> 3 AS
BIGINT) AS element_3 FROM JSONB_ARRAY_ELEMENTS(CAST(:requested AS JSONB)) WITH ORDINALITY AS
list(element, place)) AS item JOIN LATERAL (SELECT scope.* FROM memoranda.scope WHERE
(scope.agent_id = item.element_0 AND scope.namespace = item.element_1) AND scope.store_id =
:store_id OFFSET 0) AS scope ON TRUE JOIN LATERAL (SELECT state.* FROM memoranda.state WHERE
(state.scope_id = scope.id AND state.key = item.element_2) AND state.store_id = :store_id OFFSET 0)
AS state ON TRUE JOIN LATERAL (SELECT newest.* FROM memoranda.state_version AS newest WHERE
(newest.key_id = state.id AND (newest.commit_ts, newest.version) = (SELECT commit_ts, version FROM
memoranda.state_version WHERE (key_id = state.id AND commit_ts <= :at) AND state_version.store_id =
:store_id ORDER BY commit_ts DESC, version DESC LIMIT 1)) AND newest.store_id = :store_id OFFSET 0)
AS newest ON TRUE JOIN LATERAL (SELECT place.* FROM memoranda.state_version AS place WHERE
(place.key_id = state.id AND place.commit_ts <= :at AND place.version = COALESCE(item.element_3,
newest.version)) AND place.store_id = :store_id OFFSET 0) AS place ON TRUE

-- name: state_reference_add
INSERT INTO memoranda.state_reference (store_id, scope_id, name, commit_ts) VALUES (:store_id,
:scope_id, :name, :commit_ts) ON CONFLICT DO NOTHING

-- name: state_reference_clear
DELETE FROM memoranda.state_reference WHERE state_reference.store_id = :store_id

-- name: state_reference_remove
DELETE FROM memoranda.state_reference WHERE (scope_id = :scope_id AND name = :name AND commit_ts =
:commit_ts) AND state_reference.store_id = :store_id

-- name: state_reference_rows
SELECT reference.scope_id = 0, scope.agent_id, scope.namespace, reference.name, reference.commit_ts
FROM memoranda.state_reference AS reference LEFT JOIN memoranda.scope ON scope.id =
reference.scope_id AND scope.store_id = :store_id WHERE reference.store_id = :store_id ORDER BY 1,
scope.agent_id NULLS FIRST, scope.namespace NULLS FIRST, reference.name, reference.commit_ts

-- name: state_references_to_names
SELECT reference.commit_ts FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT)
AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:names AS JSONB)) WITH ORDINALITY AS list(element, place))
AS item JOIN LATERAL (SELECT reference.* FROM memoranda.state_reference AS reference WHERE
(reference.scope_id = :scope_id AND reference.name = item.value) AND reference.store_id = :store_id
OFFSET 0) AS reference ON TRUE

-- name: state_references_to_scopes
SELECT reference.commit_ts FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS BIGINT)
AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:scope_ids AS JSONB)) WITH ORDINALITY AS list(element,
place)) AS item JOIN LATERAL (SELECT reference.* FROM memoranda.state_reference AS reference WHERE
reference.scope_id = item.value AND reference.store_id = :store_id OFFSET 0) AS reference ON TRUE

-- name: state_remove
DELETE FROM memoranda.state WHERE (key = :key AND scope_id = (SELECT id FROM memoranda.scope WHERE
(agent_id = :agent_id AND namespace = :namespace) AND scope.store_id = :store_id) AND NOT
EXISTS(SELECT 1 FROM memoranda.state_version WHERE key_id = state.id AND state_version.store_id =
:store_id)) AND state.store_id = :store_id

-- name: state_rests_on_facts
SELECT 1 FROM memoranda.state_because WHERE kind = 3 AND state_because.store_id = :store_id LIMIT 1

-- name: state_rows
SELECT scope.agent_id, scope.namespace, state.key, state.version, state.commit_ts, state.value FROM
memoranda.state LEFT JOIN memoranda.scope ON scope.id = state.scope_id AND scope.store_id =
:store_id WHERE state.store_id = :store_id ORDER BY scope.agent_id NULLS FIRST, scope.namespace
NULLS FIRST, state.key

-- name: state_set
UPDATE memoranda.state SET version = :version, commit_ts = :commit_ts, value = :value WHERE id =
:key_id AND state.store_id = :store_id

-- name: state_version_add
INSERT INTO memoranda.state_version (store_id, key_id, commit_ts, version, position, live) VALUES
(:store_id, :key_id, :commit_ts, :version, :position, :live)

-- name: state_version_clear
DELETE FROM memoranda.state_version WHERE state_version.store_id = :store_id

-- name: state_version_live
SELECT place.live FROM memoranda.scope JOIN memoranda.state ON (state.scope_id = scope.id AND
state.key = :key) AND state.store_id = :store_id JOIN memoranda.state_version AS place ON
(place.key_id = state.id AND place.version = :version) AND place.store_id = :store_id WHERE
(scope.agent_id = :agent_id AND scope.namespace = :namespace) AND scope.store_id = :store_id

-- name: state_version_place
SELECT place.commit_ts, place.position FROM memoranda.state JOIN memoranda.state_version AS place ON
(place.key_id = state.id AND place.commit_ts = state.commit_ts AND place.version = :version) AND
place.store_id = :store_id WHERE state.id = :key_id AND state.store_id = :store_id UNION ALL SELECT
place.commit_ts, place.position FROM memoranda.state JOIN memoranda.state_version AS place ON
(place.key_id = state.id AND place.version = :version) AND place.store_id = :store_id WHERE
(state.id = :key_id AND state.version > :version) AND state.store_id = :store_id LIMIT 1

-- name: state_version_remove
DELETE FROM memoranda.state_version WHERE (commit_ts = :commit_ts AND position = :position AND
key_id = (SELECT state.id FROM memoranda.scope JOIN memoranda.state ON (state.scope_id = scope.id
AND state.key = :key) AND state.store_id = :store_id WHERE (scope.agent_id = :agent_id AND
scope.namespace = :namespace) AND scope.store_id = :store_id)) AND state_version.store_id =
:store_id

-- name: state_version_rows
SELECT scope.agent_id, scope.namespace, state.key, place.commit_ts, place.version, place.position,
place.live FROM memoranda.state_version AS place LEFT JOIN memoranda.state ON state.id =
place.key_id AND state.store_id = :store_id LEFT JOIN memoranda.scope ON scope.id = state.scope_id
AND scope.store_id = :store_id WHERE place.store_id = :store_id ORDER BY scope.agent_id NULLS FIRST,
scope.namespace NULLS FIRST, state.key, place.commit_ts, place.version

-- name: sweep_memories
WITH RECURSIVE brief AS MATERIALIZED (SELECT memory.id, memory.memory_id, memory.namespace,
state.kind, state.expires_at FROM memoranda.memory JOIN memoranda.memory_state AS state ON state.id
= (SELECT id FROM memoranda.memory_state WHERE memory = memory.id AND memory_state.store_id =
:store_id ORDER BY commit_ts DESC, position DESC LIMIT 1) AND state.store_id = :store_id WHERE
(state.kind = '' OR state.expires_at <= :before) AND memory.store_id = :store_id), dispensable AS
MATERIALIZED (SELECT id FROM brief WHERE kind = '' OR ((namespace = :namespace OR (namespace >=
:children AND namespace < :end)) AND NOT memory_id IN (SELECT item.value FROM (SELECT list.place - 1
AS key, CAST(list.element #>> '{}' AS TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:spared AS
JSONB)) WITH ORDINALITY AS list(element, place)) AS item) AND NOT EXISTS(SELECT 1 FROM
memoranda.notice WHERE notice.memory = brief.id AND notice.store_id = :store_id))), needed(id) AS
(SELECT link.target FROM dispensable JOIN memoranda.memory_link AS link ON link.target =
dispensable.id AND link.store_id = :store_id WHERE link.relation IN ('reflects_on', 'derived_from')
AND link.until_commit = 9223372036854775807 AND NOT link.source IN (SELECT id FROM dispensable)
UNION SELECT link.target FROM needed JOIN memoranda.memory_link AS link ON link.source = needed.id
AND link.store_id = :store_id WHERE link.relation IN ('reflects_on', 'derived_from') AND
link.until_commit = 9223372036854775807 AND link.target IN (SELECT id FROM dispensable)) SELECT
memory_id FROM brief WHERE kind <> '' AND id IN (SELECT id FROM dispensable) AND NOT id IN (SELECT
id FROM needed) ORDER BY id

-- name: sweep_transcripts
SELECT transcript.transcript_id FROM memoranda.transcript WHERE (LENGTH(transcript.digest) > 0 AND
transcript.expires_at <= :now AND (namespace = :namespace OR (namespace >= :children AND namespace <
:end)) AND NOT transcript_id IN (SELECT item.value FROM (SELECT list.place - 1 AS key,
CAST(list.element #>> '{}' AS TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:spared AS JSONB)) WITH
ORDINALITY AS list(element, place)) AS item) AND NOT EXISTS(SELECT 1 FROM memoranda.citation JOIN
memoranda.memory ON memory.id = citation.memory AND memory.store_id = :store_id WHERE
(citation.transcript = transcript.id AND NOT memory.memory_id IN (SELECT item.value FROM (SELECT
list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value FROM
JSONB_ARRAY_ELEMENTS(CAST(:swept_ids AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item)
AND (SELECT kind FROM memoranda.memory_state WHERE memory = memory.id AND memory_state.store_id =
:store_id ORDER BY commit_ts DESC, position DESC LIMIT 1) <> '') AND citation.store_id = :store_id))
AND transcript.store_id = :store_id ORDER BY transcript.id

-- name: title_add
INSERT INTO memoranda.memory_title (store_id, namespace, owner, title, commit_ts, position,
until_commit, memory) SELECT :store_id, namespace, CASE private WHEN 1 THEN agent_id ELSE '' END,
:title, :commit_ts, :position, 9223372036854775807, id FROM memoranda.memory WHERE id = :memory AND
memory.store_id = :store_id

-- name: title_changed
SELECT 1 FROM memoranda.memory_title AS title WHERE (title.namespace = :namespace AND title.owner =
:owner AND (title.title = :title AND MD5(title.title) = MD5(CAST(:title AS TEXT))) AND
(title.commit_ts > :since OR (title.until_commit > :since AND title.until_commit <
9223372036854775807))) AND title.store_id = :store_id

-- name: title_close
UPDATE memoranda.memory_title SET until_commit = :commit_ts WHERE ((title = :title AND MD5(title) =
MD5(CAST(:title AS TEXT))) AND memory = :memory AND until_commit = 9223372036854775807 AND
(namespace, owner) = (SELECT namespace, CASE private WHEN 1 THEN agent_id ELSE '' END FROM
memoranda.memory WHERE id = :memory AND memory.store_id = :store_id)) AND memory_title.store_id =
:store_id

-- name: title_drop
DELETE FROM memoranda.memory_title WHERE ((title = :title AND MD5(title) = MD5(CAST(:title AS
TEXT))) AND commit_ts = :commit_ts AND position = :position AND memory = :memory AND (namespace,
owner) = (SELECT namespace, CASE private WHEN 1 THEN agent_id ELSE '' END FROM memoranda.memory
WHERE id = :memory AND memory.store_id = :store_id)) AND memory_title.store_id = :store_id

-- name: title_end
SELECT title.until_commit FROM memoranda.memory JOIN memoranda.memory_title AS title ON
(title.namespace = memory.namespace AND title.owner = CASE memory.private WHEN 1 THEN
memory.agent_id ELSE '' END AND (title.title = :title AND MD5(title.title) = MD5(CAST(:title AS
TEXT))) AND title.commit_ts = :commit_ts AND title.position = :position AND title.memory =
memory.id) AND title.store_id = :store_id WHERE memory.id = :memory AND memory.store_id = :store_id

-- name: title_find
SELECT memory.memory_id FROM memoranda.memory_title AS title JOIN memoranda.memory ON memory.id =
title.memory AND memory.store_id = :store_id WHERE (title.namespace = :namespace AND title.owner =
:owner AND (title.title = :title AND MD5(title.title) = MD5(CAST(:title AS TEXT))) AND
title.commit_ts <= :at AND title.until_commit > :at) AND title.store_id = :store_id

-- name: title_last_until
UPDATE memoranda.memory_title SET until_commit = :until_commit WHERE (memory = :memory AND (title =
:title AND MD5(title) = MD5(CAST(:title AS TEXT))) AND (namespace, owner, commit_ts, position) =
(SELECT past.namespace, past.owner, past.commit_ts, past.position FROM memoranda.memory JOIN
memoranda.memory_title AS past ON (past.namespace = memory.namespace AND past.owner = CASE
memory.private WHEN 1 THEN memory.agent_id ELSE '' END AND (past.title = :title AND MD5(past.title)
= MD5(CAST(:title AS TEXT))) AND past.memory = memory.id) AND past.store_id = :store_id WHERE
(memory.id = :memory AND (past.commit_ts, past.position) < (:commit_ts, :position)) AND
memory.store_id = :store_id ORDER BY past.commit_ts DESC, past.position DESC LIMIT 1)) AND
memory_title.store_id = :store_id

-- name: title_put
INSERT INTO memoranda.memory_title (store_id, namespace, owner, title, commit_ts, position,
until_commit, memory) SELECT :store_id, namespace, CASE private WHEN 1 THEN agent_id ELSE '' END,
:title, :commit_ts, :position, :until_commit, id FROM memoranda.memory WHERE id = :memory AND
memory.store_id = :store_id

-- name: transcript_add
INSERT INTO memoranda.transcript (store_id, id, transcript_id, namespace, agent_id, commit_ts,
position, created_at, occurred_at, expires_at, size, digest, form, messages_size) VALUES (:store_id,
:id, :transcript_id, :namespace, :agent_id, :commit_ts, :position, :created_at, :occurred_at,
:expires_at, :size, :digest, :form, :messages_size)

-- name: transcript_clear
DELETE FROM memoranda.transcript WHERE transcript.store_id = :store_id

-- name: transcript_duplicate
SELECT transcript_id, commit_ts, created_at FROM memoranda.transcript WHERE (namespace = :namespace
AND agent_id = :agent_id AND size = :size AND digest = :digest AND COALESCE(occurred_at, :never) =
:occurred_at) AND transcript.store_id = :store_id ORDER BY id LIMIT 1

-- name: transcript_get
SELECT transcript.transcript_id, transcript.namespace, transcript.agent_id, transcript.commit_ts,
transcript.position, transcript.created_at, transcript.occurred_at, transcript.expires_at,
transcript.size, transcript.digest, LENGTH(blob.content), transcript.form, transcript.messages_size
FROM memoranda.transcript JOIN memoranda.blob ON (blob.commit_ts = transcript.commit_ts AND
blob.position = transcript.position) AND blob.store_id = :store_id WHERE (transcript.transcript_id =
:transcript_id AND transcript.commit_ts <= :at) AND transcript.store_id = :store_id

-- name: transcript_ids
SELECT transcript_id FROM memoranda.transcript WHERE (transcript_id >= :first AND transcript_id <=
:last) AND transcript.store_id = :store_id ORDER BY transcript_id LIMIT NULLIF(CAST(:limit AS
BIGINT), -1)

-- name: transcript_last_number
SELECT COALESCE(MAX(id), 0) FROM memoranda.transcript WHERE transcript.store_id = :store_id

-- name: transcript_neighbours
SELECT item.value, (SELECT MAX(transcript_id) FROM memoranda.transcript WHERE transcript_id <
item.value AND transcript.store_id = :store_id), (SELECT MIN(transcript_id) FROM
memoranda.transcript WHERE transcript_id > item.value AND transcript.store_id = :store_id) FROM
(SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value FROM
JSONB_ARRAY_ELEMENTS(CAST(:ids AS JSONB)) WITH ORDINALITY AS list(element, place)) AS item

-- name: transcript_number
SELECT id FROM memoranda.transcript WHERE transcript_id = :transcript_id AND transcript.store_id =
:store_id

-- name: transcript_page
SELECT transcript.transcript_id, transcript.namespace, transcript.agent_id, transcript.commit_ts,
transcript.position, transcript.created_at, transcript.occurred_at, transcript.expires_at,
transcript.size, transcript.digest, LENGTH(blob.content), transcript.form, transcript.messages_size,
transcript.id FROM memoranda.transcript JOIN memoranda.blob ON (blob.commit_ts =
transcript.commit_ts AND blob.position = transcript.position) AND blob.store_id = :store_id WHERE
(transcript.namespace >= :namespace AND transcript.namespace < :end AND (transcript.namespace =
:namespace OR transcript.namespace >= :children) AND (transcript.namespace, transcript.id) >
(:after_namespace, :after) AND transcript.commit_ts <= :at) AND transcript.store_id = :store_id
ORDER BY transcript.namespace, transcript.id LIMIT NULLIF(CAST(:limit AS BIGINT), -1)

-- name: transcript_place
SELECT commit_ts, position FROM memoranda.transcript WHERE (transcript_id = :transcript_id AND
LENGTH(digest) > 0) AND transcript.store_id = :store_id

-- name: transcript_rows
SELECT transcript_id, namespace, agent_id, commit_ts, position, created_at, occurred_at, expires_at,
size, digest, form, messages_size FROM memoranda.transcript WHERE transcript.store_id = :store_id
ORDER BY id

-- name: transcript_tombstone_put
INSERT INTO memoranda.transcript (store_id, id, transcript_id, namespace, agent_id, commit_ts,
position, created_at, size, digest) VALUES (:store_id, :id, :transcript_id, :namespace, :agent_id,
:commit_ts, :position, :created_at, 0, :digest) ON CONFLICT(store_id, transcript_id) DO UPDATE SET
namespace = excluded.namespace, agent_id = excluded.agent_id, occurred_at = NULL, expires_at = NULL,
size = 0, digest = excluded.digest, form = 0, messages_size = 0

-- name: transcripts_at
SELECT transcript.transcript_id, transcript.namespace, transcript.agent_id, transcript.commit_ts,
transcript.position, transcript.created_at, transcript.occurred_at, transcript.expires_at,
transcript.size, transcript.digest, COALESCE(LENGTH(blob.content), 0), transcript.form,
transcript.messages_size FROM (SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS
value FROM JSONB_ARRAY_ELEMENTS(CAST(:transcript_ids AS JSONB)) WITH ORDINALITY AS list(element,
place)) AS item JOIN LATERAL (SELECT transcript.* FROM memoranda.transcript WHERE
transcript.transcript_id = item.value AND transcript.store_id = :store_id OFFSET 0) AS transcript ON
TRUE LEFT JOIN LATERAL (SELECT blob.* FROM memoranda.blob WHERE (blob.commit_ts =
transcript.commit_ts AND blob.position = transcript.position) AND blob.store_id = :store_id OFFSET
0) AS blob ON TRUE WHERE transcript.commit_ts <= :at

-- name: transcripts_hidden
SELECT transcript_id FROM memoranda.transcript WHERE (transcript_id IN (SELECT item.value FROM
(SELECT list.place - 1 AS key, CAST(list.element #>> '{}' AS TEXT) AS value FROM
JSONB_ARRAY_ELEMENTS(CAST(:transcript_ids AS JSONB)) WITH ORDINALITY AS list(element, place)) AS
item) AND 1 = 0) AND transcript.store_id = :store_id

-- name: tree_clear
DELETE FROM memoranda.tree_node WHERE tree_node.store_id = :store_id

-- name: tree_node_count
SELECT COUNT(*) FROM memoranda.tree_node WHERE tree_node.store_id = :store_id

-- name: tree_node_put
INSERT INTO memoranda.tree_node (store_id, level, place, hash) VALUES (:store_id, :level, :place,
:hash) ON CONFLICT(store_id, level, place) DO UPDATE SET hash = excluded.hash

-- name: tree_nodes
SELECT place, hash FROM memoranda.tree_node WHERE (level = :level AND place >= :first AND place <
:end) AND tree_node.store_id = :store_id ORDER BY place

-- name: tree_rows
SELECT level, place, hash FROM memoranda.tree_node WHERE tree_node.store_id = :store_id ORDER BY
level, place

-- name: txn_add
INSERT INTO memoranda.txn (store_id, txn_id, actor, commit_ts) VALUES (:store_id, :txn_id, :actor,
:commit_ts)

-- name: txn_any
SELECT actor, commit_ts FROM memoranda.txn WHERE txn_id = :txn_id AND txn.store_id = :store_id

-- name: txn_census
SELECT COUNT(*) FILTER(WHERE commit_ts BETWEEN 1 AND :through), MIN(commit_ts) FILTER(WHERE
commit_ts < 1 OR commit_ts > (SELECT COALESCE(MAX(commit_ts), 0) FROM memoranda.event WHERE
event.store_id = :store_id)) FROM memoranda.txn WHERE txn.store_id = :store_id

-- name: txn_clear
DELETE FROM memoranda.txn WHERE txn.store_id = :store_id

-- name: txn_find
SELECT commit_ts FROM memoranda.txn WHERE (txn_id = :txn_id AND actor = :actor) AND txn.store_id =
:store_id

-- name: txn_find_or_token
SELECT commit_ts FROM memoranda.txn WHERE (txn_id = :txn_id AND actor = :actor) AND txn.store_id =
:store_id UNION ALL SELECT commit_ts FROM memoranda.txn WHERE (txn_id = :token AND actor = '') AND
txn.store_id = :store_id LIMIT 1

-- name: txn_remove
DELETE FROM memoranda.txn WHERE (txn_id = :txn_id AND actor = :actor) AND txn.store_id = :store_id

-- name: txn_rows
SELECT txn_id, actor, commit_ts FROM memoranda.txn WHERE txn.store_id = :store_id ORDER BY txn_id,
actor

-- name: view_versions
SELECT name, value FROM memoranda.meta WHERE (name >= 'view:' AND name < 'view;') AND meta.store_id
= :store_id

-- name: walk_from
SELECT source.memory_id, target.memory_id, target.namespace, target.agent_id, target.private,
state.kind, state.retracted, state.expires_at FROM (SELECT list.place - 1 AS key, CAST(list.element
#>> '{}' AS TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:memory_ids AS JSONB)) WITH ORDINALITY AS
list(element, place)) AS item JOIN LATERAL (SELECT source.* FROM memoranda.memory AS source WHERE
source.memory_id = item.value AND source.store_id = :store_id OFFSET 0) AS source ON TRUE JOIN
LATERAL (SELECT link.* FROM memoranda.memory_link AS link WHERE (link.source = source.id AND
link.relation = :relation) AND link.store_id = :store_id OFFSET 0) AS link ON TRUE JOIN LATERAL
(SELECT target.* FROM memoranda.memory AS target WHERE target.id = link.target AND target.store_id =
:store_id OFFSET 0) AS target ON TRUE JOIN LATERAL (SELECT state.* FROM memoranda.memory_state AS
state WHERE state.id = (SELECT id FROM memoranda.memory_state WHERE (memory = target.id AND
commit_ts <= :at) AND memory_state.store_id = :store_id ORDER BY commit_ts DESC, position DESC LIMIT
1) AND state.store_id = :store_id OFFSET 0) AS state ON TRUE WHERE link.commit_ts <= :at AND
link.until_commit > :at

-- name: walk_to
SELECT target.memory_id, source.memory_id, source.namespace, source.agent_id, source.private,
state.kind, state.retracted, state.expires_at FROM (SELECT list.place - 1 AS key, CAST(list.element
#>> '{}' AS TEXT) AS value FROM JSONB_ARRAY_ELEMENTS(CAST(:memory_ids AS JSONB)) WITH ORDINALITY AS
list(element, place)) AS item JOIN LATERAL (SELECT target.* FROM memoranda.memory AS target WHERE
target.memory_id = item.value AND target.store_id = :store_id OFFSET 0) AS target ON TRUE JOIN
LATERAL (SELECT link.* FROM memoranda.memory_link AS link WHERE (link.target = target.id AND
link.relation = :relation) AND link.store_id = :store_id OFFSET 0) AS link ON TRUE JOIN LATERAL
(SELECT source.* FROM memoranda.memory AS source WHERE source.id = link.source AND source.store_id =
:store_id OFFSET 0) AS source ON TRUE JOIN LATERAL (SELECT state.* FROM memoranda.memory_state AS
state WHERE state.id = (SELECT id FROM memoranda.memory_state WHERE (memory = source.id AND
commit_ts <= :at) AND memory_state.store_id = :store_id ORDER BY commit_ts DESC, position DESC LIMIT
1) AND state.store_id = :store_id OFFSET 0) AS state ON TRUE WHERE link.commit_ts <= :at AND
link.until_commit > :at
