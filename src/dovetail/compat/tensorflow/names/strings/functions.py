"""TensorFlow's names for functions of strings, of encoded numbers and of encoded pictures.

A row has the names, the type of the host operation that computes it, and words for the parameters in TensorFlow's
order: `*` marks tensors, `-` what changes nothing, and `theirs=literal` is a default.
"""

from __future__ import annotations

import csv
import glob
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from dovetail.compat.tensorflow.names.array.sparse import SparseTensorValue
from dovetail.compat.tensorflow.names.strings.tensors import computed, joined
from dovetail.compat.tensorflow.names.strings.text import STRING, is_text, strings_of, text
from dovetail.compat.tensorflow.table import arguments_of, constant_value, function, in_v1, signature_of
from dovetail.core.base.errors import op_error
from dovetail.core.base.tensor_shape import shape_of
from dovetail.core.dtypes import as_dtype
from dovetail.core.values.value_kinds import is_recorded, static_shape
from dovetail.formats.host.arrays import packed
from dovetail.formats.host.strings import number as to_number
from dovetail.formats.nodes.opaque import Unreadable
from dovetail.formats.tensorflow.host.functions import FUNCTIONS
from dovetail.formats.tensorflow.results import specs_of

ROWS = """
string_to_number: StringToNumber *string_tensor out_type="float32"
strings.to_number: StringToNumber *input out_type="float32"
string_to_hash_bucket: StringToHashBucket *string_tensor num_buckets
strings.to_hash_bucket: StringToHashBucket *input num_buckets
string_to_hash_bucket_fast strings.to_hash_bucket_fast: StringToHashBucketFast *input num_buckets
string_to_hash_bucket_strong strings.to_hash_bucket_strong: StringToHashBucketStrong *input num_buckets key
as_string strings.as_string dtypes.as_string: AsString *input precision=-1
    scientific=False shortest=False width=-1 fill=""
regex_replace strings.regex_replace: RegexReplace *input *pattern *rewrite replace_global=True
strings.regex_full_match: RegexFullMatch *input *pattern
substr strings.substr: Substr *input *pos *len unit="BYTE"
strings.length: StringLength *input unit="BYTE"
strings.lower: StringLower *input encoding=""
strings.upper: StringUpper *input encoding=""
string_strip strings.strip: StringStrip *input
strings.unicode_transcode: UnicodeTranscode *input input_encoding output_encoding errors="replace"
    replacement_char=65533 replace_control_characters=False
encode_base64 io.encode_base64: EncodeBase64 *input pad=False
decode_base64 io.decode_base64: DecodeBase64 *input
image.decode_jpeg io.decode_jpeg: DecodeJpeg *contents channels=0 ratio=1 -fancy_upscaling=True
    -try_recover_truncated=False -acceptable_fraction=1 -dct_method=""
image.decode_png io.decode_png: DecodePng *contents channels=0 dtype="uint8"
image.encode_png io.encode_png: EncodePng *image compression=-1
image.encode_jpeg io.encode_jpeg: EncodeJpeg *image -format="" quality=95 progressive=False optimize_size=False
    chroma_downsampling=True
image.decode_bmp io.decode_bmp: DecodeBmp *contents channels=0
image.decode_image io.decode_image: DecodeImage *contents channels=0 dtype="uint8" -expand_animations=True
"""


class _Attributes(dict[str, Any]):
    """Attributes by name, as rows of results ask for them."""

    def __call__(self, name: str, *default: Any) -> Any:
        return self[name] if name in self or not default else default[0]


def host_operation(type: str, inputs: Sequence[Any], name: str | None = None, **attrs: Any) -> Any:
    """The result of a host operation, or a list of them; outside of graphs, computed at once.

    Args:
        type: TensorFlow's type of the operation.
        inputs: tensors, arrays, strings.
        attrs: its attributes.
    """
    inputs = [joined(x) for x in inputs]
    specs = specs_of(type, cast(Any, _Attributes(attrs)), inputs)
    dtypes = [STRING if spec.dtype is None else spec.dtype for spec in specs]
    made = computed(partial(_computed, type, attrs), inputs, dtypes, name=name)
    for one, spec in zip(made, specs, strict=True):
        if hasattr(one, "set_shape") and shape_of(spec.shape).rank is not None:
            one.set_shape(spec.shape)
    return made[0] if len(made) == 1 else made


