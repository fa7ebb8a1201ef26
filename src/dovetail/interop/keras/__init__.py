"""Dovetail inside a stock Keras 3: ops, and so K, on KerasTensors and Keras variables.

An op that is given a KerasTensor becomes a Keras operation of the functional model, which runs the op on the values of
Keras' own backend.  Models with such operations are saved, loaded and cloned like any other.
"""

from __future__ import annotations

from dovetail.interop.keras import arrays, kinds, saving, variables
from dovetail.interop.keras.functions import function as function
from dovetail.interop.keras.functions import gradients as gradients
from dovetail.interop.keras.phase import in_train_phase as in_train_phase
from dovetail.interop.keras.random import key_of_step as key_of_step

kinds.register_kinds()
saving.register()
variables.register()
arrays.register()
