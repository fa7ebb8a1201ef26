"""TensorFlow's names for parts of strings, texts and bytes of tensors, and files that a run writes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.compat.tensorflow.names.array.sparse import SparseTensorValue
from dovetail.compat.tensorflow.names.graph.messages import make_ndarray, make_tensor_proto
from dovetail.compat.tensorflow.names.graph.python_calls import py_func
from dovetail.compat.tensorflow.names.strings.functions import host_operation, string_split
from dovetail.compat.tensorflow.names.strings.tensors import computed
from dovetail.compat.tensorflow.names.strings.text import STRING, is_text, text
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import op_error
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import dtype_of
from dovetail.formats.wire.messages import TENSORFLOW

RAGGED = "the parts of several strings are ragged, which is not offered: split one string, or use tf.compat.v1"


@function("strings.split", "v1")
def split_v1(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> SparseTensorValue:
    """The parts of each string of a vector, as indices, values and shape of a sparse tensor.

    Args:
        sep: a string between two parts; by default, blanks.
        maxsplit: the most separators that count; -1 for all.

    Raises:
        NotImplementedError: a ragged tensor is asked for.

    Source: `tf.compat.v1.strings.split`.
    """
    if result_type != "SparseTensor":
        raise op_error(NotImplementedError, "tf.strings.split", "no tensor is ragged: leave result_type out.")
    given = [source if input is None else input, sep or ""]
    return SparseTensorValue(*host_operation("StringSplitV2", given, name, maxsplit=maxsplit))


@function("strings.split", "v2")
def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """The parts of one string.

    Raises:
        NotImplementedError: there are several strings.

    Source: `tf.strings.split`.
    """
    return split_v1(_one("split", input), sep, maxsplit, name=name).values


@function("strings.bytes_split")
def bytes_split(input: Any, name: str | None = None) -> Any:
    """The bytes of one string, each as a string.

    Raises:
        NotImplementedError: there are several strings.

    Source: `tf.strings.bytes_split`.
    """
    return string_split(_one("bytes_split", input), delimiter="", name=name).values


def _one(title: str, given: Any) -> list[Any]:
    if len(text(given).shape):
        raise op_error(NotImplementedError, f"tf.strings.{title}", f"{RAGGED}.strings.split for a sparse tensor.")
    return [text(given)]


@function("strings.format")
def string_format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Any:
    """A text with tensors in it, as TensorFlow prints them.

    Args:
        template: the text.
        inputs: the tensors, or one.
        placeholder: stands for a tensor in it.
        summarize: how many elements are printed at either end of an axis; -1 for all.

    Raises:
        ValueError: the template has another number of places.

    Source: `tf.strings.format`.
    """
    given = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if template.count(placeholder) != len(given):
        problem = f"the template has {template.count(placeholder)} places for {len(given)} tensors."
        raise op_error(ValueError, "tf.strings.format", problem)
    how = {"template": template, "placeholder": placeholder, "summarize": summarize}
    return host_operation("StringFormat", given, name, **how)


# -- tensors as bytes -------------------------------------------------------------------------------------------------


@function("io.serialize_tensor serialize_tensor")
def serialize_tensor(tensor: Any, name: str | None = None) -> Any:
    """A tensor as the bytes of a message `TensorProto`.

    Source: `tf.io.serialize_tensor`.
    """
    dtype = None if is_text(tensor) else dtype_of(tensor)
    return computed(lambda array: make_tensor_proto(array, dtype).SerializeToString(), [tensor], [STRING], [()], name)[
        0
    ]


@function("io.parse_tensor parse_tensor")
def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Any:
    """The tensor in the bytes of a message `TensorProto`.

    Raises:
        ValueError: it has another dtype; when it is computed.

    Source: `tf.io.parse_tensor`.
    """
    dtype: Any = STRING if is_text(None, out_type) else as_dtype(out_type)

    def parse(given: np.ndarray) -> np.ndarray:
        array = make_ndarray(TENSORFLOW.TensorProto.FromString(given.item()))
        if dtype is not STRING and array.dtype != dtype.numpy:
            raise op_error(ValueError, "tf.io.parse_tensor", f"the tensor is of {array.dtype}, not of {dtype.name}.")
        return array

    return computed(parse, [serialized], [dtype], name=name)[0]


# -- effects ----------------------------------------------------------------------------------------------------------


@function("io.write_file write_file")
def write_file(filename: Any, contents: Any, name: str | None = None) -> Any:
    """Write bytes into a file, at once or by the operation that is returned; folders are made.

    Source: `tf.io.write_file`.
    """

    def write(path: bytes, data: bytes) -> None:
        file = Path(path.decode())
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)

    made: Sequence[Any] | Any = py_func(write, [filename, contents], [], name=name)
    return None if isinstance(made, list) else made


@function("timestamp")
def timestamp(name: str | None = None) -> Any:
    """The seconds since 1970, whenever it is computed.

    Source: `tf.timestamp`.
    """
    return py_func(time.time, [], "float64", name=name)
