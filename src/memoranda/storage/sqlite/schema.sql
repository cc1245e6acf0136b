-- The tables of a store as the first format had them; `migrations` has what came since.
--
-- `event` is the log and the only truth. The other tables can be emptied and filled again from it,
-- but for `meta`, which says which log this is and where it lives.

-- One row a transaction. `salts`, `envelope` and `operations` are the exact bytes that `hash`
-- covers; see log/chain.py.
CREATE TABLE event (
    commit_ts    INTEGER PRIMARY KEY,
    committed_at INTEGER NOT NULL,
    hash         BLOB NOT NULL,
    salts        BLOB NOT NULL,
    envelope     BLOB NOT NULL,
    operations   BLOB NOT NULL
) STRICT;

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Small numbers for agents in namespaces, so that the indexes stay small.
CREATE TABLE scope (
    id        INTEGER PRIMARY KEY,
    agent_id  TEXT NOT NULL,
    namespace TEXT NOT NULL,
    UNIQUE (agent_id, namespace)
) STRICT;

-- Which commits touched a scope: an agent's replay reads these and no others.
CREATE TABLE event_scope (
    scope_id  INTEGER NOT NULL,
    commit_ts INTEGER NOT NULL,
    PRIMARY KEY (scope_id, commit_ts)
) STRICT, WITHOUT ROWID;

-- Which commit a transaction became. The id leads, since ids grow with time and actors do not.
CREATE TABLE txn (
    txn_id    TEXT NOT NULL,
    actor     TEXT NOT NULL,
    commit_ts INTEGER NOT NULL,
    PRIMARY KEY (txn_id, actor)
) STRICT, WITHOUT ROWID;

-- Every key ever used, with its newest version; no value: it is deleted.
CREATE TABLE state (
    id        INTEGER PRIMARY KEY,
    scope_id  INTEGER NOT NULL,
    key       TEXT NOT NULL,
    version   INTEGER NOT NULL,
    commit_ts INTEGER NOT NULL,
    value     BLOB,
    UNIQUE (scope_id, key)
) STRICT;

-- Every version of a key, as a place in the log; the value stands there. `live` is 0 for a deletion.
CREATE TABLE state_version (
    key_id    INTEGER NOT NULL,
    commit_ts INTEGER NOT NULL,
    version   INTEGER NOT NULL,
    position  INTEGER NOT NULL,
    live      INTEGER NOT NULL,
    PRIMARY KEY (key_id, commit_ts, version)
) STRICT, WITHOUT ROWID;
