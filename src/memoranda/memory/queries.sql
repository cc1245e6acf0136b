-- Memories, links, transcripts, notices and settings.

-- name: memory_number
SELECT id FROM memory WHERE memory_id = :memory_id

-- name: memory_add
INSERT INTO memory (id, memory_id, namespace, agent_id, private, commit_ts, created_at)
VALUES (:id, :memory_id, :namespace, :agent_id, :private, :commit_ts, :created_at)

-- name: memory_last_number
SELECT COALESCE(MAX(id), 0) FROM memory

-- name: memory_stub_put
-- What is left of a memory that was forgotten; one that is there keeps its number.
INSERT INTO memory (memory_id, namespace, agent_id, private, commit_ts, created_at)
VALUES (:memory_id, :namespace, :agent_id, :private, :commit_ts, :created_at)
ON CONFLICT (memory_id) DO UPDATE SET namespace = excluded.namespace, agent_id = excluded.agent_id
RETURNING id

-- name: memory_move
UPDATE memory SET namespace = :namespace, agent_id = :agent_id WHERE memory_id = :memory_id
RETURNING id

-- name: memory_places
-- Where the log speaks of a memory that an agent may see; one that was forgotten has no kind.
SELECT state.commit_ts, state.position
FROM memory JOIN memory_state AS state ON state.memory = memory.id
WHERE memory.memory_id = :memory_id AND state.kind <> ''
    AND (memory.private = 0 OR :viewer IS NULL OR memory.agent_id = :viewer)

-- name: memory_all_places
SELECT state.commit_ts, state.position
FROM memory JOIN memory_state AS state ON state.memory = memory.id
WHERE memory.memory_id = :memory_id

-- name: memory_states_remove
DELETE FROM memory_state
WHERE memory = (SELECT id FROM memory WHERE memory_id = :memory_id)

-- name: memory_titles_remove
-- Every title that a memory had, found by its states: titles are not indexed by memory.
DELETE FROM memory_title
WHERE (namespace, owner, title, memory) IN (
    SELECT
        memory.namespace, CASE memory.private WHEN 1 THEN memory.agent_id ELSE '' END, state.title,
        memory.id
    FROM memory JOIN memory_state AS state ON state.memory = memory.id
    WHERE memory.memory_id = :memory_id AND state.title IS NOT NULL
)

-- name: notices_decided
-- The notices about a memory that were closed with a note, and the commits that closed them.
SELECT memory.memory_id, notice.resolved_commit
FROM memory AS dependent
JOIN notice ON notice.dependent = dependent.id
JOIN memory ON memory.id = notice.memory
WHERE dependent.memory_id = :memory_id AND notice.note IS NOT NULL

-- name: notice_by
UPDATE notice SET by_agent = :by_agent
WHERE memory = (SELECT id FROM memory WHERE memory_id = :memory_id)

-- name: notice_note
UPDATE notice SET resolved_by = :by_agent, note = :note
WHERE memory = (SELECT id FROM memory WHERE memory_id = :memory_id)

-- name: setting_remove
DELETE FROM setting WHERE namespace = :namespace AND name = :name

-- name: transcript_place
-- Where a transcript's words are that were not erased.
SELECT commit_ts, position FROM transcript
WHERE transcript_id = :transcript_id AND LENGTH(digest) > 0

-- name: transcript_stub_put
-- What is left of a transcript whose words were erased; one that is there keeps its number.
INSERT INTO transcript (
    transcript_id, namespace, agent_id, commit_ts, position, created_at, size, digest
) VALUES (
    :transcript_id, :namespace, :agent_id, :commit_ts, :position, :created_at, 0, :digest
)
ON CONFLICT (transcript_id) DO UPDATE SET
    namespace = excluded.namespace, agent_id = excluded.agent_id, occurred_at = NULL,
    expires_at = NULL, size = 0, digest = excluded.digest, form = 0, messages_size = 0
RETURNING id

