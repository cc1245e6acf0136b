"""The generated code of version 1 of the wire."""
