"""TensorFlow's names of variables: the class, `get_variable` and its scopes, assignments, initialisation."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.core import Kind, nest_flatten
from dovetail.compat.tensorflow.names.graph import GraphKeys
from dovetail.compat.tensorflow.names.initializers import default_initializer
from dovetail.compat.tensorflow.table import absent, function, value
from dovetail.core.dtypes import as_dtype
from dovetail.core.errors import op_error
from dovetail.core.recording import not_building
from dovetail.core.value_kinds import register
from dovetail.core.variable import STATE
from dovetail.core.variable import Variable as DovetailVariable
from dovetail.graph.operation import GraphTensor

_numbers = itertools.count()


class _VariableOp:
    """What makes a variable, as far as programs ask for it."""

    def __init__(self, variable: Any) -> None:
        self.name, self.type, self.graph = variable.op_name, "VarHandleOp", variable.graph
        self.outputs = [variable]


class TFVariable(DovetailVariable):
    """A variable with the names and methods of TensorFlow's.

    In a graph it has its first value from the start, and `global_variables_initializer` gives it that again.

    Source: `tf.Variable`.

    Example:
        >>> v = TFVariable([1., 2.], name="v")
        >>> v.name, v.op.name, v.assign_add([1., 1.]).numpy()
        ('v:0', 'v', array([2., 3.], dtype=float32))
    """

    symbolic = True

    def __init__(
        self,
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
    ) -> None:
        if initial_value is None:
            raise op_error(ValueError, "tf.Variable", "it needs an initial_value: a tensor, numbers, or a function.")
        graph = graph_mode.graph()
        with graph_mode.inside(graph):
            first = initial_value() if callable(initial_value) else initial_value
            if isinstance(first, DovetailVariable):
                first = first.read()
        name = _unique(graph, name or "Variable")
        trainable = True if trainable is None else bool(trainable)
        super().__init__(first, dtype, f"{name}:0", trainable, constraint)
        self.graph = graph
        if graph is not None:
            if self.initial_value is None:
                self.initial_value = graph.constant(ops.convert(self.numpy()).numpy(), f"{name}/initial_value")
                graph.add_variable(self)
            if collections is not None:
                for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES):
                    if key not in collections and self in (found := graph.get_collection_ref(key)):
                        found.remove(self)
                graph.add_to_collections([key for key in collections if self not in graph.get_collection(key)], self)

    @property
    def op_name(self) -> str:
        return self.name.removesuffix(":0")

    @property
    def op(self) -> Any:
        return _VariableOp(self)

    @property
    def initializer(self) -> Any:
        """The operation that gives the first value again."""
        if self.graph is None:
            raise op_error(RuntimeError, "tf.Variable.initializer", "without a graph a variable has its value.")
        return self.graph.initializer([self], f"{self.op_name}/Assign")

    def initialized_value(self) -> Any:
        """The first value."""
        return self.initial_value

    def value(self) -> Any:  # a property in Dovetail, a method in TensorFlow
        """The value, as a tensor."""
        return self.read_value()

    def read_value(self) -> Any:
        """The value, as a tensor."""
        with graph_mode.inside(graph_mode.graph()):
            return self.read()

    def eval(self, session: Any = None) -> Any:
        """The value now, as an array."""
        return self.numpy()

    def load(self, value: Any, session: Any = None) -> None:
        """Gives it a value now, whatever is recorded."""
        with not_building():
            super().assign(value)

    def assign(self, value: Any, use_locking: bool = False, name: Any = None, read_value: bool = True) -> Any:
        """Gives it a value; in a graph, whenever the result is run."""
        with graph_mode.inside(graph_mode.graph()):
            return super().assign(value)

    def assign_add(self, delta: Any, use_locking: bool = False, name: Any = None, read_value: bool = True) -> Any:
        """Adds to its value; in a graph, whenever the result is run."""
        with graph_mode.inside(graph_mode.graph()):
            return super().assign_add(delta)

    def assign_sub(self, delta: Any, use_locking: bool = False, name: Any = None, read_value: bool = True) -> Any:
        """Subtracts from its value; in a graph, whenever the result is run."""
        with graph_mode.inside(graph_mode.graph()):
            return super().assign_sub(delta)

    def scatter_nd_update(self, indices: Any, updates: Any, name: Any = None) -> Any:
        """Gives slices of it values."""
        return self.assign(ops.tensor_scatter_update(self.read_value(), indices, updates))

    def scatter_nd_add(self, indices: Any, updates: Any, name: Any = None) -> Any:
        """Adds to slices of it."""
        return self.assign(ops.tensor_scatter_add(self.read_value(), indices, updates))

    def scatter_nd_sub(self, indices: Any, updates: Any, name: Any = None) -> Any:
        """Subtracts from slices of it."""
        return self.assign(ops.tensor_scatter_add(self.read_value(), indices, ops.negative(updates)))

    def set_shape(self, shape: Any) -> None:
        """Checks what is said of its shape."""
        self.shape.merge_with(shape)


register(TFVariable, STATE)


class AnyVariable(metaclass=Kind):
    """What `tf.Variable` makes, and what is one: all of Dovetail's variables.

    Source: `tf.Variable`.
    """

    kinds = (DovetailVariable,)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return TFVariable(*args, **kwargs)


class AnyVariableV1(metaclass=Kind):
    """As `tf.Variable`, with collections behind `trainable`.

    Source: `tf.compat.v1.Variable`.
    """

    kinds = (DovetailVariable,)

    def __new__(
        cls, initial_value: Any = None, trainable: Any = None, collections: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        kwargs["collections"] = collections
        return TFVariable(initial_value, trainable, *args, **kwargs)


value("Variable", AnyVariable, "v2")
value("Variable VariableV1", AnyVariableV1, "v1")


def _unique(graph: Any, name: str) -> str:
    """A name that no other variable of the graph has, behind the name scope."""
    if graph is None:
        return name
    taken = {v.op_name for key in ("variables", "local_variables") for v in graph.outermost.get_collection(key)}
    whole = name if _scopes.makes_variable else f"{graph.scope}{name}"
    return next(n for n in itertools.chain([whole], (f"{whole}_{i}" for i in itertools.count(1))) if n not in taken)


# -- scopes of variables ----------------------------------------------------------------------------------------------


class _Reuse:
    """That a variable is taken if it is there, and made if not."""

    def __repr__(self) -> str:
        return "AUTO_REUSE"


AUTO_REUSE = _Reuse()
value("AUTO_REUSE", AUTO_REUSE, "v1")


class VariableScope:
    """A scope of `get_variable`: what names begin with, and what variables have that say nothing else.

    Source: `tf.compat.v1.VariableScope`.
    """

    def __init__(self, name: str = "", original_name_scope: str = "", **defaults: Any) -> None:
        self.name, self.original_name_scope = name, original_name_scope
        self.reuse = defaults.get("reuse")
        self.initializer = defaults.get("initializer")
        self.regularizer = defaults.get("regularizer")
        self.custom_getter = defaults.get("custom_getter")
        self.dtype = defaults.get("dtype")
        self.constraint = defaults.get("constraint")

    def reuse_variables(self) -> None:
        """From here on variables are taken that are there."""
        self.reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Says what gives variables their first values."""
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        """Says what makes losses of variables."""
        self.regularizer = regularizer

    def get_collection(self, name: Any) -> list[Any]:
        """What is in a collection, of this scope."""
        prefix = f"{self.name}/" if self.name else ""
        return graph_mode.open_graph().get_collection(name, prefix or None)

    def global_variables(self) -> list[Any]:
        """The variables of this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def trainable_variables(self) -> list[Any]:
        """The variables of this scope that are trained."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)


