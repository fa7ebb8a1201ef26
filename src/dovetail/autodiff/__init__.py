"""Reverse-mode differentiation: on tapes, in graphs, and of compiled functions."""

from dovetail.autodiff import control_gradients as control_gradients  # for the gradients of If, While and Scan
from dovetail.autodiff.graph_gradients import gradients
from dovetail.core.base.hooks import hooks

hooks.gradients = gradients
