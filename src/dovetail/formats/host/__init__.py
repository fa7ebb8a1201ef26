"""Values that no engine has: strings, tables, ragged tensors, records.  Python and NumPy compute them."""
