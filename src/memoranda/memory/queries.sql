-- Memories, links, transcripts, notices and settings.

-- name: memory_number
-- Return the row number of a memory.
SELECT id FROM memory WHERE memory_id = :memory_id

-- name: memory_add
-- Add a memory.
INSERT INTO memory (id, memory_id, namespace, agent_id, private, commit_ts, created_at)
VALUES (:id, :memory_id, :namespace, :agent_id, :private, :commit_ts, :created_at)

-- name: memory_last_number
-- Return the highest row number of a memory; 0 without memories.
SELECT COALESCE(MAX(id), 0) FROM memory

-- name: memory_tombstone_put
-- Add the tombstone of a forgotten memory; an existing memory keeps its row number.
INSERT INTO memory (id, memory_id, namespace, agent_id, private, commit_ts, created_at)
VALUES (:id, :memory_id, :namespace, :agent_id, :private, :commit_ts, :created_at)
ON CONFLICT (memory_id) DO UPDATE SET namespace = excluded.namespace, agent_id = excluded.agent_id

-- name: memory_set_owner
-- Set the owner of a memory.
UPDATE memory SET namespace = :namespace, agent_id = :agent_id WHERE memory_id = :memory_id

-- name: memory_places
-- List the log positions of a memory's operations, if the viewer may see it. A tombstone has no
-- kind, and is skipped.
SELECT state.commit_ts, state.position
FROM memory JOIN memory_state AS state ON state.memory = memory.id
WHERE memory.memory_id = :memory_id AND state.kind <> ''
    AND (memory.private = 0 OR :viewer IS NULL OR memory.agent_id = :viewer)

-- name: memory_all_places
-- List the log positions of a memory's operations.
SELECT state.commit_ts, state.position
FROM memory JOIN memory_state AS state ON state.memory = memory.id
WHERE memory.memory_id = :memory_id

-- name: memory_states_remove
-- Delete the state rows of a memory.
DELETE FROM memory_state
WHERE memory = (SELECT id FROM memory WHERE memory_id = :memory_id)

-- name: memory_titles_remove
-- Delete all titles that a memory had. They are found by its state rows, because titles have no
-- index on the memory.
DELETE FROM memory_title
WHERE (namespace, owner, title, memory) IN (
    SELECT
        memory.namespace, CASE memory.private WHEN 1 THEN memory.agent_id ELSE '' END, state.title,
        memory.id
    FROM memory JOIN memory_state AS state ON state.memory = memory.id
    WHERE memory.memory_id = :memory_id AND state.title IS NOT NULL
)

-- name: notices_decided
-- List the notices about a memory that were closed with a note, and the commits that closed them.
SELECT memory.memory_id, notice.resolved_commit
FROM memory AS dependent
JOIN notice ON notice.dependent = dependent.id
JOIN memory ON memory.id = notice.memory
WHERE dependent.memory_id = :memory_id AND notice.note IS NOT NULL

-- name: notices_decided_at
-- List the notices about what operations made that were closed with a note, and the commits that
-- closed them. Each place is a commit and a position.
SELECT memory.memory_id, notice.resolved_commit
FROM EACH(:places) AS item
JOIN notice ON notice.dependent IS NULL AND notice.dependent_commit = item.value ->> 0
    AND notice.dependent_position = item.value ->> 1
JOIN memory ON memory.id = notice.memory
WHERE notice.note IS NOT NULL

-- name: notices_open_at
-- List the open notices about what operations made. Each place is a commit and a position.
SELECT
    memory.memory_id, memory.namespace, memory.agent_id, memory.private, notice.dependent_commit,
    notice.dependent_position
FROM EACH(:places) AS item
JOIN notice ON notice.dependent IS NULL AND notice.dependent_commit = item.value ->> 0
    AND notice.dependent_position = item.value ->> 1
JOIN memory ON memory.id = notice.memory
WHERE notice.decision IS NULL
ORDER BY memory.id

-- name: notice_by
-- Set the agent that caused a notice.
UPDATE notice SET by_agent = :by_agent
WHERE memory = (SELECT id FROM memory WHERE memory_id = :memory_id)

-- name: notice_note
-- Set the agent that resolved a notice, and its note.
UPDATE notice SET resolved_by = :by_agent, note = :note
WHERE memory = (SELECT id FROM memory WHERE memory_id = :memory_id)

-- name: setting_remove
-- Delete a setting.
DELETE FROM setting WHERE namespace = :namespace AND name = :name

-- name: transcript_place
-- Return the log position of a transcript that still has its text.
SELECT commit_ts, position FROM transcript
WHERE transcript_id = :transcript_id AND LENGTH(digest) > 0

