"""The base of all other packages: types, tensors, the table of ops, and the way from a call to a rule."""
