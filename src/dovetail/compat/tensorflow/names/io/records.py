"""TensorFlow's names for files of records, and for the examples in them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dovetail.backend.sparse import SparseTensor
from dovetail.compat.tensorflow.entries import lazy, value
from dovetail.compat.tensorflow.names.array.sparse import SparseTensorValue
from dovetail.compat.tensorflow.names.strings.functions import host_operation
from dovetail.compat.tensorflow.names.strings.tensors import computed, is_of_run, joined
from dovetail.compat.tensorflow.names.strings.text import STRING, is_text, strings_of, text
from dovetail.compat.tensorflow.table import function
from dovetail.core.base.errors import describe
from dovetail.core.dtypes import as_dtype, is_of_strings
from dovetail.core.values.value_kinds import is_recorded, static_shape
from dovetail.formats.host.arrays import STRINGS
from dovetail.formats.host.examples import Feature, arrays_of
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


def options_of(given: Any) -> TFRecordOptions:
    """Options, of the name or the number of a compression."""
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
        chosen = options_of(options)
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
    return read_records(path, options_of(options).compression_type)


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


@function("io.parse_single_example parse_single_example")
def parse_single_example(
    serialized: bytes, features: Mapping[str, Any], example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """The features of an example.

    Args:
        serialized: the bytes of a `tf.train.Example`.
        features: names → `FixedLenFeature`, `VarLenFeature` or `FixedLenSequenceFeature`.

    Returns:
        Names → tensors, and sparse tensors of `VarLenFeature`; of `bytes`, `SparseTensorValue` of tensors.

    Raises:
        FormatError: the bytes are no example.
        ValueError: a feature is missing, or has another dtype or number of elements.
        TypeError: `serialized` is no bytes, as a tensor of a graph.

    Source: `tf.io.parse_single_example`.
    """
    return _parsed(serialized, features, (), name)


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
    return _parsed(serialized, features, (None,), name)


def _parsed(serialized: Any, features: Mapping[str, Any], dims: tuple[int | None, ...], name: str | None) -> Any:
    """The features of examples, whose tensors begin with the dimensions of the examples."""
    known = _in_order(_feature(key, kind) for key, kind in features.items())

    def parse(records: np.ndarray, *defaults: np.ndarray) -> list[np.ndarray]:
        rows = [_message("Example", one).features.feature for one in records.reshape(-1).tolist()]
        return arrays_of(_with_defaults(known, defaults), rows, is_single=not records.ndim)

    return _tensors(parse, serialized, [(known, dims)], name)[0]


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
    whole = _in_order(_feature(key, kind) for key, kind in (context_features or {}).items())
    steps = _in_order(_each_step(key, kind) for key, kind in (sequence_features or {}).items())

    def parse(record: np.ndarray, *defaults: np.ndarray) -> list[np.ndarray]:
        message = _message("SequenceExample", record.item())
        lists = message.feature_lists.feature_list
        for key, kind in (sequence_features or {}).items():
            if key not in lists and not getattr(kind, "allow_missing", True):
                raise ValueError(f"the example has no feature {key!r}: give allow_missing=True, or leave it out.")
        each = [array for feature in steps for array in feature.arrays(lists[feature.key].feature)]
        return [*arrays_of(_with_defaults(whole, defaults), [message.context.feature], is_single=True), *each]

    context, every = _tensors(parse, serialized, [(whole, ()), (steps, (None,))], name)
    return context, every


def _message(kind: str, data: bytes) -> Any:
    return parsed(getattr(TENSORFLOW, kind), data, "an example", "the bytes")


def _feature(key: str, kind: Any) -> Feature:
    """A feature of an example."""
    if not isinstance(kind, (FixedLenFeature, VarLenFeature, FixedLenSequenceFeature)):
        kinds = "a FixedLenFeature, a VarLenFeature or a FixedLenSequenceFeature"
        raise TypeError(f"the feature {key!r} is {kinds}, not {describe(kind)}.")
    has_text = kind.dtype is object or is_of_strings(kind.dtype)
    dtype = STRINGS if has_text else as_dtype(kind.dtype).numpy
    if isinstance(kind, VarLenFeature):
        return Feature(key, dtype)
    steps = (None,) if isinstance(kind, FixedLenSequenceFeature) else ()
    if isinstance(kind, FixedLenSequenceFeature) and not kind.allow_missing:
        raise ValueError(f"the feature {key!r} of an example may be missing in TensorFlow: say allow_missing=True.")
    given: Any = [] if kind.default_value is None else kind.default_value
    if not is_of_run(given):
        given = strings_of(given) if has_text else np.asarray(given, dtype)
    return Feature(key, dtype, (*steps, *kind.shape), given)


def _in_order(features: Iterable[Feature]) -> list[Feature]:
    """Features in the order of TensorFlow's results: sparse tensors first, each kind by its keys."""
    return sorted(features, key=lambda feature: (feature.shape is not None, feature.key))


