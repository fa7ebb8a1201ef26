"""From a graph to what is executed: segments, each lowered to one engine, and the plan that runs them."""

from dovetail.core.provided import provided
from dovetail.plan.bodies import run_body
from dovetail.plan.session import run

provided.run_body = run_body
provided.run = run