def _computed(type: str, attrs: dict[str, Any], *arrays: Any) -> Any:
    try:
        return FUNCTIONS[type](*arrays, **attrs)
    except Unreadable as reason:
        raise op_error(NotImplementedError, type, f"{reason}.") from None


def _row(names: str, type: str, *words: str) -> Callable[..., Any]:
    tensors = [word[1:] for word in words if word[0] == "*"]
    names_of_attrs = [word.partition("=")[0] for word in words if word[0] not in "*-"]
    whole = signature_of(" ".join([*(word.lstrip("*-") for word in words), "name=None"]))

    def run(*args: Any, **kwargs: Any) -> Any:
        given = arguments_of(whole, args, kwargs)
        attrs = {key: given[key] for key in names_of_attrs}
        attrs |= {key: as_dtype(attrs[key]) for key in ("out_type", "dtype") if key in attrs}
        result = host_operation(type, [given[key] for key in tensors], given["name"], **attrs)
        if attrs.get("channels") and is_recorded(result):
            result.set_shape([None, None, attrs["channels"]])
        return result

    run.__signature__ = whole  # type: ignore[attr-defined]
    run.__name__ = names.split()[0].rpartition(".")[2]
    run.__doc__ = f"""The host operation {type}, computed in Python.

    Source: `tf.{names.split()[0]}`.
    """
    return in_v1(function(names)(run))


BY_TYPE: dict[str, Callable[..., Any]] = {}  # type → the function that programs call

for _line in ROWS.strip().replace("\n    ", " ").splitlines():
    _names, _, _words = _line.partition(": ")
    _type, *_own = _words.split()
    BY_TYPE[_type] = _row(_names, _type, *_own)


# -- several strings --------------------------------------------------------------------------------------------------


@function("string_join strings.join")
def string_join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> Any:
    """Strings of several tensors, joined elementwise.

    Source: `tf.strings.join`.
    """
    result = host_operation("StringJoin", list(inputs), name, separator=separator)
    shapes = [shape for shape in map(static_shape, map(text, inputs)) if shape is None or len(shape)]
    if is_recorded(result) and None not in shapes:
        result.set_shape(shapes[0] if shapes else ())
    return result


@function("reduce_join strings.reduce_join", v1="inputs axis keep_dims:keepdims separator name reduction_indices:axis")
def reduce_join(
    inputs: Any, axis: Any = None, keepdims: bool = False, separator: str = "", name: str | None = None
) -> Any:
    """The strings along axes, joined.

    Args:
        axis: the axes; all from the last, if not given.

    Source: `tf.strings.reduce_join`.
    """
    rank = len(inputs.shape) if hasattr(inputs, "shape") else np.ndim(inputs)
    axes = np.arange(rank)[::-1] if axis is None else np.asarray(axis)
    return host_operation("ReduceJoin", [inputs, axes], name, separator=separator, keep_dims=bool(keepdims))


@function("string_split", "v1")
def string_split(
    source: Any = None, sep: Any = None, skip_empty: bool = True, delimiter: Any = " ", name: str | None = None
) -> SparseTensorValue:
    """The parts of each string, as indices, values and shape of a sparse tensor.

    Args:
        source: a vector of strings.
        sep, delimiter: characters, each of which ends a part; "" for single bytes.
        skip_empty: whether empty parts are left out.

    Source: `tf.compat.v1.string_split`.
    """
    signs = delimiter if sep is None else sep
    return SparseTensorValue(*host_operation("StringSplit", [source, signs], name, skip_empty=skip_empty))


