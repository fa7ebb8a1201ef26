"""TensorFlow's names for control flow: branches, loops, arrays of tensors, and waiting for others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from dovetail import ops
from dovetail.compat.autograph.status import as_caller
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.entries import value
from dovetail.compat.tensorflow.names.array.structures import assert_same_structure, nest_flatten, pack_sequence_as
from dovetail.compat.tensorflow.names.array.tensor_array import TensorArray
from dovetail.compat.tensorflow.names.debugging import require
from dovetail.compat.tensorflow.names.graph.graph import group
from dovetail.compat.tensorflow.names.strings.tensors import StringTensor, as_numbers, in_graph, with_strings
from dovetail.compat.tensorflow.names.strings.text import STRING, is_text
from dovetail.compat.tensorflow.table import function, row
from dovetail.compat.tf_graph.variable_operation import VariableOperation
from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import TensorShape, shape_of
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.structure import flatten, unflatten
from dovetail.core.values.value_kinds import is_recorded, is_tensor, static_shape
from dovetail.edit.graph import GraphTensor, Operation
from dovetail.trace import trace

# -- branches ---------------------------------------------------------------------------------------------------------


def cond(pred: Any, true_fn: Any = None, false_fn: Any = None, strict: bool = True) -> Any:
    """The result of one of two functions.

    Args:
        strict: whether a list of one result stays a list.

    Source: `tf.cond`.
    """
    if not callable(true_fn) or not callable(false_fn):
        raise op_error(TypeError, "tf.cond", "true_fn and false_fn must be functions without arguments.")
    return _unpacked(_either(pred, true_fn, false_fn, _own), strict)


def _either(pred: Any, true_fn: Any, false_fn: Any, own: Callable[[Any], Any] = lambda x: x) -> Any:
    """The results of a condition, through a function; strings go as their numbers."""
    texts, others = set[int](), set[int]()  # the places of strings among the results of each branch
    results = ops.cond(pred, _of_tensors(true_fn, pred, texts), _of_tensors(false_fn, pred, others))
    leaves, structure = flatten(results)
    if is_recorded(pred) and texts != others:
        raise op_error(TypeError, "tf.cond", "a result is of strings in one branch, and of numbers in the other one.")
    return unflatten(structure, [StringTensor(own(x)) if n in texts else own(x) for n, x in enumerate(leaves)])


def _own(x: Any) -> Any:
    """A result of a condition in a session's graph as an operation of its own, as TensorFlow has it."""
    is_own = isinstance(x, GraphTensor) and x.op.type == "If" and x.arrays_follow
    return ops.identity(x) if is_own else x


row(
    "cond",
    cond,
    "pred true_fn false_fn",
    v1="pred true_fn false_fn strict=False name fn1:true_fn fn2:false_fn",
    defers=False,
)


def _of_tensors(branch: Callable[[], Any], pred: Any, texts: set[int]) -> Callable[[], Any]:
    """Wrap a branch: an operation among its results becomes the condition, as a tensor that waits for the operation.

    Of strings that runs make, or that are in a graph, the numbers are results; `texts` gets their places.
    """

    def run() -> Any:
        leaves, structure = flatten(branch())
        if is_recorded(pred):
            for number in [n for n, x in enumerate(leaves) if is_text(x)]:
                texts.add(number)
                leaves[number] = in_graph(leaves[number]).numbers
        return unflatten(structure, [_after(x, pred) if isinstance(x, _OPERATIONS) else x for x in leaves])

    return graph_mode.body(run)


_OPERATIONS = (Operation, VariableOperation)


def _after(operation: Any, pred: Any) -> Any:
    """The condition, as a tensor of an operation that waits for another."""
    graph, waits = operation.graph, [operation] if isinstance(operation, Operation) else []
    condition = pred if is_recorded(pred) else graph.constant(ops.convert(pred).numpy())
    with graph.control_dependencies(waits):
        return ops.identity(condition)


def _unpacked(result: Any, strict: bool) -> Any:
    """Unpack a list of one value unless `strict`, as TensorFlow 1 does."""
    return result[0] if not strict and type(result) in (list, tuple) and len(result) == 1 else result


