"""The SDK for asyncio: generated from the synchronous modules of the same names."""
