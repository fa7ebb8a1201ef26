"""Functions of programs that pipelines call: on tensors at once, or recorded in a graph and run for each element."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.data.elements import (
    VALUES,
    array,
    continued,
    each,
    leaf_of,
    leaves,
    plain,
    tensor,
)
from dovetail.compat.tensorflow.names.graph.graph import placeholder
from dovetail.compat.tensorflow.names.session.session import running
from dovetail.compat.tensorflow.names.strings.tensors import in_graph
from dovetail.compat.tensorflow.names.strings.text import Text, is_text, strings_of
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import is_tensor


class Function:
    """A function of a program as one of elements.

    In a graph it is recorded once, with placeholders for the leaves of an element, and the session that runs computes
    it.  Outside of graphs, it is called for each element.

    Args:
        function: takes the parts of a tuple as arguments, and other elements as one.
        leaf: the leaves of an element; None if they are not known.

    Attributes:
        result: what it returned for the placeholders, in dicts and tuples; None if it is called each time.
    """

    def __init__(self, function: Callable[..., Any], leaf: Any) -> None:
        self._function, self._leaf, self.result = function, leaf, None
        if graph_mode.graph() is None or leaf is None:
            return
        with graph_mode.lifted() as graph:
            self._graph = graph
            self._given = each(lambda x: placeholder(x.dtype, None if x.shape.rank is None else tuple(x.shape)), leaf)
            from dovetail.compat.autograph.conversion import converted  # few pipelines are part of graphs

            self._function = converted(function)
            result = self.passed(self._given)
            leaves_of_result = plain(tuple(result) if isinstance(result, list) else result)
            self.result = each(_recorded, leaves_of_result)

    @property
    def leaf(self) -> Any:
        """The leaves of its results; None if they are not known."""
        return None if self.result is None else each(leaf_of, self.result)

    def passed(self, element: Any) -> Any:
        """The result of the program's function itself."""
        return self._function(*element) if type(element) is tuple else self._function(element)

    def values(self, element: Any) -> dict[Any, Any]:
        """The values of its placeholders for an element."""
        pairs = zip(leaves(self._given), leaves(each(lambda _, part: part, self._given, element)), strict=True)
        return dict(pairs)

    def run(self, fetches: Any, element: Any) -> Any:
        """The results of the session that runs, for tensors of its graph and an element."""
        values = {key: x for key, x in VALUES.get().items() if is_tensor(key) or is_text(key)} | self.values(element)
        feeds = {key: Text(strings_of(x)) if is_text(key) else x for key, x in values.items()}
        return running(self._graph).run(fetches, feeds)

    def inner(self, element: Any) -> Iterator[Any]:
        """The elements of the data set that the function makes of an element."""
        if self.result is None:
            return iter(self.passed(each(tensor, element))._elements())
        values = self.values(element)
        needs = [x for x in self.result.needs if x not in values]
        values |= dict(zip(needs, self.run(needs, element), strict=True))
        return continued(values, iter(self.result._elements()))

    def __call__(self, element: Any) -> Any:
        if self.result is None:
            result = self.passed(each(tensor, element))
            return each(array, plain(tuple(result) if isinstance(result, list) else result))
        result = iter(self.run(list(leaves(self.result)), element))
        return each(lambda x: _typed(x, next(result)), self.result)


def _recorded(x: Any) -> Any:
    """A result as a tensor of the graph; a data set as it is."""
    if hasattr(x, "as_numpy_iterator"):
        return x
    return in_graph(x) if is_text(x) else x if is_tensor(x) else ops.convert(x)


def _typed(x: Any, found: Any) -> Any:
    return strings_of(found) if is_text(x) else array(found).astype(as_dtype(x.dtype).numpy, copy=False)