@function("case", scope=True)
def case(
    pred_fn_pairs: Any, default: Any = None, exclusive: bool = False, strict: bool = False, name: str | None = None
) -> Any:
    """The result of the function of the first condition that holds.

    Args:
        exclusive: whether it is an error if several conditions hold.

    Source: `tf.case`.
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    if not pairs:
        raise op_error(ValueError, "tf.case", "it needs one pair of a condition and a function, or more.")
    if exclusive:
        pairs = _exclusive(pairs)
    if default is None:
        *pairs, (_, default) = pairs

    def chosen(left: list[Any]) -> Any:
        if not left:
            return default()
        (condition, function), *others = left
        branches = function, lambda: chosen(others)
        return _either(condition, *branches)

    return _unpacked(chosen(pairs), strict)


def _exclusive(pairs: Sequence[Any]) -> list[Any]:
    """The pairs, whose conditions wait for the check that at most one of them holds."""
    conditions = [condition for condition, _ in pairs]
    count = ops.sum(ops.stack([ops.cast(ops.convert(condition), "int32") for condition in conditions]))
    check = require("case", ops.less_equal(count, 1), "several conditions hold, though exclusive is True;", [count])
    if check is None:
        return list(pairs)
    with check.graph.control_dependencies([check]):
        return [(ops.identity(condition), function) for condition, function in pairs]


@function("switch_case", scope=True)
def switch_case(branch_index: Any, branch_fns: Any, default: Any = None, name: str | None = None) -> Any:
    """The result of the function of an index; other indices get the default, or else the last function.

    Source: `tf.switch_case`.
    """
    functions = list(branch_fns.items() if isinstance(branch_fns, dict) else branch_fns)
    if functions and isinstance(functions[0], tuple):
        pairs = dict(functions)
        if sorted(pairs) != list(range(len(pairs))):
            raise op_error(ValueError, "tf.switch_case", f"the numbers must be 0 to {len(pairs) - 1}: {sorted(pairs)}.")
        functions = [pairs[i] for i in range(len(pairs))]
    branches = [*functions, default or functions[-1]]
    index = ops.convert(branch_index)
    outside = ops.logical_or(ops.less(index, 0), ops.greater_equal(index, len(functions)))
    return ops.switch_case(ops.where(outside, len(functions), index), list(map(graph_mode.body, branches)))


# -- loops ------------------------------------------------------------------------------------------------------------


def _without_gradient(found: Any, back_prop: bool) -> Any:
    """Results of a loop; without `back_prop` no gradient flows through them."""
    if back_prop:
        return found
    leaves = nest_flatten(found)
    return pack_sequence_as(found, [_stopped(leaf) for leaf in leaves])


def _stopped(leaf: Any) -> Any:
    return leaf.of(ops.stop_gradient(leaf.whole())) if isinstance(leaf, TensorArray) else ops.stop_gradient(leaf)


def _check_invariants(given: Any, before: Any, after: Any) -> None:
    """Refuse shape invariants that do not fit the loop variables, at the start or after the loop."""
    if given is None:
        return
    variables, shapes = nest_flatten(before), _shapes(given)
    if len(shapes) != len(variables):
        problem = f"there are {len(shapes)} shape_invariants for {len(variables)} loop variables."
        raise op_error(ValueError, "tf.while_loop", problem)
    for shape, first, last in zip(shapes, variables, nest_flatten(after), strict=True):
        if isinstance(first, TensorArray):
            continue
        for what, tensor in (("enters the loop", first), ("leaves it", last)):
            its = static_shape(tensor)
            fits_it = shape.is_compatible_with(its)
            if not fits_it or (what == "leaves it" and not _says_no_less(shape, its)):
                problem = f"a loop variable of the shape invariant {shape} {what} with the shape {its}."
                raise op_error(ValueError, "tf.while_loop", problem)


def _shapes(given: Any) -> list[Any]:
    """Shape invariants as a list; a shape is not a structure, and a spec has a shape."""
    if isinstance(given, (list, tuple, dict)) and not isinstance(given, TensorShape):
        parts = [given[key] for key in sorted(given)] if isinstance(given, dict) else given
        return [shape for part in parts for shape in _shapes(part)]
    return [shape_of(given.shape if hasattr(given, "dtype") else given)]


def _says_no_less(shape: Any, its: Any) -> bool:
    """Whether a tensor's shape is known wherever an invariant is."""
    if shape.rank is None:
        return True
    return its is not None and all(want is None or got is not None for want, got in zip(shape, its, strict=True))


