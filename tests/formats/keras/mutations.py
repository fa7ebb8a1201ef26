"""Damage to files of HDF5: each changed file is read as some model, or refused by `FormatError`.

    python -m tests.formats.keras.mutations --count 100000

It changes bytes of the models of `models/`, single numbers at places that matter, and parts of their configurations.
It reads all of a file: attributes, weights, and the configuration, which becomes Keras 3's.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from dovetail.core.base.errors import FormatError
from dovetail.formats import hdf5
from dovetail.formats.hdf5.tree import Group
from dovetail.formats.keras.configs import Configs
from dovetail.formats.keras.weights import stored
from dovetail.formats.strict_json import parse
from tests.formats.mutations import block, bounded, command, cut, flip, replaced

MODELS = Path(__file__).parent / "models"
OWN = {"Scale", "cube", "double", "lambda"}
MARKS = (b"TREE", b"SNOD", b"HEAP", b"GCOL", b"\x89HDF")  # blocks, whose numbers follow


def number(data: bytes, draw: random.Random) -> bytes:
    """Replace a number near the mark of a block, or anywhere in the first kilobytes of headers."""
    at = draw.randrange(len(data))
    found = data.find(draw.choice(MARKS), at)
    at = found + draw.randrange(4, 64) if found >= 0 else at
    size = draw.choice((1, 2, 4, 8))
    new = draw.choice((0, 1, 2**31, 2**63, 2**64 - 1, len(data), draw.randrange(len(data)), draw.randrange(256)))
    return data[:at] + (new % 256**size).to_bytes(size, "little") + data[at + size :]


def config(data: bytes, draw: random.Random) -> bytes:
    """Replace a part of the configuration, if the new text is not longer."""
    begin = data.find(b'{"class_name"')
    end = data.find(b"\0", begin) if begin >= 0 else -1
    try:
        text = json.dumps(replaced(json.loads(data[begin:end]), draw)).encode()
    except ValueError:
        return flip(data, draw)
    return data[:begin] + text.ljust(end - begin)[: end - begin] + data[end:]


WAYS: list[Callable[[bytes, random.Random], bytes]] = [flip, cut, block, number, number, number, config, config]


def read(data: bytes, path: Path) -> str:
    """Read a changed file; "read" or "refused".

    Raises:
        AssertionError: it took too long, or too much memory.
        Exception: any error but `FormatError` is a fault.
    """
    try:
        with bounded():
            _read(data, path)
        return "read"
    except FormatError as error:
        assert str(error).startswith(f"'{path}' cannot be read: ")
        return "refused"


def _read(data: bytes, path: Path) -> None:
    root = hdf5.read(data, path)
    for array in root.arrays():
        array.read()
    text = root.attributes.get("model_config")
    if isinstance(text, bytes):
        Configs(path, OWN).model(parse(text, path, "model_config"))
    if "model_weights" in root and isinstance(root["model_weights"], Group):
        for arrays in stored(root).layers.values():
            for array in arrays:
                array.read()


def mutations(count: int, seed: int) -> Counter[str]:
    """Check this number of changed files, and count the files that were read and refused, by way."""
    draw, found = random.Random(seed), Counter[str]()
    files = [(path, path.read_bytes()) for path in sorted(MODELS.glob("*5"))]
    for each in range(count):
        way = draw.choice(WAYS)
        path, data = draw.choice(files)
        changed = way(data, draw)
        try:
            found[f"{way.__name__}: {read(changed, path)}"] += 1
        except BaseException as error:
            error.add_note(f"mutation {each} of seed {seed}, by {way.__name__}, of {path.name}")
            raise
    return found


if __name__ == "__main__":
    command(__doc__, lambda count, seed, _: mutations(count, seed))