-- name: memory_last_state
-- What the newest row says of a memory, to be carried on by the next one.
SELECT
    id, version, updated_at, kind, tier, title, retracted, reason, expires_at, depth,
    access_count, last_accessed_at, details_in, content_in
FROM memory_state WHERE memory = :memory
ORDER BY commit_ts DESC, position DESC LIMIT 1

-- name: memory_state_add
INSERT INTO memory_state (
    memory, commit_ts, position, version, updated_at, kind, tier, title, retracted, reason,
    expires_at, depth, access_count, last_accessed_at, details_in, content_in,
    details, digest, size, content
) VALUES (
    :memory, :commit_ts, :position, :version, :updated_at, :kind, :tier, :title, :retracted, :reason,
    :expires_at, :depth, :access_count, :last_accessed_at, :details_in, :content_in,
    :details, :digest, :size, :content
)

-- name: memory_page
-- A page of the rows that held at a commit, in a namespace and those below it, in the order of
-- namespaces and, within one, of the memories' beginnings.
SELECT state.id, memory.namespace, memory.id
FROM memory
JOIN memory_state AS state ON state.id = (
    SELECT id FROM memory_state
    WHERE memory = memory.id AND commit_ts <= :at
    ORDER BY commit_ts DESC, position DESC LIMIT 1
)
WHERE memory.namespace >= :namespace AND memory.namespace < :beyond
    AND (memory.namespace = :namespace OR memory.namespace >= :children)
    AND (memory.namespace, memory.id) > (:after_namespace, :after)
    AND memory.commit_ts <= :at
    AND (memory.private = 0 OR memory.agent_id = :viewer)
    AND (:agent_id IS NULL OR memory.agent_id = :agent_id)
    AND (:created_after IS NULL OR memory.created_at >= :created_after)
    AND (:created_before IS NULL OR memory.created_at < :created_before)
    AND (:kind IS NULL OR state.kind = :kind)
    AND (:tier IS NULL OR state.tier = :tier)
    AND (:inboxes = 1 OR memory.namespace NOT LIKE '%/!_%' ESCAPE '!')
    AND state.retracted = 0 AND state.kind <> ''
    AND (state.expires_at IS NULL OR state.expires_at > :now)
ORDER BY memory.namespace, memory.id LIMIT :most

-- name: memory_counts
-- How many memories there are to be seen by somebody, notices aside; transcripts; open notices.
SELECT
    (
        SELECT COUNT(*)
        FROM memory
        JOIN memory_state AS state ON state.id = (
            SELECT id FROM memory_state
            WHERE memory = memory.id ORDER BY commit_ts DESC, position DESC LIMIT 1
        )
        WHERE state.retracted = 0 AND state.kind <> '' AND (state.expires_at IS NULL OR state.expires_at > :now)
            AND NOT EXISTS (SELECT 1 FROM notice WHERE notice.memory = memory.id)
    ),
    (SELECT COUNT(*) FROM transcript WHERE LENGTH(digest) > 0),
    (SELECT COUNT(*) FROM notice WHERE decision IS NULL)

-- name: memory_lifetime
-- How long a memory was given when it was given the end it has.
SELECT state.expires_at - MAX(state.updated_at, COALESCE(state.last_accessed_at, 0))
FROM memory JOIN memory_state AS state ON state.memory = memory.id
WHERE memory.memory_id = :memory_id AND state.expires_at = :expires_at
ORDER BY state.commit_ts, state.position LIMIT 1

-- name: memory_versions
-- A page of what a memory was, oldest first, along the index from where the page before ended.
SELECT state.version, state.id, state.commit_ts, state.position
FROM memory JOIN memory_state AS state ON state.memory = memory.id
WHERE memory.memory_id = :memory_id
    AND (state.commit_ts, state.position) > (:after, :after_position)
    AND state.commit_ts <= :through
ORDER BY state.commit_ts, state.position LIMIT :most

