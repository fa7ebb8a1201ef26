"""Parity with the oracle, `tf_keras.backend`: cases, how they run there and here, and the comparison.

    call("sum", array(2, 3), axis=1)                                  K.sum(x, axis=1)
    program(lambda K, x: K.switch(K.sum(x) > 0, x, -x), array(3))     any program of K and its arrays

A case runs once on the oracle. Here it runs on every engine in three ways: on eager Tensors, inside
`dovetail.function`, and on placeholders with unknown dimensions through `K.function`. Values, shapes and dtypes must
agree. If the oracle raises an error, Dovetail must raise one of the same conventional type.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np

import dovetail as dt
from dovetail import backend
from dovetail.ops.samples import Array

WAYS = ("eager", "compiled", "symbolic")
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-5, "float64": 1e-6}


@dataclass(frozen=True, eq=False)  # two cases are never the same, and arrays have no hash
class Case:
    """One call, or one program, and its arrays.

    Attributes:
        functions: the K functions that it tests; the first gives the case its name.
        run: (K, *arrays) → a structure of results.
        arrays: the program's arguments: `Array`s to draw, or NumPy arrays.
        ways: how it runs here; ways in which the call has no meaning are left out.
        raises: whether the oracle raises an error, as Dovetail then must.
        differs: why Dovetail's result differs from the oracle's; the function's docstring gives the reason too.
        expected: (*arrays) → the right result, if it differs.
        definition: (*arrays) → the result by our own definition, for calls that the oracle computes on some processors
            and refuses on others. If the oracle computes a result, it must agree too.
        tolerance: a factor on the allowed difference of results.
    """

    functions: tuple[str, ...]
    run: Callable[..., Any]
    arrays: tuple[Any, ...]
    ways: tuple[str, ...] = WAYS
    raises: bool = False
    differs: str = ""
    expected: Callable[..., Any] | None = None
    definition: Callable[..., Any] | None = None
    tolerance: float = 1.0
    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.text

    def but(self, **changes: Any) -> Case:
        """The same case with other attributes."""
        return replace(self, **changes)

    def drawn(self) -> list[np.ndarray]:
        """The drawn arrays; always the same for one case."""
        rng = np.random.default_rng(zlib.crc32(self.text.encode()))
        return [a.draw(rng) if isinstance(a, Array) else a for a in self.arrays]


def call(name: str, /, *args: Any, **options: Any) -> Case:
    """The case of one call; arrays among the arguments, also in lists, become the program's arguments."""
    case_options = {k: options.pop(k) for k in list(options) if k in _CASE_OPTIONS}
    arrays: list[Any] = []

    def place(value: Any) -> Any:
        if isinstance(value, (Array, np.ndarray)):
            arrays.append(value)
            return _Slot(len(arrays) - 1)
        if isinstance(value, list):
            return [place(v) for v in value]
        return value

    def fill(value: Any, given: Any) -> Any:
        if isinstance(value, _Slot):
            return given[value.index]
        return [fill(v, given) for v in value] if isinstance(value, list) else value

    slots, named = [place(a) for a in args], {k: place(v) for k, v in options.items()}

    def run(K: Any, *given: Any) -> Any:
        return attrgetter(name)(K)(*[fill(s, given) for s in slots], **{k: fill(v, given) for k, v in named.items()})

    text = ", ".join([*map(_show, args), *(f"{k}={_show(v)}" for k, v in options.items())])
    return Case((name,), run, tuple(arrays), text=f"{name}({text})", **case_options)


def program(name: str, run: Callable[..., Any], *arrays: Any, **case_options: Any) -> Case:
    """The case of a program. `name` lists the tested functions, then a note, separated by spaces."""
    functions = tuple(n for n in name.split() if n in backend.table.FUNCTIONS) or (name.split()[0],)
    text = f"{name}({', '.join(map(_show, arrays))})"
    return Case(functions, run, arrays, text=text, **case_options)


@dataclass(frozen=True)
class _Slot:
    index: int


_CASE_OPTIONS = ("ways", "raises", "differs", "expected", "definition", "tolerance")


