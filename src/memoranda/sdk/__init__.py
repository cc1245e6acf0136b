"""The API for programs: opening a store, the store, and its transactions."""
