"""Formats: graphs and values as files."""
