"""Messages over gRPC: a channel for the handles of a store, and one stream for its writes."""
