"""The libraries of the extra `formats`, imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dovetail.core.base.errors import op_error

PACKAGES = {"google.protobuf": "protobuf", "google_crc32c": "google-crc32c"}


def library(module: str, user: str = "dovetail.formats") -> Any:
    """A module of `protobuf` or `google-crc32c`.

    Args:
        module: its name.
        user: the function that needs it, for the error.

    Raises:
        ImportError: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = next(package for root, package in PACKAGES.items() if module.startswith(root))
        problem = f"it needs {package}, which is not installed here: pip install 'keras-dovetail[formats]'."
        raise op_error(ImportError, user, problem) from error


def need(user: str) -> None:
    """Import the libraries of the extra for a function, which an error names.

    Raises:
        ImportError: one of them is not installed.
    """
    for module in PACKAGES:
        library(module, user)
