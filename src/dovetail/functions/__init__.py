"""Compiled functions: from calls to traces and plans, with the probes that look into a run."""