-- name: memory_state_of_version
-- The last row of one version, as of a commit.
SELECT state.id
FROM memory JOIN memory_state AS state ON state.memory = memory.id
WHERE memory.memory_id = :memory_id AND state.version = :version AND state.commit_ts <= :at
ORDER BY state.commit_ts DESC, state.position DESC LIMIT 1

-- name: memory_changed
-- Whether anything about a memory, or what supersedes it, changed after a commit.
SELECT 1 FROM memory WHERE memory.memory_id = :memory_id AND (
    EXISTS (
        SELECT 1 FROM memory_state WHERE memory = memory.id AND commit_ts > :since
    ) OR EXISTS (
        SELECT 1 FROM memory_link AS link
        WHERE link.target = memory.id AND link.relation = 'supersedes'
            AND (link.commit_ts > :since OR (link.until_commit > :since AND link.until_commit < :still))
    )
)

-- name: title_find
SELECT memory.memory_id
FROM memory_title AS title JOIN memory ON memory.id = title.memory
WHERE title.namespace = :namespace AND title.owner = :owner AND title.title = :title
    AND title.commit_ts <= :at AND title.until_commit > :at

-- name: title_changed
SELECT 1 FROM memory_title AS title
WHERE title.namespace = :namespace AND title.owner = :owner AND title.title = :title
    AND (title.commit_ts > :since OR (title.until_commit > :since AND title.until_commit < :still))

-- name: title_add
INSERT INTO memory_title (namespace, owner, title, commit_ts, position, until_commit, memory)
SELECT namespace, CASE private WHEN 1 THEN agent_id ELSE '' END, :title, :commit_ts, :position, :still, id
FROM memory WHERE id = :memory

-- name: title_close
UPDATE memory_title SET until_commit = :commit_ts
WHERE title = :title AND memory = :memory AND until_commit = :still
    AND (namespace, owner) = (
        SELECT namespace, CASE private WHEN 1 THEN agent_id ELSE '' END
        FROM memory WHERE id = :memory
    )

-- name: link_add
INSERT INTO memory_link (
    source, relation, target, commit_ts, position, valid_from, until_commit, valid_until
) VALUES (:source, :relation, :target, :commit_ts, :position, :valid_from, :still, NULL)

-- name: link_close
UPDATE memory_link SET until_commit = :commit_ts, valid_until = :valid_until
WHERE source = :source AND relation = :relation AND target = :target AND until_commit = :still

-- name: link_find
-- The last link between two memories as of a commit, closed or not.
SELECT
    source.memory_id, target.memory_id, link.relation, link.valid_from,
    CASE WHEN link.until_commit > :at THEN NULL ELSE link.valid_until END
FROM memory AS source
JOIN memory AS target ON target.memory_id = :target
JOIN memory_link AS link
    ON link.source = source.id AND link.target = target.id AND link.relation = :relation
WHERE source.memory_id = :source AND link.commit_ts <= :at
ORDER BY link.commit_ts DESC, link.position DESC LIMIT 1

-- name: link_to_any
SELECT 1
FROM memory AS target
JOIN memory_link AS link ON link.target = target.id AND link.relation = :relation
WHERE target.memory_id = :target AND link.commit_ts <= :at AND link.until_commit > :at
LIMIT 1

-- name: links_of
-- The links of a memory as of a commit, in the order they were made.
SELECT
    source.memory_id, target.memory_id, link.relation, link.valid_from,
    CASE WHEN link.until_commit > :at THEN NULL ELSE link.valid_until END,
    link.commit_ts, link.position
FROM memory AS own
JOIN memory_link AS link ON link.source = own.id
JOIN memory AS source ON source.id = link.source
JOIN memory AS target ON target.id = link.target
WHERE own.memory_id = :memory_id AND link.commit_ts <= :at
    AND (:closed = 1 OR link.until_commit > :at)
    AND (target.private = 0 OR target.agent_id = :viewer)
UNION ALL
SELECT
    source.memory_id, target.memory_id, link.relation, link.valid_from,
    CASE WHEN link.until_commit > :at THEN NULL ELSE link.valid_until END,
    link.commit_ts, link.position
