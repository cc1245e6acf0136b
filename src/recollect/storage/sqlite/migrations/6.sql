-- Format 6: what is stored holds.

-- The erasures that took envelopes, and so txn_ids: the ids that are derived from such begin anew.
CREATE INDEX erased_envelope ON erased (erasure) WHERE position = -1;
