"""Models in ONNX files."""

from dovetail.onnx.loading import LoadedModel, load
from dovetail.onnx.saving import save

__all__ = ["LoadedModel", "load", "save"]
