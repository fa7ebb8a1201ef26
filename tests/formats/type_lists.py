"""The dtypes and forms that ops of ONNX and TensorFlow have, as `python -m tests.formats.type_lists` asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import dovetail.formats
from dovetail.formats.nodes.kernels import LETTERS
from tests.libraries import Library

onnx = Library("onnx")
op_def_registry = Library("tensorflow.python.framework.op_def_registry")
kernels = Library("tensorflow.python.framework.kernels")
dtypes = Library("tensorflow.python.framework.dtypes")

FOLDER = Path(dovetail.formats.__file__).parent
FILES = {name: FOLDER / name / "type_lists.txt" for name in ("onnx", "tensorflow")}
FILES["computed"] = FOLDER / "summary" / "computed.txt"
FILES |= {name: FOLDER / "onnx" / f"{name}.txt" for name in ("forms", "versions", "attributes")}
THEIRS = {"float": "float32", "double": "float64"}  # ONNX's names of dtypes
OPSETS = 13, 28
HALVES = {"e", "E"}  # ONNX Runtime casts them by itself, or has kernels for them elsewhere


def lettered(names: Iterable[str]) -> set[str]:
    return {LETTERS[name] for name in names if name in LETTERS}


def line(
    type: str, first: int, inputs: list[str], results: list[str], lists: dict[str, tuple[set[str], set[str]]]
) -> str:
    """A line of a file; "" if the lists refuse nothing."""
    every = set(LETTERS.values()) - {"F", "D"}
    used = {var: lists[var] for var in (one.rstrip("*") for one in (*inputs, *results)) if var in lists}
    if all(every <= has for has, _ in used.values()):
        return ""
    letters = {var: ("".join(sorted(has)), "".join(sorted(more))) for var, (has, more) in used.items()}
    said = (f"{var}={has}" + (f"/{more}" if more else "") for var, (has, more) in letters.items())
    return f"{type} {first}: {' '.join(inputs)} > {' '.join(results)}; {' '.join(said)}"


def onnx_lines() -> Iterator[str]:
    """The types that a schema lists and ONNX Runtime's kernels for processors take; the others behind `/`."""
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_opkernel_def

    known: dict[str, list[Any]] = {}
    for kernel in get_all_opkernel_def():
        if kernel.provider == "CPUExecutionProvider" and kernel.domain == "":
            known.setdefault(kernel.op_name, []).append(kernel)
    for name, schemas in history():
        for schema in schemas:
            text = _onnx_line(schema, known.get(name, []))
            if text or schema.since_version > OPSETS[0]:
                yield text or f"{name} {schema.since_version}: > ;"


def history() -> Iterator[tuple[str, list[Any]]]:
    """Each type, and its schemas from the one of the first opset on."""
    found: dict[str, list[Any]] = {}
    for schema in sorted(onnx.defs.get_all_schemas_with_history(), key=lambda one: one.since_version):
        if schema.domain == "" and not schema.deprecated and schema.since_version <= OPSETS[1]:
            found.setdefault(schema.name, []).append(schema)
    for name, schemas in sorted(found.items()):
        before = [one for one in schemas if one.since_version <= OPSETS[0]]
        yield name, [*before[-1:], *schemas[len(before) :]]


def form_lines() -> Iterator[str]:
    """Types, attributes with their defaults, and numbers of inputs that came behind the first opset."""
    for name, schemas in history():
        old = None if schemas[0].since_version > OPSETS[0] else schemas[0]
        for schema in schemas[old is not None :]:
            attrs = (
                {} if old is None else {key: schema.attributes[key] for key in {*schema.attributes} - {*old.attributes}}
            )
            added = [f"{key}={_default(one)}" for key, one in sorted(attrs.items())]
            added += [f"#{schema.max_input}"] * (old is not None and schema.max_input > old.max_input)
            if added or old is None:
                yield " ".join((name, str(schema.since_version), *added))
            old = schema


