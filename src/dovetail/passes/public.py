"""Passes for graphs of users: `graph.apply(dovetail.passes.simplify)`, or `function(passes=[...])`.

Each is applied to the bodies inside of a graph, too, until it changes nothing, and as a whole or not at all.  Plans run
the same passes on copies.
"""

from __future__ import annotations

from dovetail.edit.graph import Graph
from dovetail.edit.user_pass import graph_pass
from dovetail.passes.base import run
from dovetail.passes.constant_folding import fold_constants as _fold_constants
from dovetail.passes.cse import merge_common as _merge_common
from dovetail.passes.dead_assignments import remove_dead_assignments as _remove_dead_assignments
from dovetail.passes.prune import prune as _prune
from dovetail.passes.simplify import simplify as _simplify

ROUNDS = 10  # at most


@graph_pass(bodies=False)
def simplify(graph: Graph) -> int:
    """Replace operations by algebraic identities: `x * 1` is `x`, and `x + -y` is `x - y`.

    Dtypes and shapes stay, and also the effects of NaN, infinity and signs of zeros: `x * 0` is not 0, and
    `x + 0.0` is not `x`.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.function(lambda x: -(-x * 1.0)).graph(dt.spec((2,)))
        >>> graph.apply(dt.passes.simplify), graph.apply(dt.passes.prune), [op.type for op in graph]
        (True, True, ['Placeholder'])
    """
    return run(graph, [_simplify], ROUNDS)


@graph_pass(bodies=False)
def fold_constants(graph: Graph) -> int:
    """Compute operations whose inputs are constants, and inline the branch of an `If` whose condition is one.

    Example:
        >>> import dovetail as dt
        >>> import numpy as np
        >>> graph = dt.Graph()
        >>> graph.outputs = [dt.ops.exp(graph.constant(np.zeros(2)))]
        >>> graph.apply(dt.passes.fold_constants), graph.outputs[0].op.attrs["value"]
        (True, array([1., 1.]))
    """
    return run(graph, [_fold_constants], ROUNDS)


@graph_pass(bodies=False)
def merge_common(graph: Graph) -> int:
    """Compute equal operations of equal inputs once; the others are pruned.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.function(lambda x: dt.ops.exp(x) + dt.ops.exp(x)).graph(dt.spec((2,)))
        >>> graph.apply(dt.passes.merge_common), len(graph.find("Exp"))
        (True, 1)
    """
    return run(graph, [_merge_common, _prune], ROUNDS)


@graph_pass(bodies=False)
def remove_dead_assignments(graph: Graph) -> int:
    """Remove assignments to variables whose value another one replaces before it is read.

    Example:
        >>> import dovetail as dt
        >>> v = dt.Variable(0.0)
        >>> graph = dt.function(lambda x: (v.assign(x), v.assign(2 * x))[1]).graph(dt.spec(()))
        >>> graph.apply(dt.passes.remove_dead_assignments), len(graph.find("AssignVariableOp"))
        (True, 1)
    """
    return run(graph, [_remove_dead_assignments], ROUNDS)


@graph_pass(bodies=False)
def prune(graph: Graph) -> int:
    """Remove operations, and inputs and results of control flow, that no output or effect needs.

    Example:
        >>> import dovetail as dt
        >>> graph = dt.function(lambda x: (dt.ops.exp(x), x + 1.0)[1]).graph(dt.spec((2,)))
        >>> graph.apply(dt.passes.prune), graph.find("Exp")
        (True, [])
    """
    return run(graph, [_prune], ROUNDS)
