"""Databases behind one narrow port."""
