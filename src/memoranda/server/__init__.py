"""The server: many stores in one process, reached over the network with tokens."""
