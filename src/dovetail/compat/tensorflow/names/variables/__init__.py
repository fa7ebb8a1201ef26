"""TensorFlow's names for variables: their scopes, parts and first values."""
