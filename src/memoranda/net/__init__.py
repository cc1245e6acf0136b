"""Talking to models behind HTTP: what embedders and extractors that ask one share."""
