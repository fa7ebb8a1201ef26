"""Damage to files of TensorFlow: each changed file is read, or refused by `FormatError`.

    python -m tests.formats.tensorflow.mutations --count 100000

It changes bytes of sixteen files, and fields of their messages, which it writes again, with checksums.  It prints the
numbers of files that were read and refused, the longest time, and how far the memory of the process grew.
"""

from __future__ import annotations

import random
import re
import resource
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import dovetail as dt
from dovetail import saved_model
from dovetail.core.base.errors import FormatError
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.table import read_table, table
from tests.formats.mutations import block, bounded, command, cut, flip
from tests.formats.tensorflow.calls import FOLDER

MEMORY = 8 << 30  # bytes of addresses that the process may have
NUMBERS = [0, -1, 1, 2, 3, 7, 64, 2**31 - 1, -(2**31), 2**40, 2**62, -(2**63)]
WORDS = [
    "",
    "x",
    "^x",
    "x:0",
    "x:-1",
    "x:99999999999",
    ":",
    "../../../etc/passwd",
    "a" * 1000,
    "\u2028",
    "NoOp",
    "float",
]


@dataclass
class File:
    """A file of a model that is changed.

    Attributes:
        model: the path of the model, in `models/`.
        name: the path of the file, in `models/`.
        kind: the name of its message; empty if it has none.
    """

    model: str
    name: str
    kind: str = ""

    @cached_property
    def data(self) -> bytes:
        return (FOLDER / self.name).read_bytes()

    @cached_property
    def message(self) -> Any:
        return getattr(TENSORFLOW, self.kind).FromString(self.data)


FILES = [
    *(File(name, f"{name}/saved_model.pb", "SavedModel") for name in ("mlp", "stateful", "growing", "loop", "choices")),
    *(File(name, f"{name}/saved_model.pb", "SavedModel") for name in ("simple", "signatures", "keras2")),
    *(File(f"{name}.pb", f"{name}.pb", "GraphDef") for name in ("frozen", "loop2", "arrays1")),
    *(File(f"{name}.meta", f"{name}.meta", "MetaGraphDef") for name in ("loop1", "trained1")),
    File("mlp", "mlp/variables/variables.index"),
    File("mlp", "mlp/variables/variables.data-00000-of-00001"),
    File("text.pbtxt", "text.pbtxt"),
]

# -- the ways to change a file ----------------------------------------------------------------------------------------


def damaged(file: File, draw: random.Random) -> bytes:
    """Change bytes."""
    return draw.choice([flip, cut, block])(file.data, draw)


def field(file: File, draw: random.Random) -> bytes:
    """Change fields of the message; of an index, those of its entries."""
    if file.kind:
        message = type(file.message)()
        message.CopyFrom(file.message)
        for _ in range(draw.choice([1, 1, 2, 3])):
            change(message, draw)
        return message.SerializeToString(deterministic=True)
    if file.name.endswith(".index"):
        entries = read_table(file.data, file.name)
        key = draw.choice([*entries])
        kind = TENSORFLOW.BundleEntryProto if key else TENSORFLOW.BundleHeaderProto
        message = kind.FromString(entries[key])
        change(message, draw)
        return table(sorted({**entries, key: message.SerializeToString(deterministic=True)}.items()))
    return words(file, draw) if file.name.endswith(".pbtxt") else damaged(file, draw)


def words(file: File, draw: random.Random) -> bytes:
    """Change words of a text."""
    parts = re.split(rb"(\W+)", file.data)
    for _ in range(draw.choice([1, 1, 2])):
        other = draw.choice([draw.choice(parts), str(draw.choice(NUMBERS)).encode(), draw.choice(WORDS).encode()])
        parts[draw.randrange(len(parts))] = other
    return b"".join(parts)


def change(message: Any, draw: random.Random) -> None:
    """Change one field of a message, or of a message inside of it: another value, one from elsewhere, or none."""
    places = list(_places(message, draw))
    if not places:
        return
    holder, one = draw.choice(places)
    value, way = getattr(holder, one.name), draw.random()
    if one.message_type is not None and one.message_type.GetOptions().map_entry:
        _change_map(value, draw)
    elif one.is_repeated:
        _change_list(value, one, draw)
    elif one.message_type is not None:
        fellows = [getattr(other, field.name) for other, field in places if field.message_type is one.message_type]
        fellows = [fellow for fellow in fellows if type(fellow) is type(value) and fellow is not value]
        value.CopyFrom(_copied(draw.choice(fellows))) if way < 0.7 and fellows else holder.ClearField(one.name)
    elif way < 0.9:
        setattr(holder, one.name, _odd(one, value, draw))
    else:
        holder.ClearField(one.name)


def _change_map(value: Any, draw: random.Random) -> None:
    keys = sorted(value)  # a map has no order
    if not keys:
        return
    key, other = draw.choice(keys), draw.choice(keys)
    if draw.random() < 0.5 or not hasattr(value[key], "CopyFrom"):
        del value[key]
    else:
        value[key].CopyFrom(_copied(value[other]))


