"""TensorFlow 1's names for programs that train: the coordinator of threads, the supervisor and its sessions."""
