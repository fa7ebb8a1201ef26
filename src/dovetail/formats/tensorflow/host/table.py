"""The table of host ops: TensorFlow's types → functions of NumPy arrays, and the specs of their results.

    StringSplitV2: indices:int64[?,2] values:string[?] shape:int64[2]
    LookupTableFindV2: values:Tout=1

A row names the results, in TensorFlow's order, with their dtypes, or the attributes that say them.  Brackets hold the
shape; `=` has the number of the input with the same shape, and without both the shape is not known.  `|` has the dtype
if the attribute is left out, and `*` the attribute with the number of such results.  In brackets, a name is an
attribute with a shape that comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from dovetail.core.dtypes import as_dtype
from dovetail.formats.tensorflow.attributes import Attributes
from dovetail.formats.tensorflow.values import Spec
from dovetail.formats.wire.tensors import shape_of

MOST = 1 << 16  # results of a node

RESULTS = """
StringLower StringUpper StringStrip: output:string=0
RegexReplace StaticRegexReplace Substr UnicodeTranscode EncodeBase64 DecodeBase64 AsString: output:string=0
RegexFullMatch StaticRegexFullMatch: output:bool=0
StringLength UnicodeScript: output:int32=0
StringToNumber: output:out_type|float32=0
StringToHashBucket StringToHashBucketFast StringToHashBucketStrong: output:int64=0
StringJoin ReduceJoin: output:string
StringFormat: output:string[]
StringSplit StringSplitV2: indices:int64[?,2] values:string[?] shape:int64[2]
StringNGrams: ngrams:string[?] ngrams_splits:Tsplits|int64[?]
UnicodeDecode: row_splits:Tsplits|int64[?] char_values:int32[?]
UnicodeDecodeWithOffsets: row_splits:Tsplits|int64[?] char_values:int32[?] char_to_byte_starts:int64[?]
UnicodeEncode: output:string[?]
DecodeRaw: output:out_type

HashTable HashTableV2 MutableHashTable MutableHashTableV2: table_handle:resource[]
LookupTableFind LookupTableFindV2: values:Tout=1
LookupTableSize LookupTableSizeV2: size:int64[]
LookupTableExport LookupTableExportV2: keys:Tkeys[?] values:Tvalues[?]
InitializeTable InitializeTableV2 InitializeTableFromTextFile InitializeTableFromTextFileV2:
LookupTableImport LookupTableImportV2 LookupTableInsert LookupTableInsertV2 LookupTableRemoveV2:
RestoreV2: tensors:dtypes

RaggedTensorToTensor: result:T
RaggedTensorToSparse: sparse_indices:int64[?,?] sparse_values:T[?] sparse_dense_shape:int64[?]
RaggedTensorFromVariant: output_nested_splits:Tsplits|int64[?]*output_ragged_rank output_dense_values:Tvalues
RaggedTensorToVariant: encoded_ragged:variant
RaggedGather: output_nested_splits:Tsplits|int64[?]*OUTPUT_RAGGED_RANK output_dense_values:Tvalues
RaggedRange: rt_nested_splits:Tsplits|int64[?] rt_dense_values:T[?]
SparseToDense: dense:T
SparseFillEmptyRows: output_indices:int64[?,?] output_values:T[?] empty_row_indicator:bool[?]
    reverse_index_map:int64[?]
SparseReshape: output_indices:int64[?,?] output_shape:int64[?]

ParseExample: sparse_indices:int64[?,2]*Nsparse sparse_values:sparse_types[?] sparse_shapes:int64[2]*Nsparse
    dense_values:Tdense[?,dense_shapes]
ParseExampleV2: sparse_indices:int64[?,?]*num_sparse sparse_values:sparse_types[?] sparse_shapes:int64[?]*num_sparse
    dense_values:Tdense ragged_values:ragged_value_types[?] ragged_row_splits:ragged_split_types[?]
ParseSingleExample: sparse_indices:int64[?,1]*num_sparse sparse_values:sparse_types[?] sparse_shapes:int64[1]*num_sparse
    dense_values:Tdense[dense_shapes]
DecodePng DecodeImage: image:dtype|uint8[?,?,?]
DecodeJpeg DecodeBmp: image:uint8[?,?,?]
EncodePng EncodeJpeg: contents:string[]

