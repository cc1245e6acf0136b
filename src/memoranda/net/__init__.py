"""The HTTP client that embedders and extractors share."""