-- name: transcript_tombstone_put
-- Add the tombstone of an erased transcript; an existing transcript keeps its row number.
INSERT INTO transcript (
    id, transcript_id, namespace, agent_id, commit_ts, position, created_at, size, digest
) VALUES (
    :id, :transcript_id, :namespace, :agent_id, :commit_ts, :position, :created_at, 0, :digest
)
ON CONFLICT (transcript_id) DO UPDATE SET
    namespace = excluded.namespace, agent_id = excluded.agent_id, occurred_at = NULL,
    expires_at = NULL, size = 0, digest = excluded.digest, form = 0, messages_size = 0

-- name: memory_last_state
-- Return the newest state row of a memory; the next row is derived from it.
SELECT
    id, version, updated_at, kind, tier, title, retracted, reason, expires_at, depth,
    access_count, last_accessed_at, details_in, content_in
FROM memory_state WHERE memory = :memory
ORDER BY commit_ts DESC, position DESC LIMIT 1

-- name: memory_state_add
-- Add a state row.
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
-- Return a page of the state rows at a commit, in a namespace and those below it. The order is by
-- namespace, then by the memories' row numbers, which is the order of their creation.
SELECT state.id, memory.namespace, memory.id
FROM memory
JOIN memory_state AS state ON state.id = (
    SELECT id FROM memory_state
    WHERE memory = memory.id AND commit_ts <= :at
    ORDER BY commit_ts DESC, position DESC LIMIT 1
)
WHERE memory.namespace >= :namespace AND memory.namespace < :end
    AND (memory.namespace = :namespace OR memory.namespace >= :children)
    AND (memory.namespace, memory.id) > (:after_namespace, :after)
    AND memory.commit_ts <= :at
    AND (memory.private = 0 OR memory.agent_id = :viewer)
    AND (:agent_id IS NULL OR memory.agent_id = :agent_id)
    AND (:created_after IS NULL OR memory.created_at >= :created_after)
    AND (:created_before IS NULL OR memory.created_at < :created_before)
    AND (:kind IS NULL OR state.kind = :kind)
    AND (:tier IS NULL OR state.tier = :tier)
    AND (:with_inboxes = 1 OR memory.namespace NOT LIKE '%/!_%' ESCAPE '!')
    AND state.retracted = 0 AND state.kind <> ''
    AND (state.expires_at IS NULL OR state.expires_at > :now)
ORDER BY memory.namespace, memory.id LIMIT :limit

-- name: memory_page_with_member
-- Return a page as memory_page does, of the memories with a member of metadata and with all of some
-- others. Each is a hash; the caller compares the values.
SELECT state.id, memory.namespace, memory.id
FROM memory_member AS member
JOIN memory ON memory.id = member.memory
JOIN memory_state AS state ON state.id = (
    SELECT id FROM memory_state
    WHERE memory = memory.id AND commit_ts <= :at
    ORDER BY commit_ts DESC, position DESC LIMIT 1
)
WHERE member.digest = :digest
    AND member.namespace >= :namespace AND member.namespace < :end
    AND (member.namespace = :namespace OR member.namespace >= :children)
    AND (member.namespace, member.memory) > (:after_namespace, :after)
    AND NOT EXISTS (
        SELECT 1 FROM EACH(:others) AS item
        WHERE NOT EXISTS (
            SELECT 1 FROM memory_member AS other
            WHERE other.digest = item.value AND other.namespace = member.namespace
                AND other.memory = member.memory
        )
    )
    AND memory.commit_ts <= :at
    AND (memory.private = 0 OR memory.agent_id = :viewer)
    AND (:agent_id IS NULL OR memory.agent_id = :agent_id)
    AND (:created_after IS NULL OR memory.created_at >= :created_after)
    AND (:created_before IS NULL OR memory.created_at < :created_before)
    AND (:kind IS NULL OR state.kind = :kind)
    AND (:tier IS NULL OR state.tier = :tier)
    AND (:with_inboxes = 1 OR memory.namespace NOT LIKE '%/!_%' ESCAPE '!')
    AND state.retracted = 0 AND state.kind <> ''
    AND (state.expires_at IS NULL OR state.expires_at > :now)
ORDER BY member.namespace, member.memory LIMIT :limit

-- name: memory_member_count
-- Count the memories with a member of metadata in a range of namespaces, up to a limit.
SELECT COUNT(*) FROM (
    SELECT 1 FROM memory_member
    WHERE digest = :digest AND namespace >= :namespace AND namespace < :end
    LIMIT :limit
)

-- name: memory_member_add
-- Add a member of a memory's metadata; one that exists stays.
INSERT INTO memory_member (digest, namespace, memory) VALUES (:digest, :namespace, :memory)
ON CONFLICT DO NOTHING

