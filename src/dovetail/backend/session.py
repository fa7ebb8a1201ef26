"""Runs of the default graph: functions that are cut out of it, and sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dovetail import backend as K
from dovetail import ops
from dovetail.backend import feeding
from dovetail.backend.phase import forget_learning_phase
from dovetail.backend.seeds import restart
from dovetail.backend.sparse import SparseTensor
from dovetail.backend.symbolic import (
    in_default_graph,
    interop_keras,
    is_of_keras,
    learning_phase_of,
    recorded_update,
)
from dovetail.backend.table import named
from dovetail.core.base.errors import describe
from dovetail.core.base.scopes import DEFAULT_GRAPH, not_building
from dovetail.core.base.table import OPS
from dovetail.core.dtypes import promote
from dovetail.core.values.shapes import fits
from dovetail.core.values.structure import LEAF, Structure, flatten, flatten_like, show, unflatten
from dovetail.core.values.value_kinds import dtype_of, kind_of
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import Graph, GraphTensor, Operation
from dovetail.sessions.cut_program import CutProgram
from dovetail.sessions.session import Session, default_session
from dovetail.sessions.session_graph import SessionGraph, open_default_graph, recording_graph
from dovetail.trace import trace

__all__ = ["clear_session", "function", "get_session", "set_session"]

# -- functions --------------------------------------------------------------------------------------------------------


def function(inputs: Any, outputs: Any, updates: Any = None, name: str | None = None, **kwargs: Any) -> Any:
    """A function that computes tensors of the default graph, or of a Keras model, from others.

    Its calls compile it for the current engine, once for all shapes or once for each, as the engine needs.

    Args:
        inputs: a structure of tensors whose values a call gives: placeholders, the learning phase, or any others.  For
            a Keras model, the learning phase is the `training` argument of its call.
        outputs: a structure of tensors, variables and constants.
        updates: a list of changes of variables, and of weights of Keras' layers.  A change is a result of `K.update` or
            a similar function, a pair of a variable and its new value, or an operation of an optimizer.  All new
            values are computed from the variables' values before the call.
        name: the name of its graph.
        kwargs: options of TensorFlow's sessions; each of them raises an error.

    Returns:
        A function of a structure of numbers, arrays or Tensors, like `inputs`.  It returns NumPy arrays and scalars in
        the structure of `outputs`.

    Raises:
        ValueError: a placeholder is needed that is not among the inputs, or there are other arguments; in a call, a
            value is missing or does not fit.
        TypeError: an input is no tensor of the graph, the updates are no list, or one of them is no update.

    Source: `tf.keras.backend.function`.

    Differs: scalar results are NumPy's, not Python's, as in graphs of TensorFlow 1.  Updates, and empty or None
        outputs, work; tf.keras refuses them unless TensorFlow 2 behaviour is off.

    Modern: `keras.Model(inputs, outputs)`.

    Example:
        >>> x, w = K.placeholder((None, 2)), K.variable([1., 2.])
        >>> f = K.function([x], [x * w], updates=[(w, w + 1.)])
        >>> f([[[1., 1.]]]), f([[[1., 1.]]])
        ([array([[1., 2.]], dtype=float32)], [array([[2., 3.]], dtype=float32)])
        >>> K.clear_session()
    """
    if kwargs:
        raise ValueError(f"it takes inputs, outputs, updates and name, not {', '.join(kwargs)}.")
    if updates is not None and not isinstance(updates, (list, tuple)):
        raise TypeError(f"the updates must be a list, not {describe(updates)}.")
    if _is_of_model_alone([inputs, outputs], updates or ()):
        return KerasFunction(inputs, outputs, updates or ())
    return GraphFunction(inputs, outputs, updates or (), name or "function")


def _is_of_model_alone(structure: Any, updates: Sequence[Any]) -> bool:
    """Whether a function has tensors of a Keras model alone, but for the learning phase.

    A tensor of the default graph counts, also if it is the given input of a model.
    """
    leaves = flatten(structure)[0]
    changes = [u.value if isinstance(u, KerasUpdate) else u for u in updates]
    every = *leaves, *flatten(changes)[0]
    recorded = [x for x in every if isinstance(x, Operation) or (in_default_graph(x) and not _is_learning_phase(x))]
    of_keras = [x for x in every if is_of_keras(x)]
    return any(map(is_of_keras, leaves)) and not recorded and not interop_keras().is_given(of_keras)


class GraphFunction:
    """A function of NumPy arrays that is cut out of the default graph; made by `K.function`.

    Attributes:
        inputs, outputs, updates, name: the arguments of `K.function`.
        graph: the graph that it runs, with the assignments of the updates.
    """

    def __init__(self, inputs: Any, outputs: Any, updates: Sequence[Any], name: str) -> None:
        self.inputs, self.outputs, self.updates, self.name = inputs, outputs, updates, name
        sources, self._structure = flatten(feeding.sources(inputs))
        results, self._result = flatten(outputs)
        graph = _graph_of([*sources, *results, *flatten(updates)[0]])
        sources = [_source(x, graph) for x in sources]
        self._phases = [x if _is_set_phase(x) else None for x in sources]
        for x, phase in zip(sources, self._phases, strict=True):
            if phase is None and not isinstance(x, (GraphTensor, Variable)):
                raise TypeError(f"the inputs must be placeholders or other tensors of the default graph, not {x!r}.")
        self._parts = (
            [_tensor_of(graph, x) for x, phase in zip(sources, self._phases, strict=True) if phase is None],
            [_tensor_of(graph, x) for x in results],
            [_update(graph, u) for u in updates if u is not None],
        )
        self._of = graph
        self._session = session_of(graph)
        self._program = CutProgram(graph, *self._parts, name, values=self._session.values)

    @property
    def graph(self) -> Graph:
        return self._program.graph

    def _follow_session(self) -> None:
        """Run on the variables of K's session from now on, if that has changed."""
        session = session_of(self._of)
        if session is not self._session:
            self._session = session
            self._program = CutProgram(self._of, *self._parts, self.name, values=session.values)

    @named("function")
    def __call__(self, inputs: Any) -> Any:
        self._follow_session()
        if isinstance(inputs, (list, tuple)) and len(inputs) == 1 and not self._takes(inputs):
            inputs = inputs[0]
        values = zip(_values(self._structure, inputs, self.inputs), self._phases, strict=True)
        return unflatten(self._result, self._program([x for x, phase in values if not _is_phase_of_graph(x, phase)]))

    def _takes(self, values: Any) -> bool:
        """Whether a list of one value is itself the value of the inputs, not a list around it."""
        if self._structure != LEAF or not self._program.inputs:
            return type(self.inputs) is not SparseTensor
        return fits(np.shape(values), self._program.inputs[0].shape)

    def __repr__(self) -> str:
        return f"<K.function {self.name}>"


