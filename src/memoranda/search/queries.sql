-- The index: its queue (table to_index), partitions (shelf), documents (passage) and vectors.

-- name: index_queue_add
-- Queue a commit for indexing; one that is queued stays as it is.
INSERT INTO to_index (commit_ts, size) VALUES (:commit_ts, :size)
ON CONFLICT (commit_ts) DO NOTHING

-- name: index_queue_page
-- Read queued commits in order, each with its estimated number of documents.
SELECT commit_ts, size FROM to_index WHERE commit_ts > :after ORDER BY commit_ts LIMIT :limit

-- name: index_queue_remove
-- Remove a commit that is indexed from the queue.
DELETE FROM to_index WHERE commit_ts = :commit_ts

-- name: index_queue_totals
-- Count the queued commits and their estimated documents.
SELECT COUNT(*), COALESCE(SUM(size), 0) FROM to_index

-- name: index_queue_last
-- Find the last queued commit.
SELECT MAX(commit_ts) FROM to_index

-- name: index_stamp_renew
-- Change the stamp of the index, so that plans which were made before are stale.
INSERT INTO meta (name, value) VALUES ('index', '1')
ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(meta.value AS INTEGER) + 1 AS TEXT)

-- name: index_queue_clear
-- Empty the queue.
DELETE FROM to_index

-- name: partitions_visible
-- Read the shared partitions of all namespaces, and the private ones of a viewer.
SELECT id, namespace, owner, kind, past, size, length, removals FROM shelf
WHERE owner = '' OR owner = :viewer
ORDER BY id

-- name: partition_find
-- Find a partition by its key.
SELECT id FROM shelf
WHERE namespace = :namespace AND owner = :owner AND kind = :kind AND past = :past

-- name: partition_add
-- Add an empty partition.
INSERT INTO shelf (namespace, owner, kind, past, size, length, removals)
VALUES (:namespace, :owner, :kind, :past, 0, 0, 0)
RETURNING id

-- name: partition_update_totals
-- Add to the totals of a partition.
UPDATE shelf SET size = size + :size, length = length + :length, removals = removals + :removals
WHERE id = :id

-- name: partition_totals
-- Count the documents and tokens of all partitions.
SELECT COALESCE(SUM(size), 0), COALESCE(SUM(length), 0) FROM shelf

-- name: fulltext_totals
-- Count the documents and tokens of the full-text index, whether a reader covers them or not.
SELECT COALESCE(SUM(size), 0), COALESCE(SUM(length), 0) FROM shelf

-- name: partition_prune
-- Delete empty partitions: their keys may name a forgotten agent.
DELETE FROM shelf WHERE size = 0

-- name: partition_clear
-- Delete all partitions.
DELETE FROM shelf

-- name: document_add
-- Add a document.
INSERT INTO passage (shelf, source, first, beyond, since, until_commit, length)
VALUES (:partition, :source, :start, :end, :from_commit, :to_commit, :length)
RETURNING id

-- name: document_remove
-- Delete a document.
DELETE FROM passage WHERE id = :id

-- name: document_set_length
-- Set the number of tokens of a document that is restemmed.
UPDATE passage SET length = :length WHERE id = :id

-- name: documents_between
-- Read documents in the order of their ids, each with its partition and its length.
SELECT shelf.id, shelf.namespace, shelf.owner, shelf.kind, shelf.past, shelf.size, shelf.length,
    shelf.removals, passage.id, passage.source, passage.first, passage.beyond, passage.since,
    passage.until_commit, passage.length
FROM passage
JOIN shelf ON shelf.id = passage.shelf
WHERE passage.id > :after AND passage.id <= :end
ORDER BY passage.id LIMIT :limit

-- name: documents_between_count
-- Count the documents whose ids are in a range.
SELECT COUNT(*) FROM passage WHERE id > :after AND id <= :end

-- name: document_clear
-- Delete all documents.
DELETE FROM passage

-- name: vector_move
-- Give the vector of a replaced document to its successor.
UPDATE vector SET passage = :id WHERE passage = :old