FROM memory AS own
JOIN memory_link AS link ON link.target = own.id
JOIN memory AS source ON source.id = link.source
JOIN memory AS target ON target.id = link.target
WHERE own.memory_id = :memory_id AND link.commit_ts <= :at
    AND (:closed = 1 OR link.until_commit > :at)
    AND (source.private = 0 OR source.agent_id = :viewer)
ORDER BY 6, 7

-- name: links_changed
SELECT 1
FROM memory JOIN memory_link AS link ON link.source = memory.id OR link.target = memory.id
WHERE memory.memory_id = :memory_id
    AND (link.commit_ts > :since OR (link.until_commit > :since AND link.until_commit < :still))
LIMIT 1

-- name: transcript_number
SELECT id FROM transcript WHERE transcript_id = :transcript_id

-- name: transcript_add
INSERT INTO transcript (
    transcript_id, namespace, agent_id, commit_ts, position, created_at, occurred_at, expires_at,
    size, digest, form, messages_size
) VALUES (
    :transcript_id, :namespace, :agent_id, :commit_ts, :position, :created_at, :occurred_at,
    :expires_at, :size, :digest, :form, :messages_size
)
RETURNING id

-- name: transcript_get
SELECT
    transcript.transcript_id, transcript.namespace, transcript.agent_id, transcript.commit_ts,
    transcript.position, transcript.created_at, transcript.occurred_at, transcript.expires_at,
    transcript.size, transcript.digest, LENGTH(blob.content), transcript.form,
    transcript.messages_size
FROM transcript
JOIN blob ON blob.commit_ts = transcript.commit_ts AND blob.position = transcript.position
WHERE transcript.transcript_id = :transcript_id AND transcript.commit_ts <= :at

-- name: transcript_same
-- The first transcript of a scope that has these words, said at the same time.
SELECT transcript_id FROM transcript
WHERE namespace = :namespace AND agent_id = :agent_id AND size = :size AND digest = :digest
    AND COALESCE(occurred_at, :never) = :occurred_at
ORDER BY id LIMIT 1

-- name: transcript_page
-- A page of the transcripts of a namespace and those below it, as memory_page orders memories.
SELECT
    transcript.transcript_id, transcript.namespace, transcript.agent_id, transcript.commit_ts,
    transcript.position, transcript.created_at, transcript.occurred_at, transcript.expires_at,
    transcript.size, transcript.digest, LENGTH(blob.content), transcript.form,
    transcript.messages_size, transcript.id
FROM transcript
JOIN blob ON blob.commit_ts = transcript.commit_ts AND blob.position = transcript.position
WHERE transcript.namespace >= :namespace AND transcript.namespace < :beyond
    AND (transcript.namespace = :namespace OR transcript.namespace >= :children)
    AND (transcript.namespace, transcript.id) > (:after_namespace, :after)
    AND transcript.commit_ts <= :at
ORDER BY transcript.namespace, transcript.id LIMIT :most

-- name: citation_add
INSERT INTO citation (memory, transcript, first, beyond, commit_ts)
VALUES (:memory, :transcript, :first, :beyond, :commit_ts)
ON CONFLICT DO NOTHING

-- name: citation_find
SELECT citation.first, citation.beyond
FROM citation
JOIN memory ON memory.id = citation.memory
JOIN transcript ON transcript.id = citation.transcript
WHERE memory.memory_id = :memory_id AND transcript.transcript_id = :transcript_id
ORDER BY citation.first, citation.beyond

-- name: citations_of_transcript
-- The memories that come from a transcript, and the spans they name.
SELECT memory.memory_id, citation.first, citation.beyond
FROM transcript
JOIN citation ON citation.transcript = transcript.id
JOIN memory ON memory.id = citation.memory
WHERE transcript.transcript_id = :transcript_id AND citation.commit_ts <= :at
    AND (memory.private = 0 OR memory.agent_id = :viewer)
