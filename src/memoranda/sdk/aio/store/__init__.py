"""A store for asyncio, one noun a file."""
