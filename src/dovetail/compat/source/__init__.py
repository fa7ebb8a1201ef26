"""Readers of programs: their files, the meaning of their names, and their uses of K and TensorFlow; nothing runs."""
