"""TensorFlow's names for variables: the class, assignments, lists of variables, initialisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.array.core import Kind
from dovetail.compat.tensorflow.names.array.structures import nest_flatten
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys
from dovetail.compat.tensorflow.names.graph.python_calls import count_up_to
from dovetail.compat.tensorflow.names.strings.tensors import StringVariable, in_graph
from dovetail.compat.tensorflow.names.strings.text import is_text
from dovetail.compat.tensorflow.names.variables.variable_views import Assigned, Slice, named
from dovetail.compat.tensorflow.table import function, in_v1
from dovetail.compat.tf_graph.variable_operation import VariableOperation
from dovetail.core.base.errors import op_error
from dovetail.core.base.scopes import Scoped, not_building
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.creations import once
from dovetail.core.values.structure import leaf
from dovetail.core.values.value_kinds import is_tensor, register, static_shape, unwrapped
from dovetail.core.values.variable import STATE
from dovetail.core.values.variable import Variable as DovetailVariable
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.graph.graph_scopes import put_in_scope
from dovetail.graph.naming import check_name
from dovetail.graph.nesting import outermost_of
from dovetail.graph.operation import GraphTensor
from dovetail.ops.shapes.shape import dims_of
from dovetail.sessions import session as sessions
from dovetail.sessions.variable import Presence, SessionVariable
from dovetail.trace import variables


class _Names(DovetailVariable):
    """The names and methods of TensorFlow's variables.

    Attributes:
        graph: the graph of its session; None outside of graphs.
        op: the operation that programs find in TensorFlow's variables.
    """

    symbolic = True
    graph: Any = None

    def _begin(self, *args: Any, **kwargs: Any) -> None:
        super()._begin(*args, **kwargs)
        self.op = VariableOperation(self)

    @property
    def op_name(self) -> str:
        return self.name.removesuffix(":0")

    def value(self) -> Any:  # a property in Dovetail, a method in TensorFlow
        """The value, as a tensor."""
        return self.read_value()

    def read_value(self) -> Any:
        """The value, as a tensor."""
        return self.read()

    def eval(self, session: Any = None) -> Any:
        """The value now in a session, as an array."""
        return self.numpy() if session is None else session.run(self)

    def load(self, value: Any, session: Any = None) -> None:
        """Assign it at once in a session, even while a graph is recorded."""
        with not_building() if session is None else session.as_default(), not_building():
            super().assign(value)

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: Any = None,
        read_value: bool = True,
        validate_shape: bool = True,
    ) -> Any:
        """Assign it; in a graph, whenever the result is run.

        Args:
            validate_shape: whether the value must have the variable's shape.  If not, a variable of a graph gets a
                shape that fits both, for reads that are recorded from then on.
        """
        with graph_mode.inside(graph_mode.graph()):
            if not validate_shape and isinstance(self, TFGraphVariable):
                self.take_shape(static_shape(value))
            return named(self._assigned(super().assign(value)), name, read_value)

    def assign_changed(self, change: Callable[..., Any], *operands: Any) -> Any:
        with graph_mode.inside(graph_mode.graph()):
            return self._assigned(super().assign_changed(change, *operands))

    def assign_add(self, delta: Any, use_locking: bool = False, name: Any = None, read_value: bool = True) -> Any:
        """Add to its value; in a graph, whenever the result is run."""
        return named(super().assign_add(delta), name, read_value)

    def assign_sub(self, delta: Any, use_locking: bool = False, name: Any = None, read_value: bool = True) -> Any:
        """Subtract from its value; in a graph, whenever the result is run."""
        return named(super().assign_sub(delta), name, read_value)

    def _assigned(self, found: Any) -> Any:
        return Assigned(self, found.op) if isinstance(found, GraphTensor) else found

    def __getitem__(self, index: Any) -> Slice:
        with graph_mode.inside(graph_mode.graph()):
            element = super().__getitem__(index) if static_shape(self) is not None else self.read()[index]
            return Slice(self, element, index)

    def count_up_to(self, limit: int) -> Any:
        """The value, to which a run then adds 1; from the limit on, a run raises IndexError."""
        return count_up_to(self, limit)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """A message `VariableDef` with its names; without the scope, and None for a variable outside of it.

        Source: `tf.Variable.to_proto`.
        """
        scope = f"{export_scope}/" if export_scope else ""
        if not self.name.startswith(scope):
            return None
        name = self.op_name.removeprefix(scope)
        return TENSORFLOW.VariableDef(
            variable_name=f"{name}:0",
            initial_value_name=f"{name}/initial_value:0",
            initializer_name=f"{name}/Assign",
            snapshot_name=f"{name}/Read:0",
            is_resource=True,
            trainable=self.trainable,
        )

    def set_shape(self, shape: Any) -> None:
        """Check that its shape fits another one."""
        self.shape.merge_with(shape)


class TFVariable(_Names):
    """A variable with the names and methods of TensorFlow's, outside of graphs.

    Source: `tf.Variable`.

    Example:
        >>> import dovetail.compat.tensorflow as tf
        >>> v = tf.Variable([1., 2.], name="v")
        >>> v.name, v.op.name, v.assign_add([1., 1.]).numpy()
        ('v:0', 'v', array([2., 3.], dtype=float32))
    """

    @property
    def initializer(self) -> Any:
        """The operation that gives the first value again, which only variables of graphs have."""
        raise op_error(RuntimeError, "tf.Variable.initializer", "without a graph a variable has its value.")


class TFGraphVariable(_Names, SessionVariable):
    """A variable with the names and methods of TensorFlow's, in a graph.

    Each session has its own value, from the run of its initializer or of an assignment on; reads before raise
    RuntimeError, which is `tf.errors.FailedPreconditionError`.

    Source: `tf.compat.v1.Variable`.
    """

    begins_alone = False
    _initializer: Any = None
    _save_slice_info = None  # which TF-Slim reads: a variable is whole

    @classmethod
    def of_graph(cls, graph: Any, shape: Any, dtype: Any, name: str, trainable: bool) -> TFGraphVariable:
        """Make a variable of a graph without a first value, which is in no collection."""
        made: Any = cls.without_value(shape, dtype, name)
        made.session_graph, made.trainable = graph, trainable
        return made

    def _get_save_slice_info(self) -> Any:
        return self._save_slice_info

    def _set_save_slice_info(self, save_slice_info: Any) -> None:
        self._save_slice_info = save_slice_info

    @property
    def graph(self) -> Any:
        return self.session_graph

    def place(self, graph: Any) -> None:
        """Take the device from the scopes of a graph, and let its session graph find the operation by name."""
        put_in_scope(graph, self.op)
        outermost: Any = outermost_of(graph)
        outermost.add_variable_operation(self.op)

    @property
    def device(self) -> str:
        """The device of the `tf.device` scope in which it was made."""
        return self.op.device

    @property
    def initializer(self) -> Any:
        """The operation that gives the first value again."""
        if self._initializer is None or self._initializer.is_removed:
            self._initializer = self.session_graph.initializer([self], f"{self.op_name}/Assign")
        return self._initializer

    def begin_with(self, value: Any) -> None:
        """Let it begin with a value, in initializers that are made from now on, and in new sessions."""
        array = np.asarray(value).astype(self.dtype.numpy)
        self.begin_with_tensor(self.session_graph.constant(array, f"{self.op_name}/initial_value"))

    def begin_with_tensor(self, first: Any, assignment: Any = None) -> None:
        """Let it begin with the value of a tensor of the graph, which an assignment of the graph may give it."""
        self.initial_value, self._initializer = first, assignment

    def take_shape(self, shape: Any) -> None:
        """Let its values also have another shape: dimensions that differ are unknown from then on, or the rank is."""
        other = shape_of(shape)
        if other.rank is not None and self.shape.rank is not None:
            dims = [n if n == m else None for n, m in zip(self.shape, other, strict=False)]
            self.shape = shape_of(dims if other.rank == self.shape.rank else None)

    def set_shape(self, shape: Any) -> None:
        """Say more of its shape, for reads that are recorded from then on.

        Raises:
            ValueError: its shape does not fit.
        """
        self.shape = self.shape.merge_with(shape)

    def initialized_value(self) -> Any:
        """The first value."""
        return self.initial_value

    def read_value(self) -> Any:
        """The value, as the tensor of a read operation of its own."""
        graph = graph_mode.graph()
        with graph_mode.inside(graph):
            return (
                self.read() if graph is None or not graph.dialect.records_effects else variables.add_read(graph, self)
            )

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_initializer": None}

    def adopted(self, graph: Any) -> None:
        super().adopted(graph)
        graph.add_variable_operation(self.op)


register(TFVariable, STATE)
register(TFGraphVariable, STATE)


def variable(
    initial_value: Any = None,
    trainable: bool | None = None,
    validate_shape: bool = True,
    caching_device: Any = None,
    name: str | None = None,
    variable_def: Any = None,
    dtype: Any = None,
    import_scope: Any = None,
    constraint: Any = None,
    synchronization: Any = None,
    aggregation: Any = None,
    shape: Any = None,
    collections: Sequence[str] | None = None,
    use_resource: Any = None,
    expected_shape: Any = None,
    **options: Any,
) -> Any:
    """A variable of the session graph that is being built; without a graph, a variable with its value at once."""
    if initial_value is None:
        raise op_error(ValueError, "tf.Variable", "it needs an initial_value: a tensor, numbers, or a function.")
    _check_given(variable_def, options)
    trainable = True if trainable is None else bool(trainable)
    collections = None if collections is None else _with_trainable(collections, trainable)
    built = graph_mode.graph()
    if is_text(initial_value, dtype) and built is not None:
        first, options = in_graph(initial_value).numbers, {"validate_shape": validate_shape, "shape": shape}
        return StringVariable(variable(first, False, name=name, collections=collections, **options))
    if built is None:
        first = initial_value() if callable(initial_value) else initial_value
        _check_shape(shape, first if is_tensor(first) else np.asarray(first))
        return once(lambda: TFVariable(first, dtype, f"{name or 'Variable'}:0", trainable, constraint))
    with graph_mode.lifted() as graph, graph.at_scope(built.scope):
        whole = unique_name(graph, name or "Variable")
        first = first_tensor(graph, initial_value, dtype, whole)
        _check_shape(shape, first)
        made = TFGraphVariable(first, None, f"{whole}:0", trainable, constraint)
    if shape is not None:
        made.shape = shape_of(shape)
    if not validate_shape:
        made.shape = shape_of([None] * made.shape.rank if made.shape.rank else None)
    made.place(built)
    if collections is not None:
        for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES):
            if key not in collections and made in (collected := graph.get_collection_ref(key)):
                collected.remove(made)
        graph.add_to_collections([key for key in collections if made not in graph.get_collection(key)], made)
    return made


def first_tensor(graph: Any, initial_value: Any, dtype: Any, name: str) -> Any:
    """The first value of a variable as a tensor of a graph."""
    first = initial_value() if callable(initial_value) else initial_value
    first = first.read() if isinstance(first, DovetailVariable) else unwrapped(first)
    if not isinstance(first, GraphTensor):
        return graph.constant(ops.convert(first, dtype).numpy(), f"{name}/initial_value")
    return first if dtype is None or first.dtype == as_dtype(dtype) else ops.cast(first, dtype)


class AnyVariable(metaclass=Kind):
    """The class `tf.Variable`: all of Dovetail's variables are instances, and calls make TensorFlow's variables.

    Source: `tf.Variable`.
    """

    kinds = (DovetailVariable, Assigned)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return variable(*args, **kwargs)


class AnyVariableV1(metaclass=Kind):
    """The class `tf.Variable` with `collections` after `trainable`.

    Source: `tf.compat.v1.Variable`.
    """

    kinds = (DovetailVariable, Assigned)

    def __new__(
        cls, initial_value: Any = None, trainable: Any = None, collections: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        kwargs["collections"] = collections
        graph_mode.open_for_variables()
        return variable(initial_value, trainable, *args, **kwargs)


value("Variable", AnyVariable, "v2")
value("Variable VariableV1", AnyVariableV1, "v1")


_has_whole_name: Scoped[bool] = Scoped(False)  # whether new variables get their name without the name scope


def unique_name(graph: Any, name: str) -> str:
    """A name in the name scope that nothing else in the graph has."""
    scope = "" if _has_whole_name.get() else graph.scope
    check_name(name, scope)
    with graph.at_scope(scope):
        return graph.unique_name(name)


def _check_given(variable_def: Any, options: Mapping[str, Any]) -> None:
    """Refuse arguments of `tf.Variable` that are not offered."""
    if variable_def is not None:
        problem = "a definition of a variable is not read: give initial_value, and leave variable_def out."
        raise op_error(NotImplementedError, "tf.Variable", problem)
    if options:
        raise op_error(TypeError, "tf.Variable", f"no argument {', '.join(map(repr, options))}.")


def _check_shape(shape: Any, first: Any) -> None:
    """Refuse a shape of a new variable that its first value does not have."""
    if not shape_of(shape).is_compatible_with(static_shape(first)):
        problem = f"the initial value has the shape {static_shape(first)}, not {shape_of(shape)}."
        raise op_error(ValueError, "tf.Variable", problem)


def _with_trainable(collections: Any, trainable: bool) -> list[Any]:
    """The collections of a new variable: the given ones, and the trained variables if it is trained."""
    if not isinstance(collections, (list, tuple, set)):
        problem = f"collections must be a list, a tuple or a set of keys, not {collections!r}."
        raise op_error(ValueError, "tf.Variable", problem)
    return list(dict.fromkeys([*collections, *([GraphKeys.TRAINABLE_VARIABLES] if trainable else [])]))


def named_variable(name: str, first: Any, trainable: bool | None = False, dtype: Any = None, **options: Any) -> Any:
    """A variable with this whole name, in any name scope."""
    with _has_whole_name.scope(True):
        return variable(first, trainable, name=name, dtype=dtype, **options)


@function("assign", "v1")
def assign(
    ref: Any, value: Any, validate_shape: bool | None = None, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Assign a variable; in a graph, whenever the result is run.

    Args:
        validate_shape: False lets a variable of a graph take values of another shape; see `Variable.assign`.

    Source: `tf.compat.v1.assign`.
    """
    options = {"validate_shape": False} if validate_shape is False else {}
    with graph_mode.inside(graph_mode.graph()):
        return named(ref.assign(value, **options), name)