def _while(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, maximum_iterations: Any) -> Any:
    """The last values of a loop; arrays of tensors among them go through it as tensors."""
    structure = _in_graph(cond, list(loop_vars) if isinstance(loop_vars, (list, tuple)) else [loop_vars])
    leaves = nest_flatten(structure)
    if not any(isinstance(leaf, TensorArray) for leaf in leaves):
        kept, condition, step = structure, cond, body
        listed = graph_mode.body(lambda *v: _listed(step(*v), len(kept)))
        results = ops.while_loop(graph_mode.body(condition), listed, kept, maximum_iterations)
    else:
        if any(isinstance(leaf, TensorArray) and leaf.is_empty for leaf in leaves):
            written = nest_flatten(_listed(body(*structure), len(structure)))  # shows the shapes of written tensors
            leaves = [_like(leaf, after) for leaf, after in zip(leaves, written, strict=True)]

        def arrays(values: Sequence[Any]) -> list[Any]:
            pairs = zip(leaves, values, strict=True)
            return pack_sequence_as(
                structure, [leaf.of(v) if isinstance(leaf, TensorArray) else v for leaf, v in pairs]
            )

        def stacked(values: Any) -> list[Any]:
            return [v.whole() if isinstance(v, TensorArray) else v for v in nest_flatten(values)]

        last = ops.while_loop(
            graph_mode.body(lambda *v: cond(*arrays(v))),
            graph_mode.body(lambda *v: stacked(_listed(body(*arrays(v)), len(structure)))),
            stacked(pack_sequence_as(structure, leaves)),
            maximum_iterations,
        )
        results = arrays(last)
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    if not isinstance(loop_vars, (list, tuple)):
        return results[0]
    return type(loop_vars)(*results) if hasattr(loop_vars, "_fields") else type(loop_vars)(results)


def _in_graph(cond: Callable[..., Any], loop_vars: list[Any]) -> list[Any]:
    """The loop variables; they are constants of the graph if only the condition depends on it."""
    leaves = nest_flatten(loop_vars)
    is_building = trace.current_graph() is not None or graph_mode.graph() is not None
    if not is_building or any(is_recorded(leaf) for leaf in leaves if not isinstance(leaf, TensorArray)):
        return loop_vars
    condition = cond(*loop_vars)
    if not is_recorded(condition):
        return loop_vars
    graph = condition.graph
    constants = [v if isinstance(v, TensorArray) else graph.constant(ops.convert(v).numpy()) for v in leaves]
    return pack_sequence_as(loop_vars, constants)


def _like(before: Any, after: Any) -> Any:
    return before.zeros_like(after) if isinstance(before, TensorArray) else before


def _listed(result: Any, count: int) -> list[Any]:
    """The results of a body for `count` variables, as a list."""
    return list(result) if isinstance(result, (list, tuple)) and len(result) == count else [result]


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    back_prop: bool = True,
    maximum_iterations: Any = None,
    return_same_structure: bool = True,
) -> Any:
    """The last values of variables that a body changes as long as a condition holds.

    Args:
        shape_invariants: the shapes that the variables keep, with None for dimensions that change.  The loop finds
            these dimensions without invariants.  With invariants, a change of another dimension is an error.
        back_prop: whether gradients flow through the loop.
        return_same_structure: whether a list of one variable stays a list.

    Source: `tf.while_loop`.
    """
    carried, texts = as_numbers(loop_vars)

    def of_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
        """A condition or a body of the loop's variables, as one of the numbers of strings among them."""
        return lambda *given: as_numbers(function(*with_strings(given, texts)))[0]

    results = _while(of_numbers(cond), of_numbers(body), carried, maximum_iterations)
    _check_invariants(shape_invariants, carried, results)
    return _unpacked(with_strings(_without_gradient(results, back_prop), texts), return_same_structure)


_WHILE = "cond body loop_vars shape_invariants parallel_iterations back_prop swap_memory"
row(
    "while_loop",
    while_loop,
    f"{_WHILE} maximum_iterations",
    v1=f"{_WHILE} name maximum_iterations return_same_structure=False",
    defers=False,
)


@function("map_fn", scope=True)
def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """The results of a function for each slice, stacked.

    Source: `tf.map_fn`.
    """
    signature = dtype if fn_output_signature is None else fn_output_signature
    given, texts = as_numbers(elems)
    called = as_caller(fn)
    gives: set[int] = set()  # the places of strings among its results

    def of_numbers(slices: Any) -> Any:
        results, places = as_numbers(called(with_strings(slices, texts)))
        gives.update(places)
        return results

    results = with_strings(_without_gradient(ops.map_fn(graph_mode.body(of_numbers), given), back_prop), gives)
    stacked = _packed_as(elems if signature is None else signature, results)
    leaves, wanted = nest_flatten(stacked), nest_flatten(signature)
    for leaf, spec in zip(leaves, wanted, strict=False) if signature is not None else ():
        said = getattr(spec, "dtype", spec)
        expected = STRING if is_text(None, said) else as_dtype(said)
        if leaf.dtype != expected:
            raise op_error(ValueError, "tf.map_fn", f"fn gives {leaf.dtype}, but dtype is {expected}.")
    return stacked


def _packed_as(like: Any, value: Any) -> Any:
    """A value whose dicts have the order of keys of another one, if that has the same places; else the value."""
    with suppress(TypeError, ValueError):
        assert_same_structure(like, value)
        return pack_sequence_as(like, nest_flatten(value))
    return value


