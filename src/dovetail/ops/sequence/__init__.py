"""Recurrent networks and the decoding of sequences."""
