"""Calls with something wrong in them, made of valid ones: of the op table's samples, and of docstrings' examples.

A fault that no function accepts must raise an error. Others (another rank, another dtype) are valid for some functions;
if one raises an error, it must be a good one.
"""

from __future__ import annotations

import contextlib
import doctest
import functools
import importlib
import inspect
import io
import pkgutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import dovetail as dt
from dovetail import backend
from dovetail.core.kinds import IntsKind, Kind
from dovetail.core.op import Op
from tests.backend import cases
from tests.ops.table import draw

MISSING = object()


@dataclass(frozen=True, eq=False)
class Call:
    """A call of a public function.

    Attributes:
        name: the name that users know: `ops.random.gamma`.
        fault: the wrong part.
        certain: whether no function accepts it.
        run: a function that makes the call, if it is not made directly.
    """

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    fault: str = ""
    certain: bool = True
    run: Callable[[], Any] | None = None

    def __str__(self) -> str:
        return f"{self.name}-{self.fault}".replace(" ", "_")

    def __call__(self) -> Any:
        return self.function(*self.args, **self.kwargs) if self.run is None else self.run()

    def titles(self) -> list[str]:
        """The names by which a message may call the function."""
        package, _, short = self.name.partition(".")
        return [f"{self.name} at", f"{self.name}: ", *([short] if package == "ops" else [])] + (
            [self.function.title] if isinstance(self.function, Op) else []
        )


class Thing:
    """An object that no function takes."""

    def __repr__(self) -> str:
        return "<a thing>"


def ops_calls() -> Iterator[Call]:
    """A valid call of each public op and function of `ops`."""
    for name in dt.ops.__all__:
        function = getattr(dt.ops, name)
        if isinstance(function, Op):
            if function.samples:
                args, kwargs = draw(function.samples[0], np.random.default_rng(0))
                yield Call(f"ops.{name}", function, tuple(args), kwargs)
            continue
        if callable(function):
            yield from _of_example(f"ops.{name}", function)
    for name in dt.ops.random.__all__:
        yield from _of_example(f"ops.random.{name}", getattr(dt.ops.random, name))


def k_calls() -> Iterator[Call]:
    """A valid call of each function of K, from the parity cases, or from the example in its docstring."""
    found: dict[str, Call] = {}

    class Spy:
        """A copy of K that keeps the first successful call of each function."""

        def __getattr__(self, name: str) -> Any:
            function = getattr(backend, name)

            def spy(*args: Any, **kwargs: Any) -> Any:
                result = function(*args, **kwargs)
                found.setdefault(name, Call(f"K.{name}", function, args, kwargs))
                return result

            return spy if name in backend.table.FUNCTIONS else function

    for module in pkgutil.iter_modules(cases.__path__):
        for case in importlib.import_module(f"{cases.__name__}.{module.name}").CASES:
            if case.raises or set(case.functions) <= set(found):
                continue
            before = set(found)
            with contextlib.suppress(Exception):
                case.run(Spy(), *case.drawn())
            forget_settings()
            for name in set(found) - before:
                try:
                    found[name]()
                except Exception:  # it needs earlier settings of the program
                    del found[name]
            forget_settings()
    for name, function in backend.table.FUNCTIONS.items():
        yield from [found[name]] if name in found else _of_example(f"K.{name}", function)


def forget_settings() -> None:
    """Give K the settings that it starts with."""
    backend.clear_session()
    backend.set_floatx("float32")
    backend.set_image_data_format("channels_last")
    backend.set_batch_dot_mode("batch")


def _of_example(name: str, function: Any) -> Iterator[Call]:
    """The first call of a function in the example of its docstring."""
    found = inspect.unwrap(function)
    module = sys.modules[found.__module__]
    calls: list[Call] = []

    @functools.wraps(function)
    def spy(*args: Any, **kwargs: Any) -> Any:
        calls.append(Call(name, function, args, kwargs))
        return function(*args, **kwargs)

    names = {**vars(module), "K": backend, found.__name__: spy}
    tests = doctest.DocTestParser().get_doctest(function.__doc__, names, name, None, 0)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        for example in tests.examples:
            exec(compile(example.source, __file__, "single"), names)
    yield from calls[:1]


# -- faults -----------------------------------------------------------------------------------------------------------

