"""TensorFlow's graphs as graphs of Dovetail: a table of ops, and readers of SavedModels, graphs and checkpoints.

Nothing here imports TensorFlow, and nothing in a file is executed.
"""
