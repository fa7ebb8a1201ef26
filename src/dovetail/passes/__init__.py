"""The passes: each rewrites a graph into one that computes the same with less."""

from dovetail.passes.public import fold_constants as fold_constants
from dovetail.passes.public import merge_common as merge_common
from dovetail.passes.public import prune as prune
from dovetail.passes.public import remove_dead_assignments as remove_dead_assignments
from dovetail.passes.public import simplify as simplify
