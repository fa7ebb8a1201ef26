"""Graph mode: whether calls of TensorFlow 1 programs are recorded, in which graph, and under which names."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from dovetail.compat.tf_graph import device_scopes
from dovetail.core.base.scopes import DEFAULT_GRAPH, Scoped, Setting, scopes
from dovetail.core.tensor import Tensor
from dovetail.core.values.structure import flatten, unflatten
from dovetail.graph.graph_scopes import open_places
from dovetail.graph.naming import name_new, new_scope
from dovetail.graph.nesting import outermost_of
from dovetail.graph.operation import GraphTensor, Operation
from dovetail.graph.places import Places
from dovetail.sessions.session_graph import SessionGraph, open_default_graph
from dovetail.trace import variables
from dovetail.trace.trace import current_graph


class Store:
    """The state of a graph besides its operations: variables by name, and the scopes that were opened.

    Attributes:
        variables: name → variable, of `tf.get_variable`.
        variable_scopes: variable scope → how often it was opened, inside the scopes that are open now.
        layers: name of a kind of layer → the number of layers that got their names from it.
        iterators: handle → iterator over data sets.
        repeated: the names of variables that a body makes again: it gets those of its first call.
    """

    def __init__(self) -> None:
        self.variables: dict[str, Any] = {}
        self.variable_scopes: Counter[str] = Counter()
        self.layers: Counter[str] = Counter()
        self.iterators: dict[bytes, Any] = {}
        self.repeated: set[str] = set()

    def layer_name(self, kind: str) -> str:
        """A new name for a layer, with a number."""
        self.layers[kind] += 1
        return f"{kind}_{self.layers[kind]}"


_stores: WeakKeyDictionary[Any, Store] = WeakKeyDictionary()


def graph() -> Any:
    """The graph that records calls now, which may be the body of a loop; None if values are computed."""
    current = current_graph()
    if current is not None:
        return current if isinstance(outermost_of(current), SessionGraph) else None
    default = None if scopes().tapes else DEFAULT_GRAPH.get()
    return default if isinstance(default, SessionGraph) else None


# The scopes of `tf.device` that are open while values are computed, for a graph that is opened inside of them.
_places: Scoped[Places] = Scoped(Places())
IS_EAGER: Setting[bool] = Setting(False)  # whether the program asked for values to be computed


def open_graph() -> SessionGraph:
    """The session graph that is being built, or the thread's default graph, which is opened if need be."""
    was_open = DEFAULT_GRAPH.get() is not None
    IS_EAGER.set(False)
    graph = open_default_graph()
    if not was_open and graph is DEFAULT_GRAPH.get():
        open_places(graph, _places.get())
    return graph


@contextmanager
def at_device(graph: Any, device: Any) -> Iterator[None]:
    """Put the operations that are recorded in the `with` block on a device, also in a graph that is opened there."""
    if graph is not None:
        with device_scopes.device_scope(graph, device):
            yield
        return
    outside, was_open = _places.get(), DEFAULT_GRAPH.get() is not None
    try:
        with _places.scope(device_scopes.inside(outside, device)):
            yield
    finally:
        opened = DEFAULT_GRAPH.get()
        if opened is not None and not was_open:
            open_places(opened, outside)


def open_for_variables() -> None:
    """Open a graph for a variable of TensorFlow 1, unless the program has asked for values to be computed."""
    if current_graph() is None and not scopes().tapes and not IS_EAGER.get():
        open_graph()


def is_eager() -> bool:
    """Whether the program asked for values to be computed, and no graph is being built."""
    return IS_EAGER.get() and graph() is None


def close_graph() -> None:
    """Compute values from now on, until a graph is opened again."""
    DEFAULT_GRAPH.set(None)
    IS_EAGER.set(True)


def reset_graph() -> None:
    """Replace the thread's default graph by an empty one, if it is open."""
    if DEFAULT_GRAPH.get() is not None:
        DEFAULT_GRAPH.set(SessionGraph())


def store() -> Store:
    """The store of the graph that is being built; a graph is opened if need be."""
    return _stores.setdefault(open_graph(), Store())