Equal NotEqual: z:bool
Shape: output:out_type|int32[?]
Size: output:out_type|int32[]
Rank: output:int32[]
Unique: y:T[?] idx:out_idx|int32[?]
Unpack: output:T*num
Split SplitV: output:T*num_split
Merge RefMerge: output:T value_index:int32[]
Exit RefExit: output:T
TensorListReserve EmptyTensorList: handle:variant
TensorListFromTensor TensorListSetItem TensorListResize TensorListPushBack: output_handle:variant
TensorListScatterIntoExistingList TensorListScatterV2: output_handle:variant
TensorListStack: tensor:element_dtype
TensorListGather: values:element_dtype
TensorListGetItem: item:element_dtype
TensorListLength: length:int32[]
TensorArrayV3: handle:resource flow:variant
TensorArrayWriteV3 TensorArrayScatterV3 TensorArraySplitV3: flow_out:variant
TensorArrayReadV3 TensorArrayGatherV3: value:dtype
TensorArrayConcatV3: value:dtype lengths:int64[?]
TensorArraySizeV3: size:int32[]
TensorArrayCloseV3:
OptionalFromValue OptionalNone: optional:variant
"""
NO_DTYPE = {"string", "resource", "variant"}


class Result(NamedTuple):
    """A result of a row.

    Attributes:
        name: TensorFlow's.
        dtype: a dtype, or the attribute that says it.
        default: the dtype if the attribute is left out.
        shape: its dimensions as text; None if they are not known.
        like: the number of the input with its shape, or None.
        times: the attribute with the number of such results; empty for one.
    """

    name: str
    dtype: str
    default: str
    shape: list[str] | None
    like: int | None
    times: str

    def specs(self, attrs: Attributes, inputs: list[Any]) -> list[Spec]:
        """The specs of such results of a node."""
        found = self._dtypes(attrs)
        dtypes = found if isinstance(found, list) else [found] * self._count(attrs)
        return [Spec(self._shape(attrs, inputs, number), dtype) for number, dtype in enumerate(dtypes)]

    def _count(self, attrs: Attributes) -> int:
        count = attrs(self.times, 1) if self.times else 1
        return min(count, MOST) if isinstance(count, int) else 0

    def _dtypes(self, attrs: Attributes) -> Any:
        if self.dtype in NO_DTYPE:
            return None
        if self.dtype in attrs:
            return attrs(self.dtype)
        return as_dtype(self.default or self.dtype)

    def _shape(self, attrs: Attributes, inputs: list[Any], number: int) -> tuple[int | None, ...] | None:
        if self.like is not None:
            return shape_like(inputs[self.like]) if self.like < len(inputs) else None
        if self.shape is None:
            return None
        dims: list[int | None] = []
        for text in self.shape:
            if not text.isidentifier():
                dims.append(None if text == "?" else int(text))
            elif (shape := attrs(text)[number]) is None:
                return None
            else:
                dims += shape
        return tuple(dims)


def shape_like(value: Any) -> tuple[int | None, ...] | None:
    """The shape of a value that is known while a graph is read."""
    return getattr(getattr(value, "spec", value), "shape", None)


def _results() -> Iterator[tuple[str, list[Result]]]:
    for line in RESULTS.replace("\n    ", " ").splitlines():
        types, _, texts = line.partition(":")
        results = [_result(text) for text in texts.split()]
        for name in types.split():
            yield name, results


def _result(text: str) -> Result:
    text, _, count = text.partition("*")
    text, _, like = text.partition("=")
    name, _, dtype = text.partition(":")
    dtype, has_shape, dims = dtype.partition("[")
    dtype, _, default = dtype.partition("|")
    shape = [dim for dim in dims.rstrip("]").split(",") if dim] if has_shape else None
    return Result(name, dtype, default, shape, int(like) if like else None, count)


KNOWN: Mapping[str, list[Result]] = dict(_results())
Function = Callable[..., Any]  # (node, *values of its inputs) → its results, one or several
HOST: dict[str, Function] = {}  # TensorFlow's type → a function that computes a node


def host(types: str) -> Callable[[Function], Function]:
    """Decorator of a function that computes the nodes of some types, from NumPy arrays, tables and lists."""

    def add(function: Function) -> Function:
        HOST.update(dict.fromkeys(types.split(), function))
        return function

    return add


def specs_of(proto: Any, inputs: list[Any]) -> list[Spec]:
    """The specs of the results of a node whose type is in the table."""
    attrs = Attributes(proto)
    found = [spec for result in KNOWN[proto.op] for spec in result.specs(attrs, inputs)]
    shapes = proto.attr["_output_shapes"].list.shape if "_output_shapes" in attrs else []
    if len(shapes) != len(found):
        return found
    return [
        Spec(shape_of(given) if spec.shape is None else spec.shape, spec.dtype)
        for spec, given in zip(found, shapes, strict=True)
    ]


def number_of_result(proto: Any, output: str) -> int | None:
    """The number of the first result with a name, as functions write `node:output:0`; None if the table has it not."""
    at = 0
    for result in KNOWN.get(proto.op, ()):
        if result.name == output:
            return at
        at += len(result.specs(Attributes(proto), []))
    return None


__all__ = ["HOST", "KNOWN", "host", "number_of_result", "shape_like", "specs_of"]
