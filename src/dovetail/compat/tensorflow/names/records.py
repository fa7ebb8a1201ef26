"""TensorFlow's names for files of records, and for the examples in them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dovetail import ops
from dovetail.backend.sparse import SparseTensor
from dovetail.compat.tensorflow import graph_mode
from dovetail.compat.tensorflow.names.sparse import SparseTensorValue
from dovetail.compat.tensorflow.names.string_tensors import StringTensor, called, joined
from dovetail.compat.tensorflow.names.strings import host_operation
from dovetail.compat.tensorflow.names.text import STRING, Text, is_text, strings_of
from dovetail.compat.tensorflow.table import function, lazy, value
from dovetail.core.dtypes import DType, as_dtype, is_of_strings
from dovetail.core.errors import describe
from dovetail.formats.wire.libraries import need
from dovetail.formats.wire.messages import TENSORFLOW, parsed
from dovetail.formats.wire.records import RecordWriter, check_compression, read_records

# -- files of records -------------------------------------------------------------------------------------------------


class TFRecordCompressionType:
    """The compressions of files of records by number.

    Source: `tf.compat.v1.io.TFRecordCompressionType`.
    """

    NONE, ZLIB, GZIP = 0, 1, 2


_COMPRESSIONS = {None: "", 0: "", 1: "ZLIB", 2: "GZIP"}


class TFRecordOptions:
    """The compression of a file of records.

    Args:
        compression_type: "", "GZIP" or "ZLIB"; or a number of `TFRecordCompressionType`.
        compression_level: from 0 to 9.

    Source: `tf.io.TFRecordOptions`.
    """

    def __init__(self, compression_type: Any = None, *ignored: Any, compression_level: int | None = None) -> None:
        self.compression_type = _COMPRESSIONS.get(compression_type, compression_type)
        self.compression_level = -1 if compression_level is None else compression_level


def _options(given: Any) -> TFRecordOptions:
    return given if isinstance(given, TFRecordOptions) else TFRecordOptions(given)


class TFRecordWriter:
    """A writer of records, which replaces a file; also a `with` block.

    Args:
        path: the file.
        options: `TFRecordOptions`, or the name of a compression.

    Raises:
        ImportError: the extra `formats` is not installed.

    Source: `tf.io.TFRecordWriter`.
    """

    def __init__(self, path: str | os.PathLike[str], options: Any = None) -> None:
        need("tf.io.TFRecordWriter")
        chosen = _options(options)
        check_compression(chosen.compression_type)
        file = open(path, "wb")  # noqa: SIM115  # until `close`
        self._writer = RecordWriter(file, chosen.compression_type, chosen.compression_level)

    def write(self, record: bytes) -> None:
        """Write a record: bytes, or a text, which is encoded."""
        self._writer.write(record.encode() if isinstance(record, str) else bytes(record))

    def flush(self) -> None:
        """Give the records to the system."""
        self._writer.flush()

    def close(self) -> None:
        """End the file."""
        self._writer.close()

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


value("io.TFRecordWriter python_io.TFRecordWriter", TFRecordWriter)
value("io.TFRecordOptions python_io.TFRecordOptions", TFRecordOptions)
value("io.TFRecordCompressionType python_io.TFRecordCompressionType", TFRecordCompressionType, "v1")


@function("io.tf_record_iterator python_io.tf_record_iterator", "v1")
def tf_record_iterator(path: str, options: Any = None) -> Iterator[bytes]:
    """The records of a file, one after another.

    Raises:
        FormatError: the file is cut or damaged.

    Source: `tf.compat.v1.io.tf_record_iterator`.
    """
    need("tf.io.tf_record_iterator")
    return read_records(path, _options(options).compression_type)


# -- examples ---------------------------------------------------------------------------------------------------------

_MESSAGES = "Example SequenceExample Features Feature FeatureList FeatureLists BytesList FloatList Int64List"
for _name in _MESSAGES.split():
    lazy(f"train.{_name}", partial(getattr, TENSORFLOW, _name))


class FixedLenFeature(NamedTuple):
    """A feature of a known shape.

    Attributes:
        shape: its shape.
        dtype: float32, int64, or `bytes`.
        default_value: for examples without it; it is required, if not given.

    Source: `tf.io.FixedLenFeature`.
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature of any number of elements.

    Attributes:
        dtype: float32, int64, or `bytes`.

    Source: `tf.io.VarLenFeature`.
    """

    dtype: Any


class FixedLenSequenceFeature(NamedTuple):
    """A feature of any number of steps, each of a known shape.

    Attributes:
        shape: the shape of a step.
        dtype: float32, int64, or `bytes`.
        allow_missing: whether an example without it has no steps.  It must be True.  Only a `SequenceExample` may
            require steps, by False.
        default_value: fills the steps that shorter examples of a batch lack; 0, if not given.

    Source: `tf.io.FixedLenSequenceFeature`.
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


