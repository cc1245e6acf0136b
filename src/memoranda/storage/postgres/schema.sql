-- The tables of all stores in a database. Every table, key and index begins with the store, so that a
-- store is in one partition, or on one node, and no query can meet another store's rows.
--
-- The columns are those of SQLite's format (storage/sqlite/schema.sql and its migrations), without the
-- tables of the full-text index and of vectors, which are in a file beside (side_index.py). Text is
-- compared by its bytes, as SQLite does.

-- The format of these tables, and whether Citus has them on several nodes; one row.
CREATE TABLE memoranda.format (
    number BIGINT NOT NULL PRIMARY KEY,
    is_distributed BIGINT NOT NULL DEFAULT 0
);

-- The stores by name; an id is drawn by chance and never used again. `token` is random: files beside
-- the database are named by it. `location` is the server whose database has the rows of a store, under
-- the same id; NULL: they are here.
CREATE TABLE memoranda.store (
    store_id BIGINT NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    token TEXT COLLATE "C" NOT NULL,
    location TEXT COLLATE "C"
);

-- The row of each store that its writers lock. Whoever writes changes `stamp`, a random number, with
-- every commit: a writer that finds another stamp than that of its own last commit drops what it has
-- cached, compares `format` with its own, and decides again. `frozen` says why the store takes no more
-- writes; NULL: it does. Whoever sets either changes the stamp, too.
CREATE TABLE memoranda.head (
    store_id BIGINT NOT NULL PRIMARY KEY,
    stamp BIGINT NOT NULL,
    format BIGINT NOT NULL,
    frozen TEXT COLLATE "C"
);

-- Which server process has a store open for others, and until when unless it says so again, in
-- microseconds since 1970. `holder` is random. Whoever moves a store to another database has a row of
-- the store's negative id meanwhile.
CREATE TABLE memoranda.owner (
    store_id BIGINT NOT NULL PRIMARY KEY,
    holder TEXT COLLATE "C" NOT NULL,
    process TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT NOT NULL
);

-- The other databases that stores of this one can be in; new stores are spread over them, and without
-- any they are made here.
CREATE TABLE memoranda.server (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    url TEXT COLLATE "C" NOT NULL
);

CREATE TABLE memoranda.event (
    store_id BIGINT NOT NULL,
    commit_ts BIGINT NOT NULL,
    committed_at BIGINT NOT NULL,
    hash BYTEA NOT NULL,
    salts BYTEA NOT NULL,
    envelope BYTEA NOT NULL,
    operations BYTEA NOT NULL,
    PRIMARY KEY (store_id, commit_ts)
);
CREATE INDEX event_without_effect ON memoranda.event (store_id, commit_ts) WHERE LENGTH(operations) = 1;

CREATE TABLE memoranda.meta (
    store_id BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (store_id, name)
);

CREATE TABLE memoranda.scope (
    store_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    agent_id TEXT COLLATE "C" NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (store_id, id),
    UNIQUE (store_id, agent_id, namespace)
);
CREATE INDEX scope_by_namespace ON memoranda.scope (store_id, namespace);

CREATE TABLE memoranda.event_scope (
    store_id BIGINT NOT NULL,
    scope_id BIGINT NOT NULL,
    commit_ts BIGINT NOT NULL,
    places BYTEA,
    kinds BYTEA,
    PRIMARY KEY (store_id, scope_id, commit_ts)
);

CREATE TABLE memoranda.txn (
    store_id BIGINT NOT NULL,
    txn_id TEXT COLLATE "C" NOT NULL,
    actor TEXT COLLATE "C" NOT NULL,
    commit_ts BIGINT NOT NULL,
    PRIMARY KEY (store_id, txn_id, actor)
);

CREATE TABLE memoranda.state (
    store_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    scope_id BIGINT NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    commit_ts BIGINT NOT NULL,
    value BYTEA,
    PRIMARY KEY (store_id, id),
    UNIQUE (store_id, scope_id, key)
);

CREATE TABLE memoranda.state_version (
    store_id BIGINT NOT NULL,
    key_id BIGINT NOT NULL,
    commit_ts BIGINT NOT NULL,
    version BIGINT NOT NULL,
    position BIGINT NOT NULL,
    live BIGINT NOT NULL,
    PRIMARY KEY (store_id, key_id, commit_ts, version)
);

