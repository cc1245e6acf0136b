-- Format 5: finding by words. All of it is an index, filled behind the commits from what the views say;
-- it can be emptied, and what is to be indexed listed again, at any time.

-- The commits that say something which is not in the index yet, and about how many passages that is.
CREATE TABLE to_index (
    commit_ts INTEGER PRIMARY KEY,
    size      INTEGER NOT NULL
) STRICT;

-- Who may find what: passages of one kind in one namespace, of everybody there (no owner) or of one
-- agent; those that hold, or those that are past. `length` is the number of tokens on the shelf, and
-- `removals` is raised when something on it is erased. A number is never used again.
CREATE TABLE shelf (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace TEXT NOT NULL,
    owner     TEXT NOT NULL,
    kind      TEXT NOT NULL,
    past      INTEGER NOT NULL,
    size      INTEGER NOT NULL,
    length    INTEGER NOT NULL,
    removals  INTEGER NOT NULL,
    UNIQUE (namespace, owner, kind, past)
) STRICT;

-- What can be found, from one commit until another: a memory's text, an assertion, or the bytes from
-- `first` on of a transcript. A number is never used again, so others may remember it.
CREATE TABLE passage (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    shelf        INTEGER NOT NULL,
    source       TEXT NOT NULL,
    first        INTEGER NOT NULL,
    beyond       INTEGER NOT NULL,
    since        INTEGER NOT NULL,
    until_commit INTEGER NOT NULL,
    length       INTEGER NOT NULL
) STRICT;
CREATE INDEX passage_by_source ON passage (source);
CREATE INDEX passage_by_shelf ON passage (shelf);

-- The tokens of each passage, and of what stands around it, every one behind the number of its shelf:
-- `12.word`. What is deleted leaves nothing behind.
CREATE VIRTUAL TABLE words USING fts5(own, before, after, tokenize = "ascii tokenchars '.'");
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE word_count USING fts5vocab(words, row);

-- What a passage means to a model of language: float16, little endian, of length 1.
CREATE TABLE vector (
    passage INTEGER PRIMARY KEY,
    content BLOB NOT NULL
) STRICT;

-- An older log is indexed from here on: whatever one commit of a source lists is all of the source.
INSERT INTO to_index (commit_ts, size)
SELECT commit_ts, SUM(size)
FROM (
    SELECT commit_ts, 1 AS size FROM memory
    UNION ALL
    SELECT commit_ts, 1 FROM graph_statement WHERE asserts = 1
    UNION ALL
    SELECT commit_ts, 1 + size / 800 FROM transcript WHERE LENGTH(digest) > 0
)
GROUP BY commit_ts;
INSERT INTO meta (name, value) SELECT 'view:search', '1' WHERE EXISTS (SELECT 1 FROM event);
