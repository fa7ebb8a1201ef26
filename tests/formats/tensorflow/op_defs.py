"""The lines of `op_defs.txt` by TensorFlow's registry; `python -m tests.formats.tensorflow.op_defs` writes the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.formats.tensorflow.op_defs import DTYPES, FILE, FLAGS
from tests.libraries import Library

op_def_registry = Library("tensorflow.python.framework.op_def_registry")

LETTERS = {number: letter for letter, number in DTYPES.items() if len(letter) == 1}
NAMES = {number: name for name, number in DTYPES.items() if len(name) > 1}


def types() -> set[str]:
    """The types that Dovetail reads or writes."""
    from dovetail.formats.tensorflow import saved_model  # noqa: F401  # the readers enter themselves
    from dovetail.formats.tensorflow.definitions import INPUTS
    from dovetail.formats.tensorflow.host.table import HOST
    from dovetail.formats.tensorflow.reading import SPECIAL
    from dovetail.formats.tensorflow.rows import READ

    return {*READ, *SPECIAL, *HOST, *INPUTS}


def definitions() -> Iterator[Any]:
    """TensorFlow's definitions of these types."""
    for name in sorted(types()):
        found = op_def_registry.get(name)
        if found is not None:
            yield found


def line(definition: Any) -> str:
    args = (" ".join(map(_arg, args)) for args in (definition.input_arg, definition.output_arg))
    flags = " ".join(flag for flag in FLAGS if getattr(definition, flag))
    parts = [" -> ".join(args).strip(), *map(_attr, definition.attr), *([f"!{flags}"] if flags else [])]
    return f"{definition.name}: {'; '.join(parts)}"


def _arg(arg: Any) -> str:
    dtype = f"{arg.type_list_attr}..." if arg.type_list_attr else arg.type_attr or NAMES[arg.type]
    return f"{arg.name}/{'&' * arg.is_ref}{dtype}{'*' * bool(arg.number_attr)}{arg.number_attr}"


def _attr(attr: Any) -> str:
    said = f"{attr.name} {attr.type}"
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
