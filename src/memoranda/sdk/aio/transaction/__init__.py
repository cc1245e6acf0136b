"""A transaction for asyncio, one noun a file."""