-- name: memory_member_add_of
-- Add a member of a memory's metadata, by the memory's row number; one that exists stays.
INSERT INTO memory_member (digest, namespace, memory)
SELECT :digest, namespace, id FROM memory WHERE id = :memory
ON CONFLICT DO NOTHING

-- name: memory_member_drop
-- Delete a member of a memory's metadata.
DELETE FROM memory_member WHERE digest = :digest AND namespace = :namespace AND memory = :memory

-- name: memory_stored_details
-- List the details of a memory's stored versions.
SELECT memory.namespace, memory.id, state.details
FROM memory JOIN memory_state AS state ON state.memory = memory.id
WHERE memory.memory_id = :memory_id AND state.details IS NOT NULL

-- name: memory_member_clear
-- Empty the table for a rebuild.
DELETE FROM memory_member

-- name: memory_member_rows
-- List the rows for comparison.
SELECT member.digest, member.namespace, memory.memory_id
FROM memory_member AS member LEFT JOIN memory ON memory.id = member.memory
ORDER BY member.digest, member.namespace, memory.memory_id

-- name: memory_counts
-- Count the memories that are neither hidden nor notices, the transcripts, and the open notices.
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
-- Return the lifetime of a memory: its expiry, minus the time of the row that set it.
SELECT state.expires_at - MAX(state.updated_at, COALESCE(state.last_accessed_at, 0))
FROM memory JOIN memory_state AS state ON state.memory = memory.id
WHERE memory.memory_id = :memory_id AND state.expires_at = :expires_at
ORDER BY state.commit_ts, state.position LIMIT 1

-- name: memory_versions
-- Return a page of a memory's state rows, oldest first. It reads a range of the unique index, from
-- the end of the previous page.
SELECT state.version, state.id, state.commit_ts, state.position
FROM memory JOIN memory_state AS state ON state.memory = memory.id
WHERE memory.memory_id = :memory_id
    AND (state.commit_ts, state.position) > (:after, :after_position)
    AND state.commit_ts <= :to_commit
ORDER BY state.commit_ts, state.position LIMIT :limit

-- name: memory_state_of_version
-- Return the last row of a version as of a commit.
SELECT state.id
FROM memory JOIN memory_state AS state ON state.memory = memory.id
WHERE memory.memory_id = :memory_id AND state.version = :version AND state.commit_ts <= :at
ORDER BY state.commit_ts DESC, state.position DESC LIMIT 1

-- name: memory_changed
-- Say whether a memory, or its superseding links, changed after a commit.
SELECT 1 FROM memory WHERE memory.memory_id = :memory_id AND (
    EXISTS (
        SELECT 1 FROM memory_state WHERE memory = memory.id AND commit_ts > :since
    ) OR EXISTS (
        SELECT 1 FROM memory_link AS link
        WHERE link.target = memory.id AND link.relation = 'supersedes'
            AND (link.commit_ts > :since OR (link.until_commit > :since AND link.until_commit < OPEN_END))
    )
)

-- name: title_find
-- Return the memory that had a title at a commit.
SELECT memory.memory_id
FROM memory_title AS title JOIN memory ON memory.id = title.memory
WHERE title.namespace = :namespace AND title.owner = :owner AND title.title = :title
    AND title.commit_ts <= :at AND title.until_commit > :at

-- name: title_changed
-- Say whether a title changed its owner after a commit.
SELECT 1 FROM memory_title AS title
WHERE title.namespace = :namespace AND title.owner = :owner AND title.title = :title
    AND (title.commit_ts > :since OR (title.until_commit > :since AND title.until_commit < OPEN_END))

-- name: title_add
-- Open the interval in which a title belongs to a memory.
INSERT INTO memory_title (namespace, owner, title, commit_ts, position, until_commit, memory)
SELECT namespace, CASE private WHEN 1 THEN agent_id ELSE '' END, :title, :commit_ts, :position, OPEN_END, id
FROM memory WHERE id = :memory

-- name: title_close
-- Close the open interval of a memory's title.
UPDATE memory_title SET until_commit = :commit_ts
WHERE title = :title AND memory = :memory AND until_commit = OPEN_END
    AND (namespace, owner) = (
        SELECT namespace, CASE private WHEN 1 THEN agent_id ELSE '' END
        FROM memory WHERE id = :memory
    )

-- name: link_add
-- Open a link.
INSERT INTO memory_link (
    source, relation, target, commit_ts, position, valid_from, until_commit, valid_until
) VALUES (:source, :relation, :target, :commit_ts, :position, :valid_from, OPEN_END, NULL)

-- name: link_any
-- Say whether any memory was ever linked to another.
SELECT 1 FROM memory_link LIMIT 1

