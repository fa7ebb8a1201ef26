"""Reverse-mode differentiation: on tapes, in graphs, and of compiled functions."""

from dovetail.autodiff import control as control  # for the gradients of If, While and Scan
