"""A transaction's calls, one noun a file."""