@function("decode_csv io.decode_csv")
def decode_csv(
    records: Any,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: str | None = None,
) -> list[Any]:
    """The columns of lines of text, each as a tensor of the lines' shape.

    Args:
        records: the lines.
        record_defaults: for each column a list with its default, or an empty array of its dtype if it is required.
        field_delim: the sign between columns.
        use_quote_delim: whether quotes hold text with such signs.
        na_value: text that stands for a missing value.
        select_cols: the numbers of the columns, in order; all, if not given.

    Raises:
        ValueError: a line has another number of columns, or lacks a required value; when it is computed.

    Source: `tf.io.decode_csv`.
    """
    records = joined(records)
    defaults = [_default(one) for one in record_defaults]
    columns = None if select_cols is None else list(select_cols)

    def read(lines: np.ndarray) -> list[np.ndarray]:
        rows = [_fields(line, field_delim, use_quote_delim, columns) for line in lines.reshape(-1).tolist()]
        if wrong := [row for row in rows if len(row) != len(defaults)]:
            problem = f"a line has {len(wrong[0])} columns, and there are {len(defaults)} defaults."
            raise op_error(ValueError, "tf.decode_csv", problem)
        parts = [[row[i] for row in rows] for i in range(len(defaults))]
        pairs = enumerate(zip(parts, defaults, strict=True))
        return [_column(number, *pair, na_value).reshape(lines.shape) for number, pair in pairs]

    dtypes = [STRING if one.dtype == object else one.dtype for one in defaults]
    return computed(read, [records], dtypes, [text(records).shape] * len(dtypes), name)


def _default(given: Any) -> np.ndarray:
    """The default of a column as an array of none or one element; of floats, float32."""
    if isinstance(given, (type, str)) or hasattr(given, "itemsize"):
        return np.empty(0, object if is_text(None, given) else as_dtype(given).numpy)
    known = strings_of(given) if is_text(given) else np.asarray(constant_value(given) if is_recorded(given) else given)
    narrow = {"float64": "float32", "int64": "int32"}.get(known.dtype.name, known.dtype)
    return known.reshape(-1).astype(narrow if isinstance(given, (list, tuple)) else known.dtype)


def _fields(line: bytes, sign: str, quotes: bool, columns: list[int] | None) -> list[bytes]:
    text = [line.decode("latin-1")]
    (row,) = csv.reader(text, delimiter=sign) if quotes else csv.reader(text, delimiter=sign, quoting=csv.QUOTE_NONE)
    fields = [field.encode("latin-1") for field in row]
    return fields if columns is None else [fields[i] for i in columns]


def _column(number: int, fields: list[bytes], default: np.ndarray, missing: str) -> np.ndarray:
    is_missing = [field in (b"", missing.encode()) for field in fields]
    if any(is_missing) and not default.size:
        raise op_error(ValueError, "tf.decode_csv", f"the column {number} needs a value, and a line has none.")
    known = bytes if default.dtype == object else partial(to_number, dtype=default.dtype)
    values = [default[0] if gone else known(field) for field, gone in zip(fields, is_missing, strict=True)]
    return packed(values, default.dtype)


# -- files ------------------------------------------------------------------------------------------------------------


@function("read_file io.read_file")
def read_file(filename: Any, name: str | None = None) -> Any:
    """The bytes of a file.

    Source: `tf.io.read_file`.
    """
    return computed(lambda path: Path(path.item().decode()).read_bytes(), [filename], [STRING], [()], name)[0]


@function("matching_files io.matching_files train.match_filenames_once")
def matching_files(pattern: Any, name: str | None = None) -> Any:
    """The names of the files that fit a pattern, or several, in order.

    Source: `tf.io.matching_files`.
    """

    def paths_of(patterns: np.ndarray) -> np.ndarray:
        paths = (path for one in patterns.reshape(-1).tolist() for path in glob.glob(one))
        return np.array(sorted(paths), object)

    return computed(paths_of, [pattern], [STRING], [(None,)], name)[0]
