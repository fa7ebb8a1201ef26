"""The core of a backend, as Keras calls it: tensors, variables, specs, control flow, scopes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from itertools import count
from typing import Any

import dovetail
from dovetail import ops
from dovetail.core.base.scopes import scopes
from dovetail.core.engines.devices import require_device
from dovetail.core.engines.engine_registry import current_engine
from dovetail.interop.privates import KerasVariable, StatelessScope, tree
from dovetail.interop.privates import name_scope as base_name_scope
from keras_dovetail.src.specs import compute_output_spec
from keras_dovetail.src.tensors import cast, convert_to_numpy, convert_to_tensor, is_tensor, shape
from keras_dovetail.src.variable import Variable, noting

__all__ = [
    "Variable",
    "associative_scan",
    "cast",
    "compute_output_spec",
    "cond",
    "convert_to_numpy",
    "convert_to_tensor",
    "custom_gradient",
    "device_scope",
    "fori_loop",
    "grad",
    "is_tensor",
    "map",
    "name_scope",
    "random_seed_dtype",
    "remat",
    "scan",
    "scatter",
    "scatter_update",
    "shape",
    "slice",
    "slice_update",
    "stop_gradient",
    "switch",
    "unstack",
    "vectorized_map",
    "while_loop",
]

_SCATTER = {
    None: ops.tensor_scatter_update,
    "add": ops.tensor_scatter_add,
    "mul": ops.tensor_scatter_mul,
    "max": ops.tensor_scatter_max,
    "min": ops.tensor_scatter_min,
}

associative_scan = ops.associative_scan


def _as_tensors(values: Any) -> Any:
    return tree.map_structure(convert_to_tensor, values)


def random_seed_dtype() -> str:
    """The dtype of the state of Keras' seed generators."""
    return "uint32"


# -- control flow -----------------------------------------------------------------------------------------------------


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """The result of one of two functions; `dovetail.ops.cond`."""
    return ops.cond(convert_to_tensor(pred, "bool"), true_fn, false_fn)


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """The result of one of several functions of the operands; `dovetail.ops.switch_case`."""
    given = _as_tensors(operands)
    return ops.switch_case(convert_to_tensor(index), [partial(branch, *given) for branch in branches])


def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, maximum_iterations: int | None = None
) -> Any:
    """Apply a function while a condition holds; `dovetail.ops.while_loop`."""
    return ops.while_loop(cond, body, _as_tensors(loop_vars), maximum_iterations)


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    """Apply a function for each integer of a range; `dovetail.ops.fori_loop`."""
    return ops.fori_loop(lower, upper, body_fun, _as_tensors(init_val))


