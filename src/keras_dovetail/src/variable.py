"""Keras' Variable, which holds a `dovetail.Variable`: it moves between engines, and programs read and assign it."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any
from weakref import WeakValueDictionary

import dovetail
from dovetail.core.base.lacking import AUTOGRAD, lacks
from dovetail.core.base.read_limits import fold
from dovetail.core.base.scopes import DEFAULT_GRAPH, Scoped, opened, scopes
from dovetail.core.dtypes import as_dtype
from dovetail.core.engines.engine_registry import HOME, current_engine, get_engine, on_engine
from dovetail.core.tensor import Tensor
from dovetail.core.values.creations import note_creation
from dovetail.core.values.value_kinds import Wrapper, default_graph, is_recorded, register
from dovetail.graph.nesting import outermost_of
from dovetail.interop.privates import KerasVariable, get_stateless_scope
from dovetail.sessions.session_graph import SessionGraph
from dovetail.trace.trace import assign_any
from dovetail.trace.variables import read_variable
from keras_dovetail.src.parallel import layouts
from keras_dovetail.src.phase import assigned
from keras_dovetail.src.scopes import computing
from keras_dovetail.src.tensors import convert_to_tensor


def _computing() -> AbstractContextManager[None]:
    """A scope that computes first values at once, outside of traces and tapes: a variable may outlive a trace."""
    return opened({"graphs": (), DEFAULT_GRAPH: None, "tapes": ()})


_notes: Scoped[tuple[dict[int, Any], ...]] = Scoped(())


def noting(before: dict[int, Any]) -> AbstractContextManager[None]:
    """A scope that notes each variable that is assigned, with its previous value."""
    return _notes.scope((*_notes.get(), before))


@lacks("backward grad requires_grad requires_grad_", AUTOGRAD)
class Variable(KerasVariable):
    """A variable of Keras.

    Example:
        >>> w = Variable([1., 2.], name="w")
        >>> w.assign_add([1., 1.]).numpy()
        array([2., 3.], dtype=float32)
    """

    _value: dovetail.Variable | None
    _first: Any = None  # its initializer
    is_given = False  # whether a program or a file gave it another value than the first
    _place: Any = None  # its name in a session graph, and the graph, if it is in collections
    __hash__ = object.__hash__  # Keras' == compares the elements

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        note_creation(kwargs.get("name"), is_made_by_keras=True)
        self.begins_trained = kwargs.get("trainable", True)  # before a frozen layer changes it
        with _computing():
            super().__init__(*args, **kwargs)

    def _deferred_initialize(self) -> None:
        with _computing():
            super()._deferred_initialize()

    def _initialize_with_initializer(self, initializer: Any) -> None:
        """Compute the first value on numpy, since engines may compile each call; the variable converts it."""
        self._first = initializer
        home = get_engine(HOME)
        fold(math.prod(self._shape) * as_dtype(self._dtype).itemsize, self._path)
        with on_engine(home):
            value = initializer(self._shape, dtype=self._dtype)
        is_home = type(value) is Tensor and value._engine is home
        self._initialize(value.value if is_home else self._convert_to_tensor(value))

    def _initialize(self, value: Any) -> None:
        self._shape = self._validate_shape(value.shape)
        self._layout = layouts.layout_of(self)
        if self._layout is not None:
            value = layouts.divided(value, self._layout, self.path)
        self._value = dovetail.Variable(value, self._dtype, name=self._path, trainable=self._trainable)
        self._value.symbolic = True
        if self._place is not None:
            _put(self, *self._place)

    def join(self, name: str, graph: Any) -> None:
        """Be in the collections of a session graph under a name, now or once the variable has a value."""
        if self._place is None or self._place[1] is not graph:
            self._place = name, graph
            if self._value is not None:
                _put(self, name, graph)

    def first_value(self) -> Any:
        """The first value, drawn again in the graph that is traced; the value now if there is no initializer."""
        if self._first is None or self._layout is not None:
            with _computing():
                return self._current()
        return convert_to_tensor(self._first(self._shape, dtype=self._dtype), self._dtype)

    @staticmethod
    def holding(variable: dovetail.Variable) -> Variable:
        """The Keras variable that holds a variable made by K, or by TensorFlow's names.

        Example:
            >>> v = dovetail.Variable(1.0)
            >>> _ = Variable.holding(v).assign_add(1.0)
            >>> float(v)
            2.0
        """
        holder = _holders.get(id(variable))
        return _holder_class()(variable) if holder is None else holder

    def _convert_to_tensor(self, value: Any, dtype: Any = None) -> Any:
        return convert_to_tensor(value, dtype)

    def assign(self, value: Any) -> Any:
        """Assign a value of the variable's shape, and return it as a tensor of the variable's dtype."""
        for before in _notes.get():
            if id(self) not in before:
                before[id(self)] = self, self._current()
        with nullcontext() if is_recorded(value) else _outside_of_layers():
            return super().assign(value)

    def _direct_assign(self, value: Any) -> None:
        if self._value is None:
            return
        if self._layout is not None:
            value = layouts.divided(value, self._layout, self.path)
        graph = _recording_graph() if is_recorded(value) else None
        if graph is None:
            self.is_given = self.is_given or not scopes().graphs
            with computing():
                self._value.assign(value)
            return
        self._value.check_shape(value)
        with nullcontext() if scopes().graphs else graph.as_default():
            self._assign_in(scopes().graph, assigned(value, self._current))

    def _assign_in(self, graph: Any, value: Any) -> None:
        """Let each run of a graph that reads the variable assign it."""
        assign_any(graph, self._value, value, in_order=True)

    def assign_add(self, value: Any) -> Any:
        """Add to the variable, and return the new value."""
        return self._assign_changed(super().assign_add, value)

    def assign_sub(self, value: Any) -> Any:
        """Subtract from the variable, and return the new value."""
        return self._assign_changed(super().assign_sub, value)

    def _assign_changed(self, change: Any, value: Any) -> Any:
        """Change the variable at once if the value is known, even while a default graph is open."""
        with nullcontext() if is_recorded(value) else computing():
            return change(value)

    @property
    def value(self) -> Any:
        """The current value: a tensor of the current engine, or of the graph that is traced."""
        return self._maybe_autocast(self._current())

    def _current(self) -> Any:
        scope = get_stateless_scope()
        current = None if scope is None else scope.get_current_value(self)
        if current is not None:
            return current
        if self._value is not None:
            graph = None if scopes().graphs else default_graph()
            return self._value.read(current_engine()) if graph is None else read_variable(graph, self._value)
        return self._initializer(self._shape, dtype=self._dtype)  # not made yet: for shape inference only

    def __array__(self, dtype: Any = None) -> Any:
        """The value now, also while a session graph is open."""
        with _outside_of_layers(), computing():
            return super().__array__(dtype)

    def __int__(self) -> int:
        with computing():
            return super().__int__()

    def __float__(self) -> float:
        with computing():
            return super().__float__()

    @property
    def trainable(self) -> bool:
        """Whether optimizers train it, and tapes watch it automatically."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = bool(value)
        if self._value is not None:
            self._value.trainable = self._trainable


