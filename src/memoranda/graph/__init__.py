"""Facts: entities, statements about them, and the timelines derived from the statements."""
