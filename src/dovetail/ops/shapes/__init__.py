"""Making, reshaping, joining, slicing, indexing and sorting tensors."""