def _source(x: Any, graph: SessionGraph) -> Any:
    """The tensor of an input in the graph, also for Keras' values."""
    return x if isinstance(x, (GraphTensor, Variable)) else kind_of(x).in_graph(x, graph)


class KerasUpdate(NamedTuple):
    """An update with a Keras model's tensor, as `K.update` and similar functions return it.

    Attributes:
        variable: the variable to update.
        value: a tensor of the model.
        method: the name of the variable's method that takes the value.
    """

    variable: Any
    value: Any
    method: str = "assign"


OPS_OF_METHODS: dict[str, Any] = {"assign": None, "assign_add": ops.add, "assign_sub": ops.subtract}


class KerasFunction:
    """A function of NumPy arrays that is cut out of a Keras model; made by `K.function`.

    Attributes:
        inputs, outputs, updates: the arguments of `K.function`.  An input that is no KerasTensor is the learning phase.
    """

    def __init__(self, inputs: Any, outputs: Any, updates: Sequence[Any]) -> None:
        self.inputs, self.outputs, self.updates = inputs, outputs, updates
        self._updates = list(map(_keras_update, updates))
        sources, self._structure = flatten(inputs)
        self._is_phase = [not is_of_keras(x) for x in sources]
        for x, is_phase in zip(sources, self._is_phase, strict=True):
            if is_phase and not _is_learning_phase(x):
                raise TypeError(f"the inputs must be tensors of the model and K.learning_phase(), not {describe(x)}.")
        self._results, self._result = flatten(outputs)
        tensors = [x for x, is_phase in zip(sources, self._is_phase, strict=True) if not is_phase]
        values = [*self._results, *(update.value for update in self._updates)]
        self._run = interop_keras().function(tensors, [x for x in values if is_of_keras(x)])

    @named("function")
    def __call__(self, inputs: Any) -> Any:
        values = list(zip(_values(self._structure, inputs, self.inputs), self._is_phase, strict=True))
        training = next((bool(value) for value, is_phase in values if is_phase), None)
        with not_building():
            fetched = self._run([value for value, is_phase in values if not is_phase], training=training)
            computed = iter(flatten(fetched)[0])
            results = [K.get_value(next(computed) if is_of_keras(x) else x) for x in self._results]
            for variable, value, method in self._updates:
                getattr(variable, method)(next(computed) if is_of_keras(value) else value)
        return unflatten(self._result, results)


