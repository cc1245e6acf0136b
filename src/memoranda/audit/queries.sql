-- The tree over the log, checkpoints, and the keys that sign them.

-- name: event_hashes
-- Read the hashes of consecutive events: the data of the tree's leaves.
SELECT commit_ts, hash FROM event
WHERE commit_ts > :after AND commit_ts <= :through ORDER BY commit_ts

-- name: tree_nodes
-- Read consecutive nodes of one level.
SELECT place, hash FROM tree_node
WHERE level = :level AND place >= :first AND place < :end ORDER BY place

-- name: tree_node_put
-- Write a node; rebuilding the tree overwrites it.
INSERT INTO tree_node (level, place, hash) VALUES (:level, :place, :hash)
ON CONFLICT (level, place) DO UPDATE SET hash = excluded.hash

-- name: tree_node_count
-- Count the stored nodes.
SELECT COUNT(*) FROM tree_node

-- name: tree_rows
-- Read the whole tree in order, for its digest.
SELECT level, place, hash FROM tree_node ORDER BY level, place

-- name: tree_clear
-- Delete the tree; it is rebuilt from the log.
DELETE FROM tree_node

-- name: checkpoint_add
-- Store a signed note; storing it again changes nothing.
INSERT INTO checkpoint (size, note) VALUES (:size, :note) ON CONFLICT (size, note) DO NOTHING

-- name: checkpoint_page
-- Read a page of checkpoints after one, in order.
SELECT size, note FROM checkpoint
WHERE (size, note) > (:size, :note) ORDER BY size, note LIMIT :limit

-- name: checkpoints_between
-- Read the notes for a range of log sizes.
SELECT size, note FROM checkpoint WHERE size > :after AND size <= :through ORDER BY size, note

-- name: checkpoint_last
-- Read the largest checkpoint.
SELECT size, note FROM checkpoint ORDER BY size DESC, note DESC LIMIT 1

-- name: checkpoints_of_size
-- Read the notes for one log size.
SELECT note FROM checkpoint WHERE size = :size ORDER BY note

-- name: checkpoint_covering
-- Find the size of the largest checkpoint that covers a commit.
SELECT MAX(size) FROM checkpoint WHERE size >= :size

-- name: public_key_add
-- Add a key, trusted from a commit on.
INSERT INTO public_key (name, public_key, agent_id, commit_ts, until_commit)
VALUES (:name, :public_key, :agent_id, :commit_ts, OPEN_END)

-- name: public_key_retire
-- Retire a key at a commit.
UPDATE public_key SET until_commit = :commit_ts WHERE name = :name AND public_key = :public_key

-- name: public_key_set_agent
-- Replace the agent of a key by its pseudonym.
UPDATE public_key SET agent_id = :agent_id WHERE name = :name AND public_key = :public_key

-- name: public_key_find
-- Find the agent and the validity of a key.
SELECT agent_id, commit_ts, until_commit FROM public_key
WHERE name = :name AND public_key = :public_key

-- name: public_key_clear
-- Delete all keys; a rebuild adds them again.
DELETE FROM public_key

-- name: public_key_rows
-- Read all keys in the order in which they were trusted.
SELECT name, public_key, agent_id, commit_ts, until_commit FROM public_key
ORDER BY commit_ts, name, public_key
