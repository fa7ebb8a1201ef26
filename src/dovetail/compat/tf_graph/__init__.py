"""TensorFlow's graphs: the names that a graph and its operations have in TensorFlow, over Dovetail's own."""

from dovetail.compat.tf_graph.graph import note_variable
from dovetail.compat.tf_graph.old_shapes import old_shape
from dovetail.core.base.hooks import hooks
from dovetail.formats.wire.tensors import shape_proto

hooks.variable_made = note_variable
hooks.shape_proto = shape_proto
hooks.old_shape = old_shape
