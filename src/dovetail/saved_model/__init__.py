"""Models in TensorFlow's files, to be called, edited, trained and saved; TensorFlow is not needed."""

from dovetail.saved_model.loading import SERVING, LoadedModel, RestoredFunction, Signature, load
from dovetail.saved_model.saving import save

__all__ = ["SERVING", "LoadedModel", "RestoredFunction", "Signature", "load", "save"]
