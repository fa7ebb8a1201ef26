"""Models in TensorFlow's files, to be called, edited, trained and saved; TensorFlow is not needed."""

from dovetail.saved_model.loading import LoadedModel, load
from dovetail.saved_model.objects import RestoredFunction
from dovetail.saved_model.saving import save
from dovetail.saved_model.signatures import SERVING, Signature

__all__ = ["SERVING", "LoadedModel", "RestoredFunction", "Signature", "load", "save"]