@function("vectorized_map", scope=True)
def vectorized_map(fn: Callable[[Any], Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True) -> Any:
    """The results of a function for each slice, computed for all at once.

    Source: `tf.vectorized_map`.
    """
    return ops.vectorized_map(as_caller(fn), elems)


def _fold(fold: Callable[..., Any]) -> Callable[..., Any]:
    def folded(
        fn: Callable[[Any, Any], Any],
        elems: Any,
        initializer: Any = None,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        name: str | None = None,
    ) -> Any:
        given, texts = as_numbers(elems)
        start, carried = (None, texts) if initializer is None else as_numbers(initializer)
        folds = graph_mode.body(_on_numbers(as_caller(fn), carried, texts))
        return with_strings(_without_gradient(fold(folds, given, start), back_prop), carried)

    return folded


def _on_numbers(fn: Callable[[Any, Any], Any], carried: set[int], texts: set[int]) -> Callable[[Any, Any], Any]:
    """A function of what a loop carries and of a slice, as one of the numbers of strings at some places of these."""
    return lambda before, element: as_numbers(fn(with_strings(before, carried), with_strings(element, texts)))[0]


function("foldl", scope=True)(_fold(ops.foldl))
function("foldr", scope=True)(_fold(ops.foldr))


@function("scan", scope=True)
def scan(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """The successive values of an accumulator that a function updates with each slice.

    Source: `tf.scan`.
    """
    elems, texts = as_numbers(elems)
    leaves = [ops.convert(leaf) for leaf in nest_flatten(elems)]
    whole = pack_sequence_as(elems, leaves)
    if initializer is not None:
        initializer, carried = as_numbers(initializer)
        start = pack_sequence_as(initializer, [ops.convert(v) for v in nest_flatten(initializer)])
        scanned = _scanned(_on_numbers(fn, carried, texts), start, whole, reverse)
        return _packed_as(start, with_strings(_without_gradient(scanned, back_prop), carried))
    fn = _on_numbers(fn, texts, texts)
    ends = slice(-1, None) if reverse else slice(0, 1)
    rest = slice(None, -1) if reverse else slice(1, None)
    first = pack_sequence_as(elems, [leaf[ends] for leaf in leaves])
    start = pack_sequence_as(elems, [leaf[0] for leaf in nest_flatten(first)])
    scanned = _scanned(fn, start, pack_sequence_as(elems, [leaf[rest] for leaf in leaves]), reverse)
    pairs = zip(nest_flatten(first), nest_flatten(scanned), strict=True)
    parts = [ops.concatenate([b, a] if reverse else [a, b]) for a, b in pairs]
    joined = pack_sequence_as(_packed_as(elems, scanned), parts)
    return with_strings(_without_gradient(joined, back_prop), texts)


def _scanned(fn: Callable[[Any, Any], Any], start: Any, elems: Any, reverse: bool) -> Any:
    def step(carried: Any, element: Any) -> tuple[Any, Any]:
        after = as_caller(fn)(carried, element)
        return after, after

    return ops.scan(graph_mode.body(step), start, elems, reverse=reverse)[1]


# -- waiting for others ----------------------------------------------------------------------------------------------


@function("tuple", v1="tensors name control_inputs")
def tuple_(tensors: Sequence[Any], control_inputs: Any = None, name: str | None = None) -> list[Any]:
    """Tensors that are ready once all of them are, and once other operations have run.

    Args:
        control_inputs: operations, and tensors of them.

    Raises:
        TypeError: a control input is neither.
        ValueError: there is no tensor.

    Source: `tf.tuple`.
    """
    tensors, texts = as_numbers(list(tensors))
    there: list[Any] = [ops.convert(t) for t in tensors if t is not None]
    if not there:
        raise op_error(ValueError, "tf.tuple", "it needs a tensor.")
    for x in control_inputs or ():
        if not is_tensor(x) and not isinstance(x, _OPERATIONS):
            raise op_error(TypeError, "tf.tuple", f"control_inputs are operations and tensors, not {x!r}.")
    graph: Any = graph_mode.graph() or next((t.graph for t in there if isinstance(t, GraphTensor)), None)
    if graph is None:
        return with_strings([None if t is None else ops.convert(t) for t in tensors], texts)
    with graph_mode.inside(graph), graph_mode.name_scope(name or "tuple"):
        recorded = [t if isinstance(t, GraphTensor) else graph.constant(t.numpy()) for t in there]
        with graph.control_dependencies([group(*recorded, *(control_inputs or ()), name="group_deps")]):
            recorded_copies = iter([ops.identity(t, name="control_dependency") for t in recorded])
    return with_strings([None if t is None else next(recorded_copies) for t in tensors], texts)


value("TensorArray", TensorArray)