CREATE TABLE memoranda.blob (
    store_id BIGINT NOT NULL,
    commit_ts BIGINT NOT NULL,
    position BIGINT NOT NULL,
    content BYTEA NOT NULL,
    PRIMARY KEY (store_id, commit_ts, position)
);

CREATE TABLE memoranda.memory (
    store_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    memory_id TEXT COLLATE "C" NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    agent_id TEXT COLLATE "C" NOT NULL,
    private BIGINT NOT NULL,
    commit_ts BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (store_id, id),
    UNIQUE (store_id, memory_id)
);
CREATE INDEX memory_by_namespace ON memoranda.memory (store_id, namespace, id);

CREATE TABLE memoranda.memory_state (
    store_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    memory BIGINT NOT NULL,
    commit_ts BIGINT NOT NULL,
    position BIGINT NOT NULL,
    version BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    tier TEXT COLLATE "C" NOT NULL,
    title TEXT COLLATE "C",
    retracted BIGINT NOT NULL,
    reason TEXT COLLATE "C",
    expires_at BIGINT,
    depth BIGINT NOT NULL,
    access_count BIGINT NOT NULL,
    last_accessed_at BIGINT,
    details_in BIGINT,
    content_in BIGINT,
    details BYTEA,
    digest BYTEA,
    size BIGINT,
    content TEXT COLLATE "C",
    PRIMARY KEY (store_id, id),
    UNIQUE (store_id, memory, commit_ts, position)
);

CREATE TABLE memoranda.memory_title (
    store_id BIGINT NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    owner TEXT COLLATE "C" NOT NULL,
    title TEXT COLLATE "C" NOT NULL,
    commit_ts BIGINT NOT NULL,
    position BIGINT NOT NULL,
    until_commit BIGINT NOT NULL,
    memory BIGINT NOT NULL,
    PRIMARY KEY (store_id, memory, commit_ts, position)
);
-- A title can be too long for an index: queries compare its digest, too.
CREATE INDEX memory_title_by_title
    ON memoranda.memory_title (store_id, namespace, owner, MD5(title), commit_ts, position);

CREATE TABLE memoranda.memory_link (
    store_id BIGINT NOT NULL,
    source BIGINT NOT NULL,
    relation TEXT COLLATE "C" NOT NULL,
    target BIGINT NOT NULL,
    commit_ts BIGINT NOT NULL,
    position BIGINT NOT NULL,
    valid_from BIGINT NOT NULL,
    until_commit BIGINT NOT NULL,
    valid_until BIGINT,
    PRIMARY KEY (store_id, source, relation, target, commit_ts, position)
);
CREATE INDEX memory_link_by_target ON memoranda.memory_link (store_id, target, relation, source);

CREATE TABLE memoranda.transcript (
    store_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    transcript_id TEXT COLLATE "C" NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    agent_id TEXT COLLATE "C" NOT NULL,
    commit_ts BIGINT NOT NULL,
    position BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    occurred_at BIGINT,
    expires_at BIGINT,
    size BIGINT NOT NULL,
    digest BYTEA NOT NULL,
    form BIGINT NOT NULL DEFAULT 0,
    messages_size BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (store_id, id),
    UNIQUE (store_id, transcript_id)
);
CREATE INDEX transcript_by_namespace ON memoranda.transcript (store_id, namespace, id);

CREATE TABLE memoranda.citation (
    store_id BIGINT NOT NULL,
    memory BIGINT NOT NULL,
    transcript BIGINT NOT NULL,
    first BIGINT NOT NULL,
    beyond BIGINT NOT NULL,
    commit_ts BIGINT NOT NULL,
    PRIMARY KEY (store_id, memory, transcript, first, beyond)
);
CREATE INDEX citation_by_transcript ON memoranda.citation (store_id, transcript, memory);

CREATE TABLE memoranda.setting (
    store_id BIGINT NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    value BIGINT,
    PRIMARY KEY (store_id, namespace, name)
);