-- name: link_close
-- Close an open link.
UPDATE memory_link SET until_commit = :commit_ts, valid_until = :valid_until
WHERE source = :source AND relation = :relation AND target = :target AND until_commit = OPEN_END

-- name: link_find
-- Return the last link between two memories as of a commit, open or closed.
SELECT
    source.memory_id, target.memory_id, link.relation, link.valid_from,
    CASE WHEN link.until_commit > :at THEN NULL ELSE link.valid_until END
FROM memory AS source
JOIN memory AS target ON target.memory_id = :target
JOIN memory_link AS link
    ON link.source = source.id AND link.target = target.id AND link.relation = :relation
WHERE source.memory_id = :source AND link.commit_ts <= :at
ORDER BY link.commit_ts DESC, link.position DESC LIMIT 1

-- name: link_exists_to
-- Say whether any open link leads to a memory.
SELECT 1
FROM memory AS target
JOIN memory_link AS link ON link.target = target.id AND link.relation = :relation
WHERE target.memory_id = :target AND link.commit_ts <= :at AND link.until_commit > :at
LIMIT 1

-- name: links_of
-- List the outgoing and incoming links of a memory as of a commit, in the order of their creation.
SELECT
    source.memory_id, target.memory_id, link.relation, link.valid_from,
    CASE WHEN link.until_commit > :at THEN NULL ELSE link.valid_until END,
    link.commit_ts, link.position
FROM memory AS own
JOIN memory_link AS link ON link.source = own.id
JOIN memory AS source ON source.id = link.source
JOIN memory AS target ON target.id = link.target
WHERE own.memory_id = :memory_id AND link.commit_ts <= :at
    AND (:include_closed = 1 OR link.until_commit > :at)
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
    AND (:include_closed = 1 OR link.until_commit > :at)
    AND (source.private = 0 OR source.agent_id = :viewer)
ORDER BY 6, 7

-- name: links_changed
-- Say whether a link of a memory was opened or closed after a commit.
SELECT 1
FROM memory JOIN memory_link AS link ON link.source = memory.id OR link.target = memory.id
WHERE memory.memory_id = :memory_id
    AND (link.commit_ts > :since OR (link.until_commit > :since AND link.until_commit < OPEN_END))
LIMIT 1

-- name: transcript_number
-- Return the row number of a transcript.
SELECT id FROM transcript WHERE transcript_id = :transcript_id

-- name: transcript_last_number
-- Return the highest row number of a transcript; 0 without transcripts.
SELECT COALESCE(MAX(id), 0) FROM transcript

-- name: transcript_add
-- Add a transcript.
INSERT INTO transcript (
    id, transcript_id, namespace, agent_id, commit_ts, position, created_at, occurred_at,
    expires_at, size, digest, form, messages_size
) VALUES (
    :id, :transcript_id, :namespace, :agent_id, :commit_ts, :position, :created_at, :occurred_at,
    :expires_at, :size, :digest, :form, :messages_size
)

-- name: transcript_get
-- Return a transcript as of a commit, with the compressed size of its content.
SELECT
    transcript.transcript_id, transcript.namespace, transcript.agent_id, transcript.commit_ts,
    transcript.position, transcript.created_at, transcript.occurred_at, transcript.expires_at,
    transcript.size, transcript.digest, LENGTH(blob.content), transcript.form,
    transcript.messages_size
FROM transcript
JOIN blob ON blob.commit_ts = transcript.commit_ts AND blob.position = transcript.position
WHERE transcript.transcript_id = :transcript_id AND transcript.commit_ts <= :at

-- name: transcript_duplicate
-- Return the first transcript of a scope with the same content and the same time.
SELECT transcript_id, commit_ts, created_at FROM transcript
WHERE namespace = :namespace AND agent_id = :agent_id AND size = :size AND digest = :digest
    AND COALESCE(occurred_at, :never) = :occurred_at
ORDER BY id LIMIT 1

-- name: transcript_page
-- Return a page of the transcripts in a namespace and those below it, ordered as in memory_page.
SELECT
    transcript.transcript_id, transcript.namespace, transcript.agent_id, transcript.commit_ts,
    transcript.position, transcript.created_at, transcript.occurred_at, transcript.expires_at,
    transcript.size, transcript.digest, LENGTH(blob.content), transcript.form,
    transcript.messages_size, transcript.id
FROM transcript
JOIN blob ON blob.commit_ts = transcript.commit_ts AND blob.position = transcript.position
WHERE transcript.namespace >= :namespace AND transcript.namespace < :end
    AND (transcript.namespace = :namespace OR transcript.namespace >= :children)
    AND (transcript.namespace, transcript.id) > (:after_namespace, :after)
    AND transcript.commit_ts <= :at