ORDER BY memory.memory_id, citation.first, citation.beyond

-- name: notice_add
INSERT INTO notice (memory, dependent, invalidated, invalidating, by_agent, commit_ts)
VALUES (:memory, :dependent, :invalidated, :invalidating, :by_agent, :commit_ts)

-- name: notice_find
SELECT dependent.memory_id, notice.decision, notice.replacement
FROM memory
JOIN notice ON notice.memory = memory.id
JOIN memory AS dependent ON dependent.id = notice.dependent
WHERE memory.memory_id = :memory_id

-- name: notice_resolve
UPDATE notice SET
    resolved_commit = :commit_ts, resolved_at = :resolved_at, resolved_by = :resolved_by,
    decision = :decision, note = :note, replacement = :replacement
WHERE memory = :memory

-- name: notice_page
-- A page of notices, oldest first: of one agent or of all, open or resolved as of a commit.
SELECT
    memory.id, memory.memory_id, memory.namespace, memory.agent_id, dependent.memory_id,
    invalidated.memory_id, invalidating.memory_id, notice.by_agent, memory.created_at,
    CASE WHEN notice.resolved_commit <= :at THEN notice.decision END,
    CASE WHEN notice.resolved_commit <= :at THEN notice.note END,
    CASE WHEN notice.resolved_commit <= :at THEN notice.replacement END,
    CASE WHEN notice.resolved_commit <= :at THEN notice.resolved_at END,
    CASE WHEN notice.resolved_commit <= :at THEN notice.resolved_by END
FROM notice
JOIN memory ON memory.id = notice.memory
JOIN memory AS dependent ON dependent.id = notice.dependent
JOIN memory AS invalidated ON invalidated.id = notice.invalidated
JOIN memory AS invalidating ON invalidating.id = notice.invalidating
WHERE notice.memory > :after AND notice.commit_ts <= :at
    AND (:agent_id IS NULL OR memory.agent_id = :agent_id)
    AND (memory.private = 0 OR memory.agent_id = :viewer)
    AND (:is_open IS NULL OR :is_open = CASE WHEN notice.resolved_commit <= :at THEN 0 ELSE 1 END)
ORDER BY notice.memory LIMIT :most

-- name: setting_set
INSERT INTO setting (namespace, name, value) VALUES (:namespace, :name, :value)
ON CONFLICT (namespace, name) DO UPDATE SET value = excluded.value

-- name: setting_rows
SELECT namespace, name, value FROM setting ORDER BY namespace, name

-- name: memory_clear
DELETE FROM memory

-- name: memory_state_clear
DELETE FROM memory_state

-- name: memory_title_clear
DELETE FROM memory_title

-- name: memory_link_clear
DELETE FROM memory_link

-- name: transcript_clear
DELETE FROM transcript

-- name: citation_clear
DELETE FROM citation

-- name: notice_clear
DELETE FROM notice

-- name: setting_clear
DELETE FROM setting

-- name: memory_rows
-- In the order of their numbers, which is that of lists.
SELECT memory_id, namespace, agent_id, private, commit_ts, created_at FROM memory ORDER BY id

-- name: memory_state_rows
SELECT
    memory.memory_id, state.commit_ts, state.position, state.version, state.updated_at, state.kind,
    state.tier, state.title, state.retracted, state.reason, state.expires_at, state.depth,
    state.access_count, state.last_accessed_at,
    state.details_in IS NOT NULL AS details_elsewhere, details.memory = state.memory AS own_details,
    details.commit_ts AS details_commit, details.position AS details_position,
    state.content_in IS NOT NULL AS content_elsewhere, content.memory = state.memory AS own_content,
    content.commit_ts AS content_commit, content.position AS content_position,
    state.details, state.digest, state.size, state.content
FROM memory_state AS state
LEFT JOIN memory ON memory.id = state.memory
LEFT JOIN memory_state AS details ON details.id = state.details_in
LEFT JOIN memory_state AS content ON content.id = state.content_in
ORDER BY memory.memory_id, state.commit_ts, state.position

