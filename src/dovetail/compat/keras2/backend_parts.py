"""Names of Keras 2's modules of backends that were not K's, and that programs and layers of other packages use."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

import numpy as np

from dovetail import backend as K
from dovetail.core.engines.engine_registry import current_engine
from dovetail.core.values.value_kinds import static_shape

# layout of Keras → number of spatial axes → TensorFlow's name of it
LAYOUTS = {"channels_last": ("NWC", "NHWC", "NDHWC"), "channels_first": ("NCW", "NCHW", "NCDHW")}
PADDINGS = {"same": "SAME", "valid": "VALID"}


def _preprocess_padding(padding: str) -> str:
    """TensorFlow's word for a padding."""
    if padding not in PADDINGS:
        raise ValueError(f"padding must be 'same' or 'valid', not {padding!r}.")
    return PADDINGS[padding]


def _with_layout(x: Any, data_format: str, *_: Any) -> tuple[Any, str]:
    """A batch as a convolution takes it, and TensorFlow's name of its layout."""
    if data_format not in LAYOUTS:
        raise ValueError(f"data_format must be 'channels_last' or 'channels_first', not {data_format!r}.")
    shape = static_shape(x)
    return x, LAYOUTS[data_format][len(shape or (0, 0, 0, 0)) - 3]


def _as_it_is(x: Any, data_format: str) -> Any:
    """The result of a convolution, whose layout is the one of its input."""
    return x


def _to_tensor(x: Any, dtype: Any) -> Any:
    """A tensor of a dtype."""
    return K.constant(x, dtype) if isinstance(x, (bool, int, float, np.ndarray)) else K.cast(x, dtype)


def _get_available_gpus() -> list[str]:
    """The GPUs of the current engine, in TensorFlow's form."""
    names = current_engine().devices()
    return [f"/device:{name.upper()}" for name in names if name.startswith("gpu")]


PARTS = {
    "np": np,
    "py_all": all,
    "py_any": any,
    "py_sum": sum,
    "_preprocess_padding": _preprocess_padding,
    "_to_tensor": _to_tensor,
    "_get_available_gpus": _get_available_gpus,
    **{f"_preprocess_conv{n}d_input": _with_layout for n in (1, 2, 3)},
    **{f"_postprocess_conv{n}d_output": _as_it_is for n in (2, 3)},
}
# Settings that Keras 1 and 2.0 kept in module variables → the functions that know them now.
SETTINGS = {
    **dict.fromkeys(("_FLOATX", "_floatx"), "floatx"),
    **dict.fromkeys(("_EPSILON", "_epsilon"), "epsilon"),
    **dict.fromkeys(("_BACKEND", "_backend"), "backend"),
    **dict.fromkeys(("_IMAGE_DATA_FORMAT", "_image_data_format"), "image_data_format"),
    **dict.fromkeys(("_IMAGE_DIM_ORDERING", "_image_dim_ordering"), "image_dim_ordering"),
}
OF_TENSORFLOW = {  # a module that Keras 2's backend had imported → its place in `tensorflow`
    "tf": "",
    "ops": ".python.framework.ops",
    **{name: f".python.ops.{name}" for name in (
        "array_ops", "control_flow_ops", "ctc_ops", "functional_ops", "math_ops", "nn", "tensor_array_ops",
    )},
}  # fmt: skip


def late(name: str) -> Any:
    """A name of `keras.backend` that is found when it is first used: TensorFlow's modules, settings, and the parts."""
    if name in OF_TENSORFLOW:
        tensorflow = import_module("dovetail.compat.tensorflow.compat.v1")
        return functools.reduce(getattr, OF_TENSORFLOW[name].split(".")[1:], tensorflow)
    if name in SETTINGS:
        return getattr(import_module("keras.backend"), SETTINGS[name])()
    if name in PARTS:
        return PARTS[name]
    raise AttributeError(f"keras.backend has no {name!r}.")
