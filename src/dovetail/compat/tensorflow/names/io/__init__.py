"""TensorFlow's names for files and records, and for the queues that read them."""
