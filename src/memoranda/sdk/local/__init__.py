"""Local carriers: the handlers of calls run in this process, on the store that it has open."""
