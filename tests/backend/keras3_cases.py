"""K's parity cases on the values that a stock Keras 3 computes with: the backend's own, and KerasTensors.

The arrays of a case become values of the backend: on JAX eager and traced ones. On torch they record gradients, which
the check then asks for. On TensorFlow they go into a `tf.function`, with an unknown batch size.

The arrays also become KerasTensors with an unknown batch size, for a model that is rebuilt from its config. Results
must be values of the same kind, and equal K's results on NumPy.
"""

from __future__ import annotations

import functools
import importlib
import os
import pkgutil
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

import dovetail as dt
from dovetail import backend as K
from tests.backend import cases
from tests.backend.parity import Case, actual
from tests.keras_backends import main
from tests.libraries import Library
from tests.parts import WHOLE

keras = Library("keras")

FEW = 2 if WHOLE else 1  # cases of each function; parity runs all
BACKEND = os.environ.get("KERAS_BACKEND", "")

# Functions whose cases compute nothing from the given arrays.
OTHERS = {
    "is_keras_tensor", "is_tensor", "is_variable", "is_placeholder", "is_sparse", "to_dense",  # questions
    "int_shape", "ndim", "dtype", "count_params", "get_variable_shape",  # known without computing
    "variable", "constant", "zeros", "ones", "eye", "cast_to_floatx",  # make new values
    "get_value", "batch_get_value", "set_value", "batch_set_value", "eval", "update", "update_add", "update_sub",
    "moving_average_update", "manual_variable_initialization",  # Dovetail's variables
    "placeholder", "function", "gradients", "learning_phase", "set_learning_phase", "clear_session",  # graphs
    "get_uid", "reset_uids", "name_scope", "floatx", "backend", "ctc_label_dense_to_sparse",
}  # fmt: skip
# Text in a case's name → why the case means nothing for values that are not known yet.
UNKNOWN = {
    "tile(float32[2,3],int64": "how often is not known, and so neither is the rank",
    "reshape(float32[2,3],int64": "the shape is not known, and so neither is the rank",
    "stack(float32[2,3])": "how many slices there are is not known",
    "switch(bool[]": "both branches are called, and must have one shape",
    "switch lazy": "both branches are called",
    "switch (1,) lazy": "both branches are called",
    "switch(bool[1]": "how many elements the condition has is not known",
    "depthwise_conv2d(float32[0": "TensorFlow's own kernel gives an empty batch of unknown size the shape of its input",
    "local_conv": "the number of windows must be known",
    "ctc": "what is decoded has a length that depends on the values",
    "slice by a tensor": "how long the slice is is not known",
    "to another dtype": "what a loop carries keeps its dtype",
    "axis that is not there": "the case looks at an exception",
    "crossentropy mask": "the case looks at an attribute",
    "tensor x[1:": "the operators of an input are Keras' own, which takes no slice that is not in a tuple",
    "tensor 2 % x": "the operators of torch are its own, and this one has no gradient",
    "ints between tensors": "it needs 64-bit integers, which JAX has only if they are enabled",
}
RANDOM = {"random_normal", "random_uniform", "truncated_normal", "random_bernoulli", "random_binomial", "dropout"}


