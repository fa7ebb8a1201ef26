"""TensorFlow's estimators, their columns of features, and strategies for several processes."""