def _keras_update(update: Any) -> KerasUpdate:
    """One of the updates of a function of a Keras model."""
    if isinstance(update, tuple) and len(update) in (2, 3) and K.is_variable(update[0]):
        return KerasUpdate(*update)
    raise TypeError(
        "an update is a result of K.update on a tensor of the model, or a pair of a variable and its new value, "
        f"not {describe(update)}."
    )


def _is_set_phase(x: Any) -> bool:
    """Whether `x` is a learning phase that was set, which a graph holds as a constant."""
    return isinstance(x, (bool, int)) and x in (0, 1)


def _is_phase_of_graph(value: Any, phase: Any) -> bool:
    """Whether a value is for the learning phase that was set when the graph was built.

    Raises:
        ValueError: the value is another phase.
    """
    if phase is not None and bool(value) != bool(phase):
        raise ValueError(
            f"the graph was built while the learning phase was set to {phase}, so it cannot be {value!r}: "
            "leave K.set_learning_phase out, or call it before the graph is built."
        )
    return phase is not None


def _is_learning_phase(x: Any) -> bool:
    if in_default_graph(x):
        return x is learning_phase_of(x.graph)
    return _is_set_phase(x)


def _values(structure: Structure, values: Any, inputs: Any) -> list[Any]:
    """The values of a call for inputs of a structure; a learning phase at the end may be left out, and is 0."""
    if structure != LEAF and structure[0] is list and len(structure[2]) == 1 and _is_one(values):
        values = [values]
    if isinstance(inputs, list) and isinstance(values, (list, tuple)) and len(values) == len(inputs) - 1:
        values = [*values, *(0 for x in inputs[-1:] if _is_learning_phase(x))]
    values = feeding.given(inputs, values)
    try:
        return flatten_like(structure, values)
    except ValueError:
        raise ValueError(f"the inputs must be given like {show(structure)}, not as {describe(values)}.") from None


def _is_one(values: Any) -> bool:
    """Whether the values of a call are a single value."""
    return not isinstance(values, (list, tuple, dict))


def _update(graph: SessionGraph, update: Any) -> GraphTensor | Operation:
    """One of the updates of a function as a tensor, or as the operation that it is."""
    if isinstance(update, Operation) and update.graph is graph:
        return update
    if isinstance(update, KerasUpdate):
        op = OPS_OF_METHODS[update.method]
        return recorded_update(graph, kind_of(update.variable).followed(update.variable), update.value, op)
    if isinstance(update, tuple):
        variable, *value = update
        return recorded_update(graph, kind_of(variable).followed(variable), *value)
    if not isinstance(update, GraphTensor):
        raise TypeError(
            "an update that was made before the default graph was open has been done at once: "
            f"call K.placeholder, or K.symbolic, before K.update; not {describe(update)}."
        )
    return _tensor_of(graph, update)


def _graph_of(values: Sequence[Any]) -> SessionGraph:
    """The default graph of the values; if they have none, this thread's, or a new one."""
    graph = next((v.graph for v in values if isinstance(v, (GraphTensor, Operation))), None)
    if graph is None:
        return recording_graph() or SessionGraph()
    if not isinstance(graph, SessionGraph):
        raise ValueError(
            f"its tensors must be of the default graph, but some belong to {graph.name!r}: "
            "run tensors of other graphs with dovetail.function."
        )
    return graph


