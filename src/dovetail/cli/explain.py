"""`dovetail show --explain`: where a function of a file, or an expression of K, is executed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import dovetail as dt
from dovetail.cli import WrongInput
from dovetail.cli.inputs import EXAMPLE, bound, imported, inputs_of
from dovetail.cli.options import is_function
from dovetail.observe.explain import explain

LINE = "<command line>"


def run(target: str, inputs: Sequence[str], engine: str | None, algorithms: bool, as_json: bool) -> int:
    """Print an explanation, and return the exit status.

    Args:
        target: `file.py:function`, or an expression of the names `K`, `dt`, `ops`, `np` and of the inputs.
        inputs: the example inputs, as `x=float32[8,32,32,3]`.
        engine: the name of the engine, or "auto"; None for the current one.
        algorithms: whether the algorithms of convolutions are measured.
        as_json: whether to print JSON.

    Raises:
        FileNotFoundError: there is no such file.
        WrongInput: the function or the inputs cannot be used.
    """
    given = inputs_of(inputs)
    if is_function(target):
        function, values = _by_position(imported(target), given, target)
    else:
        function, values = expression(target, list(given)), list(given.values())
    told = explain(function, *values, engine=engine, algorithms=algorithms)
    print(json.dumps(_plain(told), indent=1) if as_json else told)
    return 0


def expression(text: str, names: Sequence[str]) -> Callable[..., Any]:
    """The function that computes an expression of the command line.

    Raises:
        WrongInput: it is no expression of Python.

    Example:
        >>> expression("K.relu(x) + 1", ["x"])(np.float32([-1, 2])).tolist()
        [1.0, 3.0]
    """
    try:
        compile(text, LINE, "eval")  # the text alone, so that no bracket of it ends the function's
        made = compile(f"lambda {', '.join(names)}: ({text}\n)", LINE, "eval")
    except SyntaxError as error:
        problem = f"{text!r} is neither file.py:function nor an expression as K.conv2d(x, w) ({error.msg})"
        raise WrongInput(f"{problem}. Write each input as {EXAMPLE}.") from None
    function = eval(made, {"K": dt.backend, "dt": dt, "ops": dt.ops, "np": np})
    function.__name__ = "expression"
    return function


def _by_position(found: Any, given: dict[str, Any], name: str) -> tuple[Any, list[Any]]:
    """A function that takes all its inputs by position, and the inputs."""
    if isinstance(found, dt.Graph):
        return found, list(given.values())
    if not callable(found):
        raise WrongInput(f"{name} is no function, but {type(found).__name__}.")
    args, kwargs = bound(found, given, name)
    if not kwargs:
        return found, list(args)
    count, names = len(args), list(kwargs)
    return (
        lambda *values: found(*values[:count], **dict(zip(names, values[count:], strict=True))),
        [*args, *kwargs.values()],
    )


def _plain(value: Any) -> Any:
    """Named tuples as dicts."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {key: _plain(part) for key, part in value._asdict().items()}
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else value
