"""The server's HTTP interface: the calls of the registry as JSON, on an ASGI application."""
