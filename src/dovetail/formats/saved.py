"""Dovetail's own file: any nested structure of tensors, variables, graphs and compiled functions, in one file.

The file is a safetensors file.  Its metadata `dovetail` is the document: JSON of the structure, with the names of the
file's tensors at their places.  See `graph.attributes` for values, and `graph.document` for graphs.  The metadata
`digest` shows whether the document is whole.  If a document is too long for a header, it is a tensor of bytes, and the
metadata `dovetail` is missing.  Nothing in a file is executed.

The objects of a document take more memory than its text, and a file may take only so much for its size.  A large graph
without weights is less than that, so its file is filled up with a tensor of zeros, which nobody reads.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.core.base.errors import FormatError, check_path, describe, op_error
from dovetail.core.base.scopes import scopes
from dovetail.core.base.version import VERSION as RELEASE
from dovetail.core.tensor import Tensor
from dovetail.core.values import arguments
from dovetail.core.values.structure import fields_of, has_fields, no_tree
from dovetail.core.values.variable import Variable
from dovetail.formats import safetensors
from dovetail.formats.outside import read_by
from dovetail.formats.strict_json import memory, parse, room_of, size_with
from dovetail.graph.attributes import Beside, Refused, decode, encode

VERSION = 1
DOCUMENT, DIGEST = "dovetail", "digest"  # in the metadata
APART = "__document__"  # the tensor of a long document
LONGEST = 1 << 24  # bytes of a document in the header
FILLING = "__room__"  # the tensor of zeros
LARGEST = 1 << 30  # bytes of the objects of a document
MARKS = ("trainable", "is_counter", "symbolic")  # attributes of variables that are kept


# -- saving -----------------------------------------------------------------------------------------------------------


def save(value: Any, path: str | Path) -> None:
    """Write a value to a file, from which `load` makes it again, in any process and for any engine.

    The file replaces an old one as a whole: if the process ends while it writes, the old file stays as it was.  It is a
    safetensors file, in which other programs find the tensors by their places: `layers.0.kernel`.

    Args:
        value: a tensor, variable, array, number, string, dtype, spec, graph, compiled function, plan or choice; or a
            dict, list, tuple, named tuple or dataclass of values, nested up to 100 levels deep.
        path: the file.

    Raises:
        TypeError: no file can hold a part of the value; the message says which part, and why.
        ValueError: a list or dict holds itself, is nested too deeply, or has too many items that are no arrays.
        StaleValueError: a variable has no value.
        RuntimeError: a graph is being built, so values may not be known yet.
        OSError: the file cannot be written.

    Example:
        >>> import dovetail as dt
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     dt.save({"w": dt.Variable([1., 2.], name="w"), "steps": 3}, f"{folder}/model")
        ...     dt.load(f"{folder}/model")
        {'w': <Variable w: float32[2] [1., 2.]>, 'steps': 3}
    """
    if scopes().graphs:
        raise op_error(RuntimeError, "save", "a graph is being built; save when its function has returned.")
    check_path("save", path)
    if problem := no_tree(value):
        raise op_error(ValueError, "save", problem)
    beside = Beside()
    for place, leaf in leaves(value):
        if (table := _table(beside, leaf)) is not None:
            name = ".".join(place) or _plain_name(leaf)
            beside.key(table, leaf, f"{name}_" if name in (APART, FILLING) else name)
    try:
        data = encode(value, beside)
        variables = {key: _described(variable, beside) for key, variable in beside.variables.items()}
    except Refused as error:
        raise op_error(TypeError, "save", f"{_refused_place(value)}{error}. {ADVICE}") from None
    document = {"version": VERSION, "release": RELEASE, "object": data, "variables": variables, "parts": beside.parts}
    tensors = {**beside.arrays, **_numbers(beside)}
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    size = len(text) + sum(array.nbytes for array in tensors.values())
    needed = memory(text, room_of(size))
    if needed > LARGEST:
        problem = f"to read the graphs and lists would take {needed >> 20} MB, and a file may take {LARGEST >> 20} MB"
        raise op_error(ValueError, "save", f"{problem} for them: save several files.")
    if needed > room_of(size):
        tensors[FILLING] = np.zeros(size_with(needed) - size, np.uint8)
    metadata = {DIGEST: _digest(text)}
    if len(text) <= LONGEST:
        metadata[DOCUMENT] = text
    else:
        tensors[APART] = np.frombuffer(text.encode(), np.uint8)
    safetensors.write(path, tensors, metadata)


ADVICE = (
    "A file holds tensors, variables, numbers, strings, graphs, plans and functions made by dt.function, in dicts, "
    "lists, tuples and dataclasses: of an object of your own, save its parts."
)


def leaves(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The leaves of nested dicts, lists, tuples and dataclasses, with the steps to them."""
    if isinstance(value, dict):
        parts: Any = value.items()
    elif (named := fields_of(value)) is not None:
        parts = named.items()
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)
    else:
        yield place, value
        return
    for step, part in parts:
        yield from leaves(part, (*place, str(step)))


def _table(beside: Beside, leaf: Any) -> dict[str, Any] | None:
    """The table for a leaf; None if it stands in the document."""
    tables: dict[type, dict[str, Any]]
    tables = {Tensor: beside.tensors, Variable: beside.variables, np.ndarray: beside.arrays}
    return next((table for kind, table in tables.items() if isinstance(leaf, kind)), None)


def _plain_name(leaf: Any) -> str:
    return getattr(leaf, "name", None) or "value"


def _refused_place(value: Any) -> str:
    """The place of the first leaf that no file can hold, for an error."""
    for place, leaf in leaves(value):
        try:
            encode(leaf, Beside())
        except Refused:
            return f"at {'.'.join(place)}, " if place else ""
        except TypeError:
            continue
    return ""