CREATE TABLE memoranda.graph_node (
    store_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    scope_id BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    root BIGINT NOT NULL,
    commit_ts BIGINT NOT NULL,
    PRIMARY KEY (store_id, id),
    UNIQUE (store_id, scope_id, kind, key)
);
CREATE INDEX graph_node_by_root ON memoranda.graph_node (store_id, root);
CREATE INDEX graph_node_by_scope ON memoranda.graph_node (store_id, scope_id, kind, id);

CREATE TABLE memoranda.graph_root (
    store_id BIGINT NOT NULL,
    node BIGINT NOT NULL,
    until_commit BIGINT NOT NULL,
    root BIGINT NOT NULL,
    PRIMARY KEY (store_id, node, until_commit)
);
CREATE INDEX graph_root_by_root ON memoranda.graph_root (store_id, root, until_commit);
CREATE INDEX graph_root_by_commit ON memoranda.graph_root (store_id, until_commit);

CREATE TABLE memoranda.graph_cardinality (
    store_id BIGINT NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    relation TEXT COLLATE "C" NOT NULL,
    commit_ts BIGINT NOT NULL,
    until_commit BIGINT NOT NULL,
    single BIGINT NOT NULL,
    PRIMARY KEY (store_id, namespace, relation, commit_ts)
);

CREATE TABLE memoranda.graph_statement (
    store_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    assertion_id TEXT COLLATE "C" NOT NULL,
    asserts BIGINT NOT NULL,
    subject BIGINT NOT NULL,
    relation BIGINT NOT NULL,
    object BIGINT NOT NULL,
    subject_root BIGINT NOT NULL,
    object_root BIGINT NOT NULL,
    at BIGINT NOT NULL,
    commit_ts BIGINT NOT NULL,
    position BIGINT NOT NULL,
    committed_at BIGINT NOT NULL,
    confidence DOUBLE PRECISION,
    source BYTEA,
    until_commit BIGINT NOT NULL,
    reason TEXT COLLATE "C",
    bound BIGINT NOT NULL DEFAULT 9223372036854775807,
    private BIGINT NOT NULL DEFAULT 0,
    author BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (store_id, id)
);
CREATE INDEX graph_statement_by_id ON memoranda.graph_statement (store_id, assertion_id);
CREATE INDEX graph_assertion_by_object ON memoranda.graph_statement (store_id, object) WHERE asserts = 1;
-- The beginning of a source has the id that it is looked up by.
CREATE INDEX graph_statement_by_source
    ON memoranda.graph_statement (store_id, SUBSTRING(source FROM 1 FOR 128))
    WHERE source IS NOT NULL;
CREATE INDEX graph_end_by_object ON memoranda.graph_statement (store_id, object_root, subject_root, relation, at, commit_ts, position) WHERE asserts = 0 AND bound = 9223372036854775807 AND until_commit = 9223372036854775807;
CREATE INDEX graph_bound_by_object ON memoranda.graph_statement (store_id, object_root, subject_root, relation, at, commit_ts, position) WHERE asserts = 0 AND bound < 9223372036854775807 AND until_commit = 9223372036854775807;
CREATE INDEX graph_statement_by_time ON memoranda.graph_statement (store_id, subject_root, relation, asserts, until_commit, at, commit_ts, position);
CREATE INDEX graph_statement_private ON memoranda.graph_statement (store_id, private, subject, object) WHERE private > 0;

CREATE TABLE memoranda.graph_edge (
    store_id BIGINT NOT NULL,
    subject BIGINT NOT NULL,
    relation BIGINT NOT NULL,
    valid_from BIGINT NOT NULL,
    from_commit BIGINT NOT NULL,
    from_position BIGINT NOT NULL,
    object BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    last_commit BIGINT NOT NULL,
    last_position BIGINT NOT NULL,
    valid_to BIGINT NOT NULL,
    to_commit BIGINT NOT NULL,
    to_position BIGINT NOT NULL,
    PRIMARY KEY (store_id, subject, relation, valid_from, from_commit, from_position)
);
CREATE INDEX graph_edge_by_object ON memoranda.graph_edge (store_id, object, subject, relation, valid_from);

