-- Format 6: what is stored holds.

-- The erasures that took envelopes, and so txn_ids: the ids that are derived from such begin anew.
CREATE INDEX erased_envelope ON erased (erasure) WHERE position = -1;

-- Where in the bytes of an event's operations those of a scope stand: the beginning and the end of each,
-- for events of many operations of which nothing was erased. NULL: look at all of them.
ALTER TABLE event_scope ADD COLUMN places BLOB;

-- Facts: an end that was said with an assertion bounds that assertion and is told from the others.
-- `bound` is its instant, in the row of the assertion and in that of the end, which stands right
-- behind it in the log; 9223372036854775807: an assertion without one, an end that stands alone. The
-- view has a new version, so what is there is derived anew.
ALTER TABLE graph_statement ADD COLUMN bound INTEGER NOT NULL DEFAULT 9223372036854775807;
DROP INDEX graph_end_by_object;
CREATE INDEX graph_end_by_object
    ON graph_statement (object_root, subject_root, relation, at, commit_ts, position)
    WHERE asserts = 0 AND bound = 9223372036854775807 AND until_commit = 9223372036854775807;
CREATE INDEX graph_bound_by_object
    ON graph_statement (object_root, subject_root, relation, at, commit_ts, position)
    WHERE asserts = 0 AND bound < 9223372036854775807 AND until_commit = 9223372036854775807;
-- What was withdrawn stands apart from what stands: who looks for the next of those passes by none.
DROP INDEX graph_statement_by_time;
CREATE INDEX graph_statement_by_time ON graph_statement (
    subject_root, relation, asserts, until_commit, at, commit_ts, position
);

-- Facts that are their agent's own: what was drawn from a private memory, or said to be so. `private`
-- is the scope it is said in, and 0 for what others are shown, as all is that older formats have.
ALTER TABLE graph_statement ADD COLUMN private INTEGER NOT NULL DEFAULT 0;
CREATE INDEX graph_statement_private ON graph_statement (private, subject, object) WHERE private > 0;

-- The index of words has smaller pages. It merges its parts 64 pages at a time, whenever as many were
-- added, and who does so holds the write lock meanwhile: so that is a quarter as long, and as often.
INSERT INTO words (words, rank) VALUES ('pgsz', 1000);

-- Transcripts: what each was given as: 0 is a text; else messages, and by which rendering they become
-- the text that `size` and all spans are of. `messages_size` is how many bytes their JSON has.
ALTER TABLE transcript ADD COLUMN form INTEGER NOT NULL DEFAULT 0;
ALTER TABLE transcript ADD COLUMN messages_size INTEGER NOT NULL DEFAULT 0;

-- A compaction goes in slices, each of which is a commit of its own: whether there is more to go.
ALTER TABLE horizon ADD COLUMN unfinished INTEGER NOT NULL DEFAULT 0;

-- A compaction notes what stays in memory, outside the write lock.
DROP TABLE relied;
DROP TABLE retained;
DROP TABLE carried;

-- Cursors are sealed: what an older version has left of them is, when one of them next moves.
INSERT INTO meta (name, value) SELECT 'cursors', 'unsealed'
WHERE EXISTS (SELECT 1 FROM meta WHERE name >= 'cursor:' AND name < 'cursor;');