def _with_defaults(features: Sequence[Feature], defaults: Iterable[np.ndarray]) -> list[Feature]:
    """Features with the defaults that only a run knows."""
    left = iter(defaults)
    return [one._replace(default=next(left)) if is_of_run(one.default) else one for one in features]


def _each_step(key: str, kind: Any) -> Feature:
    """A feature of each step, whose steps are a batch."""
    if not isinstance(kind, (FixedLenSequenceFeature, VarLenFeature)):
        raise TypeError(f"the steps {key!r} are a FixedLenSequenceFeature or VarLenFeature, not {describe(kind)}.")
    return _feature(key, FixedLenFeature(kind.shape, kind.dtype) if isinstance(kind, FixedLenSequenceFeature) else kind)


def _tensors(
    parse: Callable[..., list[np.ndarray]], serialized: Any, groups: Sequence[Any], name: str | None
) -> list[dict[str, Any]]:
    """The features of records as tensors and sparse tensors, at once or in runs.

    Args:
        parse: (records, defaults that only a run knows) → the arrays of all features, in their order.
        serialized: the records.
        groups: features, and the first dimensions of their tensors.
    """
    given = joined(serialized)
    if not is_text(given) and static_shape(given) != (0,):
        problem = f"it parses bytes of an example on the host, before a graph is fed, not {describe(serialized)}."
        raise TypeError(problem)
    specs = [spec for features, dims in groups for feature in features for spec in _specs(feature, dims)]
    inputs = [text(given), *(one.default for features, _ in groups for one in features if is_of_run(one.default))]
    made = iter(computed(parse, inputs, [dtype for dtype, _ in specs], [shape for _, shape in specs], name))
    return [{feature.key: _whole(feature, made) for feature in features} for features, _ in groups]


def _specs(feature: Feature, dims: tuple[int | None, ...]) -> list[tuple[Any, tuple[Any, ...]]]:
    """The dtypes and shapes of the tensors of a feature, of records of these dimensions."""
    dtype = STRING if feature.dtype == STRINGS else as_dtype(feature.dtype)
    if feature.shape is None:
        rank = len(dims) + 1
        return [(as_dtype("int64"), (None, rank)), (dtype, (None,)), (as_dtype("int64"), (rank,))]
    return [(dtype, (*dims, *feature.shape))]


def _whole(feature: Feature, parts: Iterator[Any]) -> Any:
    if feature.shape is not None:
        return next(parts)
    indices, values, shape = itertools.islice(parts, 3)
    return (SparseTensorValue if values.dtype is STRING else SparseTensor)(indices, values, shape)


@function("io.decode_raw decode_raw", v1="input_bytes out_type little_endian name bytes:input_bytes")
def decode_raw(input_bytes: Any, out_type: Any, little_endian: bool = True, name: str | None = None) -> Any:
    """The numbers whose bytes are given.

    Args:
        input_bytes: bytes, or an array or a tensor of bytes of one length.
        out_type: their dtype.
        little_endian: whether the lowest byte of a number comes first.

    Returns:
        A tensor with one dimension more than `input_bytes`.

    Raises:
        ValueError: the lengths differ, or are no multiple of a number's.

    Source: `tf.io.decode_raw`.
    """
    attrs = {"out_type": as_dtype(out_type), "little_endian": little_endian}
    made = host_operation("DecodeRaw", [input_bytes], name, **attrs)
    if is_recorded(made):
        made.set_shape([*text(input_bytes).shape, None])
    return made
