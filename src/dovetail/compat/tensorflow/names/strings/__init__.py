"""TensorFlow's names for strings, and for tables of words; strings in graphs."""