class _Scopes(threading.local):
    """The scopes that are open in this thread, outermost first."""

    def __init__(self) -> None:
        self.stack: list[tuple[Any, VariableScope]] = []
        self.makes_variable = False


_scopes = _Scopes()


@function("get_variable_scope", "v1")
def get_variable_scope() -> VariableScope:
    """The innermost scope of variables.

    Source: `tf.compat.v1.get_variable_scope`.
    """
    graph = graph_mode.open_graph()
    found = next((scope for owner, scope in reversed(_scopes.stack) if owner is graph), None)
    if found is None:
        roots = graph.get_collection_ref("_variable_scope")
        if not roots:
            roots.append(VariableScope())
        found = roots[0]
    return found


@contextmanager
def variable_scope(
    name_or_scope: Any,
    default_name: str | None = None,
    values: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: Any = None,
    constraint: Any = None,
    auxiliary_name_scope: bool = True,
) -> Iterator[VariableScope]:
    """A scope of `get_variable`, and of names.

    Args:
        name_or_scope: a name, behind that of the scope around, or a scope that was open before; None for a new name
            made of `default_name`.
        reuse: True if variables must be there, `tf.AUTO_REUSE` if they may.

    Raises:
        ValueError: there is no name.

    Source: `tf.compat.v1.variable_scope`.
    """
    around, store = get_variable_scope(), graph_mode.store()
    if name_or_scope is None and default_name is None:
        raise op_error(ValueError, "tf.variable_scope", "it needs a name, a scope or default_name.")
    if isinstance(name_or_scope, VariableScope):
        name, last, like = name_or_scope.name, name_or_scope.name.rpartition("/")[2], name_or_scope
    else:
        prefix = f"{around.name}/" if around.name else ""
        last, like = name_or_scope or str(default_name), around
        count = store.variable_scopes[prefix + last]
        store.variable_scopes[prefix + last] += 1
        if name_or_scope is None and count:
            last = f"{last}_{count}"
        name = prefix + last
    inherited = around.reuse if like is around or around.reuse is True else like.reuse
    defaults = {
        "reuse": inherited if reuse is None else reuse or around.reuse,
        "initializer": like.initializer if initializer is None else initializer,
        "regularizer": like.regularizer if regularizer is None else regularizer,
        "custom_getter": _nested(like.custom_getter, custom_getter),
        "dtype": like.dtype if dtype is None else dtype,
        "constraint": like.constraint if constraint is None else constraint,
    }
    graph = graph_mode.open_graph()
    names = graph_mode.name_scope(last) if auxiliary_name_scope and last else _no_scope()
    with graph_mode.inside(graph), names as opened:
        scope = VariableScope(name, opened or "", **defaults)
        _scopes.stack.append((graph, scope))
        try:
            yield scope
        finally:
            _scopes.stack.pop()


