"""From a graph to its execution: segments, each lowered to one engine, and the plan that runs them."""

from dovetail.core.base.hooks import hooks
from dovetail.execute.composite_programs import run_body

hooks.run_body = run_body