def body(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of control flow: as in TensorFlow 1, it has only the effects that its results need, in any order.

    Elsewhere a body has all its effects, in program order.  A loop may record its body again, when the shapes of its
    state change: the variables and scopes of all calls are those of the first one.
    """
    calls = _Calls()

    @functools.wraps(function)
    def traced(*args: Any) -> Any:
        built = current_graph()
        if built is None or not isinstance(outermost_of(built), SessionGraph):
            return function(*args)
        if built.state.is_empty:
            built.dialect = built.dialect._replace(records_effects=True)
        with calls.counted(_stores.setdefault(outermost_of(built), Store())):
            return function(*args)

    return traced


class _Calls:
    """The calls of the function of a body, which all make the same variables."""

    def __init__(self) -> None:
        self._before: tuple[Counter[str], Counter[str]] | None = None
        self._made: set[str] = set()

    @contextmanager
    def counted(self, store: Store) -> Iterator[None]:
        """Make a call in the `with` block; calls after the first one find its variables, and begin with its names."""
        known = set(store.variables)
        if self._before is None:
            self._before = store.variable_scopes.copy(), store.layers.copy()
        else:
            store.variable_scopes, store.layers = (counts.copy() for counts in self._before)
            store.repeated |= self._made
        try:
            yield
        finally:
            store.repeated -= self._made
            self._made |= set(store.variables) - known


@contextmanager
def in_program_order(graph: Any) -> Iterator[None]:
    """Let updates of variables in the `with` block start from the values assigned before them; see `trace`."""
    if graph is None or not graph.dialect.records_effects:
        yield
    else:
        with variables.in_program_order(graph):
            yield


@contextmanager
def lifted() -> Iterator[Any]:
    """Record the `with` block outside of all bodies and control dependencies.

    Source: `tf.init_scope`.

    Yields:
        The session graph that is being built, or the thread's default graph, which is opened if need be.
    """
    graph = open_graph()
    with graph.as_default(), graph.control_dependencies(None):
        yield graph


@contextmanager
def inside(graph: Any) -> Iterator[Any]:
    """Record the `with` block in a graph, if there is one."""
    if graph is None or current_graph() is graph:
        yield graph
    else:
        with graph.as_default():
            yield graph


def recorded(result: Any, name: str) -> Any:
    """A structure of results; in graph mode, constants of the graph replace the values in it.

    Args:
        name: the name of constants; with a slash at its end, the whole name of a single one, or the scope of several.
    """
    recording_graph = graph()
    if recording_graph is None:
        return result

    def constant(value: Tensor, name: str | None) -> Any:
        return recording_graph.constant(value.numpy(), name, recording_graph.here.control)

    if type(result) is Tensor:
        return constant(result, name)
    if isinstance(result, (tuple, list)):
        leaves, structure = flatten(result)
        if any(type(leaf) is Tensor for leaf in leaves):
            one = None if name.endswith("/") else name
            return unflatten(structure, [constant(v, one) if type(v) is Tensor else v for v in leaves])
    return result


def named(result: Any, scope: str) -> Any:
    """Name the operation of a function's results after the scope of the call, and return the results.

    An operation that existed before, or that is in another scope, keeps its name.
    """
    leaves = [result] if isinstance(result, (GraphTensor, Operation)) else flatten(result)[0]
    operations = {leaf if isinstance(leaf, Operation) else getattr(leaf, "op", None) for leaf in leaves}
    operation = operations.pop() if len(operations) == 1 else None
    if scope and isinstance(operation, Operation) and operation.name.startswith(scope):
        name_new(operation.graph, operation, scope.rstrip("/"))
    return result


@contextmanager
def name_scope(name: str | None) -> Iterator[str]:
    """Open a name scope for the operations that are recorded in the `with` block; see `GraphBase.new_scope`."""
    recording_graph = graph()
    if recording_graph is None:
        yield f"{(name or '').strip('/')}/" if name else ""
        return
    with recording_graph.at_scope(new_scope(recording_graph, name)) as whole:
        yield whole
