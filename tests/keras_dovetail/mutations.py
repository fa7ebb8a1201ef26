"""Damage to archives `.keras`: each changed one is loaded as some model, or refused by `FormatError`.

    KERAS_BACKEND=dovetail python -m tests.keras_dovetail.mutations --count 10000

It changes bytes of archives of Keras 2 and 3, parts of their configurations, and bytes of their weights.
"""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras_dovetail  # noqa: F401  first: it makes Keras run on Dovetail

# isort: split
import keras
from keras import layers

import dovetail as dt
from dovetail.core.base.errors import FormatError
from dovetail.interop.keras_files import files
from tests.formats.keras import mutations as hdf5
from tests.formats.mutations import block, bounded, command, cut, flip, replaced

MODELS = Path(__file__).parent.parent / "formats" / "keras" / "models"
WEIGHTS = "model.weights.h5"


def archives(folder: Path) -> dict[str, bytes]:
    """The names and the bytes of archives, of which some are written in a folder."""
    keras.utils.set_random_seed(0)
    x = keras.Input((8, 8, 2))
    y = layers.Activation("relu")(layers.BatchNormalization()(layers.Conv2D(4, 3, padding="same")(x)))
    y = layers.Dense(3)(layers.GlobalAveragePooling2D()(layers.Concatenate()([x, y])))
    model = keras.Model(x, y)
    model.compile("adam", "mse")
    words = keras.Input((5,), dtype="int32")
    recurrent = keras.Sequential([words, layers.Embedding(9, 4), layers.LSTM(3), layers.Dense(1)])
    for name, one in (("functional", model), ("recurrent", recurrent)):
        one.save(folder / f"{name}.keras")
    paths = [*sorted(folder.glob("*.keras")), *sorted(MODELS.glob("*.keras"))]
    return {path.name: path.read_bytes() for path in paths}


def part(data: bytes, draw: random.Random) -> bytes:
    """Change a part of an archive, whose checksum is renewed."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = draw.choice([*parts, "config.json", "config.json"])
    if name.endswith(".json"):
        changed: Any = json.loads(parts[name])
        for _ in range(draw.choice([1, 1, 2])):
            changed = replaced(changed, draw)
        parts[name] = json.dumps(changed).encode()
    else:
        parts[name] = draw.choice(hdf5.WAYS)(parts[name], draw)
    if draw.random() < 0.02:
        del parts[name]
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return written.getvalue()


WAYS: list[Callable[[bytes, random.Random], bytes]] = [flip, cut, block, part, part, part, part, part]


def check(path: Path) -> str:
    """Load a changed archive; "read" or "refused".

    Raises:
        AssertionError: it took too long, or too much memory.
        Exception: any error but `FormatError` is a fault.
    """
    try:
        with bounded():
            files.load_model(path)
        return "read"
    except FormatError as error:
        assert str(error).startswith(f"'{path}' cannot be read: "), error
        return "refused"
    finally:
        keras.utils.clear_session(free_memory=False)


def mutations(count: int, seed: int, folder: Path) -> Counter[str]:
    """Check this number of changed archives, and count those that were read and refused, by way."""
    draw, found = random.Random(seed), Counter[str]()
    dt.set_engine("numpy")
    data = archives(folder)
    path = folder / "changed" / "changed.keras"
    path.parent.mkdir(exist_ok=True)
    for number in range(count):
        name, way = draw.choice([*data]), draw.choice(WAYS)
        path.unlink(missing_ok=True)
        path.write_bytes(way(data[name], draw))
        try:
            found[f"{way.__name__}: {check(path)}"] += 1
        except BaseException as error:
            error.add_note(f"mutation {number} of seed {seed}, of {name} by {way.__name__}")
            raise
    return found


if __name__ == "__main__":
    command(__doc__, mutations)
