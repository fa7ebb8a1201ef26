"""Nodes of other formats: the language of rows, and the parts of reading and writing that formats share."""
