"""Nodes whose values are no numbers: strings, tables, ragged tensors, records.  Python and NumPy compute them."""
