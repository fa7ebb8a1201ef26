"""Observation: profiles of what ran, and explanations of what would run."""