@functools.cache
def all_cases() -> list[Case]:
    """The cases to run: a few of each function, spread over its cases."""
    by_function: dict[str, list[Case]] = defaultdict(list)
    for module in pkgutil.iter_modules(cases.__path__):
        for case in importlib.import_module(f"{cases.__name__}.{module.name}").CASES:
            if _applies(case):
                by_function[case.functions[0]].append(case)
    return [case for found in by_function.values() for case in found[:: -(-len(found) // FEW)]]


def _applies(case: Case) -> bool:
    unknown = any(part.replace(" ", "") in str(case).replace(" ", "") for part in UNKNOWN)
    plain = bool(case.arrays) and "eager" in case.ways and not case.raises
    return plain and not unknown and not OTHERS & set(case.functions)


def open_shapes(case: Case, arrays: list[np.ndarray]) -> list[tuple[int | None, ...]]:
    """The shapes with an unknown batch size, for the first array and others with as many rows, except kernels."""
    first = arrays[0]
    is_batch = [a.ndim and first.ndim and len(a) == len(first) for a in arrays]
    if "conv" in case.functions[0]:
        is_batch[1:] = [False] * (len(arrays) - 1)
    return [(None, *a.shape[1:]) if open_ else a.shape for a, open_ in zip(arrays, is_batch, strict=True)]


def tensors(result: Any) -> list[Any]:
    """The numeric results of a case."""
    return [v for v in keras.tree.flatten(result) if hasattr(v, "dtype")]


# -- the backend's own values -----------------------------------------------------------------------------------------


def on_jax(case: Case, arrays: list[np.ndarray]) -> Any:
    import jax

    def run(*values: Any) -> list[Any]:
        found = tensors(case.run(K, *values))
        # Values computed from shapes alone are known while JAX traces, and are not JAX's.
        return [jax.numpy.asarray(v) for v in found if not isinstance(v, dt.Tensor)]

    values = [jax.numpy.asarray(a) for a in arrays]
    found = tensors(case.run(K, *values))
    if case.functions[0] not in RANDOM:  # JAX would make them constants, so K refuses them without a key
        traced = jax.eval_shape(run, *values)
        assert [v.shape for v in traced] == [v.shape for v in found if not isinstance(v, dt.Tensor)]
    assert all(isinstance(v, (jax.Array, np.ndarray, np.generic, dt.Tensor)) for v in found)
    return found


def on_torch(case: Case, arrays: list[np.ndarray]) -> Any:
    import torch

    values = [torch.as_tensor(a.copy()) for a in arrays]
    found = tensors(case.run(K, *[v.requires_grad_() if v.is_floating_point() else v for v in values]))
    assert all(isinstance(v, torch.Tensor) for v in found)
    differentiable = [v.sum() for v in found if v.requires_grad]
    if differentiable:
        sum(differentiable).backward()
    return [v.detach() for v in found]


def on_tensorflow(case: Case, arrays: list[np.ndarray]) -> Any:
    import tensorflow as tf

    def run(*values: Any) -> list[Any]:
        found = tensors(case.run(K, *values))
        assert all(isinstance(v, tf.Tensor) for v in found)
        return found

    specs = [tf.TensorSpec(s, a.dtype) for s, a in zip(open_shapes(case, arrays), arrays, strict=True)]
    return tf.function(run, specs)(*map(tf.constant, arrays))


NATIVE: dict[str, Callable[..., Any]] = {"jax": on_jax, "torch": on_torch, "tensorflow": on_tensorflow}


# -- KerasTensors -----------------------------------------------------------------------------------------------------


def on_keras_tensors(case: Case, arrays: list[np.ndarray]) -> Any:
    shapes = open_shapes(case, arrays)
    inputs = [keras.Input(batch_shape=s, dtype=str(a.dtype)) for s, a in zip(shapes, arrays, strict=True)]
    outputs = [v for v in keras.tree.flatten(case.run(K, *inputs)) if hasattr(v, "dtype")]
    assert all(isinstance(v, keras.KerasTensor) for v in outputs)
    model = keras.Model(inputs, outputs)
    model = keras.Model.from_config(model.get_config())
    found = keras.tree.flatten(model.call([keras.ops.convert_to_tensor(a) for a in arrays]))
    for tensor, value in zip(outputs, found, strict=True):
        assert all(known in (None, dim) for known, dim in zip(tensor.shape, value.shape, strict=True))
    return found


# -- comparing --------------------------------------------------------------------------------------------------------


def check(run: Callable[..., Any], case: Case) -> None:
    """Raise an error if the results differ from K's on NumPy."""
    with dt.engine("numpy"):
        wanted = [w for w in actual(case, "eager") if w.dtype.kind not in "OUS"]
    found = [keras.ops.convert_to_numpy(v) for v in run(case, case.drawn())]
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.shape == theirs.shape
        narrow = BACKEND == "jax" and theirs.dtype.itemsize >= 8  # JAX has no 64 bits, if they are not enabled
        assert ours.dtype == theirs.dtype or narrow
        tolerance = {"float16": 3e-3, "bfloat16": 3e-2}.get(str(theirs.dtype), 1e-4) * case.tolerance
        wide = [a.astype("complex128") for a in (ours, theirs)]
        np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance)


def checks() -> dict[str, Callable[[], None]]:
    """A check for each case and way, by name."""
    ways: dict[str, Any] = {"native": NATIVE[BACKEND]} if BACKEND in NATIVE else {}
    if BACKEND:
        ways["symbolic"] = on_keras_tensors
    return {
        f"check_{way} {case}": functools.partial(check, run, case) for way, run in ways.items() for case in all_cases()
    }


if __name__ == "__main__":
    main(checks())
