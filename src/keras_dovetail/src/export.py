"""Export of models to other formats, which the backend does not support."""

from __future__ import annotations

from typing import Any, NoReturn


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError("the dovetail backend does not export models; save them with model.save.")


class SavedModelExportArchive:
    """The base class that Keras' ExportArchive inherits from a backend."""

    track = add_endpoint = track_and_add_endpoint = _refuse