def _change_list(value: Any, one: Any, draw: random.Random) -> None:
    way, at = draw.random(), draw.randrange(len(value)) if len(value) else 0
    if not len(value) or way < 0.2:
        value.add() if one.message_type is not None else value.append(_odd(one, None, draw))
    elif way < 0.4:
        del value[at]
    elif one.message_type is None:
        value[at] = _odd(one, value[at], draw)
    elif way < 0.7:
        value.add().CopyFrom(value[at])  # names that stand twice
    else:
        value[at].CopyFrom(_copied(draw.choice(value)))


def _copied(message: Any) -> Any:
    """A copy: protobuf cannot copy a message into a part of itself."""
    found = type(message)()
    found.CopyFrom(message)
    return found


def _odd(one: Any, value: Any, draw: random.Random) -> Any:
    """An odd value for a field."""
    if one.cpp_type == one.CPPTYPE_STRING:
        text = draw.choice(WORDS)
        return text.encode() if one.type == one.TYPE_BYTES else text
    if one.cpp_type == one.CPPTYPE_BOOL:
        return draw.random() < 0.5
    if one.cpp_type == one.CPPTYPE_ENUM:
        closed = [value.number for value in one.enum_type.values] if one.enum_type.is_closed else []
        return draw.choice(closed or [0, 1, 3, 7, 9, 19, 20, 101, 999])
    if one.cpp_type in (one.CPPTYPE_FLOAT, one.CPPTYPE_DOUBLE):
        return draw.choice([0.0, -1.0, 1e38, float("inf"), float("nan")])
    bits = 32 if one.cpp_type in (one.CPPTYPE_INT32, one.CPPTYPE_UINT32) else 64
    is_signed = one.cpp_type in (one.CPPTYPE_INT32, one.CPPTYPE_INT64)
    number = draw.choice([*NUMBERS, (value or 0) + 1, (value or 0) - 1])
    return (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1) if is_signed else number % (1 << bits)


def _places(message: Any, draw: random.Random, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    """Some fields of a message and of the messages inside of it; of long lists and maps, a few items."""
    for one in message.DESCRIPTOR.fields:
        is_map = one.message_type is not None and one.message_type.GetOptions().map_entry
        if one.is_repeated or one.message_type is None or message.HasField(one.name):
            yield message, one
        if one.message_type is None or depth > 12:
            continue
        value = getattr(message, one.name)
        if is_map:
            inner = [value[key] for key in _some(sorted(value), draw)]
        else:
            inner = _some(value, draw) if one.is_repeated else [value] if message.HasField(one.name) else []
        for item in inner:
            if hasattr(item, "DESCRIPTOR"):
                yield from _places(item, draw, depth + 1)


def _some(items: Any, draw: random.Random) -> list[Any]:
    return [items[draw.randrange(len(items))] for _ in range(min(len(items), 3))]


WAYS: list[Callable[[File, random.Random], bytes]] = [damaged, field, field, field]

# -- reading ----------------------------------------------------------------------------------------------------------


def read(path: Path) -> None:
    """Read all that a model has: signatures, variables, objects and functions."""
    model = saved_model.load(path)
    for signature in dict(model.signatures).values():
        repr(signature)
    len(model.variables)
    for name in [name for name in dir(model) if not name.startswith("_") and name not in dir(type(model))]:
        found = getattr(model, name)
        if isinstance(found, saved_model.RestoredFunction):
            len(found.signatures)


def check(path: Path) -> str:
    """Read a changed model; "read" or "refused".

    Raises:
        AssertionError: it took too long or too much memory, or the error does not say the file.
        Exception: any error but `FormatError`, or `FileNotFoundError` for a shard, is a fault.
    """
    try:
        with bounded():
            read(path)
        return "read"
    except FormatError as error:
        assert "cannot be read: " in str(error) and "needed: " in str(error), error
        return "refused"
    except FileNotFoundError as error:
        assert ".data-0" in str(error), error  # an index says how many shards there are
        return "refused"


def mutations(count: int, seed: int, folder: Path) -> Counter[str]:
    """Check this number of changed files, and count the files that were read and refused, by file."""
    draw, found = random.Random(seed), Counter[str]()
    shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
    dt.set_engine("numpy")
    for number in range(count):
        file, way = draw.choice(FILES), draw.choice(WAYS)
        target = folder / file.name
        target.unlink()  # it may be mapped
        target.write_bytes(way(file, draw))
        try:
            found[f"{file.name}: {check(folder / file.model)}"] += 1
        except BaseException as error:
            error.add_note(f"mutation {number} of seed {seed}, of {file.name} by {way.__name__}")
            raise
        finally:
            target.unlink()
            target.write_bytes(file.data)
    return found


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    command(__doc__, mutations)
