"""From a graph to what is executed: lowering to one engine, buffers, and the plan that runs."""

from dovetail.core.provided import provided
from dovetail.plan.bodies import call_program, run_body

provided.run_body, provided.call_program = run_body, call_program
