"""Small files of MNIST for the old programs, made of waves."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np

COUNTS = {"train": 120, "t10k": 40}


def write_mnist(folder: Path) -> None:
    """Write the four files of MNIST into a folder; the label of an image gives its wave."""
    folder.mkdir(parents=True, exist_ok=True)
    rows, columns = np.meshgrid(np.arange(28), np.arange(28), indexing="ij")
    for split, count in COUNTS.items():
        labels = (np.arange(count) * 7 % 10).astype("uint8")
        turns = np.arange(count) % 5
        waves = [
            np.sin(rows * (label + 2) / 9 + turn) * np.cos(columns * (label % 3 + 1) / 7)
            for label, turn in zip(labels, turns, strict=True)
        ]
        images = (np.clip(np.stack(waves), 0, 1) * 255).astype("uint8")
        _write(folder / f"{split}-images-idx3-ubyte.gz", struct.pack(">IIII", 2051, count, 28, 28) + images.tobytes())
        _write(folder / f"{split}-labels-idx1-ubyte.gz", struct.pack(">II", 2049, count) + labels.tobytes())


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(gzip.compress(content, mtime=0))
