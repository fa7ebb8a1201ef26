"""TensorFlow 1's reader of MNIST, `tensorflow.examples.tutorials.mnist.input_data`, for files on this machine.

Nothing is downloaded: TensorFlow's hosts of these files are gone.
"""

from __future__ import annotations

import gzip
import math
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dovetail.core.base.errors import FormatError, op_error

VARIABLE = "DOVETAIL_DATA"
CACHE = Path("~/.keras/datasets")  # of Keras
FILES = {  # what → the name of the file that has it, without .gz
    "train images": "train-images-idx3-ubyte",
    "train labels": "train-labels-idx1-ubyte",
    "test images": "t10k-images-idx3-ubyte",
    "test labels": "t10k-labels-idx1-ubyte",
}
KERAS = "mnist.npz"
MARKS = {"images": 2051, "labels": 2049}  # the first numbers of the files
LARGEST = 1 << 28  # bytes of a file


class DataSet:
    """Images with their labels, which are given batch by batch.

    Args:
        images: numbers from 0 to 255 of the shape (count, 28, 28, 1).
        labels: the labels.
        dtype: float32 for images from 0 to 1, uint8 for images as they are.
        reshape: whether an image is a row of 784 numbers.
        seed: of the shuffles.

    Attributes:
        images, labels: arrays, in the order of this epoch.
        num_examples: their number.
        epochs_completed: the number of epochs that are over.

    Source: `tensorflow.contrib.learn.python.learn.datasets.mnist.DataSet`.
    """

    def __init__(
        self, images: np.ndarray, labels: np.ndarray, dtype: Any = "float32", reshape: bool = True, seed: Any = None
    ) -> None:
        if reshape:
            images = images.reshape(len(images), math.prod(images.shape[1:]))
        self.images = images.astype("float32") / 255 if np.dtype(dtype) == np.float32 else images
        self.labels, self.num_examples, self.epochs_completed = labels, len(images), 0
        self._at, self._random = 0, np.random.RandomState(seed)

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[Any, ...]:
        """The next images and labels; what an epoch has too few is taken from the next one."""
        if fake_data:
            raise op_error(ValueError, "next_batch", "there are no fake data; leave fake_data out.")
        if self._at == 0 and self.epochs_completed == 0 and shuffle:
            self._shuffle()
        rest = self.num_examples - self._at
        if batch_size <= rest:
            self._at += batch_size
            return self.images[self._at - batch_size : self._at], self.labels[self._at - batch_size : self._at]
        last = self.images[self._at :], self.labels[self._at :]
        self.epochs_completed += 1
        if shuffle:
            self._shuffle()
        self._at = batch_size - rest
        return tuple(np.concatenate([a, b[: self._at]]) for a, b in zip(last, (self.images, self.labels), strict=True))

    def _shuffle(self) -> None:
        order = self._random.permutation(self.num_examples)
        self.images, self.labels = self.images[order], self.labels[order]


class Datasets(NamedTuple):
    """The three parts of the data."""

    train: DataSet
    validation: DataSet
    test: DataSet


def read_data_sets(
    train_dir: str | os.PathLike[str],
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = "float32",
    reshape: bool = True,
    validation_size: int = 5000,
    seed: Any = None,
    source_url: str | None = None,
) -> Datasets:
    """MNIST, from its four files or from Keras' `mnist.npz`.

    They are looked for in `$DOVETAIL_DATA`, in the program's folder, and in Keras' folder of data sets.

    Args:
        train_dir: the program's folder.
        fake_data: must be false.
        one_hot: whether labels are rows of ten numbers.
        dtype, reshape, seed: as for `DataSet`.
        validation_size: the number of training images that are set apart.
        source_url: is ignored, since nothing is downloaded.

    Raises:
        FileNotFoundError: no folder has the files; the error names them.
        FormatError: a file is damaged.
        ValueError: there are fewer images than are to be set apart.

    Source: `tensorflow.examples.tutorials.mnist.input_data.read_data_sets`.
    """
    if fake_data:
        raise op_error(ValueError, "read_data_sets", "there are no fake data; leave fake_data out.")
    arrays = _found(Path(train_dir))
    images, labels, test_images, test_labels = (arrays[name] for name in FILES)
    if one_hot:
        labels, test_labels = np.eye(10)[labels], np.eye(10)[test_labels]
    if not 0 <= validation_size <= len(images):
        problem = f"validation_size={validation_size} of {len(images)} training images; take fewer."
        raise op_error(ValueError, "read_data_sets", problem)
    parts = (
        (images[validation_size:], labels[validation_size:]),
        (images[:validation_size], labels[:validation_size]),
        (test_images, test_labels),
    )
    return Datasets(*(DataSet(*part, dtype=dtype, reshape=reshape, seed=seed) for part in parts))


load_mnist = read_data_sets


def _found(given: Path) -> dict[str, np.ndarray]:
    """The four arrays, from the first folder that has them."""
    folders = [*_said(), given, CACHE.expanduser()]
    for folder in folders:
        paths = {name: path for name, file in FILES.items() if (path := _file(folder / file)) is not None}
        if len(paths) == len(FILES):
            return {name: _array(path, MARKS[name.split()[1]]) for name, path in paths.items()}
        if (folder / KERAS).is_file():
            with np.load(folder / KERAS, allow_pickle=False) as arrays:
                in_order = [arrays[key] for key in ("x_train", "y_train", "x_test", "y_test")]
            return {name: a[..., None] if a.ndim == 3 else a for name, a in zip(FILES, in_order, strict=True)}
    problem = (
        f"MNIST is not in {' or '.join(map(repr, map(str, folders)))}: put {', '.join(FILES.values())}, their .gz, or "
        f"Keras' {KERAS} into {str(given)!r}, or set {VARIABLE} to their folder. Nothing is downloaded."
    )
    raise op_error(FileNotFoundError, "read_data_sets", problem)


def _said() -> Iterator[Path]:
    """The folder of data that the user names, and the one of MNIST in it."""
    if said := os.environ.get(VARIABLE):
        yield from (Path(said), Path(said) / "mnist", Path(said) / "MNIST_data")


def _file(path: Path) -> Path | None:
    return next((candidate for candidate in (path, path.with_name(f"{path.name}.gz")) if candidate.is_file()), None)


def _array(path: Path, mark: int) -> np.ndarray:
    """The array in a file: a mark, its shape as numbers of four bytes, its bytes."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            content = file.read(LARGEST)
    except (OSError, EOFError) as error:
        raise FormatError(path, "the file", str(error), "a whole file of MNIST") from None
    rank = 3 if mark == MARKS["images"] else 1
    start = 4 + 4 * rank
    own_mark, *shape = struct.unpack(f">{1 + rank}I", content[:start]) if len(content) >= start else (0,)
    if own_mark != mark or len(content) - start != math.prod(shape):
        raise FormatError(
            path, "the file", f"the mark {own_mark} and {len(content)} bytes", f"{mark} and a whole array"
        )
    array = np.frombuffer(content, "uint8", offset=start).reshape(shape)
    return array[..., None] if rank == 3 else array
