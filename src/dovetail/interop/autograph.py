"""Tells TensorFlow's AutoGraph to leave Dovetail's code as it is, which works in `tf.function` unchanged."""

from __future__ import annotations

from tensorflow.python.autograph.core import config

config.CONVERSION_RULES = (config.DoNotConvert("dovetail"), *config.CONVERSION_RULES)
