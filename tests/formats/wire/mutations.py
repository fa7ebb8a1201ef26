"""Damage to checkpoints of TensorFlow: each changed one is read, or refused by `FormatError`.

    python -m tests.formats.wire.mutations --count 100000

It changes bytes of an index and of shards, entries of the index, and the state of the folder.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dovetail.compat.tensorflow as tf
from dovetail.core.base.errors import FormatError
from dovetail.formats.wire.bundle import write_bundle
from dovetail.formats.wire.messages import TENSORFLOW
from dovetail.formats.wire.objects import GRAPH, StoredObjects
from dovetail.formats.wire.table import read_table, table
from tests.formats.mutations import block, bounded, command, cut, flip
from tests.formats.tensorflow.calls import FOLDER
from tests.formats.tensorflow.mutations import change

SAVED = ("mlp", "stateful", "keras2")  # models whose checkpoints have a graph of objects


def files(folder: Path) -> dict[str, bytes]:
    """The names and the bytes of the files of checkpoints, which are written in a folder."""
    rng = np.random.default_rng(0)
    words = np.array([b"", b"to be", b"x" * 300], object)
    kinds = {kind: np.arange(6).reshape(2, 3).astype(kind) for kind in ("float16", "float64", "int8", "uint32", "bool")}
    write_bundle(str(folder / "plain"), {"w": rng.normal(size=(30, 4)).astype("float32"), "words": words, **kinds})
    for name in SAVED:
        for path in (FOLDER / name / "variables").iterdir():
            (folder / path.name.replace("variables", name, 1)).write_bytes(path.read_bytes())
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def entry(data: bytes, draw: random.Random) -> bytes:
    """Change the fields of an entry of an index, or its key."""
    try:
        entries = read_table(data, "index")
    except FormatError:  # a shard
        return flip(data, draw)
    for _ in range(draw.choice([1, 1, 2])):
        key = draw.choice([*entries])
        kind = TENSORFLOW.BundleEntryProto if key else TENSORFLOW.BundleHeaderProto
        message = kind.FromString(entries[key])
        change(message, draw)
        entries[key if draw.random() < 0.8 else key + b"/x"] = message.SerializeToString(deterministic=True)
    return table(sorted(entries.items()))


WAYS: list[Callable[[bytes, random.Random], bytes]] = [flip, cut, block, entry, entry, entry]


def read(prefix: Path) -> None:
    """Read all values, by name and, where the checkpoint has one, by its graph of objects."""
    reader = tf.train.load_checkpoint(str(prefix))
    shapes: Any = reader.get_variable_to_shape_map()
    reader.get_variable_to_dtype_map()
    for name in shapes:
        reader.get_tensor(name)
    if GRAPH in shapes:
        StoredObjects(np.asarray(reader.get_tensor(GRAPH), object), f"{prefix}.index").key(("variables", "0"))


def check(prefix: Path) -> str:
    """Read a changed checkpoint; "read" or "refused".

    Raises:
        AssertionError: it took too long or too much, or the error does not say the file.
        Exception: any error but `FormatError`, or `FileNotFoundError` for a shard, is a fault.
    """
    try:
        with bounded():
            read(prefix)
        return "read"
    except FormatError as error:
        assert str(error).startswith(f"'{prefix}.") and "needed: " in str(error), error
        return "refused"
    except FileNotFoundError as error:
        assert ".data-0" in str(error), error  # an index says how many shards there are
        return "refused"


def mutations(count: int, seed: int, folder: Path) -> Counter[str]:
    """Check this number of changed files, and count the files that were read and refused, by file."""
    draw, found = random.Random(seed), Counter[str]()
    data = {name: content for name, content in files(folder).items() if content}
    for number in range(count):
        name, way = draw.choice([*data]), draw.choice(WAYS)
        target = folder / name
        target.unlink()  # it may be mapped
        target.write_bytes(way(data[name], draw))
        try:
            found[f"{name}: {check(folder / name.partition('.')[0])}"] += 1
        except BaseException as error:
            error.add_note(f"mutation {number} of seed {seed}, of {name} by {way.__name__}")
            raise
        finally:
            target.unlink()
            target.write_bytes(data[name])
    return found


if __name__ == "__main__":
    command(__doc__, mutations)
