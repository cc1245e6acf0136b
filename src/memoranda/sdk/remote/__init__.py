"""Remote carriers: calls are sent to a server, which runs their handlers.

What the transports share is here, and each of them in a folder of its own. Modules that import the
wire, grpc or httpx2 are imported only when a URL that needs them is opened: all belong to the extra
`remote`.
"""
