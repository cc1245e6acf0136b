"""How fast Memoranda is, always beside the limit it works against."""
