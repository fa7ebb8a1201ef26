"""TensorFlow's names for summaries, event files and profiles."""
