"""TensorFlow 1's names of scopes of variables: `variable_scope`, and the variables that are got by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from dovetail import ops
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.graph import GraphKeys
from dovetail.compat.tensorflow.names.initializers import default_initializer
from dovetail.compat.tensorflow.names.variables import named_variable
from dovetail.compat.tensorflow.table import function, value
from dovetail.core.dtypes import as_dtype
from dovetail.core.errors import op_error
from dovetail.core.scopes import Scoped
from dovetail.graph.operation import GraphTensor


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
        self.reuse = defaults.get("reuse", False)
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


_open: Scoped[tuple[tuple[Any, VariableScope], ...]] = Scoped(())  # graphs and their scopes, outermost first


@function("get_variable_scope", "v1")
def get_variable_scope() -> VariableScope:
    """The innermost scope of variables.

    Source: `tf.compat.v1.get_variable_scope`.
    """
    graph = graph_mode.open_graph()
    found = next((scope for owner, scope in reversed(_open.get()) if owner is graph), None)
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
        last, like = str(default_name) if name_or_scope is None else name_or_scope, around
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
    with graph_mode.inside(graph_mode.graph() or graph), names as opened:
        scope = VariableScope(name, opened or "", **defaults)
        with _open.scope((*_open.get(), (graph, scope))):
            yield scope


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
    with graph_mode.lifted(), graph.at_scope(f"{name}/Initializer/"):
        first = _first_value(name, shape, as_dtype(dtype), initializer)
    made = named_variable(name, first, trainable, dtype, collections=collections, constraint=constraint)
    known[name] = made
    if regularizer is not None:
        with graph_mode.lifted(), graph.at_scope(f"{name}/Regularizer/"):
            loss = regularizer(made)
        if loss is not None:
            graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return made


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


class Template:
    """A function of which each call uses the variables that the first one made.

    Source: `tf.compat.v1.make_template`.
    """

    def __init__(self, name: str, function: Callable[..., Any], unique_name: str | None, getter: Any) -> None:
        self._name, self._function, self._unique_name, self._getter = name, function, unique_name, getter
        self._scope: VariableScope | None = None

    def open(self) -> AbstractContextManager[VariableScope]:
        """The scope of its variables; the first time, a new one."""
        if self._scope is not None:
            return variable_scope(self._scope)
        return variable_scope(self._unique_name, self._name, custom_getter=self._getter)

    def begin(self) -> None:
        """Takes the name of a scope, before the first call."""
        with self.open() as self._scope:
            pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with self.open() as scope:
            self._scope = scope
            result = self._function(*args, **kwargs)
            scope.reuse_variables()
            return result

    @property
    def variable_scope_name(self) -> str | None:
        """What the names of its variables begin with; None before the first call."""
        return None if self._scope is None else f"{self._scope.name}/"

    @property
    def variables(self) -> list[Any]:
        """Its variables."""
        return [] if self._scope is None else self._scope.global_variables()

    @property
    def trainable_variables(self) -> list[Any]:
        """Its variables that are trained."""
        return [] if self._scope is None else self._scope.trainable_variables()


@function("make_template", "v1")
def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Template:
    """A function of which each call uses the variables that the first one made.

    Args:
        name_: what the names of its variables begin with; a number is added if that is taken.
        func_: gets variables by `get_variable`; `kwargs` are some of its arguments.
        create_scope_now_: whether the name is taken now, and not at the first call.
        unique_name_: a name to which no number is added.
        custom_getter_: as of `variable_scope`.

    Source: `tf.compat.v1.make_template`.
    """
    template = Template(name_, partial(func_, **kwargs) if kwargs else func_, unique_name_, custom_getter_)
    if create_scope_now_:
        template.begin()
    return template
