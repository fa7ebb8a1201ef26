"""How graphs change: edits with undo, subgraphs, transplants, inference, overrides and the user's passes."""

from dovetail.core.hooks import hooks
from dovetail.edit.graph import new_graph

hooks.new_graph = new_graph
