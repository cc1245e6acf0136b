-- Format 2: memories, links, transcripts, notices and settings, and content beside the log.
--
-- `blob` is truth like `event`; the other tables are filled from the log. Moments are commits, times
-- are microseconds. 9223372036854775807 in `until_commit` means that something still holds.

-- Long content, packed: one row for an operation that has some.
CREATE TABLE blob (
    commit_ts INTEGER NOT NULL,
    position  INTEGER NOT NULL,
    content   BLOB NOT NULL,
    UNIQUE (commit_ts, position)
) STRICT;

-- Small numbers for memories, and what never changes about them.
CREATE TABLE memory (
    id         INTEGER PRIMARY KEY,
    memory_id  TEXT NOT NULL UNIQUE,
    namespace  TEXT NOT NULL,
    agent_id   TEXT NOT NULL,
    private    INTEGER NOT NULL,
    commit_ts  INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX memory_by_namespace ON memory (namespace, id);

-- A memory from one operation to the next that changes anything about it: what held at a commit is
-- the last row up to it. Details and content stand in the row that brought them, which later rows
-- name (NULL: this very row). Long content has only a hash here and stands in `blob`.
CREATE TABLE memory_state (
    id               INTEGER PRIMARY KEY,
    memory           INTEGER NOT NULL,
    commit_ts        INTEGER NOT NULL,
    position         INTEGER NOT NULL,
    version          INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    kind             TEXT NOT NULL,
    tier             TEXT NOT NULL,
    title            TEXT,
    retracted        INTEGER NOT NULL,
    reason           TEXT,
    expires_at       INTEGER,
    depth            INTEGER NOT NULL,
    access_count     INTEGER NOT NULL,
    last_accessed_at INTEGER,
    details_in       INTEGER,
    content_in       INTEGER,
    details          BLOB,
    digest           BLOB,
    size             INTEGER,
    content          TEXT,
    UNIQUE (memory, commit_ts, position)
) STRICT;

-- Whose title it is: of everybody in a namespace (no owner), or of one agent there.
CREATE TABLE memory_title (
    namespace    TEXT NOT NULL,
    owner        TEXT NOT NULL,
    title        TEXT NOT NULL,
    commit_ts    INTEGER NOT NULL,
    position     INTEGER NOT NULL,
    until_commit INTEGER NOT NULL,
    memory       INTEGER NOT NULL,
    PRIMARY KEY (namespace, owner, title, commit_ts, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE memory_link (
    source       INTEGER NOT NULL,
    relation     TEXT NOT NULL,
    target       INTEGER NOT NULL,
    commit_ts    INTEGER NOT NULL,
    position     INTEGER NOT NULL,
    valid_from   INTEGER NOT NULL,
    until_commit INTEGER NOT NULL,
    valid_until  INTEGER,
    PRIMARY KEY (source, relation, target, commit_ts, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_link_by_target ON memory_link (target, relation, source);

CREATE TABLE transcript (
    id            INTEGER PRIMARY KEY,
    transcript_id TEXT NOT NULL UNIQUE,
    namespace     TEXT NOT NULL,
    agent_id      TEXT NOT NULL,
    commit_ts     INTEGER NOT NULL,
    position      INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    occurred_at   INTEGER,
    expires_at    INTEGER,
    size          INTEGER NOT NULL,
    digest        BLOB NOT NULL
) STRICT;
CREATE INDEX transcript_by_namespace ON transcript (namespace, id);

-- Which words a memory comes from; a span that begins and ends at 0 is the whole transcript.
CREATE TABLE citation (
    memory     INTEGER NOT NULL,
    transcript INTEGER NOT NULL,
    first      INTEGER NOT NULL,
    beyond     INTEGER NOT NULL,
    commit_ts  INTEGER NOT NULL,
    PRIMARY KEY (memory, transcript, first, beyond)
) STRICT, WITHOUT ROWID;
CREATE INDEX citation_by_transcript ON citation (transcript, memory);

-- What was said to whom about whom, once; no decision: it is open.
CREATE TABLE notice (
    memory          INTEGER PRIMARY KEY,
    dependent       INTEGER NOT NULL,
    invalidated     INTEGER NOT NULL,
    invalidating    INTEGER NOT NULL,
    by_agent        TEXT NOT NULL,
    commit_ts       INTEGER NOT NULL,
    resolved_commit INTEGER,
    resolved_at     INTEGER,
    resolved_by     TEXT,
    decision        TEXT,
    note            TEXT,
    replacement     TEXT,
    UNIQUE (dependent, invalidated, invalidating)
) STRICT;

CREATE TABLE setting (
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    value     INTEGER,
    PRIMARY KEY (namespace, name)
) STRICT, WITHOUT ROWID;

-- A log of format 1 has no operation these tables are filled from: empty, they are up to date.
INSERT INTO meta (name, value) SELECT 'view:memory', '1' WHERE EXISTS (SELECT 1 FROM event);
