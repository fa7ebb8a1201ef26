"""The default graph, which old programs build by and by: placeholders, and what is recorded of them.

The first `K.placeholder` of a thread opens its default graph.  From there to `K.clear_session()` ops on variables are
recorded in it, as ops on placeholders are, so that an expression of variables has the value that they will have when it
is run; ops on eager Tensors and on arrays are computed at once, as ever.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

from dovetail import backend as K
from dovetail import ops
from dovetail.backend.table import k_error, k_function
from dovetail.errors import op_error
from dovetail.graph import trace
from dovetail.graph.ir import Graph, GraphTensor, Operation
from dovetail.ops.spec import spec
from dovetail.tensor import building, recording
from dovetail.variable import Variable

__all__ = ["placeholder"]


class Update(NamedTuple):
    """What an update tensor does to a variable when it is run.

    Attributes:
        variable: what is given the tensor's value.
        step: for an update that adds or subtracts, the op and what it takes beside the value; so several can be made.
    """

    variable: Variable
    step: tuple[Any, GraphTensor] | None = None


class DefaultGraph(Graph):
    """A graph without an end: programs are cut out of it, and it is added to again.

    Attributes:
        updates: the tensors that `K.update` and its like have made → what they do.
        runs: counts the runs of programs that draw random numbers.
        session: the `Session` that runs it, once there is one.
    """

    def __init__(self, name: str = "default") -> None:
        super().__init__(name)
        self.updates: dict[GraphTensor, Update] = {}
        self.runs = Variable(0, "int32", name=f"{name}/runs", trainable=False)
        self.session: Any = None
        self._keys = itertools.count()

    def __bool__(self) -> bool:
        return True  # also while it has no operations

    def add(self, op: Any, inputs: Any, attrs: dict[str, Any], *args: Any, **kwargs: Any) -> Operation:
        if op.name == "AssignVariableOp":
            problem = f"{attrs['variable'].name!r} cannot be assigned on the way in a default graph; use K.update."
            raise op_error(ValueError, op.name, problem)
        return super().add(op, inputs, attrs, *args, **kwargs)

    def key(self, seed: Any) -> Any:
        """A random key that is another one for each call of this method, and each time the graph is run."""
        return ops.random.fold_in(ops.random.fold_in(seed, next(self._keys)), trace.read_variable(self, self.runs))


def symbolic_graph() -> DefaultGraph | None:
    """The default graph, if ops on variables are recorded in it now; None where values are computed or traced."""
    current = trace.current_graph()
    if current is None:
        return None if recording.tapes else building.default
    while current.outer is not None:
        current = current.outer
    return current if isinstance(current, DefaultGraph) else None


def symbolic_key(seed: Any) -> Any:
    """A random key in the default graph, of two int32 words.

    Args:
        seed: an integer or a key.

    Returns:
        A graph Tensor: another key for each call of this function, and each time that the graph is run.
    """
    graph = symbolic_graph()
    assert graph is not None, "symbolic_graph() says so"
    return graph.key(seed)


def open_default_graph() -> DefaultGraph:
    """This thread's default graph, opened now if it was not open."""
    graph = symbolic_graph() or building.default
    if graph is None:
        graph = building.default = DefaultGraph()
    return graph


# -- placeholders -----------------------------------------------------------------------------------------------------


@k_function
def placeholder(
    shape: Any = None,
    ndim: int | None = None,
    dtype: Any = None,
    sparse: bool = False,
    name: str | None = None,
    ragged: bool = False,
) -> Any:
    """An input of the default graph.

    Args:
        shape: ints, with None for dimensions that are not known.
        ndim: the number of axes, where `shape` is not given.
        dtype: its type; `floatx` if not given.
        sparse, ragged: must be False.
        name: what the graph calls it.

    Returns:
        A graph Tensor, which has a value only while `K.function` runs.

    Raises:
        ValueError: it is to be both sparse and ragged; or a `dovetail.function` is being traced.
        NotImplementedError: it is to be sparse or ragged.

    Source: `tf.keras.backend.placeholder`.

    Differs: sparse and ragged placeholders are not offered.

    Modern: `keras.Input(batch_shape=shape, dtype=dtype)`.

    Example:
        >>> x = K.placeholder((None, 3))
        >>> x.shape, x.dtype
        ((None, 3), 'float32')
        >>> K.function([x], [K.sum(x, axis=1)])([[[1., 2., 3.]]])
        [array([6.], dtype=float32)]
        >>> K.clear_session()
    """
    if sparse or ragged:
        if sparse and ragged:
            raise k_error(ValueError, "placeholder", "a placeholder cannot be both sparse and ragged.")
        raise k_error(NotImplementedError, "placeholder", "tensors are dense here; feed the values of a dense one.")
    if trace.current_graph() is not None and symbolic_graph() is None:
        problem = "a function that is being traced has its arguments as inputs; make placeholders outside of it."
        raise k_error(ValueError, "placeholder", problem)
    if not shape and ndim:
        shape = (None,) * ndim
    graph = open_default_graph()
    return graph.placeholder(spec(shape, dtype or K.floatx()), name)