def _assigning(title: str, does: str) -> Callable[..., Any]:
    def assign(ref: Any, value: Any, name: str | None = None) -> Any:
        with graph_mode.inside(graph_mode.graph()):
            return named(getattr(ref, title)(value), name)

    assign.__doc__ = f"""{does} a variable; in a graph, whenever the result is run.

    Source: `tf.compat.v1.{title}`.
    """
    return in_v1(function(title, "v1", v1="ref value use_locking name")(assign))


assign_add = _assigning("assign_add", "Add to")
assign_sub = _assigning("assign_sub", "Subtract from")


def _scatter_sub(x: Any, places: Any, changes: Any) -> Any:
    return ops.tensor_scatter_add(x, places, ops.negative(changes))


def _scatter_div(x: Any, places: Any, changes: Any) -> Any:
    return ops.tensor_scatter_mul(x, places, ops.reciprocal(changes))


def _scattering(title: str, change: Any, *, nd: bool = True) -> None:
    @function(f"scatter_{title}", "v1")
    def scatter(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
        rows, is_known = ops.convert(indices), shape_of(ref.shape).is_fully_defined()
        inner = list(ref.shape[1:]) if is_known else dims_of(ref.read())[1:]
        wide = ops.broadcast_to(ops.convert(updates, ref.dtype), [*dims_of(rows), *inner])
        places, changes = ops.reshape(rows, (-1, 1)), ops.reshape(wide, (-1, *inner))
        return named(ref.assign_changed(change, places, changes), name)

    @function(f"scatter_nd_{title}", "v1" if nd else "")
    def scatter_nd(ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None) -> Any:
        return named(ref.assign_changed(change, indices, updates), name)

    def scatter_slices(self: Any, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return scatter(self, sparse_delta.indices, sparse_delta.values, name=name)

    def scatter_nd_slices(self: Any, indices: Any, updates: Any, name: str | None = None) -> Any:
        return scatter_nd(self, indices, updates, name=name)

    for method, kind in ((scatter_slices, "scatter"), (scatter_nd_slices, "scatter_nd")):
        setattr(_Names, f"{kind}_{title}", method)
    scatter.__doc__ = f"""Slices of a variable along its first axis: `{title}`.

    Source: `tf.compat.v1.scatter_{title}`.
    """
    scatter_nd.__doc__ = f"""Slices of a variable: `{title}`.

    Source: `tf.compat.v1.scatter_nd_{title}`.
    """


_scattering("update", ops.tensor_scatter_update)
_scattering("add", ops.tensor_scatter_add)
_scattering("sub", _scatter_sub)
_scattering("mul", ops.tensor_scatter_mul, nd=False)
_scattering("div", _scatter_div, nd=False)
_scattering("max", ops.tensor_scatter_max)
_scattering("min", ops.tensor_scatter_min)


def _listing(names: str, key: str) -> Callable[..., Any]:
    @function(names, "v1")
    def variables(scope: str | None = None) -> list[Any]:
        return graph_mode.open_graph().get_collection(key, scope)

    return in_v1(variables)


global_variables = _listing("global_variables all_variables", GraphKeys.GLOBAL_VARIABLES)
_listing("trainable_variables", GraphKeys.TRAINABLE_VARIABLES)
_listing("local_variables", GraphKeys.LOCAL_VARIABLES)
_listing("model_variables", GraphKeys.MODEL_VARIABLES)
_listing("moving_average_variables", GraphKeys.MOVING_AVERAGE_VARIABLES)


@function("global_variables_initializer initialize_all_variables initializers.global_variables", "v1")
def global_variables_initializer() -> Any:
    """The operation that gives all variables their first values again.

    Source: `tf.compat.v1.global_variables_initializer`.
    """
    return variables_initializer(graph_mode.open_graph().get_collection(GraphKeys.GLOBAL_VARIABLES))


@function("local_variables_initializer", "v1")
def local_variables_initializer() -> Any:
    """The operation that gives local variables their first values again.

    Source: `tf.compat.v1.local_variables_initializer`.
    """
    return variables_initializer(graph_mode.open_graph().get_collection(GraphKeys.LOCAL_VARIABLES))


@function("variables_initializer initialize_variables", "v1")
def variables_initializer(var_list: Any, name: str = "init") -> Any:
    """The operation that gives variables their first values again.

    Weights of Keras' layers that a program or a file gave values keep them.

    Source: `tf.compat.v1.variables_initializer`.
    """
    begun = [v for v in nest_flatten(list(var_list)) if v is not None and not getattr(v, "is_given", False)]
    return graph_mode.open_graph().initializer(begun, name)


@function("is_variable_initialized", "v1")
def is_variable_initialized(variable: Any) -> Any:
    """Whether a variable has a value in the session, at the start of a run; outside of graphs it always has.

    Source: `tf.compat.v1.is_variable_initialized`.
    """
    with graph_mode.inside(graph := graph_mode.graph()):
        is_absent = graph is not None and isinstance(variable, SessionVariable)
        return Presence(variable).read() if is_absent else ops.convert(np.array(True))


@function("report_uninitialized_variables", "v1")
def report_uninitialized_variables(var_list: Any = None, name: str = "") -> Any:
    """The names of variables without a value in the session, at the start of a run.

    Args:
        var_list: the variables; if not given, all global and local ones.

    Source: `tf.compat.v1.report_uninitialized_variables`.
    """
    return _Absent(_all_variables() if var_list is None else list(var_list))


@function("assert_variables_initialized", "v1")
def assert_variables_initialized(var_list: Any = None) -> Any:
    """The operation that raises RuntimeError if a variable has no value in the session; None without variables.

    Source: `tf.compat.v1.assert_variables_initialized`.
    """
    with graph_mode.inside(graph := graph_mode.open_graph()):
        reads = [v.read().op for v in (_all_variables() if var_list is None else var_list)]
        return graph.group(*reads) if reads else None


def _all_variables() -> list[Any]:
    graph = graph_mode.open_graph()
    return [v for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES) for v in graph.get_collection(key)]


@leaf
class _Absent:
    """The names of those of some variables that have no value, which sessions can run."""

    def __init__(self, variables: Sequence[Any]) -> None:
        self._names = [v.op_name for v in variables]
        self.tensors = [is_variable_initialized(v) for v in variables]

    def written(self, arrays: Any) -> np.ndarray:
        """The result in a session."""
        return np.array([n.encode() for n, has in zip(self._names, arrays, strict=True) if not has], dtype=object)

    def eval(self, feed_dict: Any = None, session: Any = None) -> np.ndarray:
        """The names."""
        return sessions.run(self, feed_dict, graph_mode.open_graph(), session)


class VariableSynchronization(Enum):
    """When the copies of a variable are made equal: there is one copy.

    Source: `tf.VariableSynchronization`.
    """

    AUTO, NONE, ON_WRITE, ON_READ = range(4)


class VariableAggregation(Enum):
    """How the copies of a variable are added up: there is one copy.

    Source: `tf.VariableAggregation`.
    """

    NONE, SUM, MEAN, ONLY_FIRST_REPLICA = range(4)


value("VariableSynchronization", VariableSynchronization)
value("VariableAggregation", VariableAggregation)


class IndexedSlices:
    """Some rows of a tensor whose other rows are 0.  Gradients here are always dense.

    Args:
        values: the rows.
        indices: their row numbers; rows with the same number add up.
        dense_shape: the shape of the whole tensor, as `tf.convert_to_tensor` makes it.

    Source: `tf.IndexedSlices`.
    """

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self.values, self.indices, self.dense_shape = values, indices, dense_shape

    @property
    def dtype(self) -> Any:
        return ops.convert(self.values).dtype

    def to_dense(self) -> Any:
        """The whole tensor.

        Raises:
            ValueError: its shape is not known.
        """
        if self.dense_shape is None:
            raise op_error(ValueError, "tf.IndexedSlices", "to_dense needs dense_shape: give it to tf.IndexedSlices.")
        return ops.scatter_nd(ops.expand_dims(self.indices, -1), self.values, tuple(map(int, self.dense_shape)))


value("IndexedSlices", IndexedSlices)
