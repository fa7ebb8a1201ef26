"""TensorFlow's names for checkpoints, SavedModels and meta graphs."""