value("io.FixedLenFeature FixedLenFeature", FixedLenFeature)
value("io.VarLenFeature VarLenFeature", VarLenFeature)
value("io.FixedLenSequenceFeature FixedLenSequenceFeature", FixedLenSequenceFeature)

_KINDS = {"float_list": "float32", "int64_list": "int64", "bytes_list": "bytes"}


@function("io.parse_single_example parse_single_example")
def parse_single_example(
    serialized: bytes, features: Mapping[str, Any], example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """The features of an example.

    Args:
        serialized: the bytes of a `tf.train.Example`.
        features: names → `FixedLenFeature`, `VarLenFeature` or `FixedLenSequenceFeature`.

    Returns:
        Names → tensors, and sparse tensors of `VarLenFeature`.  A feature of `bytes` is a NumPy array of them, and a
        `SparseTensorValue` of such arrays.

    Raises:
        FormatError: the bytes are no example.
        ValueError: a feature is missing, or has another dtype or number of elements.
        TypeError: `serialized` is no bytes, as a tensor of a graph.

    Source: `tf.io.parse_single_example`.
    """
    if _is_of_run(serialized):
        return _in_runs(lambda record: [parse_single_example(record, features)], serialized, [(features, ())], name)[0]
    return _single(_parsed(serialized).features, features)


@function("io.parse_example parse_example")
def parse_example(
    serialized: Any, features: Mapping[str, Any], example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """The features of a batch of examples; each has the batch as its first dimension.

    Args:
        serialized: the bytes of each example.
        features: names → `FixedLenFeature`, `VarLenFeature` or `FixedLenSequenceFeature`.

    Returns:
        As of `parse_single_example`.

    Raises:
        FormatError, ValueError, TypeError: as in `parse_single_example`.

    Source: `tf.io.parse_example`.
    """
    serialized = joined(serialized)
    if _is_of_run(serialized):
        batch = (features, tuple(serialized.shape))
        return _in_runs(lambda records: [parse_example(records, features)], serialized, [batch], name)[0]
    rows = [_parsed(one).features.feature for one in (strings_of(serialized) if is_text(serialized) else serialized)]
    return {key: _result(key, kind, [row.get(key) for row in rows], single=False) for key, kind in features.items()}


@function("io.parse_single_sequence_example parse_single_sequence_example")
def parse_single_sequence_example(
    serialized: bytes,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The features of a sequence of steps.

    Args:
        serialized: the bytes of a `tf.train.SequenceExample`.
        context_features: of the whole sequence, as for `parse_single_example`.
        sequence_features: names → `FixedLenSequenceFeature` or `VarLenFeature`, of each step.

    Returns:
        The features of the whole, and the features of its steps; each as from `parse_single_example`.  Steps are the
        first dimension.

    Raises:
        FormatError, ValueError, TypeError: as in `parse_single_example`.

    Source: `tf.io.parse_single_sequence_example`.
    """
    if _is_of_run(serialized):
        every = {key: _each_step(kind) for key, kind in (sequence_features or {}).items()}
        groups: list[Any] = [(context_features or {}, ()), (every, (None,))]
        parse = lambda record: parse_single_sequence_example(record, context_features, sequence_features)  # noqa: E731
        context, every = _in_runs(parse, serialized, groups, name)
        return context, every
    found, steps = _parsed(serialized, "SequenceExample"), dict[str, Any]()
    for key, kind in (sequence_features or {}).items():
        if not isinstance(kind, (FixedLenSequenceFeature, VarLenFeature)):
            raise TypeError(f"the steps {key!r} are a FixedLenSequenceFeature or VarLenFeature, not {describe(kind)}.")
        needed = isinstance(kind, FixedLenSequenceFeature) and not kind.allow_missing
        if needed and key not in found.feature_lists.feature_list:
            raise _missing(key, "allow_missing=True")
        steps[key] = _result(key, _each_step(kind), list(found.feature_lists.feature_list[key].feature), single=False)
    return _single(found.context, context_features or {}), steps


def _each_step(kind: Any) -> Any:
    """A feature of each step, whose steps are a batch."""
    return FixedLenFeature(kind.shape, kind.dtype) if isinstance(kind, FixedLenSequenceFeature) else kind


def _is_of_run(serialized: Any) -> bool:
    """Whether the records are tensors of a graph."""
    return isinstance(serialized, StringTensor) or (isinstance(serialized, Text) and graph_mode.graph() is not None)


def _in_runs(parse: Any, serialized: Any, groups: Sequence[Any], name: str | None) -> list[dict[str, Any]]:
    """The features of records that runs read: tensors, and sparse ones.

    Args:
        parse: makes a dict for each group, of a record or an array of them.
        groups: features, and the dimensions of the records in their tensors.
    """
    keys = [(group, key) for group, (features, _) in enumerate(groups) for key in sorted(features)]
    specs = [spec for group, key in keys for spec in _specs(groups[group][0][key], groups[group][1])]

    def parts(records: np.ndarray) -> list[np.ndarray]:
        found = parse(records.item() if records.shape == () else records)
        return [np.asarray(x) for group, key in keys for x in _flat(found[group][key])]

    made = iter(called(parts, [serialized], [dtype for dtype, _ in specs], [shape for _, shape in specs], name))
    results: list[dict[str, Any]] = [{} for _ in groups]
    for group, key in keys:
        results[group][key] = _whole(groups[group][0][key], made)
    return results


def _specs(kind: Any, dims: tuple[Any, ...]) -> list[tuple[Any, tuple[Any, ...]]]:
    """The dtypes and shapes of the tensors of a feature, of records of these dimensions."""
    dtype = STRING if is_text(None, kind.dtype) else as_dtype(kind.dtype)
    if isinstance(kind, VarLenFeature):
        rank = len(dims) + 1
        return [(as_dtype("int64"), (None, rank)), (dtype, (None,)), (as_dtype("int64"), (rank,))]
    steps = (None,) if isinstance(kind, FixedLenSequenceFeature) else ()
    return [(dtype, (*dims, *steps, *kind.shape))]


def _flat(found: Any) -> list[Any]:
    if isinstance(found, (SparseTensor, SparseTensorValue)):
        return [found.indices, found.values, found.dense_shape]
    return [found]


def _whole(kind: Any, parts: Iterator[Any]) -> Any:
    if not isinstance(kind, VarLenFeature):
        return next(parts)
    indices, values, shape = (next(parts) for _ in range(3))
    return (SparseTensorValue if values.dtype is STRING else SparseTensor)(indices, values, shape)


def _parsed(serialized: Any, message: str = "Example") -> Any:
    serialized = serialized.strings.item() if isinstance(serialized, Text) else serialized
    if not isinstance(serialized, bytes):
        problem = f"it parses bytes of an example on the host, before a graph is fed, not {describe(serialized)}."
        raise TypeError(problem)
    return parsed(getattr(TENSORFLOW, message), serialized, "an example", "the bytes")


def _single(found: Any, features: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _result(key, kind, [found.feature.get(key)], single=True) for key, kind in features.items()}


def _result(key: str, kind: Any, found: list[Any], single: bool) -> Any:
    """The values of a feature in some examples."""
    if not isinstance(kind, (FixedLenFeature, VarLenFeature, FixedLenSequenceFeature)):
        kinds = "a FixedLenFeature, a VarLenFeature or a FixedLenSequenceFeature"
        raise TypeError(f"the feature {key!r} is {kinds}, not {describe(kind)}.")
    dtype = "bytes" if kind.dtype is object or is_of_strings(kind.dtype) else as_dtype(kind.dtype)
    rows = [_list(key, one, dtype) for one in found]
    if isinstance(kind, VarLenFeature):
        return _sparse(rows, dtype, single)
    shape = tuple(kind.shape)
    if isinstance(kind, FixedLenSequenceFeature):
        arrays = _padded([_steps(key, kind, row, dtype) for row in rows], kind, dtype)
    else:
        arrays = [_fixed(key, kind, row, dtype, shape) for row in rows]
    array = arrays[0] if single else np.stack(arrays) if arrays else np.zeros((0, *shape), _numpy(dtype))
    return array if dtype == "bytes" else ops.convert(array)


def _steps(key: str, kind: FixedLenSequenceFeature, values: list[Any] | None, dtype: Any) -> Any:
    if not kind.allow_missing:
        raise ValueError(f"the feature {key!r} of an example may be missing in TensorFlow: say allow_missing=True.")
    values, each = values or [], math.prod(kind.shape)
    if not each or len(values) % each:
        raise ValueError(f"the feature {key!r} has {len(values)} elements, and its steps need {each} each.")
    made = np.empty(len(values), _numpy(dtype))
    made[:] = values
    return made.reshape(-1, *kind.shape)


def _padded(rows: list[Any], kind: FixedLenSequenceFeature, dtype: Any) -> list[Any]:
    """The steps of each example, filled up to as many as the longest one has."""
    longest = max(map(len, rows), default=0)
    filler = kind.default_value if kind.default_value is not None else b"" if dtype == "bytes" else 0
    return [np.concatenate([row, np.full((longest - len(row), *kind.shape), filler, row.dtype)]) for row in rows]


def _missing(key: str, option: str) -> ValueError:
    return ValueError(f"the example has no feature {key!r}: give {option}, or leave it out.")


def _numpy(dtype: Any) -> Any:
    return dtype.numpy if isinstance(dtype, DType) else object


def _list(key: str, feature: Any, dtype: Any) -> list[Any] | None:
    """The elements of a feature; None if the example lacks it."""
    filled = None if feature is None else feature.WhichOneof("kind")
    if filled is None:
        return None
    if _KINDS[filled] != dtype:
        raise ValueError(f"the feature {key!r} holds {_KINDS[filled]}, not {dtype}.")
    return list(getattr(feature, filled).value)


def _fixed(key: str, kind: FixedLenFeature, values: list[Any] | None, dtype: Any, shape: tuple[int, ...]) -> Any:
    if values is None and kind.default_value is None:
        raise _missing(key, "a default_value")
    count = int(np.prod(shape, dtype=np.int64))
    made = np.empty(count, _numpy(dtype))
    if values is None:
        made[:] = np.asarray(kind.default_value, made.dtype).reshape(-1)
    elif len(values) == count:
        made[:] = values
    else:
        raise ValueError(f"the feature {key!r} has {len(values)} elements, and the shape {shape} needs {count}.")
    return made.reshape(shape)


def _sparse(rows: list[list[Any] | None], dtype: Any, single: bool) -> SparseTensor | SparseTensorValue:
    filled = [row or [] for row in rows]
    places = [[column] if single else [i, column] for i, row in enumerate(filled) for column in range(len(row))]
    width = max(map(len, filled), default=0)
    values = np.array([element for row in filled for element in row], _numpy(dtype))
    shape = [width] if single else [len(filled), width]
    indices = np.array(places, "int64").reshape(-1, len(shape))
    if dtype == "bytes":
        return SparseTensorValue(indices, values, np.array(shape, "int64"))
    return SparseTensor(indices, ops.convert(values), shape)


@function("io.decode_raw decode_raw", "v2")
def decode_raw(input_bytes: Any, out_type: Any, little_endian: bool = True, name: str | None = None) -> Any:
    """The numbers whose bytes are given.

    Args:
        input_bytes: bytes, or a NumPy array of bytes of one length.
        out_type: their dtype.
        little_endian: whether the lowest byte of a number comes first.

    Returns:
        A tensor with one dimension more than `input_bytes`.

    Raises:
        ValueError: the lengths differ, or are no multiple of a number's.

    Source: `tf.io.decode_raw`.
    """
    if _is_of_run(input_bytes):
        attrs = {"out_type": as_dtype(out_type), "little_endian": little_endian}
        made = host_operation("DecodeRaw", [input_bytes], name, **attrs)
        made.set_shape([*input_bytes.shape, None])
        return made
    given, dtype = np.asarray(input_bytes, object), as_dtype(out_type)
    texts = given.reshape(-1).tolist()
    if not all(isinstance(text, bytes) for text in texts):
        raise TypeError(f"it decodes bytes on the host, before a graph is fed, not {describe(input_bytes)}.")
    lengths = {len(text) for text in texts} or {0}
    length = lengths.pop()
    if lengths or length % dtype.itemsize:
        raise ValueError(f"each text needs one length, a multiple of {dtype.itemsize} bytes; there is one of {length}.")
    numbers = np.frombuffer(b"".join(texts), dtype.numpy.newbyteorder("<" if little_endian else ">"))
    return ops.convert(numbers.astype(dtype.numpy).reshape(*given.shape, length // dtype.itemsize))


@function("io.decode_raw decode_raw", "v1")
def decode_raw_v1(bytes: Any, out_type: Any, little_endian: bool = True, name: str | None = None) -> Any:
    """The numbers whose bytes are given, as `tf.io.decode_raw` of TensorFlow 2.

    Source: `tf.compat.v1.decode_raw`.
    """
    return decode_raw(bytes, out_type, little_endian, name)
