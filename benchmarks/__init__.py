"""How fast Recollect is, always beside the limit it works against."""
