"""Exporting models to other formats, which the backend does not do."""

from __future__ import annotations

from typing import Any, NoReturn


class DovetailExportArchive:
    """What Keras' ExportArchive inherits of a backend."""

    def track(self, resource: Any) -> NoReturn:
        """Raises NotImplementedError."""
        raise NotImplementedError("`track` is not implemented in the dovetail backend; save with model.save.")

    def add_endpoint(self, name: str, fn: Any, input_signature: Any = None, **kwargs: Any) -> NoReturn:
        """Raises NotImplementedError."""
        raise NotImplementedError("`add_endpoint` is not implemented in the dovetail backend; save with model.save.")
