"""Files of TensorFlow in Keras' functions: `load_model` of Keras 2's folders, `load_weights` of checkpoints."""

from __future__ import annotations

import functools
import os
from types import ModuleType
from typing import Any


def read_by_dovetail(module: ModuleType) -> None:
    """Let Keras load files of TensorFlow, too.

    Args:
        module: `keras.src.saving.saving_api`, which has just been imported.
    """
    api: Any = module
    load_model, load_weights = api.load_model, api.load_weights

    @functools.wraps(load_model)
    def load_any_model(filepath: Any, custom_objects: Any = None, compile: bool = True, safe_mode: bool = True) -> Any:
        from dovetail.formats.keras.saved_model import is_folder

        if _is_path(filepath) and is_folder(filepath):
            from dovetail.interop.keras_files.folder import load_folder

            return load_folder(filepath, custom_objects, compile)
        return load_model(filepath, custom_objects, compile, safe_mode)

    @functools.wraps(load_weights)
    def load_any_weights(model: Any, filepath: Any, skip_mismatch: bool = False, **kwargs: Any) -> None:
        from dovetail.interop.keras_files import checkpoint

        prefix = checkpoint.checkpoint_at(filepath) if _is_path(filepath) else None
        if prefix is None:
            load_weights(model, filepath, skip_mismatch, **kwargs)
        else:
            checkpoint.load_weights(model, prefix, skip_mismatch)

    api.load_model, api.load_weights = load_any_model, load_any_weights


def _is_path(given: Any) -> bool:
    return isinstance(given, (str, os.PathLike))
