"""What all else stands on: types, tensors, the table of ops, and the way from a call to a rule."""
