"""A function that a command line names, `file.py:function`, and its example inputs, `x=float32[8,3]`."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from dovetail.cli import WrongInput
from dovetail.cli.program import KERAS_BACKEND
from dovetail.core.base.errors import did_you_mean
from dovetail.core.values.spec import TensorSpec, spec
from dovetail.edit.graph import Graph
from dovetail.functions.function import Function, function

SPEC = re.compile(r"\s*([A-Za-z]\w*)\s*\[\s*(.*?)\s*\]\s*")
EXAMPLE = "x=float32[8,32,32,3]"


def inputs_of(texts: Iterable[str]) -> dict[str, Any]:
    """The example inputs that a command line gives, by name.

    Args:
        texts: a name and a tensor, as `x=float32[8,32,32,3]`, with `?` for unknown dimensions; or a name and a value
            of Python's, as `axis=1`.

    Raises:
        WrongInput: a text is neither, or a name comes twice.

    Example:
        >>> inputs_of(["x=float32[?,3]", "scale=float32[]", "axis=-1", "mode='same'"])
        {'x': float32[?,3], 'scale': float32[], 'axis': -1, 'mode': 'same'}
    """
    inputs: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name.isidentifier():
            raise WrongInput(f"{text!r} is no example input: write a name and a tensor, as {EXAMPLE}.")
        if name in inputs:
            raise WrongInput(f"the example input {name!r} is given twice.")
        inputs[name] = _value(text, value)
    return inputs


def _value(text: str, value: str) -> TensorSpec | Any:
    if match := SPEC.fullmatch(value):
        return spec_of(text, match)
    try:
        return ast.literal_eval(value.strip())
    except (ValueError, SyntaxError):
        problem = "is neither a tensor, as float32[8,3], nor a number or a quoted string"
        raise WrongInput(f"{text!r}: {value!r} {problem}.") from None


def spec_of(text: str, match: re.Match[str]) -> TensorSpec:
    """The shape and dtype of a match of `SPEC`.

    Args:
        text: the argument, for errors.

    Raises:
        WrongInput: there is no such dtype, or a dimension is no number.
    """
    sizes = [size.strip() for size in match[2].split(",")] if match[2] else []
    if not all(size == "?" or size.isdecimal() for size in sizes):
        raise WrongInput(f"{text!r}: dimensions are whole numbers, or ? where unknown, as in {EXAMPLE}.")
    try:
        return spec([None if size == "?" else int(size) for size in sizes], match[1])
    except TypeError as error:
        raise WrongInput(f"{text!r}: {error}") from None


def imported(text: str) -> Any:
    """The object that `file.py:name` names.

    Args:
        text: the name may have dots, as `train.py:Model.call`.

    Raises:
        FileNotFoundError: there is no such file.
        WrongInput: the file has nothing of this name.
    """
    file, _, names = text.rpartition(":")
    member: Any = module_of(file)
    for part in names.split("."):
        if not hasattr(member, part):
            raise WrongInput(f"{file} has no {names!r}. {did_you_mean(part, vars(member))}".rstrip())
        member = getattr(member, part)
    return member


def module_of(file: str) -> ModuleType:
    """The module that a Python file is.  It is imported, with Keras on Dovetail if it names Keras.

    Raises:
        FileNotFoundError: there is no such file.
        WrongInput: it is no file of Python.
    """
    path = Path(file).resolve()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {file!r} to import.")
    if b"keras" in path.read_bytes():
        import_module(KERAS_BACKEND)
    name = path.stem if path.stem not in sys.modules else str(path)  # no other module is replaced
    described = spec_from_file_location(name, path)
    if described is None or described.loader is None:
        raise WrongInput(f"{file!r} is no file of Python, whose name ends in .py.")
    sys.path.insert(0, str(path.parent))
    module = sys.modules[name] = module_from_spec(described)
    described.loader.exec_module(module)
    return module


def graph_of(found: Any, inputs: Mapping[str, Any], name: str) -> Graph:
    """The graph of a function for example inputs.

    Args:
        found: a function, compiled or not; or a graph.
        inputs: the arguments by name, with specs for tensors.  If there are none, a compiled function gives the graph
            of its input signature, or of its latest call.
        name: its name on the command line, for errors.

    Raises:
        WrongInput: it is no function, or the inputs are not its parameters.

    Example:
        >>> graph_of(lambda x: x + x, inputs_of(["x=float32[2]"]), "double").outputs
        [<graph tensor AddV2:0 float32[2]>]
    """
    if isinstance(found, Graph):
        return found
    if not callable(found):
        raise WrongInput(f"{name} is no function, but {type(found).__name__}.")
    compiled = found if isinstance(found, Function) else function(found)
    if not inputs:
        if compiled._signature is not None:
            return compiled.graph(*compiled._signature[0])
        if compiled.graphs:
            return compiled.graphs[-1]
    args, kwargs = bound(found, inputs, name)
    return compiled.graph(*args, **kwargs)


def bound(found: Any, inputs: Mapping[str, Any], name: str) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """The arguments of a call by position and by name."""
    try:
        bound = inspect.signature(found).bind(**inputs)
    except TypeError as error:
        given = f"{', '.join(inputs)} given" if inputs else "none given"
        problem = f"{name} needs example inputs for its parameters {inspect.signature(found)}, {given}: {error}"
        raise WrongInput(f"{problem}. Write each as {EXAMPLE}.") from None
    return bound.args, bound.kwargs
