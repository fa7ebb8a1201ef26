"""Running the default graph: functions that are cut out of it, and sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail import backend as K
from dovetail.backend.phase import forget_learning_phase
from dovetail.backend.program import Program, tensor_of
from dovetail.backend.seeds import restart
from dovetail.backend.symbolic import (
    DefaultGraph,
    in_default_graph,
    interop_keras,
    is_of_keras,
    open_default_graph,
    symbolic_graph,
)
from dovetail.backend.table import k_error, k_function, named
from dovetail.errors import describe
from dovetail.graph.ir import GraphTensor
from dovetail.ops.infer import fits
from dovetail.structure import LEAF, Structure, flatten, flatten_like, show, unflatten
from dovetail.tensor import Tensor, building
from dovetail.variable import Variable

__all__ = ["clear_session", "function", "get_session", "set_session"]

# -- functions --------------------------------------------------------------------------------------------------------


@k_function
def function(inputs: Any, outputs: Any, updates: Any = None, name: str | None = None, **kwargs: Any) -> Any:
    """A function that computes tensors of the default graph, or of a Keras model, from others.

    It is compiled for the current engine when it is called, once for all shapes or once for each, as the engine needs.

    Args:
        inputs: a structure of tensors whose values a call gives: placeholders, the learning phase, or any others.  Of a
            Keras model, the learning phase is the `training` argument of its call.
        outputs: a structure of tensors, variables and constants.
        updates: a list of what the function does to variables: what `K.update` and its like return, and pairs of a
            variable and its new value.  All values are computed from what the variables were before the call.
        name: what its graph is called.
        kwargs: options of TensorFlow's sessions; none is taken.

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
        raise k_error(ValueError, "function", f"it takes inputs, outputs, updates and name, not {', '.join(kwargs)}.")
    if updates is not None and not isinstance(updates, (list, tuple)):
        raise k_error(TypeError, "function", f"the updates must be a list, not {describe(updates)}.")
    if any(map(is_of_keras, flatten([inputs, outputs])[0])):
        return KerasFunction(inputs, outputs, updates or ())
    return GraphFunction(inputs, outputs, updates or (), name or "function")


class GraphFunction:
    """A function of NumPy arrays that is cut out of the default graph; made by `K.function`.

    Attributes:
        inputs, outputs, updates, name: as they were given.
    """

    def __init__(self, inputs: Any, outputs: Any, updates: Sequence[Any], name: str) -> None:
        self.inputs, self.outputs, self.updates, self.name = inputs, outputs, updates, name
        sources, self._structure = flatten(inputs)
        results, self._result = flatten(outputs)
        graph = _graph_of([*sources, *results, *flatten(updates)[0]])
        for x in sources:
            if not isinstance(x, (GraphTensor, Variable)):
                raise TypeError(f"the inputs must be placeholders or other tensors of the default graph, not {x!r}.")
        self._program = Program(
            graph,
            [tensor_of(graph, x) for x in sources],
            [tensor_of(graph, x) for x in results],
            [_update(graph, u) for u in updates if u is not None],
            name,
        )

    @named("function")
    def __call__(self, inputs: Any) -> Any:
        listed = self._structure == LEAF and isinstance(inputs, (list, tuple)) and len(inputs) == 1
        if listed and not fits(np.shape(inputs), self._program.inputs[0].shape):
            inputs = inputs[0]
        return unflatten(self._result, self._program(_values(self._structure, inputs)))

    def __repr__(self) -> str:
        return f"<K.function {self.name}>"


class KerasFunction:
    """A function of NumPy arrays that is cut out of a Keras model; made by `K.function`.

    Attributes:
        inputs, outputs: as they were given.  An input that is no KerasTensor is the learning phase.
    """

    def __init__(self, inputs: Any, outputs: Any, updates: Sequence[Any]) -> None:
        if updates:
            raise ValueError("the variables of a Keras model are updated by its training, not by updates.")
        self.inputs, self.outputs = inputs, outputs
        sources, self._structure = flatten(inputs)
        self._is_phase = [not is_of_keras(x) for x in sources]
        for x, is_phase in zip(sources, self._is_phase, strict=True):
            if is_phase and not _is_learning_phase(x):
                raise TypeError(f"the inputs must be tensors of the model and K.learning_phase(), not {describe(x)}.")
        self._results, self._result = flatten(outputs)
        tensors = [x for x, is_phase in zip(sources, self._is_phase, strict=True) if not is_phase]
        self._run = interop_keras().function(tensors, [x for x in self._results if is_of_keras(x)])

    @named("function")
    def __call__(self, inputs: Any) -> Any:
        values = list(zip(_values(self._structure, inputs), self._is_phase, strict=True))
        training = next((bool(value) for value, is_phase in values if is_phase), None)
        found = self._run([value for value, is_phase in values if not is_phase], training=training)
        computed = iter(flatten(found)[0])
        return unflatten(self._result, [K.get_value(next(computed) if is_of_keras(x) else x) for x in self._results])


def _is_learning_phase(x: Any) -> bool:
    if in_default_graph(x):
        return x is x.graph.learning_phase
    return isinstance(x, (bool, int)) and x in (0, 1)


