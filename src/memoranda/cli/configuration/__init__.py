"""Settings from flags, the environment and a TOML file, and where each of them comes from."""
