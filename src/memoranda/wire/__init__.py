"""The wire: calls and answers as protocol buffers, generated from the registry of calls."""