def _tensor_of(graph: SessionGraph, value: Any) -> GraphTensor:
    """Any value as a tensor of a default graph.

    Raises:
        ValueError: it is a tensor of another graph, or was removed.
    """
    if type(value) is GraphTensor and value.graph is not graph:
        others = "a branch's or a loop's own, another thread's, or one from before K.clear_session"
        raise ValueError(f"{value!r} belongs to another graph than the other tensors: {others}.")
    if type(value) is GraphTensor:
        graph.check_tensor(value)
    return trace.to_graph(value, promote([dtype_of(value)]), graph, OPS["Identity"])


# -- sessions ---------------------------------------------------------------------------------------------------------


class KSession(Session):
    """A session that takes sparse values for sparse placeholders, too.

    Example:
        >>> from dovetail import backend as K
        >>> x, w = K.placeholder(()), K.variable(3.)
        >>> session = K.get_session()
        >>> session.run({"product": x * w, "w": w}, feed_dict={x: 2.})
        {'product': np.float32(6.0), 'w': np.float32(3.0)}
        >>> K.clear_session()
    """

    @named("get_session().run")
    def run(self, fetches: Any, feed_dict: Any = None) -> Any:
        """Run like `Session.run`; sparse placeholders also take SciPy matrices and sparse tensors.

        A phase that `K.learning_phase` returned before the graph was open stands for the graph's phase.
        """
        graph: Any = self.graph
        inputs = [learning_phase_of(graph) if _is_set_phase(key) else key for key in feed_dict or ()]
        keys, structure = flatten(feeding.sources(inputs))
        values = _values(structure, list((feed_dict or {}).values()), inputs)
        return super().run(fetches, dict(zip(keys, values, strict=True)))


def session_of(graph: SessionGraph) -> Session:
    """The session that runs a default graph for K: the default session if it is of the graph, or the graph's own."""
    default, own = default_session(), graph.session
    if default is not None and default.graph is graph:
        return default
    if own is None or own.is_closed:
        graph.session = KSession(graph)
    elif type(own) is Session:
        graph.session = KSession(graph)
        graph.session.values = own.values
    return graph.session


def get_session() -> Any:
    """The session of this thread's default graph; opens that graph if necessary.

    Source: `keras.backend.get_session` of Keras 2.3.

    Modern: none; programs of today need no session.

    Example:
        >>> x = K.placeholder(())
        >>> K.get_session().run(x + 1., {x: 2.})
        np.float32(3.0)
        >>> K.clear_session()
    """
    return session_of(open_default_graph())


def set_session(session: Any) -> None:
    """Make the graph of a session this thread's default graph.

    Args:
        session: a session from `K.get_session`, in this thread or another.

    Raises:
        TypeError: it is something else.

    Source: `keras.backend.set_session` of Keras 2.3.

    Differs: it takes no session of TensorFlow's; which devices are used is set with `dovetail.engine`.

    Modern: none; programs of today need no session.

    Example:
        >>> x, session = K.placeholder(()), K.get_session()
        >>> K.clear_session()
        >>> K.set_session(session)
        >>> K.function([x], x + 1.)(2.)
        np.float32(3.0)
        >>> K.clear_session()
    """
    if not isinstance(session, Session):
        raise TypeError(
            "it needs a session that K.get_session gave; others do not know Dovetail's graphs, and are not needed. It "
            f"got {session!r}."
        )
    DEFAULT_GRAPH.set(session.graph)
    session.graph.session = session


def clear_session() -> None:
    """Close this thread's default graph, forget its learning phase, and restart names and random sequences.

    Source: `tf.keras.backend.clear_session`.

    Differs: default graphs and learning phases of other threads stay.

    Modern: `keras.backend.clear_session()`.

    Example:
        >>> x = K.placeholder((2,))
        >>> K.clear_session()
    """
    DEFAULT_GRAPH.set(None)
    forget_learning_phase()
    restart()
    K.reset_uids()
