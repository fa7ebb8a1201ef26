"""TensorFlow 1's names for scopes of variables: `variable_scope`, and variables by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import Enum
from functools import partial, wraps
from inspect import signature
from itertools import chain, count
from typing import Any

from dovetail.autodiff.custom import custom_gradient
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.graph.graph import GraphKeys, graph_of
from dovetail.compat.tensorflow.names.variables.named_variables import named, new_dtype
from dovetail.compat.tensorflow.table import arguments_of, function
from dovetail.core.base.errors import op_error
from dovetail.core.base.scopes import Scoped
from dovetail.core.dtypes import as_dtype
from dovetail.graph.naming import check_name
from dovetail.graph.nesting import outermost_of


class _ReuseMode(Enum):
    """Whether variables are reused: `AUTO_REUSE` takes a variable if it exists, and makes it if not."""

    AUTO_REUSE = 1


AUTO_REUSE = _ReuseMode.AUTO_REUSE
value("AUTO_REUSE", AUTO_REUSE, "v1")


class VariableScope:
    """A scope of `get_variable`: the prefix of names, and default arguments.

    Args:
        reuse: whether variables must exist; `AUTO_REUSE` if they may.
        name: the prefix of names, without its slash.
        name_scope: the name scope that was open when this scope was opened.
        initializer, regularizer, caching_device, partitioner, custom_getter, dtype, use_resource, constraint: as in
            `get_variable`.

    Source: `tf.compat.v1.VariableScope`.
    """

    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        name_scope: str = "",
        dtype: Any = "float32",
        use_resource: Any = None,
        constraint: Any = None,
    ) -> None:
        self.reuse, self.name, self.original_name_scope = reuse, name, name_scope
        self.initializer, self.regularizer, self.constraint = initializer, regularizer, constraint
        self.caching_device, self.partitioner, self.use_resource = caching_device, partitioner, use_resource
        self.custom_getter, self.dtype = custom_getter, as_dtype(dtype)

    def with_defaults(self, reuse: Any, name: str, name_scope: str, given: Mapping[str, Any]) -> VariableScope:
        """A scope with the defaults of this one, except for defaults that are given."""
        inherited = {key: getattr(self, key) for key in _DEFAULTS}
        inherited |= {key: default for key, default in given.items() if default is not None and key in _DEFAULTS}
        inherited["custom_getter"] = _nested(self.custom_getter, given["custom_getter"])
        return VariableScope(reuse, name, name_scope=name_scope, constraint=given["constraint"], **inherited)

    def reuse_variables(self) -> None:
        """Require from now on that variables exist."""
        self.reuse = True

    def set_dtype(self, dtype: Any) -> None:
        """Set the default dtype of variables."""
        self.dtype = as_dtype(dtype)

    def get_collection(self, name: Any) -> list[Any]:
        """The part of a collection that belongs to this scope."""
        prefix = f"{self.name}/" if self.name else ""
        return graph_mode.open_graph().get_collection(name, prefix or None)

    def global_variables(self) -> list[Any]:
        """The variables of this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """The local variables of this scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def trainable_variables(self) -> list[Any]:
        """The variables of this scope that are trained."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)


_open: Scoped[tuple[tuple[Any, VariableScope], ...]] = Scoped(())  # graphs and their scopes, outermost first
_EAGER_ROOT = VariableScope(False)  # around the scopes that are opened while values are computed
_DEFAULTS = ("initializer", "regularizer", "caching_device", "partitioner", "custom_getter", "dtype", "use_resource")


def _setter(default: str) -> Callable[[VariableScope, Any], None]:
    def set_default(self: VariableScope, value: Any) -> None:
        setattr(self, default, value)

    set_default.__doc__ = f"Set the `{default}` of variables that give none themselves."
    return set_default


for _default in _DEFAULTS:
    if _default != "dtype":
        setattr(VariableScope, f"set_{_default}", _setter(_default))


