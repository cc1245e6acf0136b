"""Memories, the links between them, the transcripts they come from, and notices about them."""
