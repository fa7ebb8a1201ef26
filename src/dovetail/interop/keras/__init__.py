"""Dovetail inside a stock Keras 3: ops, and so K, on KerasTensors and Keras variables.

An op that is given a KerasTensor becomes a Keras operation of the functional model, which runs the op on the values of
Keras' own backend.  Models with such operations are saved, loaded and cloned like any other.
"""

from __future__ import annotations

import keras

from dovetail.core import dispatch, worlds
from dovetail.interop.keras import arrays, calls, random, saving, variables
from dovetail.interop.keras.control import KerasControl
from dovetail.interop.keras.functions import function as function
from dovetail.interop.keras.functions import gradients as gradients
from dovetail.interop.keras.phase import in_train_phase as in_train_phase
from dovetail.interop.keras.random import key_of_step as key_of_step

KERAS = worlds.World("keras", 6, calls.apply, symbolic=True, control=KerasControl(), fresh_key=random.fresh_key)
WRAPPED = worlds.World("wrapped", 5, dispatch.apply_unwrapped, unwrap=lambda variable: variable.value)

worlds.register_world(keras.KerasTensor, KERAS)
worlds.register_world(keras.Variable, WRAPPED)
saving.register()
variables.register()
arrays.register()
