"""Memories, their links, the transcripts they cite, notices, and settings of namespaces."""
