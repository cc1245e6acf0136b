-- Format 3: facts. All of it is filled from the log.
--
-- A place in a timeline is an instant, and at one instant a commit and a position in it, in this
-- order. 9223372036854775807 stands for an end that has not come, on either axis.

-- What facts are about: entities, literals and relations, each under its key in one scope. `root` is
-- the entity that a name means now; a name that was merged into another has that one's.
CREATE TABLE graph_node (
    id        INTEGER PRIMARY KEY,
    scope_id  INTEGER NOT NULL,
    kind      TEXT NOT NULL,
    key       TEXT NOT NULL,
    name      TEXT NOT NULL,
    root      INTEGER NOT NULL,
    commit_ts INTEGER NOT NULL,
    UNIQUE (scope_id, kind, key)
) STRICT;
CREATE INDEX graph_node_by_root ON graph_node (root);
CREATE INDEX graph_node_by_scope ON graph_node (scope_id, kind, id);

-- What a name meant until a commit. A name without a row has always meant what it means now.
CREATE TABLE graph_root (
    node         INTEGER NOT NULL,
    until_commit INTEGER NOT NULL,
    root         INTEGER NOT NULL,
    PRIMARY KEY (node, until_commit)
) STRICT, WITHOUT ROWID;
CREATE INDEX graph_root_by_root ON graph_root (root, until_commit);
CREATE INDEX graph_root_by_commit ON graph_root (until_commit);

CREATE TABLE graph_cardinality (
    namespace    TEXT NOT NULL,
    relation     TEXT NOT NULL,
    commit_ts    INTEGER NOT NULL,
    until_commit INTEGER NOT NULL,
    single       INTEGER NOT NULL,
    PRIMARY KEY (namespace, relation, commit_ts)
) STRICT, WITHOUT ROWID;

-- What was said: that something began to hold (asserts = 1), or stopped (0). Subject and object are
-- named as they were said; their roots are what they mean now. An end of whatever there is has the
-- object 0. `until_commit` is the commit that withdrew it.
CREATE TABLE graph_statement (
    id           INTEGER PRIMARY KEY,
    assertion_id TEXT NOT NULL,
    asserts      INTEGER NOT NULL,
    subject      INTEGER NOT NULL,
    relation     INTEGER NOT NULL,
    object       INTEGER NOT NULL,
    subject_root INTEGER NOT NULL,
    object_root  INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    commit_ts    INTEGER NOT NULL,
    position     INTEGER NOT NULL,
    committed_at INTEGER NOT NULL,
    confidence   REAL,
    source       BLOB,
    until_commit INTEGER NOT NULL,
    reason       TEXT
) STRICT;
CREATE INDEX graph_statement_by_id ON graph_statement (assertion_id);
CREATE INDEX graph_statement_by_time
    ON graph_statement (subject_root, relation, asserts, at, commit_ts, position);
CREATE INDEX graph_assertion_by_object ON graph_statement (object) WHERE asserts = 1;
CREATE INDEX graph_end_by_object
    ON graph_statement (object_root, subject_root, relation, at, commit_ts, position)
    WHERE asserts = 0;

-- What follows from what was said and stands: who holds a relation, from the first of its assertions
-- until its end; `last` is the newest of its assertions.
CREATE TABLE graph_edge (
    subject       INTEGER NOT NULL,
    relation      INTEGER NOT NULL,
    valid_from    INTEGER NOT NULL,
    from_commit   INTEGER NOT NULL,
    from_position INTEGER NOT NULL,
    object        INTEGER NOT NULL,
    last_at       INTEGER NOT NULL,
    last_commit   INTEGER NOT NULL,
    last_position INTEGER NOT NULL,
    valid_to      INTEGER NOT NULL,
    to_commit     INTEGER NOT NULL,
    to_position   INTEGER NOT NULL,
    PRIMARY KEY (subject, relation, valid_from, from_commit, from_position)
) STRICT, WITHOUT ROWID;
CREATE INDEX graph_edge_by_object ON graph_edge (object, subject, relation, valid_from);

-- A log of an older format has no operation these tables are filled from: empty, they are up to date.
INSERT INTO meta (name, value) SELECT 'view:graph', '1' WHERE EXISTS (SELECT 1 FROM event);