CREATE TABLE memoranda.erased (
    store_id BIGINT NOT NULL,
    erasure BIGINT NOT NULL,
    commit_ts BIGINT NOT NULL,
    position BIGINT NOT NULL,
    digest BYTEA NOT NULL,
    PRIMARY KEY (store_id, erasure, commit_ts, position)
);
CREATE INDEX erased_by_place ON memoranda.erased (store_id, commit_ts, position, erasure);
CREATE INDEX erased_envelope ON memoranda.erased (store_id, erasure) WHERE position = -1;

CREATE TABLE memoranda.tree_node (
    store_id BIGINT NOT NULL,
    level BIGINT NOT NULL,
    place BIGINT NOT NULL,
    hash BYTEA NOT NULL,
    PRIMARY KEY (store_id, level, place)
);

CREATE TABLE memoranda.checkpoint (
    store_id BIGINT NOT NULL,
    size BIGINT NOT NULL,
    note TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL GENERATED ALWAYS AS (MD5(note)) STORED,
    UNIQUE (store_id, size, digest)
);

CREATE TABLE memoranda.public_key (
    store_id BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    public_key BYTEA NOT NULL,
    agent_id TEXT COLLATE "C",
    commit_ts BIGINT NOT NULL,
    until_commit BIGINT NOT NULL,
    PRIMARY KEY (store_id, name, public_key)
);

CREATE TABLE memoranda.horizon (
    store_id BIGINT NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    commit_ts BIGINT NOT NULL,
    summed_in BIGINT NOT NULL,
    unfinished BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (store_id, namespace)
);

CREATE TABLE memoranda.to_index (
    store_id BIGINT NOT NULL,
    commit_ts BIGINT NOT NULL,
    size BIGINT NOT NULL,
    PRIMARY KEY (store_id, commit_ts)
);

CREATE TABLE memoranda.graph_sharing (
    store_id BIGINT NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    commit_ts BIGINT NOT NULL,
    shared BIGINT NOT NULL,
    PRIMARY KEY (store_id, namespace, commit_ts)
);

CREATE TABLE memoranda.graph_shared (
    store_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (store_id, id),
    UNIQUE (store_id, namespace)
);

CREATE TABLE memoranda.state_because (
    store_id BIGINT NOT NULL,
    kind BIGINT NOT NULL,
    target TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    key_id BIGINT NOT NULL,
    commit_ts BIGINT,
    position BIGINT,
    PRIMARY KEY (store_id, kind, target, version, key_id)
);
CREATE INDEX state_because_by_key ON memoranda.state_because (store_id, key_id);

CREATE TABLE memoranda.notice (
    store_id BIGINT NOT NULL,
    memory BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    dependent BIGINT,
    dependent_commit BIGINT,
    dependent_position BIGINT,
    invalidated_kind TEXT COLLATE "C" NOT NULL,
    invalidated BIGINT,
    invalidated_version BIGINT,
    invalidated_commit BIGINT,
    invalidated_position BIGINT,
    change TEXT COLLATE "C" NOT NULL,
    invalidating BIGINT,
    by_agent TEXT COLLATE "C" NOT NULL,
    commit_ts BIGINT NOT NULL,
    resolved_commit BIGINT,
    resolved_at BIGINT,
    resolved_by TEXT COLLATE "C",
    decision TEXT COLLATE "C",
    note TEXT COLLATE "C",
    replacement TEXT COLLATE "C",
    PRIMARY KEY (store_id, memory)
);
CREATE INDEX notice_by_dependent ON memoranda.notice (store_id, dependent, dependent_commit, dependent_position);

CREATE TABLE memoranda.memory_member (
    store_id BIGINT NOT NULL,
    digest BIGINT NOT NULL,
    namespace TEXT COLLATE "C" NOT NULL,
    memory BIGINT NOT NULL,
    PRIMARY KEY (store_id, digest, namespace, memory)
);

CREATE TABLE memoranda.kind_count (
    store_id BIGINT NOT NULL,
    scope_id BIGINT NOT NULL,
    block BIGINT NOT NULL,
    kind BIGINT NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (store_id, scope_id, block, kind)
);

CREATE TABLE memoranda.state_reference (
    store_id BIGINT NOT NULL,
    scope_id BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    commit_ts BIGINT NOT NULL,
    PRIMARY KEY (store_id, scope_id, name, commit_ts)
);
