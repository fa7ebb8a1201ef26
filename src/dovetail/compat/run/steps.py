"""Programs whose loops end after some steps of training, as if their ranges were over; all else runs as it is.

`limited` changes a syntax tree: each loop asks whether it goes on, and each call that may train notes a step.  A run of
a session is a step if an optimizer made one of its operations.  A loop counts its own turns that train; one that trains
only in inner loops ends with the first of these that has used its steps.
"""

from __future__ import annotations

import ast
import itertools
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from dovetail.compat.source.trees import at, own
from dovetail.core.values.structure import flatten
from dovetail.graph.walk import backward

HERE = "__dovetail_steps__"  # this module, in the programs
MAKES = {"minimize", "apply_gradients", "create_train_op", "optimize_loss"}  # a step, or the operation of one
TRAINS = {"train_on_batch"}
FITS = {"fit": 5, "fit_generator": 4}  # method → the place of its callbacks
LIKE_TRAINING = re.compile(r"(train|optim|solver|minimi[sz]e|update)|^(opt|step)(_|$)|_(opt|step)$", re.IGNORECASE)
ASSIGNS = "Assign", "Apply", "ResourceApply"  # types of operations in files of TensorFlow

_SITES = itertools.count()


def limited(tree: ast.Module, steps: int, names: Iterable[str] = ()) -> ast.Module:
    """Change a program so that its loops of training end after some steps.

    Args:
        tree: a file's syntax tree, which is changed.
        steps: how many turns that train each loop may take.
        names: functions of the program's other files that take a step; see `names_of_steps`.

    Returns:
        The tree.  Its line numbers stay right.

    Source: Dovetail's own.

    Example:
        >>> text = "turns = 0\\nwhile True:\\n    turns += 1\\n    model.train_on_batch(1)"
        >>> class Model:
        ...     def train_on_batch(self, x): return 0.0
        >>> names = {"model": Model()}
        >>> exec(compile(limited(ast.parse(text), 3), "old.py", "exec"), names)
        >>> names["turns"]
        3
    """
    _Limiter(TRAINS | names_of_steps(tree) | {*names}, steps).visit(tree)
    heads = [i for i, n in enumerate(tree.body, 1) if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    first = max(heads, default=int(ast.get_docstring(tree, False) is not None))
    tree.body.insert(first, ast.Import([ast.alias(__name__, HERE)], lineno=1, col_offset=0))
    return ast.fix_missing_locations(tree)


def names_of_steps(*trees: ast.Module) -> set[str]:
    """The names of functions that take a step: of each `tf.function` that calls an optimizer, also through others.

    Args:
        trees: the files that may call each other's functions.

    Example:
        >>> names_of_steps(ast.parse("@tf.function\\ndef f(): g()\\ndef g(): optimizer.minimize(loss)"))
        {'f'}
    """
    every = [node for tree in trees for node in ast.walk(tree)]
    functions = [node for node in every if isinstance(node, ast.FunctionDef)]
    calls = [(node.name, {_last(call.func) for call in _calls(node)}) for node in functions]
    makers = {*MAKES}
    while more := {name for name, called in calls if called & makers} - makers:
        makers |= more
    traced = {node.name for node in functions if _is_traced(node)} & makers
    assigned = [node for node in every if isinstance(node, ast.Assign) and _wraps(node.value, makers)]
    return traced | {name for node in assigned for target in node.targets for name in _names(target)}


class _Limiter(ast.NodeTransformer):
    """A visitor that changes loops and calls."""

    def __init__(self, trains: set[str], steps: int) -> None:
        self.trains, self.steps = trains, steps
        self.is_suspended = False  # whether the function around is a generator, whose loops stop in the middle

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        around = self.is_suspended
        self.is_suspended = any(
            isinstance(part, (ast.Yield, ast.YieldFrom, ast.Await)) for part in own(ast.iter_child_nodes(node))
        )
        self.generic_visit(node)
        self.is_suspended = around
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_For(self, node: ast.For | ast.While) -> ast.AST:
        self.generic_visit(node)
        if self.is_suspended:
            return node
        if isinstance(node, ast.For):
            node.iter = _call("over", node.iter, node.iter)
        else:
            node.test = ast.copy_location(ast.BoolOp(ast.And(), [_call("goes_on", node.test), node.test]), node.test)
        loop = _call("Loop", node, ast.Constant(next(_SITES)), ast.Constant(self.steps))
        return ast.copy_location(ast.With([ast.withitem(loop)], [node]), node)

    visit_While = visit_For

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = _last(node.func)
        if name in self.trains:
            return _call("did_step", node, node)
        if _updates(node):
            return _call("Step", node, node)
        if name in MAKES:
            return _call("made", node, node)
        if isinstance(node.func, ast.Attribute) and name == "run":
            given = [name for argument in [node.func.value, *node.args[:1]] for name in _names(argument)]
            node.func = _call("running", node.func, node.func, ast.Constant(any(map(LIKE_TRAINING.search, given))))
        elif isinstance(node.func, ast.Attribute) and name == "make_callable":
            node.func = _call("making", node.func, node.func)
        elif isinstance(node.func, ast.Attribute) and name in FITS:
            numbers = map(ast.Constant, (FITS[name], next(_SITES), self.steps))
            node.func = _call("fitting", node.func, node.func, *numbers)
        return node


def _call(name: str, place: ast.expr | ast.stmt, *arguments: ast.expr) -> ast.Call:
    """A call of this module's function, at the place of a node."""
    function = ast.Attribute(ast.Name(HERE, ast.Load()), name, ast.Load())
    return at(place, ast.Call(function, [*arguments], []))


def _is_traced(node: ast.FunctionDef) -> bool:
    """Whether a function is a `tf.function`, in which an optimizer is called once."""
    return any("function" in ast.unparse(decorator) for decorator in node.decorator_list)


def _wraps(node: ast.expr, names: set[str]) -> bool:
    """Whether a value is `tf.function` of a function of these names."""
    return isinstance(node, ast.Call) and _last(node.func) == "function" and not names.isdisjoint(_given(node))


def _given(call: ast.Call) -> Iterator[str]:
    """The names in the first argument of a call."""
    return _names(call.args[0]) if call.args else iter(())


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (part for part in ast.walk(node) if isinstance(part, ast.Call))


def _updates(node: ast.Call) -> bool:
    """Whether a call makes a function of K that trains: it has updates."""
    has_updates = len(node.args) > 2 or any(keyword.arg == "updates" for keyword in node.keywords)
    return _last(node.func) == "function" and has_updates


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _names(node: ast.expr) -> Iterator[str]:
    """The last parts of the names in an argument, and the keys of items: `[model.train_op, ops["step"]]`."""
    match node:
        case ast.Name() | ast.Attribute():
            yield _last(node)
        case ast.Constant(str(name)):
            yield name
        case ast.Subscript(value, ast.Constant(str(key))):
            yield from (*_names(value), key)
        case ast.List(elements) | ast.Tuple(elements) | ast.Dict(values=elements):
            for element in elements:
                yield from _names(element)


# -- while the program runs -------------------------------------------------------------------------------------------

_MADE: WeakSet[Any] = WeakSet()  # operations that optimizers made
_KNOWN: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()  # operation → whether it trains
_threads = threading.local()


def _loops() -> list[Loop]:
    """The loops that this thread is in."""
    if not hasattr(_threads, "loops"):
        _threads.loops = []
    return _threads.loops


class Loop:
    """A loop that runs, as a context.

    Args:
        site: the number of the loop in the program.
        steps: how many steps it may take.
    """

    def __init__(self, site: int, steps: int) -> None:
        self.site, self.steps = site, steps
        self.trained, self.count, self.inner = False, 0, Counter[int]()  # in this turn; turns; of loops inside

    def __enter__(self) -> Loop:
        _loops().append(self)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _loops().pop()

    def goes_on(self) -> bool:
        """Whether another turn begins; the last one is counted if it trained."""
        if not (self.trained or self.inner):
            return True
        around = [*itertools.takewhile(lambda loop: not loop.count, _loops()[-2::-1])]  # which count for inner loops
        if self.trained:
            self.trained = False
            self.count += 1
            for loop in around:
                loop.inner[self.site] += 1
        used = self.count or max(self.inner.values(), default=0)
        return used < self.steps and all(loop.inner[self.site] < loop.steps for loop in around)


def goes_on() -> bool:
    """Whether the innermost loop goes on."""
    return _loops()[-1].goes_on()


def over(items: Iterable[Any]) -> Iterator[Any]:
    """The items of a loop, as long as it goes on."""
    loop = _loops()[-1]
    for item in items:
        yield item
        if not loop.goes_on():
            return


def did_step(result: Any) -> Any:
    """Note a step of training."""
    if loops := _loops():
        loops[-1].trained = True
    return result


def made(result: Any) -> Any:
    """Note a step, or the operation for a step that an optimizer added to a graph."""
    operation = _operation(result)
    if operation is None:
        return did_step(result)
    _MADE.add(operation)
    return result


def running(run: Callable[..., Any], looks_like_training: bool) -> Callable[..., Any]:
    """Wrap a session's or an operation's `run`: it notes a step if an optimizer made one of its operations.

    Args:
        run: the method.
        looks_like_training: whether names say so, which counts if no optimizer made anything.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        session = getattr(run, "__self__", None)
        if _any_trains(session, [session, *args[:1], kwargs.get("fetches")]) or (looks_like_training and not _MADE):
            did_step(None)
        return run(*args, **kwargs)

    return call


def making(make_callable: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a session's `make_callable`, whose functions note a step if an optimizer made one of their operations."""

    def call(*args: Any, **kwargs: Any) -> Any:
        function = make_callable(*args, **kwargs)
        fetches = [*args[:1], kwargs.get("fetches")]
        return Step(function) if _any_trains(getattr(make_callable, "__self__", None), fetches) else function

    return call


class Step:
    """A function that takes a step of training."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return did_step(self._function(*args, **kwargs))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


def _any_trains(session: Any, fetches: list[Any]) -> bool:
    """Whether one of the fetches trains; some may be names of the session's graph."""
    graph = getattr(session, "graph", None)
    return any(_trains(_named(graph, each)) for each in flatten(fetches)[0])


def _named(graph: Any, fetch: Any) -> Any:
    """What a fetch names in a graph; the fetch itself if it is no name, or an unknown one."""
    if isinstance(fetch, str) and hasattr(graph, "as_graph_element"):
        with suppress(KeyError, ValueError):
            return graph.as_graph_element(fetch)
    return fetch


def _trains(fetch: Any) -> bool:
    """Whether a fetch is or waits for an operation that an optimizer made, or one that assigns what a gradient gave."""
    operation = _operation(fetch)
    if operation is None:
        return False
    if operation not in _KNOWN:
        nodes = [*backward([operation])]
        has_gradient = any("gradients" in node.name.split("/") for node in nodes)
        assigns = any(str(getattr(node, "type", "")).startswith(ASSIGNS) for node in nodes)
        _KNOWN[operation] = any(node in _MADE for node in nodes) or (has_gradient and assigns)
    return _KNOWN[operation]


def _operation(value: Any) -> Any:
    """The operation of a graph that a value is or comes from; None if there is none."""
    return next((x for x in (value, getattr(value, "op", None)) if hasattr(x, "control_inputs")), None)


def limited_fits(steps: int) -> Callable[[Any], Any]:
    """A function that wraps the `fit` of models that other libraries train, as searches of scikit-learn do."""
    return lambda fit: fitting(fit, FITS["fit"], next(_SITES), steps)


def fitting(fit: Callable[..., Any], place: int, site: int, steps: int) -> Callable[..., Any]:
    """Wrap a model's `fit`, which is a loop of its batches; another object's is as it is.

    Args:
        fit: the method.
        place: the place of its callbacks.
        site, steps: as for `Loop`.
    """
    model: Any = getattr(fit, "__self__", None)
    if not hasattr(model, "train_on_batch"):
        return fit

    def ended(batch: int, logs: Any = None) -> None:
        did_step(None)
        if not goes_on():
            model.stop_training = True

    def call(*args: Any, **kwargs: Any) -> Any:
        theirs = (args[place] if len(args) > place else kwargs.pop("callbacks", None)) or []
        stop = sys.modules["keras"].callbacks.LambdaCallback(on_train_batch_end=ended)
        kwargs["callbacks"] = [*(theirs if isinstance(theirs, (list, tuple)) else [theirs]), stop]
        if len(args) > place:
            args = (*args[:place], kwargs.pop("callbacks"), *args[place + 1 :])
        with Loop(site, steps):
            return fit(*args, **kwargs)

    return call