-- name: vector_remove
-- Delete the vector of a document.
DELETE FROM vector WHERE passage = :document

-- name: vector_clear
-- Delete all vectors.
DELETE FROM vector

-- name: vector_any
-- Find any vector.
SELECT passage FROM vector LIMIT 1

-- name: namespaces_written
-- List the namespaces that were ever written to.
SELECT DISTINCT namespace FROM scope ORDER BY namespace

-- name: namespaces_below
-- List a namespace and those in a range of names.
SELECT DISTINCT namespace FROM scope
WHERE namespace = :namespace OR (namespace >= :start AND namespace < :end)
ORDER BY namespace

-- name: vector_add
-- Add a vector, if its document still exists.
INSERT INTO vector (passage, content)
SELECT id, :content FROM passage WHERE id = :document
ON CONFLICT (passage) DO NOTHING

-- name: vectors_missing
-- Read documents without a vector, oldest first, each with its partition.
SELECT shelf.id, shelf.namespace, shelf.owner, shelf.kind, shelf.past, shelf.size, shelf.length,
    shelf.removals, passage.id, passage.source, passage.first, passage.beyond, passage.since,
    passage.until_commit
FROM passage
JOIN shelf ON shelf.id = passage.shelf
LEFT JOIN vector ON vector.passage = passage.id
WHERE passage.id > :after AND vector.passage IS NULL
ORDER BY passage.id LIMIT :limit

-- name: vectors_missing_in_partition
-- Read documents of a partition without a vector, newest first.
SELECT passage.id, passage.source, passage.first, passage.beyond, passage.since,
    passage.until_commit
FROM passage
LEFT JOIN vector ON vector.passage = passage.id
WHERE passage.shelf = :partition AND passage.id > :after AND vector.passage IS NULL
ORDER BY passage.id DESC LIMIT :limit

-- name: vectors_first_missing
-- Find the first document after an id that has no vector.
SELECT passage.id FROM passage
LEFT JOIN vector ON vector.passage = passage.id
WHERE passage.id > :after AND vector.passage IS NULL
ORDER BY passage.id LIMIT 1

-- name: vectors_counted
-- Count the documents without a vector, and all documents.
SELECT
    (
        SELECT COUNT(*) FROM passage
        LEFT JOIN vector ON vector.passage = passage.id
        WHERE passage.id > :after AND vector.passage IS NULL
    ),
    (SELECT COALESCE(SUM(size), 0) FROM shelf)

-- name: vectors_of_partition
-- Read the vectors of a partition in the order of document ids.
SELECT passage.id, passage.since, passage.until_commit, vector.content
FROM passage
JOIN vector ON vector.passage = passage.id
WHERE passage.shelf = :partition AND passage.id > :after
ORDER BY passage.id LIMIT :limit

-- name: document_last
-- Find the last document.
SELECT MAX(id) FROM passage

-- name: erasure_last
-- Find the last commit that erased anything.
SELECT MAX(erasure) FROM erased

-- name: index_commits
-- Read a page of all commits, and whether each is queued.
SELECT event.commit_ts, to_index.commit_ts IS NOT NULL
FROM event LEFT JOIN to_index ON to_index.commit_ts = event.commit_ts
WHERE event.commit_ts > :after ORDER BY event.commit_ts LIMIT :limit

-- name: index_queue_strays
-- Count queued commits without an event.
SELECT COUNT(*) FROM to_index WHERE commit_ts NOT IN (SELECT commit_ts FROM event)

-- name: index_counts
-- Count the documents, and the rows of the full-text index.
SELECT (SELECT COUNT(*) FROM passage), (SELECT COUNT(*) FROM words)

-- name: partition_checks
-- Read the totals of each partition, and count its documents and their tokens.
SELECT
    shelf.id, shelf.size, shelf.length,
    (SELECT COUNT(*) FROM passage WHERE shelf = shelf.id),
    (SELECT COALESCE(SUM(length), 0) FROM passage WHERE shelf = shelf.id)
FROM shelf ORDER BY shelf.id
