"""TensorFlow's graphs: the names that a graph and its operations have in TensorFlow, over Dovetail's own."""

from dovetail.compat.tf_graph.graph import note_variable
from dovetail.core.hooks import hooks

hooks.variable_made = note_variable