@function("custom_gradient", "v1")
def custom_gradient_outside(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function with a gradient, which finds variables outside of all scopes: TensorFlow calls it later.

    Source: `tf.custom_gradient`.
    """

    @wraps(f)
    def scoped(*args: Any, **kwargs: Any) -> Any:
        result, gradient = f(*args, **kwargs)

        @wraps(gradient)
        def outside(*gradients: Any, **options: Any) -> Any:
            with _open.scope(()):
                return gradient(*gradients, **options)

        return result, outside

    return custom_gradient(scoped)


@function("get_variable_scope", "v1")
def get_variable_scope() -> VariableScope:
    """The innermost scope of variables.

    Source: `tf.compat.v1.get_variable_scope`.
    """
    graph = None if graph_mode.is_eager() else graph_mode.open_graph()
    innermost = next((scope for owner, scope in reversed(_open.get()) if owner is graph), None)
    if innermost is not None:
        return innermost
    if graph is None:
        return _EAGER_ROOT
    roots = graph.get_collection_ref("_variable_scope")
    if not roots:
        roots.append(VariableScope(False))
    root: VariableScope = roots[0]
    return root


def in_variable_scope(name: str) -> str:
    """A name inside the innermost scope of variables; without a graph, the name itself."""
    scope = "" if graph_mode.graph() is None else get_variable_scope().name
    return f"{scope}/{name}" if scope else name


class variable_scope(AbstractContextManager[VariableScope]):
    """A scope of `get_variable` and of names, for `with` statements.

    Args:
        name_or_scope: a name inside the enclosing scope, or a scope that was open before; None for a new name made of
            `default_name`.
        default_name: gets a number if a scope of this name was opened in the enclosing scope.
        values: tensors whose graph the scope is opened in.
        reuse: True if variables must exist, `tf.AUTO_REUSE` if they may; else as in the enclosing scope.
        auxiliary_name_scope: whether a name scope is opened, too.
        initializer, regularizer, caching_device, partitioner, custom_getter, dtype, use_resource, constraint: as in
            `get_variable`, as defaults.

    Raises:
        TypeError: there is no name, or it is not a string.
        ValueError: a name is invalid; or variables must exist in a scope with a new name.

    Source: `tf.compat.v1.variable_scope`.
    """

    def __init__(
        self,
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
    ) -> None:
        self._defaults = {key: given for key, given in locals().items() if key in (*_DEFAULTS, "constraint")}
        if name_or_scope is None and default_name is None:
            raise op_error(TypeError, "tf.variable_scope", "it needs a name, a scope or default_name.")
        if not isinstance(name_or_scope, (str, VariableScope, type(None))):
            problem = f"its first argument is a name, a scope or None, not {name_or_scope!r}."
            raise op_error(TypeError, "tf.variable_scope", problem)
        if reuse not in (None, True, False, AUTO_REUSE):
            problem = f"reuse must be True, False, None or tf.AUTO_REUSE, not {reuse!r}."
            raise op_error(ValueError, "tf.variable_scope", problem)
        if name_or_scope is None and reuse:
            problem = "a scope with a new name has no variables to reuse; give it a name, or leave reuse out."
            raise op_error(ValueError, "tf.variable_scope", problem)
        self._given, self._default_name, self._reuse = name_or_scope, default_name, reuse
        self._names_too, self._values = auxiliary_name_scope, values
        self._unique: str | None = None
        self._open: list[AbstractContextManager[VariableScope]] = []

    def __enter__(self) -> VariableScope:
        opened = self._opened()
        scope = opened.__enter__()
        self._open.append(opened)
        return scope

    def __exit__(self, *error: Any) -> None:
        self._open.pop().__exit__(*error)

    @contextmanager
    def _opened(self) -> Iterator[VariableScope]:
        graph = graph_of(self._values) or (None if graph_mode.is_eager() else graph_mode.open_graph())
        recording = graph_mode.graph()
        is_around = recording is not None and outermost_of(recording) is graph
        with nullcontext() if is_around else graph_mode.inside(graph), self._name_scope() as names:
            scope = self._scope(names)
            is_known = isinstance(self._given, VariableScope)
            with _counted(scope.name, is_known), _open.scope((*_open.get(), (graph, scope))):
                yield scope

    def _name_scope(self) -> AbstractContextManager[str]:
        """The name scope of the block: a new one, or the one that is open."""
        given = self._default_name if self._given is None else self._given
        name = given.name.rpartition("/")[2] if isinstance(given, VariableScope) else given
        if self._names_too and name:
            return graph_mode.name_scope(name)
        return nullcontext("" if self._names_too or graph_mode.is_eager() else graph_mode.open_graph().scope)

    def _scope(self, names: str) -> VariableScope:
        """The scope, inside the enclosing one."""
        if isinstance(self._given, VariableScope):
            given = self._given
            return given.with_defaults(
                self._reuse or given.reuse, given.name, given.original_name_scope, self._defaults
            )
        around = get_variable_scope()
        prefix = f"{around.name}/" if around.name else ""
        if self._given is None and self._unique is None:
            self._unique = _unused(prefix + str(self._default_name)).removeprefix(prefix)
        name = f"{prefix}{self._unique if self._given is None else self._given}"
        return around.with_defaults(self._reuse or around.reuse, name, names, self._defaults)


@contextmanager
def _counted(name: str, is_known: bool) -> Iterator[None]:
    """Count that a scope is opened.  Numbers of default names in it start over when it is entered again."""
    if graph_mode.is_eager():
        yield
        return
    store = graph_mode.store()
    store.variable_scopes[name] += 1
    before = store.variable_scopes.copy()
    try:
        yield
    finally:
        if is_known:
            store.variable_scopes = before
        else:
            inside = [other for other in store.variable_scopes if other.startswith(f"{name}/")]
            store.variable_scopes.subtract({other: store.variable_scopes[other] for other in inside})


def _unused(name: str) -> str:
    """A name that no variable scope opened in the enclosing scope has."""
    if graph_mode.is_eager():
        return name
    counts = graph_mode.store().variable_scopes
    return next(candidate for candidate in chain([name], (f"{name}_{i}" for i in count(1))) if not counts[candidate])


def _nested(outer: Any, inner: Any) -> Any:
    """A getter around another."""
    if inner is None or outer is None:
        return inner or outer
    return lambda getter, *args, **kwargs: inner(partial(outer, getter), *args, **kwargs)


def variable_op_scope(values: Any, name_or_scope: Any, default_name: Any = None, **options: Any) -> variable_scope:
    """`variable_scope`, with its arguments in another order.

    Source: `tf.compat.v1.variable_op_scope`.
    """
    return variable_scope(name_or_scope, default_name, values, **options)


value("variable_scope", variable_scope, "v1")
value("variable_op_scope", variable_op_scope, "v1")
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
    """The variable of a name in the innermost scope: a new one, or the existing one, as the scope says.

    Raises:
        ValueError: it exists and must not, or does not exist and must; or its shape or dtype differs.

    Source: `tf.compat.v1.get_variable`.
    """
    scope = get_variable_scope()
    options = {
        "shape": shape,
        "dtype": new_dtype(initializer, dtype, scope.dtype),
        "initializer": scope.initializer if initializer is None else initializer,
        "regularizer": scope.regularizer if regularizer is None else regularizer,
        "reuse": scope.reuse,
        "trainable": trainable,
        "collections": collections,
        "caching_device": scope.caching_device if caching_device is None else caching_device,
        "partitioner": scope.partitioner if partitioner is None else partitioner,
        "validate_shape": validate_shape,
        "use_resource": scope.use_resource if use_resource is None else use_resource,
        "constraint": scope.constraint if constraint is None else constraint,
        "synchronization": synchronization,
        "aggregation": aggregation,
    }
    whole = f"{scope.name}/{name}" if scope.name else name
    check_name(name, f"{scope.name}/")
    getter = _nested(scope.custom_getter, custom_getter)
    return named(whole, **options) if getter is None else getter(getter=named, name=whole, **options)


@function("get_local_variable", "v1")
@wraps(get_variable, assigned=())
def get_local_variable(*args: Any, **kwargs: Any) -> Any:
    """`get_variable` for a local variable, which is neither trained nor among the global variables.

    Source: `tf.compat.v1.get_local_variable`.
    """
    given = arguments_of(signature(get_variable), args, kwargs, defaults=False)
    local = [GraphKeys.LOCAL_VARIABLES, *(given.get("collections") or ())]
    return get_variable(**{**given, "trainable": False, "collections": local})


@function("create_partitioned_variables", "v1")
def create_partitioned_variables(
    shape: Any,
    slicing: Any,
    initializer: Any,
    dtype: Any = "float32",
    trainable: bool = True,
    collections: Any = None,
    name: str | None = None,
    reuse: Any = None,
) -> list[Any]:
    """The parts of a variable that has the name of a new scope.

    Args:
        shape: of the whole.
        slicing: the number of parts along each axis, of which one at most is more than 1.
        initializer: a function for each part, or a tensor of the whole shape.

    Raises:
        ValueError: the slicing does not fit the shape.

    Source: `tf.compat.v1.create_partitioned_variables`.
    """
    with variable_scope(name, "PartitionedVariable", reuse=reuse) as scope:
        options = {"dtype": dtype, "initializer": initializer, "trainable": trainable, "collections": collections}
        return list(named(scope.name, shape, lambda shape, dtype: slicing, scope.reuse, **options))


class Template:
    """A function whose calls all use the variables that the first call made.

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
        """Take the name of a scope, before the first call."""
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
        """The prefix of its variables' names; None before the first call."""
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
    """A function whose calls all use the variables that the first call made.

    Args:
        name_: the prefix of its variables' names; a number is added if another scope has it.
        func_: a function that calls `get_variable`; `kwargs` are some of its arguments.
        create_scope_now_: whether the name is taken now, and not at the first call.
        unique_name_: a name to which no number is added.
        custom_getter_: as in `variable_scope`.

    Source: `tf.compat.v1.make_template`.
    """
    template = Template(name_, partial(func_, **kwargs) if kwargs else func_, unique_name_, custom_getter_)
    if create_scope_now_:
        template.begin()
    return template
