"""Dovetail as a backend of Keras 3."""