-- name: memory_title_rows
SELECT
    title.namespace, title.owner, title.title, title.commit_ts, title.position,
    title.until_commit, memory.memory_id
FROM memory_title AS title LEFT JOIN memory ON memory.id = title.memory
ORDER BY title.namespace, title.owner, title.title, title.commit_ts, title.position

-- name: memory_link_rows
SELECT
    source.memory_id AS source, link.relation, target.memory_id AS target, link.commit_ts,
    link.position, link.valid_from, link.until_commit, link.valid_until
FROM memory_link AS link
LEFT JOIN memory AS source ON source.id = link.source
LEFT JOIN memory AS target ON target.id = link.target
ORDER BY source.memory_id, link.relation, target.memory_id, link.commit_ts, link.position

-- name: transcript_rows
-- In the order of their numbers, which is that of lists.
SELECT
    transcript_id, namespace, agent_id, commit_ts, position, created_at, occurred_at, expires_at,
    size, digest, form, messages_size
FROM transcript ORDER BY id

-- name: citation_rows
SELECT
    memory.memory_id, transcript.transcript_id, citation.first, citation.beyond, citation.commit_ts
FROM citation
LEFT JOIN memory ON memory.id = citation.memory
LEFT JOIN transcript ON transcript.id = citation.transcript
ORDER BY memory.memory_id, transcript.transcript_id, citation.first, citation.beyond

-- name: notice_rows
SELECT
    memory.memory_id, dependent.memory_id AS dependent, invalidated.memory_id AS invalidated,
    invalidating.memory_id AS invalidating, notice.by_agent, notice.commit_ts, notice.resolved_commit, notice.resolved_at,
    notice.resolved_by, notice.decision, notice.note, notice.replacement
FROM notice
LEFT JOIN memory ON memory.id = notice.memory
LEFT JOIN memory AS dependent ON dependent.id = notice.dependent
LEFT JOIN memory AS invalidated ON invalidated.id = notice.invalidated
LEFT JOIN memory AS invalidating ON invalidating.id = notice.invalidating
ORDER BY memory.memory_id

-- name: sweep_memories
-- Memories whose time was over at an instant, and which nothing that stays rests on: neither at once,
-- nor through others that could go or are forgotten already. Notices have nothing but ids to keep.
WITH RECURSIVE
brief AS MATERIALIZED (
    SELECT memory.id, memory.memory_id, memory.namespace, state.kind, state.expires_at
    FROM memory
    JOIN memory_state AS state ON state.id = (
        SELECT id FROM memory_state
        WHERE memory = memory.id ORDER BY commit_ts DESC, position DESC LIMIT 1
    )
    WHERE state.kind = '' OR state.expires_at <= :before
),
dispensable AS MATERIALIZED (
    SELECT id FROM brief
    WHERE kind = '' OR (
        (namespace = :namespace OR (namespace >= :children AND namespace < :beyond))
        AND memory_id NOT IN (SELECT value FROM json_each(:spared))
        AND NOT EXISTS (SELECT 1 FROM notice WHERE notice.memory = brief.id)
    )
),
needed (id) AS (
    SELECT link.target FROM dispensable JOIN memory_link AS link ON link.target = dispensable.id
    WHERE link.relation IN ('reflects_on', 'derived_from') AND link.until_commit = :still
        AND link.source NOT IN (SELECT id FROM dispensable)
    UNION
    SELECT link.target FROM needed JOIN memory_link AS link ON link.source = needed.id
    WHERE link.relation IN ('reflects_on', 'derived_from') AND link.until_commit = :still
        AND link.target IN (SELECT id FROM dispensable)
)
SELECT memory_id FROM brief
WHERE kind <> '' AND id IN (SELECT id FROM dispensable) AND id NOT IN (SELECT id FROM needed)
ORDER BY id

