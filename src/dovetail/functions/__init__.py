"""Compiled functions: from calls to traces and plans, with the probes that look into a run."""

from dovetail.functions import function_files, plan_files

__all__ = ["function_files", "plan_files"]  # they say how files hold plans and compiled functions
