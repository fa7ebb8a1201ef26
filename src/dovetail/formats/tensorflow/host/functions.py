"""TensorFlow's types → the functions of `formats.host` that compute them.

The values of a node are the first arguments of its function.  Each other parameter is the attribute of that name.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from dovetail.formats.host import images, ragged, strings, tables, unicode
from dovetail.formats.tensorflow.table import Function, host, shapes


@functools.wraps(unicode.decode)
def _without_offsets(*args: Any, **options: Any) -> Any:
    return unicode.decode(*args, **options)[:2]


_TABLE: Mapping[str, Callable[..., Any]] = {
    "StringLower": strings.lower,
    "StringUpper": strings.upper,
    "StringStrip": strings.strip,
    "StringLength": strings.length,
    "Substr": strings.substr,
    "EncodeBase64": strings.encode_base64,
    "DecodeBase64": strings.decode_base64,
    "DecodeRaw": strings.decode_raw,
    "StringToNumber": strings.to_number,
    "AsString": strings.as_string,
    "StringToHashBucketFast": strings.to_hash_bucket_fast,
    "StringToHashBucket": strings.to_hash_bucket,
    "StringToHashBucketStrong": strings.to_hash_bucket_strong,
    "RegexReplace StaticRegexReplace": strings.regex_replace,
    "RegexFullMatch StaticRegexFullMatch": strings.regex_full_match,
    "StringJoin": strings.join,
    "ReduceJoin": strings.reduce_join,
    "StringSplitV2": strings.split,
    "StringSplit": strings.split_at_each,
    "StringNGrams": strings.ngrams,
    "StringFormat": strings.string_format,
    "UnicodeDecode": _without_offsets,
    "UnicodeDecodeWithOffsets": unicode.decode,
    "UnicodeEncode": unicode.encode,
    "UnicodeTranscode": unicode.transcode,
    "InitializeTable InitializeTableV2 LookupTableImport LookupTableImportV2": tables.fill,
    "LookupTableInsert LookupTableInsertV2": tables.insert,
    "LookupTableRemoveV2": tables.remove,
    "LookupTableFind LookupTableFindV2": tables.find,
    "LookupTableSize LookupTableSizeV2": tables.size,
    "LookupTableExport LookupTableExportV2": tables.export,
    "RaggedTensorToVariant": ragged.to_variant,
    "RaggedTensorFromVariant": ragged.of_variants,
    "RaggedGather": ragged.gather,
    "RaggedRange": ragged.ranges,
    "RaggedTensorToSparse": ragged.to_sparse,
    "RaggedTensorToTensor": ragged.to_dense,
    "SparseToDense": ragged.dense_of_sparse,
    "SparseFillEmptyRows": ragged.fill_empty_rows,
    "SparseReshape": ragged.reshape_sparse,
    "DecodePng DecodeJpeg DecodeBmp DecodeImage": images.decode,
    "EncodePng": images.encode_png,
    "EncodeJpeg": images.encode_jpeg,
}
shapes("""
StringLower StringUpper StringStrip RegexReplace StaticRegexReplace Substr UnicodeTranscode EncodeBase64 DecodeBase64
    AsString RegexFullMatch StaticRegexFullMatch StringLength StringToNumber StringToHashBucket StringToHashBucketFast
    StringToHashBucketStrong: =0
StringFormat: []
StringSplit StringSplitV2: [?,2] [?] [2]
StringNGrams UnicodeDecode: [?] [?]
UnicodeDecodeWithOffsets: [?] [?] [?]
UnicodeEncode: [?]
LookupTableFind LookupTableFindV2: =1
LookupTableSize LookupTableSizeV2: []
LookupTableExport LookupTableExportV2: [?] [?]
RaggedTensorToSparse: [?,?] [?] [?]
RaggedTensorFromVariant RaggedGather: [?] -
RaggedRange: [?] [?]
SparseFillEmptyRows: [?,?] [?] [?] [?]
SparseReshape: [?,?] [?]
DecodePng DecodeImage DecodeJpeg DecodeBmp: [?,?,channels]
EncodePng EncodeJpeg: []
""")
FUNCTIONS = {type: function for types, function in _TABLE.items() for type in types.split()}


def attributes_of(node: Any, function: Callable[..., Any], count: int) -> dict[str, Any]:
    """The attributes of a node that a function takes behind some values.

    Args:
        node: the node.
        function: a function whose parameters have the names of attributes.
        count: how many parameters the values are.

    Raises:
        Unreadable: the node lacks an attribute, and the parameter has no default.
    """
    places, keywords = _parameters(function)
    left = (*places[count:], *keywords)
    return {one.name: node.attrs(one.name) for one in left if one.name in node.attrs or one.default is one.empty}


@functools.cache
def _parameters(function: Callable[..., Any]) -> tuple[list[inspect.Parameter], list[inspect.Parameter]]:
    """The parameters that may be given by place, and those that are given by name alone."""
    all_of_them = inspect.signature(function).parameters.values()
    places = [one for one in all_of_them if one.kind is one.POSITIONAL_OR_KEYWORD]
    return places, [one for one in all_of_them if one.kind is one.KEYWORD_ONLY]


def _of_node(function: Callable[..., Any]) -> Function:
    """A function of arrays and attributes, as one of a node and arrays."""
    return lambda node, *values: function(*values, **attributes_of(node, function, len(values)))


for _type, _function in FUNCTIONS.items():
    host(_type)(_of_node(_function))
