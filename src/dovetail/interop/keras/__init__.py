"""Ops, and therefore K, in functional models of Keras 3, on its own backends or on Dovetail.

An op that gets a KerasTensor becomes a Keras operation of the model, which runs the op on Keras' values.  Models with
such operations are saved, loaded and cloned like any other.  `stock` has the parts for Keras' own backends, and
`keras_dovetail.kinds` the parts for Keras on Dovetail.
"""

from __future__ import annotations

from dovetail.interop.keras.functions import function as function
from dovetail.interop.keras.functions import gradients as gradients
from dovetail.interop.keras.phase import in_train_phase as in_train_phase
from dovetail.interop.keras.random import key_of_step as key_of_step
from dovetail.interop.keras.running import is_given as is_given
