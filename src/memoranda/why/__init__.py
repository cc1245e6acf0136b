"""Why: what a value, a memory or a fact rests on, and whether that is still believed."""