class _Holder(Variable):
    """A Keras variable whose value is an existing variable; each variable has one holder at a time."""

    def __init__(self, held: dovetail.Variable) -> None:
        name = held.name.rpartition("/")[2].partition(":")[0]
        super().__init__(held.read, held.shape, held.dtype, trainable=held.trainable, name=name)
        self._path, self._value, self._initializer = held.name, held, None
        _holders[id(held)] = self

    def _initialize_with_initializer(self, initializer: Any) -> None:
        """Keep the value."""

    def _deferred_initialize(self) -> None:
        """Keep the value."""

    def join(self, name: str, graph: Any) -> None:
        """Leave the collections to those who made the variable."""


@cache
def _holder_class() -> type[_Holder]:
    """The class of holders that are `keras.Variable`s; Keras derives that class from this module's `Variable` later."""
    from dovetail.interop.privates import PublicVariable as Public

    return type("Variable", (_Holder, Public), {})


def held(variable: Any) -> Any:
    """The variable in a holder; any other variable itself."""
    return variable._value if isinstance(variable, _Holder) else variable


_holders: WeakValueDictionary[int, _Holder] = WeakValueDictionary()  # by the id of the variable that each keeps alive


def _outside_of_layers() -> AbstractContextManager[None]:
    """A scope that a session graph does not record, unless a layer is called: Keras acts at once, as in TensorFlow."""
    from dovetail.interop.privates import global_state  # Keras imports this module before it

    is_called = global_state.get_global_attribute("current_call_ctx") is not None
    is_of_session = isinstance(scopes().graphs and outermost_of(scopes().graph), SessionGraph)
    return _computing() if is_of_session and not is_called else nullcontext()


def _put(variable: Variable, name: str, graph: Any) -> None:
    """Put a weight into the collections of a graph."""
    from dovetail.compat.tensorflow.names.variables.keras_weights import KerasWeight

    KerasWeight.put(variable, variable._value, name, graph)


def session_graph() -> Any:
    """The session graph in which layers are called now, if there is one."""
    graphs = [outermost_of(graph) for graph in scopes().graphs]
    return next((each for each in (*graphs, DEFAULT_GRAPH.get()) if isinstance(each, SessionGraph)), None)


def _recording_graph() -> Any:
    """K's default graph, if it records uses of variables now: not within another trace, and not on a tape."""
    graphs, default = scopes().graphs, DEFAULT_GRAPH.get()
    if graphs:
        return default if graphs[0] is default else None
    return default_graph()


class _Kind(Wrapper):
    """The kind of Keras variables: ops take the value, and tapes watch the variable in it."""

    def followed(self, value: Any) -> Any:
        return value._value


register(KerasVariable, _Kind())