@contextmanager
def _no_scope() -> Iterator[str]:
    yield ""


def _nested(outer: Any, inner: Any) -> Any:
    """A getter around another."""
    if inner is None or outer is None:
        return inner or outer
    return lambda getter, *args, **kwargs: inner(lambda *a, **k: outer(getter, *a, **k), *args, **kwargs)


value("variable_scope variable_op_scope", variable_scope, "v1")
value("VariableScope", VariableScope, "v1")


@function("get_variable", "v1")
def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: Any = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Any:
    """The variable of a name in the innermost scope: a new one, or the one that is there, as the scope says.

    Raises:
        ValueError: it is there and must not be, or is not and must be; or its shape or dtype is another one.

    Source: `tf.compat.v1.get_variable`.
    """
    scope = get_variable_scope()
    options = {
        "shape": shape,
        "dtype": as_dtype(scope.dtype or "float32") if dtype is None else as_dtype(dtype),
        "initializer": scope.initializer if initializer is None else initializer,
        "regularizer": scope.regularizer if regularizer is None else regularizer,
        "trainable": trainable,
        "collections": collections,
        "constraint": scope.constraint if constraint is None else constraint,
        "reuse": scope.reuse,
    }
    whole = f"{scope.name}/{name}" if scope.name else name
    getter = _nested(scope.custom_getter, custom_getter)
    return _got(whole, **options) if getter is None else getter(_got, whole, **options)


def _got(
    name: str,
    shape: Any = None,
    dtype: Any = "float32",
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Any = None,
    constraint: Any = None,
    reuse: Any = None,
    **options: Any,
) -> Any:
    graph, known = graph_mode.open_graph(), graph_mode.store().variables
    found = known.get(name)
    if found is not None:
        return _reused(found, name, shape, dtype, reuse)
    if reuse is True:
        problem = f"there is no variable {name!r} to reuse; was it made by get_variable, and without reuse?"
        raise op_error(ValueError, "tf.get_variable", problem)
    with graph_mode.inside(graph), graph.at_scope(f"{name}/Initializer/"):
        first = _first_value(name, shape, as_dtype(dtype), initializer)
    with graph_mode.inside(graph):
        made = named_variable(name, first, trainable, dtype, collections=collections, constraint=constraint)
    known[name] = made
    if regularizer is not None:
        with graph_mode.inside(graph), graph.at_scope(f"{name}/Regularizer/"):
            loss = regularizer(made)
        if loss is not None:
            graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return made