def _show(value: Any) -> str:
    if isinstance(value, Array):
        return f"{value.dtype}{list(value.shape)}".replace(" ", "")
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}#{zlib.crc32(value.tobytes()) % 997}".replace(" ", "")
    return repr(value).replace(" ", "")


# -- running ----------------------------------------------------------------------------------------------------------


@functools.cache
def oracle() -> Any:
    """The reference backend."""
    import tf_keras

    return tf_keras.backend


@functools.cache
def expected(case: Case, reference: Any = None) -> Any:
    """The oracle's result of a case: its leaves, or the exception that it raises.

    Args:
        case: the case to run.
        reference: the oracle, if it is not K's.
    """
    import tensorflow as tf

    if case.expected is not None:
        return leaves(case.expected(*case.drawn()))
    try:
        found: Any = leaves(case.run(reference or oracle(), *[tf.constant(a) for a in case.drawn()]))
    except Exception as error:
        found = error
    if case.definition is None:
        return found
    defined = leaves(case.definition(*case.drawn()))
    if not isinstance(found, Exception):
        agree(case, found, defined)
    return defined


def actual(case: Case, way: str) -> list[np.ndarray]:
    """Dovetail's result of a case on the current engine."""
    try:
        return leaves(_RUN[way](case))
    finally:
        backend.clear_session()


def _eager(case: Case) -> Any:
    return case.run(backend, *[dt.ops.convert(a) for a in case.drawn()])


def _compiled(case: Case) -> Any:
    keeping = _Keeping()

    def run(*arrays: Any) -> Any:
        keeping.begin()
        return case.run(keeping, *arrays)

    return dt.function(run)(*[dt.ops.convert(a) for a in case.drawn()])


class _Keeping:
    """K for a function that is traced twice: the second trace gets the variables that the first one made."""

    def __init__(self) -> None:
        self._kept: list[Any] = []
        self._found: Iterator[Any] = iter(())

    def begin(self) -> None:
        """Start a trace."""
        self._found = iter(list(self._kept))

    def __getattr__(self, name: str) -> Any:
        function = getattr(backend, name)
        if not name.endswith("variable") or name == "is_variable":
            return function

        def kept(*args: Any, **kwargs: Any) -> Any:
            variable = next(self._found, None)
            if variable is None:
                variable = function(*args, **kwargs)
                self._kept.append(variable)
            return variable

        return kept


def _symbolic(case: Case) -> Any:
    arrays = case.drawn()
    inputs = [backend.placeholder(shape=(None,) * a.ndim, dtype=str(a.dtype)) for a in arrays]
    return backend.function(inputs, case.run(backend, *inputs))(arrays)


_RUN = {"eager": _eager, "compiled": _compiled, "symbolic": _symbolic}


def leaves(result: Any) -> list[np.ndarray]:
    """The results of a program in order, as NumPy arrays; None stays None."""
    if isinstance(result, dict):
        result = [result[key] for key in sorted(result)]
    if isinstance(result, (list, tuple)) and not hasattr(result, "dtype"):
        return [leaf for item in result for leaf in leaves(item)]
    return [np.asarray(result)]


# -- comparing --------------------------------------------------------------------------------------------------------

KINDS = (ValueError, TypeError, IndexError, NotImplementedError, LookupError)  # the conventional exceptions


def kind_of(error: Exception) -> type[Exception]:
    """The conventional type of an exception; an exception type of the oracle's own maps by its name."""
    if type(error).__name__ in ("InvalidArgumentError", "AttributeError", "OutOfRangeError"):
        return ValueError if type(error).__name__ != "AttributeError" else TypeError
    return next((kind for kind in KINDS if isinstance(error, kind)), type(error))


def agree(case: Case, got: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    """Raise an error if the results differ in number, dtype, shape or value."""
    assert len(got) == len(wanted)
    for ours, theirs in zip(got, wanted, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        if ours.dtype == object or ours.dtype.kind in "USbiu":
            np.testing.assert_array_equal(ours, theirs)
        else:
            tolerance = TOLERANCE.get(str(theirs.dtype), 2e-5) * case.tolerance
            wide = [a.astype("float64") if a.dtype.kind not in "c" else a for a in (ours, theirs)]
            np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance)
