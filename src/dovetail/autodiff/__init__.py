"""Reverse-mode differentiation: on tapes, in graphs, and of compiled functions."""

from dovetail.autodiff import control as _control  # the gradients of If, While and Scan