RAGGED = [[1.0, 2.0], [3.0]]
STRUCTURED = np.zeros(2, [("a", "f4"), ("b", "i4")])
NOT_TENSORS: dict[str, Any] = {
    "text": "text",
    "a thing": Thing(),
    "a set": {1.0, 2.0},
    "ragged": RAGGED,
    "an array of text": np.array(["a", "b"]),
    "an array of objects": np.array([None, 1], object),
    "dates": np.array(["2020-01-01"], "datetime64[D]"),
    "fields": STRUCTURED,
    "masked": np.ma.masked_array([1.0, 2.0], [True, False]),
    "a function": len,
}
FAULTS: dict[str, dict[str, Any]] = {  # kind of parameter → faults that are wrong for each parameter of this kind
    "tensor": NOT_TENSORS,
    "tensors": {
        "text": "text",
        "a thing": Thing(),
        "a number": 3.0,
        "one tensor": np.ones((2, 2), "float32"),
        "things": [Thing()],
    },
    "shape": {
        "text": "text",
        "a thing": Thing(),
        "floats": (1.5, 2.5),
        "ragged": RAGGED,
        "negative": (-3, 2),
        "None inside": (None, 2),
    },
    "axis": {"text": "first", "out of range": 99, "a float": 0.5, "a thing": Thing()},
    "bool": {"text": "yes", "a list": [], "a thing": Thing()},
    "int": {"text": "two", "a float": 1.5, "a thing": Thing()},
    "float": {"text": "half", "a list": [1.0], "a thing": Thing(), "complex": 1j},
    "word": {"another": "nonsense", "a number": 7, "a thing": Thing()},
    "dtype": {"misspelt": "flaot32", "a number": 3.5, "a thing": Thing(), "objects": object},
    "function": {"a number": 3.0, "text": "tanh"},
}  # fmt: skip
MAYBE: dict[str, dict[str, Any]] = {  # faults that some functions accept
    "tensor": {
        "no axes": np.float32(1),
        "seven axes": np.ones((1, 2, 1, 1, 1, 1, 3), "float32"),
        "no elements": np.ones((0,), "float32"),
        "bools": np.ones((2, 3), bool),
        "integers": np.ones((2, 3), "int32"),
        "complex numbers": np.ones((2, 3), "complex64"),
        "other floats": np.ones((5, 7), "float16"),
        "an 8-bit float": np.ones(2, dt.dtypes.as_dtype("float8_e4m3fn").numpy),
        "too large": 2**70,
    },
    "int": {"negative": -7},
    "float": {"negative": -7.5, "nan": float("nan")},
    "shape": {"no axes": (), "long": (2,) * 9},
}
WORDS = ("padding", "mode", "data_format", "method", "side", "indexing", "interpolation", "subscripts", "kernel_type")


def kind_of(name: str, parameter: Any, value: Any, op: Op | None) -> str | None:
    """The kind of a parameter, by the op's signature, or by name, annotation and value; None if it has none."""
    kind = next((p.kind for p in op.params if p.name == name), None) if op else None
    if isinstance(kind, Kind):
        return "tensors" if kind.many else "tensor"
    if isinstance(kind, IntsKind) or name in ("shape", "noise_shape"):
        return "shape"
    if name == "dtype":
        return "dtype"
    if name in WORDS:
        return "word"
    if name in ("axis", "axis1", "axis2"):
        return "axis"
    hint = str(parameter.annotation)
    for plain in ("bool", "int", "float"):
        if hint in (plain, f"{plain} | None"):
            return plain
    if "Callable" in hint:
        return "function"
    is_array = isinstance(value, (np.ndarray, dt.Tensor)) or (isinstance(value, list) and value)
    return "tensor" if is_array and op is None else None


def may_be_none(op: Op | None, name: str) -> bool:
    """Whether an op says that a parameter is a tensor or None, as ops that passes add do."""
    return op is not None and any(p.name == name and getattr(p.kind, "optional", False) for p in op.params)


def wrong_calls(valid: Call) -> Iterator[Call]:
    """The call with one thing wrong in it, in all possible ways."""
    op = valid.function if isinstance(valid.function, Op) else None
    signature = inspect.signature(valid.function)
    parameters = {p.name: p for p in signature.parameters.values() if p.name != "name"}
    positional = [p for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    bound = signature.bind(*valid.args, **valid.kwargs).arguments
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())

    def but(fault: str, certain: bool, **changes: Any) -> Call:
        arguments = {**bound, **changes}
        arguments = {k: v for k, v in arguments.items() if v is not MISSING}
        return Call(valid.name, valid.function, (), arguments, fault, certain)

    if not variadic:
        yield Call(valid.name, valid.function, (*valid.args, *[1] * 20), {}, "too many arguments")
        yield but("unknown keyword", True, nonsense=1)
        for p in positional:
            if p.default is p.empty:
                yield but(f"{p.name} missing", True, **{p.name: MISSING})
        for p in parameters.values():
            value = bound.get(p.name, p.default)
            kind = kind_of(p.name, p, value, op)
            if kind is None:
                continue
            if p.default is not None and not may_be_none(op, p.name):
                yield but(f"{p.name} is None", p.default is p.empty, **{p.name: None})
            for what, wrong in FAULTS[kind].items():
                yield but(f"{p.name} is {what}", True, **{p.name: wrong})
            for what, wrong in MAYBE.get(kind, {}).items():
                yield but(f"{p.name} is {what}", False, **{p.name: wrong})
