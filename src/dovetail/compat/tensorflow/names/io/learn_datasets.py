"""`tf.contrib.learn.datasets`: tables in files of CSV, and the small data sets that came with TensorFlow 1."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dovetail.compat.tensorflow.names.io.mnist import read_data_sets
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error

PLACE = "contrib.learn.datasets"


class Table(NamedTuple):
    """The rows of a table, and the number or the class of each.

    Source: `tf.contrib.learn.datasets.base.Dataset`.
    """

    data: np.ndarray
    target: np.ndarray


def _read(filename: Any, target_dtype: Any, features_dtype: Any, target_column: int, header: bool) -> Table:
    with open(filename, newline="") as file:
        rows = list(csv.reader(file))[header:]
    target = np.array([row.pop(target_column) for row in rows])
    return Table(np.array(rows).astype(features_dtype), target.astype(target_dtype))


@function(f"{PLACE}.base.load_csv_with_header", "v1")
def load_csv_with_header(filename: Any, target_dtype: Any, features_dtype: Any, target_column: int = -1) -> Table:
    """The table in a file of CSV, whose first line is left out.

    Args:
        filename: the path.
        target_dtype, features_dtype: the dtypes of the column of targets and of the others.
        target_column: the place of the column of targets.

    Source: `tf.contrib.learn.datasets.base.load_csv_with_header`.
    """
    return _read(filename, target_dtype, features_dtype, target_column, True)


@function(f"{PLACE}.base.load_csv_without_header", "v1")
def load_csv_without_header(filename: Any, target_dtype: Any, features_dtype: Any, target_column: int = -1) -> Table:
    """The table in a file of CSV; see `load_csv_with_header`.

    Source: `tf.contrib.learn.datasets.base.load_csv_without_header`.
    """
    return _read(filename, target_dtype, features_dtype, target_column, False)


@function(f"{PLACE}.base.maybe_download", "v1")
def maybe_download(filename: str, work_directory: str, source_url: str) -> str:
    """The path of a file in a folder.

    Raises:
        FileNotFoundError: it is not there. Nothing is downloaded.

    Source: `tf.contrib.learn.datasets.base.maybe_download`.
    """
    path = os.path.join(work_directory, filename)
    if not os.path.exists(path):
        problem = f"{path!r} is not there, and nothing is downloaded: put the file of {source_url} there."
        raise op_error(FileNotFoundError, f"tf.{PLACE}.base.maybe_download", problem)
    return path


@function(f"{PLACE}.load_iris {PLACE}.base.load_iris", "v1")
def load_iris(data_path: Any = None) -> Table:
    """The measures of 150 flowers of three kinds, from scikit-learn, or from a file of CSV with a header.

    Raises:
        ImportError: no file is given, and scikit-learn is not installed.

    Source: `tf.contrib.learn.datasets.load_iris`.
    """
    if data_path is not None:
        return load_csv_with_header(data_path, "int64", "float64")
    from sklearn.datasets import load_iris

    flowers: Any = load_iris()
    return Table(flowers.data, flowers.target)


@function(f"{PLACE}.load_boston {PLACE}.base.load_boston", "v1")
def load_boston(data_path: Any = None) -> Table:
    """The prices of houses in Boston, from a file of CSV with a header.

    Raises:
        ValueError: no file is given.

    Source: `tf.contrib.learn.datasets.load_boston`.
    """
    if data_path is None:
        problem = "it is not here: give data_path, or write keras.datasets.boston_housing.load_data()."
        raise op_error(ValueError, f"tf.{PLACE}.load_boston", problem)
    return load_csv_with_header(data_path, "float64", "float64")


KNOWN: dict[str, Callable[[], Any]] = {
    "boston": load_boston,
    "iris": load_iris,
    "mnist": lambda: read_data_sets("MNIST-data"),
}


@function(f"{PLACE}.load_dataset", "v1")
def load_dataset(name: str) -> Any:
    """A data set by its name: mnist, iris or boston.

    Raises:
        ValueError: it is another name.

    Source: `tf.contrib.learn.datasets.load_dataset`.
    """
    if name not in KNOWN:
        problem = f"it is one of {', '.join(KNOWN)}, not {name!r}; sklearn.datasets or keras.datasets may have it."
        raise op_error(ValueError, f"tf.{PLACE}.load_dataset", problem)
    return KNOWN[name]()
