"""TensorFlow 1's monitored sessions, and the hooks that they call around each run; estimators train by them."""
