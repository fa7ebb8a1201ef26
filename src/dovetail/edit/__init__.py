"""How graphs change: edits with undo, subgraphs, transplants, inference, overrides and the user's passes."""

from dovetail.core.base.hooks import hooks
from dovetail.edit.edit import check_held_outputs, order_before
from dovetail.edit.graph import new_graph
from dovetail.edit.inference import own_subgraph
from dovetail.edit.operations import change
from dovetail.edit.subgraph_edits import add_output, body_of

hooks.new_graph = new_graph
hooks.change, hooks.body_of, hooks.own_subgraph, hooks.add_output = change, body_of, own_subgraph, add_output
hooks.order_before, hooks.check_held_outputs = order_before, check_held_outputs