def _values(structure: Structure, inputs: Any) -> list[Any]:
    """The values of a call for inputs of a structure."""
    if structure == (list, None, (LEAF,)) and not isinstance(inputs, (list, tuple, dict)):
        return [inputs]
    try:
        return flatten_like(structure, inputs)
    except ValueError:
        problem = f"the inputs must be given like {show(structure)}"
        raise ValueError(f"{problem}, not as {describe(inputs)}.") from None


def _update(graph: DefaultGraph, update: Any) -> GraphTensor:
    """One of the updates of a function as a tensor."""
    if isinstance(update, tuple):
        return graph.update(*update)
    if not isinstance(update, GraphTensor):
        problem = "an update that was made before the default graph was open has been done at once"
        raise TypeError(f"{problem}: call K.placeholder, or K.symbolic, before K.update; not {describe(update)}.")
    return tensor_of(graph, update)


def _graph_of(values: Sequence[Any]) -> DefaultGraph:
    """The default graph that some of the values are in; if none is, this thread's, or one for the purpose."""
    found = next((v.graph for v in values if type(v) is GraphTensor), None)
    if found is None:
        return symbolic_graph() or DefaultGraph()
    if not isinstance(found, DefaultGraph):
        problem = f"its tensors must be of the default graph, but some belong to {found.name!r}"
        raise ValueError(f"{problem}: dovetail.function runs other graphs, and what it traces.")
    return found


# -- sessions ---------------------------------------------------------------------------------------------------------


class Session:
    """Runs a default graph, as the sessions of TensorFlow 1 did.

    Attributes:
        graph: what it runs.

    Example:
        >>> from dovetail import backend as K
        >>> x, w = K.placeholder(()), K.variable(3.)
        >>> session = K.get_session()
        >>> session.run({"product": x * w, "w": w}, feed_dict={x: 2.})
        {'product': np.float32(6.0), 'w': np.float32(3.0)}
        >>> K.clear_session()
    """

    def __init__(self, graph: DefaultGraph) -> None:
        self.graph = graph
        self._programs: dict[Any, tuple[Program, Any]] = {}

    @named("get_session().run")
    def run(self, fetches: Any, feed_dict: Any = None) -> Any:
        """Computes tensors, and does the updates among them.

        Args:
            fetches: a structure of tensors, updates, variables and names of tensors.
            feed_dict: tensors of the graph, or their names → their values.

        Returns:
            NumPy arrays and scalars in the structure of `fetches`; of updates, the new values.

        Raises:
            ValueError: a placeholder is needed that is not fed, a value does not fit, or a tensor is of another graph.
            KeyError: there is no tensor of a name.
            TypeError: a fetch or a key of `feed_dict` is no tensor.

        Source: `tf.compat.v1.Session.run`.
        """
        leaves, structure = flatten(fetches)
        fed = list(map(self._tensor, feed_dict or {}))
        found = list(map(self._tensor, leaves))
        key = tuple(map(id, fed)), tuple(map(id, found))
        if key not in self._programs:
            if len(self._programs) >= _PROGRAMS_LIMIT:
                self._programs.clear()
            self._programs[key] = Program(self.graph, fed, found, name="run"), (fed, found)  # that keep their ids
        return unflatten(structure, self._programs[key][0](list((feed_dict or {}).values())))

    def _tensor(self, x: Any) -> GraphTensor:
        if isinstance(x, str):
            return self.graph.get_tensor(x)
        if not isinstance(x, (GraphTensor, Variable, Tensor)):
            raise TypeError(f"tensors, variables and names of tensors can be computed or fed, not {x!r}.")
        return tensor_of(self.graph, x)

    def __repr__(self) -> str:
        return f"<session of {self.graph!r}>"


_PROGRAMS_LIMIT = 100


def session_of(graph: DefaultGraph) -> Session:
    """The session that runs a default graph."""
    if graph.session is None:
        graph.session = Session(graph)
    return graph.session


@k_function
def get_session() -> Any:
    """The session of this thread's default graph, which is opened if it is not open.

    Source: `keras.backend.get_session` of Keras 2.3.

    Modern: none; programs of today need no session.

    Example:
        >>> x = K.placeholder(())
        >>> K.get_session().run(x + 1., {x: 2.})
        np.float32(3.0)
        >>> K.clear_session()
    """
    return session_of(open_default_graph())


@k_function
def set_session(session: Any) -> None:
    """Makes the graph of a session this thread's default graph.

    Args:
        session: what `K.get_session` gave, in this thread or another.

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
        problem = "it needs a session that K.get_session gave; others do not know Dovetail's graphs, and are not needed"
        raise k_error(TypeError, "set_session", f"{problem}. It got {session!r}.")
    building.default = session.graph


@k_function
def clear_session() -> None:
    """Closes this thread's default graph, forgets its learning phase, and starts names and random sequences again.

    Source: `tf.keras.backend.clear_session`.

    Differs: default graphs and learning phases of other threads stay.

    Modern: `keras.backend.clear_session()`.

    Example:
        >>> x = K.placeholder((2,))
        >>> K.clear_session()
    """
    building.default = None
    forget_learning_phase()
    restart()
    K.reset_uids()
