"""Calls: everything that can be asked of a store, as data, and the handlers that answer it."""
