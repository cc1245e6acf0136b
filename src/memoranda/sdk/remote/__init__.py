"""Remote carriers: calls are sent to a server, which runs their handlers.

Modules that import grpc or the wire are imported only when a server's URL is opened: both belong to
the extra `remote`.
"""
