-- The index: what waits to be indexed, shelves and passages.

-- name: to_index_add
INSERT INTO to_index (commit_ts, size) VALUES (:commit_ts, :size)
ON CONFLICT (commit_ts) DO NOTHING

-- name: to_index_page
SELECT commit_ts, size FROM to_index ORDER BY commit_ts LIMIT :most

-- name: to_index_done
DELETE FROM to_index WHERE commit_ts = :commit_ts

-- name: to_index_totals
SELECT COUNT(*), COALESCE(SUM(size), 0) FROM to_index

-- name: to_index_last
-- The last commit that waits to be indexed.
SELECT MAX(commit_ts) FROM to_index

-- name: index_restamp
-- Say that the index was changed, or that what was derived for it may not be so any more.
INSERT INTO meta (name, value) VALUES ('index', '1')
ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(meta.value AS INTEGER) + 1 AS TEXT)

-- name: to_index_clear
DELETE FROM to_index

-- name: shelves_seen
SELECT id, namespace, owner, kind, past, size, length, removals FROM shelf
WHERE owner = '' OR owner = :viewer
ORDER BY id

-- name: shelf_find
SELECT id FROM shelf
WHERE namespace = :namespace AND owner = :owner AND kind = :kind AND past = :past

-- name: shelf_add
INSERT INTO shelf (namespace, owner, kind, past, size, length, removals)
VALUES (:namespace, :owner, :kind, :past, 0, 0, 0)
RETURNING id

-- name: shelf_change
UPDATE shelf SET size = size + :size, length = length + :length, removals = removals + :removals
WHERE id = :id

-- name: shelf_totals
SELECT COALESCE(SUM(size), 0), COALESCE(SUM(length), 0) FROM shelf

-- name: shelf_prune
-- A shelf on which nothing is left names who is forgotten.
DELETE FROM shelf WHERE size = 0

-- name: shelf_clear
DELETE FROM shelf

-- name: passage_add
INSERT INTO passage (shelf, source, first, beyond, since, until_commit, length)
VALUES (:shelf, :source, :first, :beyond, :since, :until, :length)
RETURNING id

-- name: passage_remove
DELETE FROM passage WHERE id = :id

-- name: passage_clear
DELETE FROM passage

-- name: vector_move
UPDATE vector SET passage = :id WHERE passage = :old

-- name: vector_remove
DELETE FROM vector WHERE passage = :passage

-- name: vector_clear
DELETE FROM vector

-- name: vector_any
SELECT passage FROM vector LIMIT 1

-- name: vectors_generation
-- Of what cannot be read, one that nobody has come to by counting.
SELECT CASE WHEN json_valid(value) THEN COALESCE((value ->> 2) + 0, 0) ELSE 1 << 40 END
FROM meta WHERE name = :name

-- name: vectors_restart
-- All vectors are gone: whoever remembers some is to notice.
UPDATE meta SET value = json_set(value, '$[2]', (value ->> 2) + 1)
WHERE name = 'vectors' AND json_valid(value) AND json_array_length(value) > 2

-- name: namespaces_written
SELECT DISTINCT namespace FROM scope ORDER BY namespace

-- name: namespaces_below
SELECT DISTINCT namespace FROM scope
WHERE namespace = :namespace OR (namespace >= :first AND namespace < :beyond)
ORDER BY namespace

-- name: vector_add
-- Only for a passage that is still there.
INSERT INTO vector (passage, content)
SELECT id, :content FROM passage WHERE id = :passage
ON CONFLICT (passage) DO NOTHING

-- name: vectors_missing
-- Passages without a vector, oldest first, each with its shelf.
SELECT shelf.id, shelf.namespace, shelf.owner, shelf.kind, shelf.past, shelf.size, shelf.length,
    shelf.removals, passage.id, passage.source, passage.first, passage.beyond, passage.since,
    passage.until_commit
FROM passage
JOIN shelf ON shelf.id = passage.shelf
LEFT JOIN vector ON vector.passage = passage.id
WHERE passage.id > :after AND vector.passage IS NULL
ORDER BY passage.id LIMIT :most

-- name: vectors_missing_on
-- Those on one shelf, newest first.
SELECT passage.id, passage.source, passage.first, passage.beyond, passage.since,
    passage.until_commit
FROM passage
LEFT JOIN vector ON vector.passage = passage.id
WHERE passage.shelf = :shelf AND passage.id > :after AND vector.passage IS NULL
ORDER BY passage.id DESC LIMIT :most

-- name: vectors_first_missing
SELECT passage.id FROM passage
LEFT JOIN vector ON vector.passage = passage.id
WHERE passage.id > :after AND vector.passage IS NULL
ORDER BY passage.id LIMIT 1

-- name: vectors_counted
-- How many passages have no vector, and how many there are.
SELECT
    (
        SELECT COUNT(*) FROM passage
        LEFT JOIN vector ON vector.passage = passage.id
        WHERE passage.id > :after AND vector.passage IS NULL
    ),
    (SELECT COALESCE(SUM(size), 0) FROM shelf)

-- name: vectors_of_shelf
SELECT passage.id, passage.since, passage.until_commit, vector.content
FROM passage
JOIN vector ON vector.passage = passage.id
WHERE passage.shelf = :shelf AND passage.id > :after
ORDER BY passage.id LIMIT :most

-- name: passage_last
SELECT MAX(id) FROM passage

-- name: erasure_last
-- The last commit that erased anything.
SELECT MAX(erasure) FROM erased

-- name: index_commits
-- A page of all commits, and whether each waits to be indexed.
SELECT event.commit_ts, to_index.commit_ts IS NOT NULL
FROM event LEFT JOIN to_index ON to_index.commit_ts = event.commit_ts
WHERE event.commit_ts > :after ORDER BY event.commit_ts LIMIT :most

-- name: index_strays
-- How many rows there are that no passage has.
SELECT
    (SELECT COUNT(*) FROM vector WHERE passage NOT IN (SELECT id FROM passage)),
    (SELECT COUNT(*) FROM words WHERE rowid NOT IN (SELECT id FROM passage)),
    (SELECT COUNT(*) FROM to_index WHERE commit_ts NOT IN (SELECT commit_ts FROM event))

-- name: index_counts
SELECT (SELECT COUNT(*) FROM passage), (SELECT COUNT(*) FROM words)

-- name: shelf_rows
-- What each shelf says of itself, and what is on it.
SELECT
    shelf.id, shelf.size, shelf.length,
    (SELECT COUNT(*) FROM passage WHERE shelf = shelf.id),
    (SELECT COALESCE(SUM(length), 0) FROM passage WHERE shelf = shelf.id)
FROM shelf ORDER BY shelf.id
