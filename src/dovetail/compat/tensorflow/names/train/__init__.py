"""TensorFlow 1's names for programs that train: steps, rates, coordinators and supervisors."""
