"""The store's calls, one noun a file."""
