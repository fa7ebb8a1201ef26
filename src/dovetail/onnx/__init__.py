"""Models in ONNX files."""

from dovetail.onnx.saving import save

__all__ = ["save"]
