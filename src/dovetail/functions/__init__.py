"""Compiled functions: from calls to traces and plans, with the probes that look into a run."""

from dovetail.functions import stored, traced

__all__ = ["stored", "traced"]  # they say how files hold plans and compiled functions