ORDER BY transcript.namespace, transcript.id LIMIT :limit

-- name: citation_add
-- Add a citation; one that exists stays.
INSERT INTO citation (memory, transcript, first, beyond, commit_ts)
VALUES (:memory, :transcript, :first, :end, :commit_ts)
ON CONFLICT DO NOTHING

-- name: citation_any
-- Say whether any memory cites a transcript.
SELECT 1 FROM citation LIMIT 1

-- name: citation_find
-- List the spans of a transcript that a memory cites.
SELECT citation.first, citation.beyond
FROM citation
JOIN memory ON memory.id = citation.memory
JOIN transcript ON transcript.id = citation.transcript
WHERE memory.memory_id = :memory_id AND transcript.transcript_id = :transcript_id
ORDER BY citation.first, citation.beyond

-- name: citations_of_transcript
-- List the visible memories that cite a transcript, with the cited spans.
SELECT memory.memory_id, citation.first, citation.beyond
FROM transcript
JOIN citation ON citation.transcript = transcript.id
JOIN memory ON memory.id = citation.memory
WHERE transcript.transcript_id = :transcript_id AND citation.commit_ts <= :at
    AND (memory.private = 0 OR memory.agent_id = :viewer)
ORDER BY memory.memory_id, citation.first, citation.beyond

-- name: memories_citing_transcript
-- List the memories that ever cited a transcript, of any agent.
SELECT DISTINCT memory.memory_id
FROM transcript
JOIN citation ON citation.transcript = transcript.id
JOIN memory ON memory.id = citation.memory
WHERE transcript.transcript_id = :transcript_id

-- name: notice_add
-- Add a notice.
INSERT INTO notice (
    memory, kind, dependent, dependent_commit, dependent_position, invalidated_kind, invalidated,
    invalidated_version, invalidated_commit, invalidated_position, change, invalidating, by_agent,
    commit_ts
) VALUES (
    :memory, :kind, :dependent, :dependent_commit, :dependent_position, :invalidated_kind, :invalidated,
    :invalidated_version, :invalidated_commit, :invalidated_position, :change, :invalidating, :by_agent,
    :commit_ts
)

-- name: notice_find
-- Return the dependent and the decision of a notice.
SELECT
    dependent.memory_id, notice.dependent_commit, notice.dependent_position, notice.decision,
    notice.replacement
FROM memory
JOIN notice ON notice.memory = memory.id
LEFT JOIN memory AS dependent ON dependent.id = notice.dependent
WHERE memory.memory_id = :memory_id

-- name: notice_resolve
-- Set the decision of a notice.
UPDATE notice SET
    resolved_commit = :commit_ts, resolved_at = :resolved_at, resolved_by = :resolved_by,
    decision = :decision, note = :note, replacement = :replacement
WHERE memory = :memory

-- name: notice_page
-- Return a page of notices, oldest first: of one agent or of all, open or resolved as of a commit.
SELECT
    memory.id, memory.memory_id, memory.namespace, memory.agent_id, notice.kind,
    dependent.memory_id, notice.dependent_commit, notice.dependent_position,
    invalidated.memory_id, notice.invalidated_version, notice.invalidated_commit,
    notice.invalidated_position, notice.change, invalidating.memory_id, notice.by_agent,
    memory.created_at,
    CASE WHEN notice.resolved_commit <= :at THEN notice.decision END,
    CASE WHEN notice.resolved_commit <= :at THEN notice.note END,
    CASE WHEN notice.resolved_commit <= :at THEN notice.replacement END,
    CASE WHEN notice.resolved_commit <= :at THEN notice.resolved_at END,
    CASE WHEN notice.resolved_commit <= :at THEN notice.resolved_by END
FROM notice
JOIN memory ON memory.id = notice.memory
LEFT JOIN memory AS dependent ON dependent.id = notice.dependent
LEFT JOIN memory AS invalidated ON invalidated.id = notice.invalidated
LEFT JOIN memory AS invalidating ON invalidating.id = notice.invalidating
WHERE notice.memory > :after AND notice.commit_ts <= :at
    AND (:agent_id IS NULL OR memory.agent_id = :agent_id)
    AND (memory.private = 0 OR memory.agent_id = :viewer)
    AND (
        CAST(:is_open AS INTEGER) IS NULL
        OR :is_open = CASE WHEN notice.resolved_commit <= :at THEN 0 ELSE 1 END
    )
ORDER BY notice.memory LIMIT :limit

