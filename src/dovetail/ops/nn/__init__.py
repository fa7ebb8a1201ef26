"""Activations, normalization, losses, convolutions and pools."""