def named_variable(name: str, first: Any, trainable: bool | None = False, dtype: Any = None, **options: Any) -> Any:
    """A variable of a whole name, whatever name scope is around."""
    _scopes.makes_variable = True
    try:
        return TFVariable(first, trainable, name=name, dtype=dtype, **options)
    finally:
        _scopes.makes_variable = False


def _reused(found: Any, name: str, shape: Any, dtype: Any, reuse: Any) -> Any:
    if not reuse:
        problem = (
            f"the variable {name!r} is there already; say reuse=True or reuse=tf.AUTO_REUSE to its variable_scope."
        )
        raise op_error(ValueError, "tf.get_variable", problem)
    if shape is not None and not found.shape.is_compatible_with(shape if hasattr(shape, "__iter__") else [shape]):
        problem = f"the variable {name!r} has the shape {found.shape}, not {tuple(shape)}."
        raise op_error(ValueError, "tf.get_variable", problem)
    if found.dtype != as_dtype(dtype):
        raise op_error(ValueError, "tf.get_variable", f"the variable {name!r} is of {found.dtype}, not of {dtype}.")
    return found


def _first_value(name: str, shape: Any, dtype: Any, initializer: Any) -> Any:
    if initializer is not None and not callable(initializer):
        if shape is not None:
            raise op_error(ValueError, "tf.get_variable", "with numbers as initializer there must be no shape.")
        return ops.cast(initializer, dtype) if isinstance(initializer, GraphTensor) else ops.convert(initializer, dtype)
    if shape is None:
        problem = f"the shape of a new variable ({name!r}) must be said, or its initializer be numbers."
        raise op_error(ValueError, "tf.get_variable", problem)
    dims = [int(dim) for dim in (shape if hasattr(shape, "__iter__") else [shape])]
    if isinstance(initializer, type):
        initializer = initializer()
    if initializer is None:
        initializer = default_initializer(dtype)
    try:
        return initializer(dims, dtype=dtype)
    except TypeError:
        return initializer(dims)


# -- assignments, lists of variables ----------------------------------------------------------------------------------


@function("assign", "v1")
def assign(ref: Any, value: Any, validate_shape: Any = None, use_locking: Any = None, name: str | None = None) -> Any:
    """Gives a variable a value; in a graph, whenever the result is run.

    Source: `tf.compat.v1.assign`.
    """
    return ref.assign(value)


@function("assign_add", "v1")
def assign_add(ref: Any, value: Any, use_locking: Any = None, name: str | None = None) -> Any:
    """Adds to a variable; in a graph, whenever the result is run.

    Source: `tf.compat.v1.assign_add`.
    """
    return ref.assign_add(value)


@function("assign_sub", "v1")
def assign_sub(ref: Any, value: Any, use_locking: Any = None, name: str | None = None) -> Any:
    """Subtracts from a variable; in a graph, whenever the result is run.

    Source: `tf.compat.v1.assign_sub`.
    """
    return ref.assign_sub(value)


def _listing(names: str, key: str) -> None:
    @function(names, "v1")
    def variables(scope: str | None = None) -> list[Any]:
        return graph_mode.open_graph().get_collection(key, scope)


_listing("global_variables all_variables", GraphKeys.GLOBAL_VARIABLES)
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

    Source: `tf.compat.v1.variables_initializer`.
    """
    return graph_mode.open_graph().initializer([v for v in nest_flatten(list(var_list)) if v is not None], name)


@function("is_variable_initialized", "v1")
def is_variable_initialized(variable: Any) -> Any:
    """Whether a variable has a value: it always has.

    Source: `tf.compat.v1.is_variable_initialized`.
    """
    return ops.convert(np.array(True))


@function("report_uninitialized_variables", "v1")
def report_uninitialized_variables(var_list: Any = None, name: str = "") -> Any:
    """The names of variables without a value: none.

    Source: `tf.compat.v1.report_uninitialized_variables`.
    """
    return np.array([], dtype=object)


absent("IndexedSlices", "Gradients are dense here: compute with the tensor itself.")