-- name: sweep_transcripts
-- Transcripts that have words, whose time is over, and that no memory cites which does not go too.
SELECT transcript.transcript_id
FROM transcript
WHERE LENGTH(transcript.digest) > 0 AND transcript.expires_at <= :now
    AND (namespace = :namespace OR (namespace >= :children AND namespace < :beyond))
    AND transcript_id NOT IN (SELECT value FROM json_each(:spared))
    AND NOT EXISTS (
        SELECT 1
        FROM citation JOIN memory ON memory.id = citation.memory
        WHERE citation.transcript = transcript.id
            AND memory.memory_id NOT IN (SELECT value FROM json_each(:going))
            AND (
                SELECT kind FROM memory_state
                WHERE memory = memory.id ORDER BY commit_ts DESC, position DESC LIMIT 1
            ) <> ''
    )
ORDER BY transcript.id

-- name: memory_rows_up_to
-- A page of the rows of a namespace's memories up to its horizon, behind one of them, oldest first.
SELECT
    memory.id, memory.memory_id, state.id, state.commit_ts, state.position, state.version,
    state.expires_at, state.details_in, state.content_in
FROM memory
JOIN memory_state AS state ON state.memory = memory.id
WHERE memory.namespace = :namespace AND memory.id > :after AND state.commit_ts <= :horizon
ORDER BY memory.id, state.commit_ts, state.position LIMIT :most

-- name: memory_rows_behind
-- A page of the same of one memory, behind a place.
SELECT
    memory.id, memory.memory_id, state.id, state.commit_ts, state.position, state.version,
    state.expires_at, state.details_in, state.content_in
FROM memory
JOIN memory_state AS state ON state.memory = memory.id
WHERE memory.id = :memory AND state.commit_ts <= :horizon
    AND (state.commit_ts, state.position) > (:after, :after_position)
ORDER BY state.commit_ts, state.position LIMIT :most

-- name: memory_versions_linked
-- The versions of a memory that others reflect on or derive from, by links that held at a horizon.
SELECT DISTINCT (
    SELECT version FROM memory_state
    WHERE memory = link.target AND (commit_ts, position) <= (link.commit_ts, link.position)
    ORDER BY commit_ts DESC, position DESC LIMIT 1
)
FROM memory_link AS link
WHERE link.target = :memory AND link.relation IN ('reflects_on', 'derived_from')
    AND link.until_commit > :horizon

-- name: memory_numbers_at
-- The numbers that a memory had come to with an operation.
SELECT state.expires_at, state.depth, state.access_count, state.last_accessed_at
FROM memory JOIN memory_state AS state ON state.memory = memory.id
WHERE memory.memory_id = :memory_id AND state.commit_ts = :commit_ts AND state.position = :position

-- name: memory_state_around
-- An operation's row of a memory, and those before and behind it.
SELECT
    memory.id, state.id, state.title, last.id, last.details_in, last.content_in, last.title,
    next.commit_ts, next.position, next.title, state.details_in IS NULL, state.content_in IS NULL
FROM memory
JOIN memory_state AS state
    ON state.memory = memory.id AND state.commit_ts = :commit_ts AND state.position = :position
LEFT JOIN memory_state AS last ON last.id = (
    SELECT id FROM memory_state
    WHERE memory = memory.id AND (commit_ts, position) < (:commit_ts, :position)
    ORDER BY commit_ts DESC, position DESC LIMIT 1
)
LEFT JOIN memory_state AS next ON next.id = (
    SELECT id FROM memory_state
    WHERE memory = memory.id AND (commit_ts, position) > (:commit_ts, :position)
    ORDER BY commit_ts, position LIMIT 1
)
WHERE memory.memory_id = :memory_id

-- name: memory_state_drop
DELETE FROM memory_state WHERE id = :id

-- name: memory_states_behind
-- A page of a memory's rows behind a place, and which rows brought their details and content.
SELECT id, commit_ts, position, details_in, content_in FROM memory_state
WHERE memory = :memory AND (commit_ts, position) > (:commit_ts, :position)
ORDER BY commit_ts, position LIMIT :most

