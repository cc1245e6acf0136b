-- The tree over the log, checkpoints, and the keys that sign them.

-- name: event_hashes
-- The hashes of consecutive events: the data of the tree's leaves.
SELECT commit_ts, hash FROM event
WHERE commit_ts > :after AND commit_ts <= :through ORDER BY commit_ts

-- name: tree_nodes
-- Consecutive nodes of one level.
SELECT place, hash FROM tree_node
WHERE level = :level AND place >= :first AND place < :beyond ORDER BY place

-- name: tree_node_put
INSERT INTO tree_node (level, place, hash) VALUES (:level, :place, :hash)
ON CONFLICT (level, place) DO UPDATE SET hash = excluded.hash

-- name: tree_node_count
SELECT COUNT(*) FROM tree_node

-- name: tree_rows
SELECT level, place, hash FROM tree_node ORDER BY level, place

-- name: tree_clear
DELETE FROM tree_node

-- name: checkpoint_add
INSERT INTO checkpoint (size, note) VALUES (:size, :note) ON CONFLICT (size, note) DO NOTHING

-- name: checkpoint_page
-- Checkpoints behind one, in order.
SELECT size, note FROM checkpoint
WHERE (size, note) > (:size, :note) ORDER BY size, note LIMIT :most

-- name: checkpoints_between
-- The signed notes about the sizes that the log had in a stretch of it.
SELECT size, note FROM checkpoint WHERE size > :after AND size <= :through ORDER BY size, note

-- name: checkpoint_last
SELECT size, note FROM checkpoint ORDER BY size DESC, note DESC LIMIT 1

-- name: checkpoints_of_size
SELECT note FROM checkpoint WHERE size = :size ORDER BY note

-- name: checkpoint_covering
-- The size of the last checkpoint that covers a commit.
SELECT MAX(size) FROM checkpoint WHERE size >= :size

-- name: public_key_add
INSERT INTO public_key (name, public_key, agent_id, commit_ts, until_commit)
VALUES (:name, :public_key, :agent_id, :commit_ts, 9223372036854775807)

-- name: public_key_end
UPDATE public_key SET until_commit = :commit_ts WHERE name = :name AND public_key = :public_key

-- name: public_key_of
-- The agent that a key signs for, under another name.
UPDATE public_key SET agent_id = :agent_id WHERE name = :name AND public_key = :public_key

-- name: public_key_find
SELECT agent_id, commit_ts, until_commit FROM public_key
WHERE name = :name AND public_key = :public_key

-- name: public_key_clear
DELETE FROM public_key

-- name: public_key_rows
SELECT name, public_key, agent_id, commit_ts, until_commit FROM public_key
ORDER BY commit_ts, name, public_key
