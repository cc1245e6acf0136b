"""Reading the log: replay, feeds, cursors, and the commit a moment means."""
