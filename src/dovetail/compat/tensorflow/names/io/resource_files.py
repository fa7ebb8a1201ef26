"""`tf.resource_loader`: files beside the program's own, by their relative paths."""

from __future__ import annotations

import inspect
import os
from pathlib import Path

from dovetail.compat.tensorflow.entries import value

PLACE = "resource_loader"


def _folder() -> str:
    """The folder of the file that called the function which asks."""
    return os.path.dirname(os.path.abspath(inspect.stack()[2].filename))


def get_data_files_path() -> str:
    """The folder of the file that calls it.

    Source: `tf.resource_loader.get_data_files_path`.
    """
    return _folder()


def get_path_to_datafile(path: str) -> str:
    """The path of a file in the folder of the file that calls it.

    Source: `tf.resource_loader.get_path_to_datafile`.
    """
    return os.path.join(_folder(), path)


def load_resource(path: str) -> bytes:
    """The bytes of a file in the folder of the file that calls it.

    Source: `tf.resource_loader.load_resource`.
    """
    return Path(_folder(), path).read_bytes()


def get_root_dir_with_all_resources() -> str:
    """The folder of the file that calls it.

    Source: `tf.resource_loader.get_root_dir_with_all_resources`.
    """
    return _folder()


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """The path itself.

    Source: `tf.resource_loader.readahead_file_path`.
    """
    return path


for _function in (
    get_data_files_path, get_path_to_datafile, load_resource, get_root_dir_with_all_resources, readahead_file_path,
):  # fmt: skip
    value(f"{PLACE}.{_function.__name__}", _function, "v1")
