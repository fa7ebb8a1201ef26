"""From a graph to what is executed: lowering to one engine, buffers, and the plan that runs."""

from dovetail.core.provided import provided
from dovetail.plan.bodies import run_body

provided.run_body = run_body
