"""The tools, one noun a file; `catalog.py` lists them in their order."""
