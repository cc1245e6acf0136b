"""The wire of Statehouse, for its public clients: gRPC, with transactions that the server keeps."""
