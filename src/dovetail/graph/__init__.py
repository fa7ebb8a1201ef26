"""The recorded program: its parts, and how it is traced, edited, copied and printed."""

from dovetail.core.provided import provided
from dovetail.graph.batching import batched
from dovetail.graph.deferred import has_unknown_rank, with_unknown_rank
from dovetail.graph.ir import Graph
from dovetail.graph.recorded_control import RecordedControl, stacked_specs
from dovetail.graph.trace import assign_any
from dovetail.graph.variables import read_variable

provided.new_graph = Graph
provided.read, provided.assign = read_variable, assign_any
provided.control, provided.stacked_specs = RecordedControl(), stacked_specs
provided.batched = batched
provided.has_unknown_rank, provided.with_unknown_rank = has_unknown_rank, with_unknown_rank
