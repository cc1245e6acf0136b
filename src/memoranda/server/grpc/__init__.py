"""The server's gRPC services: how calls travel, and what protects the server from its callers."""
