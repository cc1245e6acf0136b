"""The commands, one group a file."""