-- name: notice_get
-- Return a notice, open or resolved as of a commit.
SELECT
    memory.id, memory.memory_id, memory.namespace, memory.agent_id, notice.kind,
    dependent.memory_id, notice.dependent_commit, notice.dependent_position,
    invalidated.memory_id, notice.invalidated_version, notice.invalidated_commit,
    notice.invalidated_position, notice.change, invalidating.memory_id, notice.by_agent,
    memory.created_at,
    CASE WHEN notice.resolved_commit <= :at THEN notice.decision END,
    CASE WHEN notice.resolved_commit <= :at THEN notice.note END,
    CASE WHEN notice.resolved_commit <= :at THEN notice.replacement END,
    CASE WHEN notice.resolved_commit <= :at THEN notice.resolved_at END,
    CASE WHEN notice.resolved_commit <= :at THEN notice.resolved_by END
FROM notice
JOIN memory ON memory.id = notice.memory
LEFT JOIN memory AS dependent ON dependent.id = notice.dependent
LEFT JOIN memory AS invalidated ON invalidated.id = notice.invalidated
LEFT JOIN memory AS invalidating ON invalidating.id = notice.invalidating
WHERE memory.memory_id = :notice_id

-- name: setting_set
-- Set a setting.
INSERT INTO setting (namespace, name, value) VALUES (:namespace, :name, :value)
ON CONFLICT (namespace, name) DO UPDATE SET value = excluded.value

-- name: setting_rows
-- List all settings, to load and to compare.
SELECT namespace, name, value FROM setting ORDER BY namespace, name

-- name: memory_clear
-- Empty the table for a rebuild.
DELETE FROM memory

-- name: memory_state_clear
-- Empty the table for a rebuild.
DELETE FROM memory_state

-- name: memory_title_clear
-- Empty the table for a rebuild.
DELETE FROM memory_title

-- name: memory_link_clear
-- Empty the table for a rebuild.
DELETE FROM memory_link

-- name: transcript_clear
-- Empty the table for a rebuild.
DELETE FROM transcript

-- name: citation_clear
-- Empty the table for a rebuild.
DELETE FROM citation

-- name: notice_clear
-- Empty the table for a rebuild.
DELETE FROM notice

-- name: setting_clear
-- Empty the table for a rebuild.
DELETE FROM setting

-- name: memory_rows
-- List the rows for comparison, by row number: lists have the same order.
SELECT memory_id, namespace, agent_id, private, commit_ts, created_at FROM memory ORDER BY id

-- name: memory_state_rows
-- List the rows for comparison. Row numbers may differ after a rebuild, so a pointer to another row
-- is compared by that row's log position.
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
-- List the rows for comparison.
SELECT
    title.namespace, title.owner, title.title, title.commit_ts, title.position,
    title.until_commit, memory.memory_id
FROM memory_title AS title LEFT JOIN memory ON memory.id = title.memory
ORDER BY title.namespace, title.owner, title.title, title.commit_ts, title.position

-- name: memory_link_rows
-- List the rows for comparison.
SELECT
    source.memory_id AS source, link.relation, target.memory_id AS target, link.commit_ts,
    link.position, link.valid_from, link.until_commit, link.valid_until
FROM memory_link AS link
LEFT JOIN memory AS source ON source.id = link.source
LEFT JOIN memory AS target ON target.id = link.target
ORDER BY source.memory_id, link.relation, target.memory_id, link.commit_ts, link.position

-- name: transcript_rows
-- List the rows for comparison, by row number: lists have the same order.
SELECT
    transcript_id, namespace, agent_id, commit_ts, position, created_at, occurred_at, expires_at,
    size, digest, form, messages_size
FROM transcript ORDER BY id

-- name: citation_rows
-- List the rows for comparison.
SELECT
    memory.memory_id, transcript.transcript_id, citation.first, citation.beyond, citation.commit_ts
FROM citation
LEFT JOIN memory ON memory.id = citation.memory
LEFT JOIN transcript ON transcript.id = citation.transcript
ORDER BY memory.memory_id, transcript.transcript_id, citation.first, citation.beyond

-- name: notice_rows
-- List the rows for comparison. No memory differs from a memory that is not there.
SELECT
    memory.memory_id, notice.kind, notice.dependent IS NULL AS of_no_memory,
    dependent.memory_id AS dependent, notice.dependent_commit, notice.dependent_position,
    notice.invalidated_kind, notice.invalidated IS NULL AS by_no_memory,
    invalidated.memory_id AS invalidated, notice.invalidated_version, notice.invalidated_commit,
    notice.invalidated_position, notice.change, notice.invalidating IS NULL AS for_no_memory,
    invalidating.memory_id AS invalidating, notice.by_agent, notice.commit_ts,
    notice.resolved_commit, notice.resolved_at, notice.resolved_by, notice.decision, notice.note,
    notice.replacement
