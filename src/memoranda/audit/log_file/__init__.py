"""The log as a file: its format, export, import and checks."""