def scan(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """Carry a value through the slices of tensors; `dovetail.ops.scan`, on which `unroll` has no effect.

    Raises:
        TypeError: `f` is not a function.
        ValueError: `unroll` is neither a bool nor a positive integer; there are neither `xs` nor a `length`.
    """
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    if not isinstance(unroll, bool) and not (isinstance(unroll, int) and unroll > 0):
        raise ValueError(f"`unroll` must be an positive integer or boolean. Received: unroll={unroll}")
    if xs is None and length is None:
        raise ValueError("Got no `xs` to scan over and no `length`; give one of them.")
    return ops.scan(f, _as_tensors(init), None if xs is None else _as_tensors(xs), length, reverse)


def map(f: Callable[[Any], Any], xs: Any) -> Any:
    """The results of a function for each slice, stacked; `dovetail.ops.map_fn`."""
    return ops.map_fn(f, _as_tensors(xs))


def vectorized_map(function: Callable[[Any], Any], elements: Any) -> Any:
    """The results of a function for each slice, which may run at once; `dovetail.ops.vectorized_map`."""
    return ops.vectorized_map(function, _as_tensors(elements))


# -- slices -----------------------------------------------------------------------------------------------------------


def scatter(indices: Any, values: Any, shape: Any) -> Any:
    """Zeros with values added at positions; `dovetail.ops.scatter_nd`."""
    return ops.scatter_nd(convert_to_tensor(indices), convert_to_tensor(values), shape)


def scatter_update(inputs: Any, indices: Any, updates: Any, reduction: str | None = None) -> Any:
    """A tensor with slices replaced, or combined with updates by "add", "mul", "max" or "min".

    Raises:
        ValueError: the reduction is another one.
    """
    if reduction not in _SCATTER:
        raise ValueError(f"Unsupported reduction: {reduction}")
    inputs = convert_to_tensor(inputs)
    return _SCATTER[reduction](inputs, convert_to_tensor(indices), convert_to_tensor(updates, inputs.dtype))


def slice(inputs: Any, start_indices: Any, shape: Sequence[int]) -> Any:
    """The block that starts at a position; a dimension of -1 takes the rest of the axis.

    Args:
        inputs: any tensor.
        start_indices: integers, known where the dimension is -1.
        shape: the block's dimensions.
    """
    inputs = convert_to_tensor(inputs)
    dims = [
        inputs.shape[axis] - int(start_indices[axis]) if size == -1 else int(size) for axis, size in enumerate(shape)
    ]
    return ops.slice(inputs, start_indices, dims)


def slice_update(inputs: Any, start_indices: Any, updates: Any) -> Any:
    """A tensor with the block that starts at a position replaced; `dovetail.ops.slice_update`."""
    inputs = convert_to_tensor(inputs)
    return ops.slice_update(inputs, start_indices, convert_to_tensor(updates, inputs.dtype))


def unstack(x: Any, num: int | None = None, axis: int = 0) -> list[Any]:
    """The slices along an axis; `dovetail.ops.unstack`."""
    return ops.unstack(convert_to_tensor(x), num, axis)


# -- gradients --------------------------------------------------------------------------------------------------------


def stop_gradient(variable: Any) -> Any:
    """The value, through which no gradients flow; `dovetail.ops.stop_gradient`."""
    return ops.stop_gradient(convert_to_tensor(variable))


def grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """A function that returns the gradient of the sum of a function's result.

    Args:
        f: a function that returns a tensor; its arguments are tensors, variables or structures of them.
        argnums: the position of the argument to differentiate by, or a sequence of positions.

    Returns:
        A function with the arguments of `f`.  It returns a gradient, or a tuple of them for a sequence of positions, in
        the structure of the arguments; zeros by arguments on which the result does not depend.

    Raises:
        TypeError: `argnums` are no integers.
        ValueError: when called, one of the positions has no argument, or is given twice.
    """
    single = isinstance(argnums, int)
    places: list[Any] = [argnums] if single else list(argnums) if isinstance(argnums, (list, tuple)) else [argnums]
    if not all(isinstance(place, int) for place in places):
        raise TypeError(f"`argnums` must be an int or a tuple of ints. Received: argnums={argnums}")

    def gradient(*args: Any, **kwargs: Any) -> Any:
        if not all(-len(args) <= place < len(args) for place in places):
            raise ValueError(f"`argnums` is {argnums}, but the function was called with {len(args)} arguments.")
        if len({place % len(args) for place in places}) < len(places):
            raise ValueError(f"`argnums` must not repeat a position. Received: argnums={argnums}")
        given = list(args)
        for place in places:
            given[place] = _as_tensors(args[place])
        sources = [given[place] for place in places]
        with dovetail.GradientTape() as tape:
            tape.watch(sources)
            result = f(*given, **kwargs)
        gradients = tape.gradient(result, sources, unconnected_gradients="zero")
        return gradients[0] if single else tuple(gradients)

    return gradient


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function with a gradient of its own; `dovetail.custom_gradient` for values of Keras' variables."""
    with_gradient = dovetail.custom_gradient(fun)

    def on_values(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree.map_structure(lambda x: x.value if isinstance(x, KerasVariable) else x, (args, kwargs))
        return with_gradient(*args, **kwargs)

    return on_values


def remat(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs again when its gradient is needed; `dovetail.recompute_grad`.

    The second run has the variables' earlier values, and assigns none: so dropout drops the same elements, and averages
    move once.
    """

    def forgetting(*args: Any, **kwargs: Any) -> Any:
        before: dict[int, Any] = {}
        runs = count()

        def run(*args: Any, **kwargs: Any) -> Any:
            with StatelessScope(list(before.values())) if next(runs) else noting(before):
                return f(*args, **kwargs)

        return dovetail.recompute_grad(run)(*args, **kwargs)

    return forgetting


# -- scopes -----------------------------------------------------------------------------------------------------------


class name_scope(base_name_scope):
    """A scope of the names of variables, and of the operations of the graph that is traced."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self._in_graph: ExitStack | None = None

    def __enter__(self) -> name_scope:
        super().__enter__()
        graph = scopes().graph
        if self._pop_on_exit and graph is not None:
            self._in_graph = ExitStack()
            self._in_graph.enter_context(graph.name_scope(self.name))
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        if self._in_graph is not None:
            self._in_graph.close()
            self._in_graph = None


def device_scope(device_name: str) -> AbstractContextManager[None]:
    """A scope whose values are on a device of the current engine; see `dovetail.device`.

    Args:
        device_name: "cpu:0", "gpu:1", or without a number the first of a kind.

    Raises:
        ValueError: the name is not a string, or the engine has no such device here.
    """
    if not isinstance(device_name, str):
        raise ValueError(
            "Invalid value for argument `device_name`. Expected a string like 'gpu:0'. "
            f"Received: device_name={device_name!r}"
        )
    name = device_name.lower()
    name = name if ":" in name else f"{name}:0"
    require_device(current_engine(), name)  # elsewhere, the nearest device stands in for it
    return dovetail.device(name)