FROM notice
LEFT JOIN memory ON memory.id = notice.memory
LEFT JOIN memory AS dependent ON dependent.id = notice.dependent
LEFT JOIN memory AS invalidated ON invalidated.id = notice.invalidated
LEFT JOIN memory AS invalidating ON invalidating.id = notice.invalidating
ORDER BY memory.memory_id

-- name: sweep_memories
-- List the memories that expired before an instant and that no memory which stays rests on: neither
-- directly, nor through other candidates or tombstones. Notices stay: they have only ids.
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
        (namespace = :namespace OR (namespace >= :children AND namespace < :end))
        AND memory_id NOT IN (SELECT value FROM EACH(:spared))
        AND NOT EXISTS (SELECT 1 FROM notice WHERE notice.memory = brief.id)
    )
),
needed (id) AS (
    SELECT link.target FROM dispensable JOIN memory_link AS link ON link.target = dispensable.id
    WHERE link.relation IN ('reflects_on', 'derived_from') AND link.until_commit = OPEN_END
        AND link.source NOT IN (SELECT id FROM dispensable)
    UNION
    SELECT link.target FROM needed JOIN memory_link AS link ON link.source = needed.id
    WHERE link.relation IN ('reflects_on', 'derived_from') AND link.until_commit = OPEN_END
        AND link.target IN (SELECT id FROM dispensable)
)
SELECT memory_id FROM brief
WHERE kind <> '' AND id IN (SELECT id FROM dispensable) AND id NOT IN (SELECT id FROM needed)
ORDER BY id

-- name: sweep_transcripts
-- List the transcripts with text whose retention has ended, and that no memory cites except those
-- that are swept too.
SELECT transcript.transcript_id
FROM transcript
WHERE LENGTH(transcript.digest) > 0 AND transcript.expires_at <= :now
    AND (namespace = :namespace OR (namespace >= :children AND namespace < :end))
    AND transcript_id NOT IN (SELECT value FROM EACH(:spared))
    AND NOT EXISTS (
        SELECT 1
        FROM citation JOIN memory ON memory.id = citation.memory
        WHERE citation.transcript = transcript.id
            AND memory.memory_id NOT IN (SELECT value FROM EACH(:swept_ids))
            AND (
                SELECT kind FROM memory_state
                WHERE memory = memory.id ORDER BY commit_ts DESC, position DESC LIMIT 1
            ) <> ''
    )
ORDER BY transcript.id

-- name: memory_rows_up_to
-- Return a page of the state rows of a namespace's memories up to its horizon, oldest first.
SELECT
    memory.id, memory.memory_id, state.id, state.commit_ts, state.position, state.version,
    state.expires_at, state.details_in, state.content_in
FROM memory
JOIN memory_state AS state ON state.memory = memory.id
WHERE memory.namespace = :namespace AND memory.id > :after AND state.commit_ts <= :horizon
ORDER BY memory.id, state.commit_ts, state.position LIMIT :limit

-- name: memory_rows_after
-- Return a page of the same rows of one memory, after a log position.
SELECT
    memory.id, memory.memory_id, state.id, state.commit_ts, state.position, state.version,
    state.expires_at, state.details_in, state.content_in
FROM memory
JOIN memory_state AS state ON state.memory = memory.id
WHERE memory.id = :memory AND state.commit_ts <= :horizon
    AND (state.commit_ts, state.position) > (:after, :after_position)
ORDER BY state.commit_ts, state.position LIMIT :limit

-- name: memory_versions_linked
-- List the versions of a memory that reflects_on and derived_from links point to, if the link was
-- open at the horizon or opened later.
SELECT DISTINCT (
    SELECT version FROM memory_state
    WHERE memory = link.target AND (commit_ts, position) <= (link.commit_ts, link.position)
    ORDER BY commit_ts DESC, position DESC LIMIT 1
)
FROM memory_link AS link
WHERE link.target = :memory AND link.relation IN ('reflects_on', 'derived_from')
    AND link.until_commit > :horizon

-- name: memory_numbers_at
-- Return the expiry, the depth and the access count of a memory after an operation.
SELECT state.expires_at, state.depth, state.access_count, state.last_accessed_at
FROM memory JOIN memory_state AS state ON state.memory = memory.id
WHERE memory.memory_id = :memory_id AND state.commit_ts = :commit_ts AND state.position = :position

-- name: memory_state_around
-- Return the state row of an operation, with the rows before and after it.
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
-- Delete a state row.
DELETE FROM memory_state WHERE id = :id

-- name: memory_states_after
-- Return a page of a memory's rows after a log position, and their details and content pointers.
SELECT id, commit_ts, position, details_in, content_in FROM memory_state
WHERE memory = :memory AND (commit_ts, position) > (:commit_ts, :position)
ORDER BY commit_ts, position LIMIT :limit

