"""Layers keep what their functions made in the first call; `Lambda` also the values that the names in it had then.

Keras 2 called them at once, and never again.  Keras 3 calls them whenever the model runs.  A loop's variable has its
last value by then, and a name may stand for something else.  A variable that the function makes is made once.

The `call` of a program's layer may make other layers, as `Dropout(0.5)(x)`.  Their random numbers go on from call to
call.

A function that takes gradients between its inputs, of which one is computed from the other, is called once, as there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from types import CellType, CodeType, FunctionType
from typing import Any

import keras

from dovetail.compat.kept import has_owner, kept
from dovetail.compat.keras2.patches import Patch
from dovetail.compat.keras2.readers import reads
from dovetail.core.values.creations import Kept
from dovetail.core.values.variable import Variable
from dovetail.interop.privates import SeedGenerator, tree
from dovetail.ops import convert

KEPT = "_kept_variables"  # the attribute of a layer that was called


def patches() -> Iterable[Patch]:
    """Yield the change of the layer's `__call__`, which also gives the value of a variable that the function makes."""
    yield Patch(keras.layers.Lambda, "__call__", _with_values)


def _with_values(self: Any, *args: Any, **kwargs: Any) -> Any:
    if KEPT not in vars(self):
        vars(self)[KEPT] = Kept()
        self.function = bound(self.function)
    inputs = tree.flatten((args, kwargs))
    if _differentiates(self.function, inputs) and all(isinstance(x, keras.KerasTensor) for x in inputs):
        return self.function(*args, **kwargs)
    with vars(self)[KEPT].of_call():
        result = super(keras.layers.Lambda, self).__call__(*args, **kwargs)
    return convert(result) if isinstance(result, Variable) else result


def _differentiates(function: Any, inputs: list[Any]) -> bool:
    """Whether a function asks for `gradients`, and has several tensors of the model between which they may be."""
    asks = type(function) is FunctionType and "gradients" in _names(function.__code__)
    return asks and (len(inputs) > 1 or reads(function))


def made_once(init: Callable[..., None]) -> Callable[..., None]:
    """Wrap `SeedGenerator.__init__`: those that each `call` of a layer makes share the state of the first call's."""

    @functools.wraps(init)
    def call(self: Any, seed: int | None = None, *args: Any, **kwargs: Any) -> None:
        if not has_owner():
            init(self, seed, *args, **kwargs)
            return

        def make() -> Any:
            made = object.__new__(type(self))
            init(made, seed, *args, **kwargs)
            return made

        first = kept(make)
        while not isinstance(first, SeedGenerator) or first._initial_seed != seed:
            first = kept(make)
        vars(self).update(vars(first))

    return call


def bound(function: Any) -> Any:
    """A lambda or an inner function whose outer names keep the values that they have now; others stay as they are."""
    if type(function) is not FunctionType or not (function.__name__ == "<lambda>" or function.__closure__):
        return function
    outer = function.__globals__
    kept = {name: outer[name] for name in ("__builtins__", "__name__", *_names(function.__code__)) if name in outer}
    cells = function.__closure__ and tuple(map(_copied, function.__closure__))
    made = FunctionType(function.__code__, kept, function.__name__, function.__defaults__, cells)
    made.__kwdefaults__, made.__qualname__ = function.__kwdefaults__, function.__qualname__
    vars(made).update(vars(function))
    return made


def _names(code: CodeType) -> Iterator[str]:
    """Yield the global names and attributes in a function and in the functions that it makes."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _copied(cell: CellType) -> CellType:
    try:
        return CellType(cell.cell_contents)
    except ValueError:  # the name has no value yet
        return cell
