"""Damage to saved files: each changed file is read as some value, or refused by `FormatError`.

    python -m tests.formats.mutations --count 100000

It changes bytes of ten files, and parts of their headers and documents, whose digests it renews.  It prints the numbers
of files that were read and refused, the longest time, and how far the memory of the process grew.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import random
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import dovetail as dt
from dovetail import ops
from dovetail.core.base.errors import FormatError
from tests.formats.files import by_hand

LONGEST, MOST = 5.0, 1 << 30  # seconds of a process, and bytes of memory, that a file may take
ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, 10**30, 1.5, -0.0, 1e308, "", "x", "float32", "MatMul"),
    *([], {}, [[]], [0, 0], {"x": 1}, {"array": "x"}, {"variable": "w"}, {"tensor": "value"}, {"object": "os.system"}),
    *({"function": "x"}, {"dtype": "x"}, {"float": "x"}, {"bytes": "===="}, {"scalar": ["float32", ""]}),
    *({"slice": [1, 2]}, {"set": [[]]}, {"list": 3}, {"dict": [[[], 1]]}, {"graph": {}}, {"compiled": {}}, "../../x"),
    *([0] * 1000, "x" * 1000, 2**20, 2**40),
]


def values() -> dict[str, Any]:
    """The values of the ten files."""
    w = dt.Variable(np.ones((3, 2), "float32"), name="w")
    c, generator = ops.constant([1.0, 2.0]), dt.Generator(3)

    @dt.function
    def flow(x: Any) -> Any:
        y = ops.cond(ops.sum(x) > 0, lambda: x @ w + c, lambda: x[:, :2] * 2.0)
        w.assign_add(ops.ones((3, 2)))
        return {"y": ops.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2.0), (0, y))[1], "n": 3}

    @dt.function
    def net(x: Any, mode: str = "a", *, rate: float = 0.5) -> Any:
        y = ops.relu(ops.conv(x, np.ones((3, 3, 1, 2), "float32"), padding="same"))
        return ops.softmax(ops.reshape(y, (-1, 32))), mode, [ops.random.uniform(generator, (2,)) * rate]

    flow.concrete(dt.spec((None, 3)))
    net.concrete(dt.spec((2, 4, 4, 1)))
    net.concrete(dt.spec((None, 4, 4, 1)), "b", rate=2.0)
    kinds = ("bool", "int8", "uint64", "float16", "bfloat16", "float8_e5m2", "complex64", "complex128")
    return {
        "number": 3,
        "tensor": c,
        "plain": {"a": [1, (2.5, None)], 3: slice(1, 2), "b": b"xyz", "s": dt.spec((None, 2))},
        "dtypes": {kind: ops.cast(np.ones(3), kind) for kind in kinds},
        "variables": [w, {"again": w, "count": generator.count}],
        "graph": flow.graph(dt.spec((2, 3))),
        "function of a graph": dt.function(flow.graph(dt.spec((2, 3))), engine="numpy"),
        "flow": flow,
        "net": [net, net],
        "everything": {"flow": flow, "net": net, "w": w, "layers": [{"kernel": c}, {"kernel": np.ones((2, 2))}]},
    }


# -- the ways to change a file ----------------------------------------------------------------------------------------


def flip(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]


def cut(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data))]


def block(data: bytes, draw: random.Random) -> bytes:
    """Remove a block, repeat it, or overwrite it."""
    at, size = draw.randrange(len(data)), draw.randrange(1, 64)
    return data[:at] + draw.choice([b"", data[at : at + size] * 2, draw.randbytes(size)]) + data[at + size :]


def length(data: bytes, draw: random.Random) -> bytes:
    return (
        draw.choice([0, 1, 2**31, 2**63, 2**64 - 1, len(data), draw.randrange(len(data))]).to_bytes(8, "little")
        + data[8:]
    )


def header(data: bytes, draw: random.Random) -> bytes:
    """Replace a part of the header."""
    table, body = _parts(data)
    return by_hand(replaced(table, draw), body)


def document(data: bytes, draw: random.Random) -> bytes:
    """Replace parts of the document, whose digest fits again."""
    table, body = _parts(data)
    metadata = table["__metadata__"]
    changed = json.loads(metadata["dovetail"])
    for _ in range(draw.choice([1, 1, 2, 3])):
        changed = replaced(changed, draw)
    metadata["dovetail"] = json.dumps(changed)
    metadata["digest"] = hashlib.blake2b(metadata["dovetail"].encode(), digest_size=16).hexdigest()
    return by_hand(table, body)


WAYS: list[Callable[[bytes, random.Random], bytes]] = [flip, cut, block, length, header, document, document, document]


def _parts(data: bytes) -> tuple[Any, bytes]:
    end = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:end]), data[end:]


def replaced(data: Any, draw: random.Random) -> Any:
    """A copy of JSON data in which one part is another: an odd value, a part from elsewhere, or removed."""
    data = copy.deepcopy(data)
    places = list(_places(data))
    if not places:
        return draw.choice(ODD)
    holder, key = draw.choice(places)
    way = draw.random()
    if way < 0.6:
        holder[key] = copy.deepcopy(draw.choice(ODD))
    elif way < 0.8:
        other, at = draw.choice(places)
        holder[key] = copy.deepcopy(other[at])
    else:
        del holder[key]
    return data


def _places(data: Any) -> Any:
    keys = data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    for key in keys:
        yield data, key
        yield from _places(data[key])


# -- reading ----------------------------------------------------------------------------------------------------------


@contextmanager
def bounded() -> Iterator[None]:
    """Check that the block takes little time, and that the memory of the process grows little."""
    start, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        yield
    finally:
        taken = time.process_time() - start
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before << 10
        assert taken < LONGEST and grown < MOST, f"{taken:.1f} s, {grown >> 20} MB"


def check(data: bytes, path: Path) -> str:
    """Read a changed file; "read" or "refused".

    Raises:
        AssertionError: it took too long, or too much memory.
        Exception: any error but `FormatError` is a fault.
    """
    path.unlink(missing_ok=True)  # another file of this name may be mapped
    path.write_bytes(data)
    try:
        with bounded():
            dt.load(path)
        return "read"
    except FormatError as error:
        assert str(error).startswith(f"'{path}' cannot be read: ")
        return "refused"


def mutations(count: int, seed: int, folder: Path) -> Counter[str]:
    """Check this number of changed files, and count the files that were read and refused, by way."""
    draw, files, found = random.Random(seed), [], Counter[str]()
    for name, value in values().items():
        dt.save(value, folder / name)
        files.append((folder / name).read_bytes())
    for number in range(count):
        way = draw.choice(WAYS)
        data = way(draw.choice(files), draw)
        try:
            found[f"{way.__name__}: {check(data, folder / 'changed')}"] += 1
        except BaseException as error:
            error.add_note(f"mutation {number} of seed {seed}, by {way.__name__}")
            raise
    return found


def command(description: str, mutations: Callable[[int, int, Path], Counter[str]]) -> None:
    """Run mutations as the command line says, and print how many files were read and refused."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mutations(200, given.seed + 1, Path(folder))
        before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
        found = mutations(given.count, given.seed, Path(folder))
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    for name, number in sorted(found.items()):
        print(f"{name:60} {number:8}")
    print(f"{time.perf_counter() - start:.0f} s, memory grew by {grown / 1024:.0f} MB")


if __name__ == "__main__":
    command(__doc__, mutations)
