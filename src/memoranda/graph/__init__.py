"""Facts: entities, what was said of them, and the timelines that follow."""
