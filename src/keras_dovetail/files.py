"""Keras' functions `load_model`, `load_weights` and `save_weights` take the files that Dovetail reads and writes."""

from __future__ import annotations

import functools
import os
from types import ModuleType
from typing import Any


def read_by_dovetail(module: ModuleType) -> None:
    """Let Keras' functions use Dovetail's for local files; others, such as remote ones, stay Keras' own.

    Args:
        module: `keras.src.saving.saving_api`, which has just been imported.
    """
    api: Any = module
    load_model, load_weights, save_weights = api.load_model, api.load_weights, api.save_weights

    @functools.wraps(load_model)
    def load_any_model(filepath: Any, custom_objects: Any = None, compile: bool = True, safe_mode: bool = True) -> Any:
        from dovetail.interop.keras_files import files

        if _is_path(filepath) and files.has_model(filepath):
            return files.load_model(filepath, custom_objects, compile, safe_mode)
        return load_model(filepath, custom_objects, compile, safe_mode)

    @functools.wraps(load_weights)
    def load_any_weights(model: Any, filepath: Any, skip_mismatch: bool = False, **kwargs: Any) -> None:
        from dovetail.interop.keras_files import files

        of_keras = kwargs.get("objects_to_skip") is not None or kwargs.keys() - {"by_name", "objects_to_skip"}
        if _is_path(filepath) and files.has_weights(filepath) and not of_keras:
            files.load_weights(model, filepath, bool(kwargs.get("by_name")), skip_mismatch)
        else:
            load_weights(model, filepath, skip_mismatch, **kwargs)

    @functools.wraps(save_weights)
    def save_any_weights(
        model: Any, filepath: Any, overwrite: bool = True, max_shard_size: Any = None, **kwargs: Any
    ) -> None:
        from dovetail.interop.keras_files import files

        remote = not _is_path(filepath) or "://" in str(filepath)
        if remote or not overwrite or max_shard_size is not None or kwargs:
            save_weights(model, filepath, overwrite, max_shard_size, **kwargs)
        else:
            files.save_weights(model, filepath)

    api.load_model, api.load_weights, api.save_weights = load_any_model, load_any_weights, save_any_weights


def _is_path(given: Any) -> bool:
    return isinstance(given, (str, os.PathLike))
