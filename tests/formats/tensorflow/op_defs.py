"""The lines of `op_defs.txt` by TensorFlow's registry; `python -m tests.formats.tensorflow.op_defs` writes the file."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.formats.tensorflow.op_defs import DTYPES, FILE, FLAGS, NAMES
from tests.libraries import Library

op_def_registry = Library("tensorflow.python.framework.op_def_registry")
raw_ops = Library("tensorflow.raw_ops")

LETTERS = {DTYPES[name]: letter for letter, name in NAMES.items()}
xla = Library("tensorflow.compiler.tf2xla.ops.gen_xla_ops")  # it registers types
# Types without a row: of the main graph, of branches of TensorFlow 1, of calls of Python, and of XLA
ALONE = {"Placeholder", "PlaceholderV2", "Switch", "RefSwitch", "PyFunc", "PyFuncStateless", "EagerPyFunc"}
ALONE |= {"SymbolicGradient", "XlaDynamicUpdateSlice", "XlaOptimizationBarrier"}
FIXED = {number: name for name, number in DTYPES.items()}


def types() -> set[str]:
    """The types that Dovetail reads or writes."""
    from dovetail.formats.tensorflow.host import HOST
    from dovetail.formats.tensorflow.ops import READ, SPECIAL

    return {*READ, *SPECIAL, *HOST, *ALONE}


def definitions() -> Iterator[Any]:
    """TensorFlow's definitions of these types."""
    assert xla.xla_optimization_barrier
    for name in sorted(types()):
        found = op_def_registry.get(name)
        if found is not None:
            yield found


def line(definition: Any) -> str:
    named = words(definition)
    args = (" ".join(_arg(one, named) for one in args) for args in (definition.input_arg, definition.output_arg))
    flags = " ".join(flag for flag in FLAGS if getattr(definition, flag))
    attrs = (_attr(one, named) for one in definition.attr)
    parts = [" -> ".join(args).strip(), *attrs, *([f"!{flags}"] if flags else [])]
    return f"{definition.name}: {'; '.join(parts)}"


def words(definition: Any) -> dict[str, str]:
    """The names of inputs and attributes, with `:` and the parameter of TensorFlow's function if this has another name.

    The function has the inputs, then the attributes that these do not say, those without a default first.
    """
    inputs = definition.input_arg
    said = {name for one in inputs for name in (one.type_attr, one.type_list_attr, one.number_attr)}
    free = [one for one in definition.attr if one.name not in said]
    free.sort(key=lambda one: one.HasField("default_value"))
    names = [one.name for one in (*inputs, *free)]
    function = getattr(raw_ops, definition.name, None)
    params = names if function is None else [name for name in inspect.signature(function).parameters if name != "name"]
    return {name: name if name == param else f"{name}:{param}" for name, param in zip(names, params, strict=True)}


def _arg(arg: Any, named: dict[str, str]) -> str:
    dtype = f"{arg.type_list_attr}..." if arg.type_list_attr else arg.type_attr or FIXED[arg.type]
    return f"{named.get(arg.name, arg.name)}/{'&' * arg.is_ref}{dtype}{'*' * bool(arg.number_attr)}{arg.number_attr}"


def _attr(attr: Any, named: dict[str, str]) -> str:
    said = f"{named.get(attr.name, attr.name)} {attr.type}"
    if attr.has_minimum:
        said += f" >={attr.minimum}"
    if attr.HasField("allowed_values"):
        said += f" {_text(attr.allowed_values)}"
    return f"{said} = {_text(attr.default_value)}" if attr.HasField("default_value") else said


def _text(message: Any) -> str:
    kind = message.WhichOneof("value")
    if kind == "shape":
        assert message.shape.unknown_rank
        return "?"
    if kind != "list":
        return _one(kind, getattr(message, kind))
    (field, values), *_ = [(field.name, values) for field, values in message.list.ListFields()] or [("i", [])]
    items = [_one(field, value) for value in values]
    return f"[{''.join(items)}]" if field == "type" else f"[{','.join(items)}]"


def _one(kind: str, value: Any) -> str:
    if kind == "type":
        return LETTERS[value]
    if kind == "f":
        return str(np.float32(value))
    return json.dumps(value.decode() if kind == "s" else value)


def text() -> str:
    """The file, as the installed TensorFlow says it."""
    return "".join(f"{line(definition)}\n" for definition in definitions())


if __name__ == "__main__":
    FILE.write_text(text())
