"""Tensors that the `build` of a layer computes of its variables.

In Keras 2 they were parts of the graph, so each run computed them.  Keras 3 computes them once.  Here each call of the
layer computes them again, of the present values of the variables, and adds the losses that `build` added.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import keras

from dovetail.autodiff.recorder import Recorder
from dovetail.compat.kept import kept_by
from dovetail.core.base.scopes import Scoped, scopes
from dovetail.core.values.recording import Record
from dovetail.core.values.variable import Variable
from dovetail.edit.graph import GraphTensor
from dovetail.graph.nesting import outermost_of
from dovetail.sessions.session_graph import SessionGraph

BUILT = "_built_tensors"  # the attribute of a layer that has some
PRESENT = "_has_present_values"  # the attribute of a `call` that computes them
_losses: Scoped[list[tuple[Any, Any]] | None] = Scoped(None)  # (layer, loss) pairs of the `build` that runs


class Built(NamedTuple):
    """What a layer's `build` computed of variables.

    Attributes:
        nodes: the calls that computed it, in order.
        places: (layer, attribute, tensor) for each attribute that is such a tensor.
        losses: (layer, loss) pairs.
    """

    nodes: list[Any]
    places: list[tuple[Any, str, Any]]
    losses: list[tuple[Any, Any]]

    @contextmanager
    def now(self) -> Iterator[None]:
        """Have the present values in the attributes, and add the losses of them."""
        values: dict[int, Any] = {}
        for node in self.nodes:
            values.update(zip(map(id, node.outputs), _again(node, values), strict=True))
        for owner, name, tensor in self.places:
            vars(owner)[name] = values[id(tensor)]
        try:
            for owner, loss in self.losses:
                owner.add_loss(values[id(loss)])
            yield
        finally:
            for owner, name, tensor in self.places:
                vars(owner)[name] = tensor


def _again(node: Any, values: dict[int, Any]) -> Iterable[Any]:
    """The results of a call, or of the reading of a variable, with the present values."""
    if not isinstance(node, Record):
        (source,) = node.inputs
        return [source.value if isinstance(source, Variable) else values.get(id(source), source)]

    def present(value: Any) -> Any:
        return tuple(map(present, value)) if type(value) is tuple else values.get(id(value), value)

    results = node.op(*map(present, node.args))
    return results if isinstance(results, tuple) else [results]


def prepare(cls: Any) -> None:
    """Change a program's class of layers: each call computes the tensors of `build` again, also an inherited call."""
    if keras.config.backend() == "dovetail":
        own = {name: vars(cls)[name] for name in ("build", "call") if callable(vars(cls).get(name))}
        if "build" in own and not hasattr(cls.call, PRESENT):
            own["call"] = cls.call
        for name, method in own.items():
            setattr(cls, name, CHANGES[name](method))


def note(layer: Any, losses: list[Any]) -> None:
    """Note the losses of a layer, if a `build` adds them."""
    noted = _losses.get()
    if noted is not None:
        noted += [(layer, loss) for loss in losses]


def losses(own: Callable[[Any], list[Any]]) -> Callable[[Any], list[Any]]:
    """Wrap the property `losses`: before the first call, the losses that `build` added count.

    Losses of a trace that is done, which Keras 3 leaves in the layers, do not.
    """

    def wrapped(self: Any) -> list[Any]:
        built = [vars(layer)[BUILT] for layer in self._flatten_layers() if BUILT in vars(layer)]
        more = (loss for each in built for owner, loss in each.losses if not owner._losses)
        return [loss for loss in (*own(self), *more) if not _is_of_the_past(loss)]

    return wrapped


def _is_of_the_past(loss: Any) -> bool:
    """Whether a loss is a tensor of a graph that nobody builds any more, and that no session runs."""
    if type(loss) is not GraphTensor:
        return False
    return not isinstance(outermost_of(loss.graph), SessionGraph) and all(loss.graph is not g for g in scopes().graphs)


def _recorded(build: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(build)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        noted: list[tuple[Any, Any]] = []
        with _losses.scope(noted), Recorder(watch_variables=True) as recorder:
            result = build(self, *args, **kwargs)
        computed = {id(output) for node in recorder.nodes if isinstance(node, Record) for output in node.outputs}
        layers = self._flatten_layers() if computed else ()
        places = [(owner, name, v) for owner in layers for name, v in vars(owner).items() if id(v) in computed]
        losses = [(owner, loss) for owner, loss in noted if id(loss) in computed]
        if places or losses:
            vars(self)[BUILT] = Built(recorder.nodes, places, losses)
        return result

    return call


def _with_present_values(call: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `call`: afterwards the layer has its variables again, for which `self.w -= x` had set a tensor.

    The layer keeps the random state of layers that `call` makes.
    """

    @functools.wraps(call)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        built = vars(self).get(BUILT)
        own = {name: value for name, value in vars(self).items() if isinstance(value, keras.Variable)}
        try:
            with kept_by(self), nullcontext() if built is None else built.now():
                return call(self, *args, **kwargs)
        finally:
            vars(self).update(own)

    setattr(run, PRESENT, True)
    return run


CHANGES = {"build": _recorded, "call": _with_present_values}
