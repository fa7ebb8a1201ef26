"""`keras.utils.image_dataset_from_directory` and the like, for programs that use TensorFlow's names on Dovetail."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

NAMES = "dovetail.compat.tensorflow"


def give_ours(module: ModuleType) -> None:
    """Let a module's functions take and return data sets of Dovetail's names, if the program has imported these.

    Args:
        module: `keras.src.utils.image_dataset_utils` or the like, which has just been imported.
    """
    for name, function in [*vars(module).items()]:
        if "_dataset_from_" in name or name == "split_dataset":
            setattr(module, name, _with_ours(function))


def _with_ours(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _ours(function(*map(_theirs, args), **{name: _theirs(x) for name, x in kwargs.items()}))

    return call


def _theirs(x: Any) -> Any:
    """A data set of Dovetail's names as one of TensorFlow; other arguments as they are."""
    if NAMES not in sys.modules:
        return x
    from dovetail.compat.tensorflow.names.data import dataset, mixing
    from dovetail.interop.privates import lazy_tensorflow

    return mixing.of_tensorflow(x, lazy_tensorflow) if isinstance(x, dataset.Dataset) else x


def _ours(found: Any) -> Any:
    """A data set, or several, as those of Dovetail's names; strings stay TensorFlow's, by which Keras computes them."""
    if isinstance(found, (list, tuple)):
        return type(found)(map(_ours, found))
    if NAMES not in sys.modules:
        return found
    from dovetail.compat.tensorflow.names.data import dataset, elements

    leaves = elements.leaves(elements.plain(getattr(found, "element_spec", ())))
    return found if any(leaf.dtype.name == "string" for leaf in leaves) else dataset.taken(found)
