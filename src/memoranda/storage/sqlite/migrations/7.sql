-- Whether the agents of a namespace share their facts, from a commit on. It holds below the namespace
-- too, unless a nearer one has a row. The last row by a commit counts.
CREATE TABLE graph_sharing (
    namespace TEXT NOT NULL,
    commit_ts INTEGER NOT NULL,
    shared    INTEGER NOT NULL,
    PRIMARY KEY (namespace, commit_ts)
) STRICT, WITHOUT ROWID;

-- The ids of shared graphs, one for each namespace that ever shared its facts. They are negative, and
-- stand in `graph_node.scope_id`: no scope has such an id.
CREATE TABLE graph_shared (
    id        INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL UNIQUE
) STRICT;

-- The scope of the agent that made a statement of a shared graph; 0 in an agent's own graph.
ALTER TABLE graph_statement ADD COLUMN author INTEGER NOT NULL DEFAULT 0;

-- What the current value of each key rests on. `kind` and `target` name the evidence: 1, a row of
-- `state`; 2, the id of a memory; 3, the id of an assertion; 4, the id of a transcript. A fact and a
-- transcript have version 0. Only a version of a key has its place in the log here.
CREATE TABLE state_because (
    kind      INTEGER NOT NULL,
    target    TEXT NOT NULL,
    version   INTEGER NOT NULL,
    key_id    INTEGER NOT NULL,
    commit_ts INTEGER,
    position  INTEGER,
    PRIMARY KEY (kind, target, version, key_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX state_because_by_key ON state_because (key_id);

-- A notice is about a memory, or about the key's value or the fact that an operation made; so is
-- the evidence that changed.
DROP TABLE notice;
CREATE TABLE notice (
    memory               INTEGER PRIMARY KEY,
    kind                 TEXT NOT NULL,
    dependent            INTEGER,
    dependent_commit     INTEGER,
    dependent_position   INTEGER,
    invalidated_kind     TEXT NOT NULL,
    invalidated          INTEGER,
    invalidated_version  INTEGER,
    invalidated_commit   INTEGER,
    invalidated_position INTEGER,
    change               TEXT NOT NULL,
    invalidating         INTEGER,
    by_agent             TEXT NOT NULL,
    commit_ts            INTEGER NOT NULL,
    resolved_commit      INTEGER,
    resolved_at          INTEGER,
    resolved_by          TEXT,
    decision             TEXT,
    note                 TEXT,
    replacement          TEXT
) STRICT;
CREATE INDEX notice_by_dependent ON notice (dependent, dependent_commit, dependent_position);

-- The members of memories' metadata, each as a hash of its name and value. A memory has a row for every
-- member that one of its stored versions has; who reads compares the values themselves.
CREATE TABLE memory_member (
    digest    INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    memory    INTEGER NOT NULL,
    PRIMARY KEY (digest, namespace, memory)
) STRICT, WITHOUT ROWID;

-- Lists the namespaces page by page, and finds the agents of one.
CREATE INDEX scope_by_namespace ON scope (namespace);