def _described(variable: Variable, beside: Beside) -> dict[str, Any]:
    if variable.constraint is not None:
        raise Refused(f"the variable {variable.name!r} has a constraint, {variable.constraint!r}")
    return {"name": variable.name, **{mark: True for mark in MARKS if getattr(variable, mark)}}


def _numbers(beside: Beside) -> dict[str, np.ndarray]:
    """The numbers of the variables and tensors; variables that change together are read together."""
    groups: dict[Any, list[str]] = {}
    for key, variable in beside.variables.items():
        groups.setdefault(variable.guard.top, []).append(key)
    values = dict(beside.tensors)
    for guard, keys in groups.items():
        values |= guard.holding(lambda keys=keys: {key: _value_of(beside.variables[key]) for key in keys})
    return {key: np.asarray(t._engine.to_numpy(t._value)) for key, t in values.items()}


def _value_of(variable: Variable) -> Tensor:
    buffer = variable.shared_buffer(None)
    return Tensor(buffer.value, buffer.engine)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


# -- loading ----------------------------------------------------------------------------------------------------------


@read_by("dt.load")
def load(path: str | Path, classes: Iterable[type] = ()) -> Any:
    """Make the value of a file that `save` wrote; or, of another safetensors file, a dict of its tensors.

    Tensors and variables are on the current engine.  The file is mapped into memory.  numpy and torch use this memory
    as it is; torch copies bfloat16 and 8-bit floats.  An assignment to a variable does not change the file.

    Args:
        path: the file.  While its values are used, it can be replaced, as `save` does, but not shortened.
        classes: the named tuples and dataclasses of the program that the file may use, by their names.

    Returns:
        The value: new tensors and variables of the same dtypes, shapes and numbers.  A compiled function runs the
        traces that it had when it was saved.  A plan runs the strategy that it had.  A named tuple or dataclass whose
        class is not given is an `OrderedDict` of its fields.

    Raises:
        TypeError: one of the classes is neither a named tuple nor a dataclass.
        FormatError: the file is damaged, of another format, or of a later version; or it has an op that this program
            has not registered.
        OSError: the file cannot be read.

    Example:
        >>> import dovetail as dt
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     dt.save([dt.function(lambda x: x * 2.0).graph(dt.spec((2,)))], f"{folder}/graphs")
        ...     dt.function(dt.load(f"{folder}/graphs")[0])(dt.ops.constant([1.0, 2.0])).numpy()
        array([2., 4.], dtype=float32)
    """
    file, known = Path(path), tuple(classes)
    for kind in known:
        if not has_fields(kind):
            raise op_error(TypeError, "load", f"classes are named tuples and dataclasses, not {describe(kind)}.")
    tensors, metadata = safetensors.read(file)
    document = document_in(tensors, metadata, file)
    if document is None:
        return {name: arguments.in_place(array) for name, array in tensors.items()}
    try:
        beside = Beside(arrays=tensors, tensors=_Tensors(tensors), parts=document["parts"])
        beside.classes = {kind.__name__: kind for kind in known}
        beside.variables |= {key: _variable(key, given, tensors) for key, given in document["variables"].items()}
        return decode(document["object"], beside)
    except Exception as error:  # of any kind, since the codec trusts its data
        words = error.args[0] if isinstance(error, KeyError) and error.args else error
        actual = f"what cannot be decoded ({type(error).__name__}: {words})"
        raise FormatError(
            file, "the document", actual, "a document that dt.save wrote, and its ops registered"
        ) from error


def document_in(tensors: dict[str, np.ndarray], metadata: Mapping[str, str], file: Path) -> Any:
    """The document of a file, which is JSON data; None if another program wrote the file.

    Args:
        tensors, metadata: the contents of the file; a long document is taken from the tensors.
        file: its path, for errors.

    Raises:
        FormatError: the document is damaged, or is of a later version.
    """
    text = _text(tensors, metadata, file)
    if text is None:
        return None
    document = parse(text, file, "the document", room_of(file.stat().st_size))
    version = document.get("version") if type(document) is dict else None
    if version != VERSION:
        needed = f"version {VERSION}, which Dovetail {RELEASE} reads: install the Dovetail that wrote the file"
        raise FormatError(file, "the document", f"version {version!r:.80}", needed)
    return document


def _text(tensors: dict[str, np.ndarray], metadata: Mapping[str, str], file: Path) -> str | None:
    """The text of the document; None if there is none."""
    text: str | None = metadata.get(DOCUMENT)
    if DIGEST in metadata:
        tensors.pop(FILLING, None)
    if text is None and DIGEST in metadata and APART in tensors:
        held = tensors.pop(APART)
        try:
            text = held.tobytes().decode()
        except UnicodeDecodeError as error:
            raise FormatError(file, f"the tensor {APART!r}", f"no UTF-8 ({error})", "a document in JSON") from None
    if text is not None and metadata.get(DIGEST) != _digest(text):
        raise FormatError(file, "the document", "another text than its digest says", "the text that dt.save wrote")
    return text


class _Tensors(dict[str, Tensor]):
    """The eager tensors of a file, by name; each is made when it is first used."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        super().__init__()
        self._arrays = arrays

    def __missing__(self, key: str) -> Tensor:
        tensor = self[key] = arguments.in_place(self._arrays[key])
        return tensor


def _variable(key: str, given: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> Variable:
    name = given["name"]
    if type(name) is not str:
        raise ValueError(f"the variable {key!r} has the name {name!r}")
    variable = Variable(arguments.in_place(tensors[key]), name=name)
    for mark in MARKS:
        setattr(variable, mark, given.get(mark, False) is True)
    return variable