def attribute_lines() -> Iterator[str]:
    """The types of attributes, and the names that have them in some definition of some version."""
    names: dict[str, set[str]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        for name, one in schema.attributes.items():
            names.setdefault(str(one.type).rpartition(".")[2], set()).add(name)
    yield from (" ".join((type, *sorted(of_type))) for type, of_type in sorted(names.items()))


OTHERWISE = {  # versions that change what the same node computes, or refuse some, as their texts say
    ("Split", 18): "the number of parts must be said",
    ("Resize", 13): "a way to give positions is gone",
    ("GroupNormalization", 21): "scales are by channel",
    ("BatchNormalization", 14): "training gives other results",
    ("Attention", 24): "masks are added elsewhere",
}


def version_lines() -> Iterator[str]:
    """Types and their versions behind opset 7; a `!` marks one in which a node of the version before may be another."""
    found: dict[str, list[Any]] = {}
    for schema in sorted(onnx.defs.get_all_schemas_with_history(), key=lambda one: one.since_version):
        if schema.domain == "" and schema.since_version <= OPSETS[1]:
            found.setdefault(schema.name, []).append(schema)
    for name, schemas in sorted(found.items()):
        pairs = [(old, new) for old, new in pairwise([None, *schemas]) if new.since_version > 7]
        said = (
            f"{new.since_version}{'!' * ((name, new.since_version) in OTHERWISE or not takes(old, new))}"
            for old, new in pairs
        )
        if pairs:
            yield " ".join((name, *said))


def takes(old: Any, new: Any) -> bool:
    """Whether a schema takes each node of the one before, by its attributes, inputs, results and dtypes."""
    if old is None or new.deprecated:
        return old is None
    attrs = [(one, new.attributes.get(name)) for name, one in old.attributes.items()]
    needed = [one for name, one in new.attributes.items() if name not in old.attributes and one.required]
    same = all(two is not None and one.type == two.type and _default(one) == _default(two) for one, two in attrs)
    counts = new.min_input <= old.min_input and new.max_input >= old.max_input and new.max_output >= old.max_output
    types = all({*one.types} <= {*two.types} for one, two in zip(old.inputs, new.inputs, strict=False))
    return same and counts and types and not needed and new.min_output <= old.min_output


def _default(attribute: Any) -> str:
    found = onnx.helper.get_attribute_value(attribute.default_value) if attribute.default_value.name else ""
    return found.decode() if isinstance(found, bytes) else str(found)


def _onnx_line(schema: Any, kernels: list[Any]) -> str:
    version = schema.since_version
    fits = [one for one in kernels if one.version_range[0] <= version <= one.version_range[1]]
    lists: dict[str, tuple[set[str], set[str]]] = {}

    def variables(formals: Any) -> list[str]:
        found = []
        for formal in formals:
            has = lettered(_plain(one) for one in formal.types)
            var = formal.type_str if "(" not in formal.type_str else formal.name
            said = [one.type_constraints.get(var, one.type_constraints.get(formal.name)) for one in fits]
            runs = lettered(_plain(t) for one in said if one is not None for t in one) | (has & HALVES)
            runs = has & runs if any(one is not None for one in said) else has
            lists[var] = runs, has - runs
            found.append(var + "*" * (formal.option == onnx.defs.OpSchema.FormalParameterOption.Variadic))
        return found

    return line(schema.name, version, variables(schema.inputs), variables(schema.outputs), lists)


def _plain(text: str) -> str:
    """The dtype of "tensor(float)"; "" of a type that is no tensor."""
    name = text.removeprefix("tensor(").removesuffix(")")
    return THEIRS.get(name, name) if text.startswith("tensor(") else ""


def tensorflow_lines() -> Iterator[str]:
    """The dtypes that the definition of an op allows, of those that its kernels for processors take.

    Types that functions write, not rows, are those that the file has; a line with the type alone adds one.
    """
    from dovetail.formats.tensorflow.ops import WRITTEN

    names = {line.split()[0] for line in FILES["tensorflow"].read_text().splitlines()}
    for name in sorted(names | {row.type for row in WRITTEN.values()}):
        found = [one for one in kernels.get_registered_kernels_for_op(name).kernel if one.device_type == "CPU"]
        text = _tensorflow_line(op_def_registry.get(name), found) if found else ""
        if text:
            yield text


def _tensorflow_line(definition: Any, found: list[Any]) -> str:
    attrs = {one.name: one for one in definition.attr if one.type == "type"}
    lists: dict[str, tuple[set[str], set[str]]] = {}

    def names(numbers: Iterable[int]) -> set[str]:
        return lettered(dtypes.as_dtype(number).name for number in numbers)

    def variable(formal: Any) -> str:
        title = str(formal.type_list_attr or formal.type_attr or formal.name)
        if formal.type_attr:
            allowed = names(attrs[title].allowed_values.list.type) or set(LETTERS.values())
            runs: set[str] = set()
            for kernel in found:
                said = [names(c.allowed_values.list.type) for c in kernel.constraint if c.name == title]
                runs |= set.intersection(*said) if said else allowed
            lists[title] = allowed & runs, set()
        elif not formal.type_list_attr:
            lists[title] = names([formal.type]), set()
        return title + "*" * bool(formal.number_attr)

    inputs, results = (list(map(variable, formals)) for formals in (definition.input_arg, definition.output_arg))
    return line(definition.name, 0, inputs, results, lists)


def computed_lines() -> Iterator[str]:
    """The types that are computed, here or on the host, or are needed for saving alone."""
    from tensorflow import raw_ops

    from dovetail.formats.onnx import ops as onnx_ops  # it fills the tables
    from dovetail.formats.onnx import table
    from dovetail.formats.tensorflow import frames, host, ops, places, saved_model

    assert onnx_ops
    theirs = {*ops.READ, *ops.SPECIAL, *host.HOST, *places.PASSING, *frames.INPUTS, *saved_model.PLACEHOLDERS}
    theirs |= {name for name in dir(raw_ops) if saved_model.SAVING.match(name)}
    yield f"onnx: {' '.join(sorted({*table.READ, *table.SPECIAL}))}"
    yield f"tensorflow: {' '.join(sorted(theirs))}"


LINES = {
    "computed": computed_lines,
    "onnx": onnx_lines,
    "forms": form_lines,
    "versions": version_lines,
    "attributes": attribute_lines,
    "tensorflow": tensorflow_lines,
}


def text_of(name: str) -> str:
    """The file for a format, as the installed libraries say it."""
    return "\n".join(LINES[name]()) + "\n"


if __name__ == "__main__":
    for name, file in FILES.items():
        file.write_text(text_of(name))
