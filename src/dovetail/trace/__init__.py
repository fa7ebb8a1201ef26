"""How programs come in: calls, control flow, captures and shape values are recorded in graphs."""

from dovetail.core.base.hooks import hooks
from dovetail.trace.control import RecordedControl, stacked_specs
from dovetail.trace.deferred import has_unknown_rank, with_unknown_rank
from dovetail.trace.trace import assign_any, capture
from dovetail.trace.variables import read_variable

hooks.read, hooks.assign = read_variable, assign_any
hooks.control, hooks.stacked_specs, hooks.capture = RecordedControl(), stacked_specs, capture
hooks.has_unknown_rank, hooks.with_unknown_rank = has_unknown_rank, with_unknown_rank
