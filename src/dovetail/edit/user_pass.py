"""User passes: functions that edit a graph, applied as a whole or not at all."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from dovetail.core.base.errors import check_callable

if TYPE_CHECKING:
    from dovetail.edit.graph import Graph


class GraphPass:
    """A function of a graph that edits it and says whether it changed anything; made by `graph_pass`.

    Args:
        function: takes a graph; if it returns None, the graph's version says whether it was changed.
        bodies: whether it is applied to branches and bodies of loops, too, one after the other, before the graph.
    """

    def __init__(self, function: Callable[[Graph], Any], bodies: bool = True) -> None:
        check_callable("graph_pass", function)
        functools.update_wrapper(self, function, updated=())
        self.function, self.bodies = function, bodies

    def __call__(self, graph: Graph) -> bool:
        """Edit a graph, and return whether that changed it.

        Raises:
            ValueError: the graph is not valid afterwards.  Then, or if the function raises an error, the graph stays as
                it was.
        """
        with graph.edit():
            changed = [self._apply(part) for part in (*(graph.subgraphs() if self.bodies else ()), graph)]
            if any(changed):
                graph.validate()
        return any(changed)

    def _apply(self, graph: Graph) -> bool:
        before = graph.version
        changed = self.function(graph)
        return graph.version != before if changed is None else bool(changed)

    def __reduce__(self) -> Any:
        return self.function.__qualname__  # by reference, as functions are pickled

    def __repr__(self) -> str:
        return f"<graph pass {getattr(self, '__name__', self.function)}>"


@overload
def graph_pass(function: Callable[[Graph], Any], *, bodies: bool = True) -> GraphPass: ...
@overload
def graph_pass(function: None = None, *, bodies: bool = True) -> Callable[[Callable[[Graph], Any]], GraphPass]: ...
def graph_pass(function: Any = None, *, bodies: bool = True) -> Any:
    """Decorate a function that edits a graph, for `graph.apply` and `dovetail.function(passes=[...])`.

    Args:
        function: takes a graph, and returns whether it changed anything, or None.
        bodies: whether it is applied to branches and bodies of loops, too.

    Source: passes of `torch.fx`; the options of Grappler.

    Example:
        >>> import dovetail as dt
        >>> x = dt.wildcards("x")
        >>> @dt.graph_pass
        ... def cheap_tanh(graph):
        ...     return graph.rewrite(dt.ops.tanh(x), dt.ops.clip(x, -1.0, 1.0))
        >>> f = dt.function(lambda x: dt.ops.tanh(x), passes=[cheap_tanh])
        >>> float(f(dt.ops.constant(0.5))), float(f(dt.ops.constant(3.0)))
        (0.5, 1.0)
    """
    if function is None:
        return functools.partial(graph_pass, bodies=bodies)
    return GraphPass(function, bodies)
