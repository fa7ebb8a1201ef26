"""TensorFlow 1's names for graphs: building, editing, control flow, gradients, functions, calls of Python."""
