-- Format 4: audit. What was erased, the tree over the log's hashes, checkpoints and keys.

-- Which operation was erased by which commit, and the SHA-256 of what stands in its place; position
-- -1 is the envelope. It is truth like `event`: the erasing event has a digest over its rows.
CREATE TABLE erased (
    erasure   INTEGER NOT NULL,
    commit_ts INTEGER NOT NULL,
    position  INTEGER NOT NULL,
    digest    BLOB NOT NULL,
    PRIMARY KEY (erasure, commit_ts, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX erased_by_place ON erased (commit_ts, position, erasure);

-- Transactions that changed nothing: what they asked for goes with whatever is erased.
CREATE INDEX event_without_effect ON event (commit_ts) WHERE LENGTH(operations) = 1;

-- What was said on the ground of a memory or a transcript goes with it.
CREATE INDEX graph_statement_by_source ON graph_statement (source) WHERE source IS NOT NULL;

-- Complete subtrees of the RFC 6962 tree over the events' hashes, of every fourth level: a node of
-- level 4 covers 16 events, one of level 8 covers 256. Filled behind the commits, from the log alone,
-- as far as `tree` in `meta` says.
CREATE TABLE tree_node (
    level INTEGER NOT NULL,
    place INTEGER NOT NULL,
    hash  BLOB NOT NULL,
    PRIMARY KEY (level, place)
) STRICT, WITHOUT ROWID;

-- Signed notes, as they were signed; each stands on its own and is checked by its signature.
CREATE TABLE checkpoint (
    size INTEGER NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (size, note)
) STRICT, WITHOUT ROWID;

-- Who signs with which key, from one commit until another; filled from the log. A key that is retired
-- is never trusted again.
CREATE TABLE public_key (
    name         TEXT NOT NULL,
    public_key   BLOB NOT NULL,
    agent_id     TEXT,
    commit_ts    INTEGER NOT NULL,
    until_commit INTEGER NOT NULL,
    PRIMARY KEY (name, public_key)
) STRICT, WITHOUT ROWID;

-- An older log trusts no key, so the view of them is up to date as it is.
INSERT INTO meta (name, value) SELECT 'view:keys', '1' WHERE EXISTS (SELECT 1 FROM event);

-- From which commit on a namespace is known, and the commit that summed it up; filled from the log.
CREATE TABLE horizon (
    namespace TEXT NOT NULL PRIMARY KEY,
    commit_ts INTEGER NOT NULL,
    summed_in INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Notes of a compaction for itself, empty at the end of it: what something that stays rests on, the
-- places that stay as they are (or of which only a memory's details do), and what is to be left in
-- others.
CREATE TABLE relied (
    kind    TEXT NOT NULL,
    name    TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (kind, name, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE retained (
    commit_ts INTEGER NOT NULL,
    position  INTEGER NOT NULL,
    whole     INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (commit_ts, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE carried (
    commit_ts INTEGER NOT NULL,
    position  INTEGER NOT NULL,
    rest      BLOB NOT NULL,
    PRIMARY KEY (commit_ts, position)
) STRICT, WITHOUT ROWID;