-- name: memory_details_point
-- Let a row's details be those that another row brought.
UPDATE memory_state SET details_in = :into WHERE id = :id

-- name: memory_content_point
-- Let a row's content be that which another row brought.
UPDATE memory_state SET content_in = :into WHERE id = :id

-- name: memory_state_without_content
-- Let a row bring no content; NULL: nor does any row before it.
UPDATE memory_state SET content_in = :content_in, digest = NULL, size = NULL, content = NULL
WHERE id = :id

-- name: memory_state_details
-- Let a row bring these details, or name the row that did.
UPDATE memory_state SET details_in = :details_in, details = :details WHERE id = :id

-- name: memory_state_title
UPDATE memory_state SET title = :title WHERE id = :id

-- name: title_begun
-- Until when a memory has a title that it was given at a place.
SELECT title.until_commit
FROM memory JOIN memory_title AS title
    ON title.namespace = memory.namespace
    AND title.owner = CASE memory.private WHEN 1 THEN memory.agent_id ELSE '' END
    AND title.title = :title AND title.commit_ts = :commit_ts AND title.position = :position
    AND title.memory = memory.id
WHERE memory.id = :memory

-- name: title_drop
DELETE FROM memory_title
WHERE title = :title AND commit_ts = :commit_ts AND position = :position AND memory = :memory
    AND (namespace, owner) = (
        SELECT namespace, CASE private WHEN 1 THEN agent_id ELSE '' END
        FROM memory WHERE id = :memory
    )

-- name: title_put
INSERT INTO memory_title (namespace, owner, title, commit_ts, position, until_commit, memory)
SELECT
    namespace, CASE private WHEN 1 THEN agent_id ELSE '' END, :title, :commit_ts, :position,
    :until_commit, id
FROM memory WHERE id = :memory

-- name: title_last_until
-- Let the last time that a memory had a title, before a place, end with a commit.
UPDATE memory_title SET until_commit = :until_commit
WHERE memory = :memory AND title = :title
    AND (namespace, owner, commit_ts, position) = (
        SELECT past.namespace, past.owner, past.commit_ts, past.position
        FROM memory JOIN memory_title AS past
            ON past.namespace = memory.namespace
            AND past.owner = CASE memory.private WHEN 1 THEN memory.agent_id ELSE '' END
            AND past.title = :title AND past.memory = memory.id
        WHERE memory.id = :memory AND (past.commit_ts, past.position) < (:commit_ts, :position)
        ORDER BY past.commit_ts DESC, past.position DESC LIMIT 1
    )

-- name: memory_version_at_horizon
-- From which commit on a memory's namespace is known, and the version that the memory had then.
SELECT horizon.commit_ts, state.version
FROM memory
JOIN horizon ON horizon.namespace = memory.namespace
JOIN memory_state AS state ON state.id = (
    SELECT id FROM memory_state
    WHERE memory = memory.id AND commit_ts <= horizon.commit_ts
    ORDER BY commit_ts DESC, position DESC LIMIT 1
)
WHERE memory.memory_id = :memory_id

-- name: memory_version_begun
-- Where the version begins that a memory had at a commit.
SELECT first.commit_ts, first.position
FROM memory
JOIN memory_state AS last ON last.id = (
    SELECT id FROM memory_state
    WHERE memory = memory.id AND commit_ts <= :at
    ORDER BY commit_ts DESC, position DESC LIMIT 1
)
JOIN memory_state AS first ON first.memory = memory.id AND first.version = last.version
WHERE memory.memory_id = :memory_id
ORDER BY first.commit_ts, first.position LIMIT 1

-- name: memories_hidden
-- Those of some memories that another agent keeps to itself.
SELECT memory.memory_id
FROM json_each(:memory_ids) AS wanted JOIN memory ON memory.memory_id = wanted.value
WHERE memory.private = 1 AND memory.agent_id <> :viewer