-- name: memory_details_redirect
-- Let a row take its details from another row.
UPDATE memory_state SET details_in = :into WHERE id = :id

-- name: memory_content_redirect
-- Let a row take its content from another row.
UPDATE memory_state SET content_in = :into WHERE id = :id

-- name: memory_state_without_content
-- Remove the content of a row. With NULL the row is its own, empty source; otherwise it takes the
-- content from another row.
UPDATE memory_state SET content_in = :content_in, digest = NULL, size = NULL, content = NULL
WHERE id = :id

-- name: memory_state_details
-- Set the details of a row, or the row that it takes them from.
UPDATE memory_state SET details_in = :details_in, details = :details WHERE id = :id

-- name: memory_state_title
-- Set the title of a row.
UPDATE memory_state SET title = :title WHERE id = :id

-- name: title_end
-- Return the commit at which a title ended that began at a log position.
SELECT title.until_commit
FROM memory JOIN memory_title AS title
    ON title.namespace = memory.namespace
    AND title.owner = CASE memory.private WHEN 1 THEN memory.agent_id ELSE '' END
    AND title.title = :title AND title.commit_ts = :commit_ts AND title.position = :position
    AND title.memory = memory.id
WHERE memory.id = :memory

-- name: title_drop
-- Delete the title interval that began at a log position.
DELETE FROM memory_title
WHERE title = :title AND commit_ts = :commit_ts AND position = :position AND memory = :memory
    AND (namespace, owner) = (
        SELECT namespace, CASE private WHEN 1 THEN agent_id ELSE '' END
        FROM memory WHERE id = :memory
    )

-- name: title_put
-- Add a title interval.
INSERT INTO memory_title (namespace, owner, title, commit_ts, position, until_commit, memory)
SELECT
    namespace, CASE private WHEN 1 THEN agent_id ELSE '' END, :title, :commit_ts, :position,
    :until_commit, id
FROM memory WHERE id = :memory

-- name: title_last_until
-- Set the end of the last interval of a memory's title before a log position.
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
-- Return the horizon of a memory's namespace, and the memory's version there.
SELECT horizon.commit_ts, state.version
FROM memory
JOIN horizon ON horizon.namespace = memory.namespace
JOIN memory_state AS state ON state.id = (
    SELECT id FROM memory_state
    WHERE memory = memory.id AND commit_ts <= horizon.commit_ts
    ORDER BY commit_ts DESC, position DESC LIMIT 1
)
WHERE memory.memory_id = :memory_id

-- name: memory_version_start
-- Return the log position at which a memory's version as of a commit begins.
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
-- List which of these memories are private to another agent.
SELECT memory.memory_id
FROM EACH(:memory_ids) AS requested JOIN memory ON memory.memory_id = requested.value
WHERE memory.private = 1 AND memory.agent_id <> :viewer

-- name: transcripts_hidden
-- List which of these transcripts a reader may not see: none, unless its coverage leaves some out.
SELECT transcript_id FROM transcript
WHERE transcript_id IN (SELECT value FROM EACH(:transcript_ids)) AND 1 = 0

-- name: memory_ids
-- List the ids of memories in a range that the viewer may see, notices included.
SELECT memory_id FROM memory
WHERE memory_id >= :first AND memory_id <= :last AND (private = 0 OR agent_id = :viewer)
ORDER BY memory_id LIMIT :limit

-- name: notice_ids
-- List the ids of notices in a range that the viewer may see.
SELECT memory.memory_id FROM memory JOIN notice ON notice.memory = memory.id
WHERE memory.memory_id >= :first AND memory.memory_id <= :last
    AND (memory.private = 0 OR memory.agent_id = :viewer)
ORDER BY memory.memory_id LIMIT :limit

-- name: transcript_ids
-- List the ids of transcripts in a range.
SELECT transcript_id FROM transcript
WHERE transcript_id >= :first AND transcript_id <= :last
ORDER BY transcript_id LIMIT :limit

-- name: memory_neighbours
-- Return the ids just before and just after each of some memories' ids.
SELECT
    item.value,
    (SELECT MAX(memory_id) FROM memory WHERE memory_id < item.value),
    (SELECT MIN(memory_id) FROM memory WHERE memory_id > item.value)
FROM EACH(:ids) AS item

-- name: transcript_neighbours
-- Return the ids just before and just after each of some transcripts' ids.
SELECT
    item.value,
    (SELECT MAX(transcript_id) FROM transcript WHERE transcript_id < item.value),
    (SELECT MIN(transcript_id) FROM transcript WHERE transcript_id > item.value)
FROM EACH(:ids) AS item
