"""Calls of TensorFlow's ops on strings, tables and ragged tensors, by which host nodes are compared with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.formats.host.arrays import strings_of as texts
from dovetail.formats.wire.messages import TENSORFLOW
from tests.formats.tensorflow.cases import case, scalar, static


def words(*values: Any) -> np.ndarray:
    return texts(list(values))


def text(value: str | bytes) -> np.ndarray:
    return texts(value)


def longs(*values: int) -> np.ndarray:
    return np.array(values, "int64")


def record(**features: Any) -> bytes:
    """A serialised `tf.train.Example`."""
    kinds = {bytes: "bytes_list", float: "float_list", int: "int64_list"}
    made = TENSORFLOW.Example()
    for key, values in features.items():
        getattr(made.features.feature[key], kinds[type(values[0])]).value.extend(values)
    return bytes(made.SerializeToString())


WORDS = words("The  quick", "b,r,,own", "", "Füchse 狐\n", b"\xff bad")
GRID = texts([["a", "b", "c"], ["d", "", "f"]])
RAGGED = (longs(0, 2, 2, 5), words("a", "b", "c", "d", "e"))
RECORDS = words(
    record(age=[3], name=[b"x", b"y"], size=[1.0, 2.0], tags=[b"u"]),
    record(name=[b"z"], size=[3.0, 4.0], tags=[b"v", b"w"]),
)
LONG = [b"x" * n + bytes(range(n % 50)) for n in (0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 128, 200)]
OUT = {"output_encoding": "UTF-8"}
DENSE = {"dense_shapes": [[], [2]]}
V2 = {"num_sparse": 1, "sparse_types": ["string"], "ragged_value_types": ["string"], "ragged_split_types": ["int64"]}

CASES = [
    case("StringLower", WORDS),
    case("StringLower", WORDS[:4], encoding="utf-8"),
    case("StringUpper", WORDS[:4], encoding="utf-8"),
    case("StringStrip", words(" a b \n", "\t", "c")),
    case("StringLength", WORDS),
    case("StringLength", WORDS[:4], unit="UTF8_CHAR"),
    case("Substr", words("abc", "défg"), scalar(1), scalar(2)),
    case("Substr", words("abc", "défg"), static(-2, 1), static(2, 2), unit="UTF8_CHAR"),
    case("EncodeBase64", WORDS),
    case("EncodeBase64", WORDS, pad=True),
    case("DecodeBase64", words("YWI", "Y-_v", "")),
    case("DecodeRaw", words(b"\1\2\3\4", b"\5\6\7\10"), out_type="int16"),
    case("DecodeRaw", words(b"\1\2\3\4"), out_type="int32", little_endian=False),
    case("StringToNumber", words("1.5", " -2e3 ", "7")),
    case("StringToNumber", words("0x10", "+5", "inf")),
    case("StringToNumber", words("12", "-3"), out_type="int64"),
    case("AsString", np.array([1.5, -2.25, 1e9], "float32")),
    case("AsString", np.array([1.5, 1e20], "float64"), shortest=True),
    case("AsString", np.array([1.5], "float32"), precision=2, width=8),
    case("AsString", np.array([1.5], "float32"), scientific=True),
    case("AsString", longs(3, -12), width=4, fill="0"),
    case("AsString", np.array([True, False])),
    case("AsString", np.array([1 + 2j], "complex64")),
    case("StringToHashBucketFast", words(*LONG), num_buckets=2**62 + 1),
    case("StringToHashBucketStrong", words(*LONG), num_buckets=2**62 + 1, key=[1, -7]),
    case("StringToHashBucket", words(*LONG), num_buckets=2**62 + 1),
    case("RegexReplace", WORDS, text(r"(\w)(\w*)"), text(r"\2<\1>\0\\")),
    case("StaticRegexReplace", WORDS, pattern=r"[[:punct:]]|[a-c&[]", rewrite="-", replace_global=False),
    case("StaticRegexReplace", words("Ää, ß!\n"), pattern=r"\pL+|\p{Lu}|[^\p{L},]", rewrite="x"),
    case("StaticRegexReplace", words("a\nb$", "b\n"), pattern=r"b$|^a", rewrite="."),
    case("StaticRegexReplace", words("a.b+c"), pattern=r"\Q.b+\E|\d", rewrite="_"),
    case("RegexFullMatch", WORDS, text(r"\w*")),
    case("StaticRegexFullMatch", words("ab", "abc", "ab\n", "é"), pattern=r"a.|\PL|."),
    case("StringJoin", [GRID, text("-"), GRID], separator="+"),
    case("ReduceJoin", GRID, static(1), separator=","),
    case("ReduceJoin", GRID, static(1, 0), keep_dims=True),
    case("ReduceJoin", GRID, static(-1, -2)),
    case("StringSplitV2", WORDS, text("")),
    case("StringSplitV2", WORDS, text(",")),
    case("StringSplitV2", WORDS, text(","), maxsplit=1),
    case("StringSplit", WORDS, text(" ,")),
    case("StringSplit", WORDS, text(" ,"), skip_empty=False),
    case("StringSplit", words("abc", ""), text("")),
    *(
        case(
            "StringNGrams",
            RAGGED[1],
            RAGGED[0],
            separator="_",
            ngram_widths=widths,
            left_pad="<",
            right_pad=">",
            pad_width=pad,
            preserve_short_sequences=short,
        )
        for widths, pad, short in [([2], -1, False), ([1, 3], 0, True), ([3, 2], 1, False), ([7], 1, True)]
    ),
    case("StringFormat", [longs(1, 2, 3, 4, 5, 6, 7), text("b")], template="a %s, %s!"),
    case("UnicodeDecode", WORDS, input_encoding="UTF-8"),
    case("UnicodeDecodeWithOffsets", WORDS, input_encoding="UTF-8", replace_control_characters=True),
    case("UnicodeDecodeWithOffsets", words("aé𝄞".encode("utf-16-be")), input_encoding="UTF-16-BE"),
    case("UnicodeDecodeWithOffsets", WORDS, input_encoding="UTF-8", errors="ignore"),
    case(
        "UnicodeEncode", np.array([97, 233, 0xD800, 0x1D11E], "int32"), longs(0, 1, 1, 4), output_encoding="UTF-16-BE"
    ),
    case("UnicodeEncode", np.array([97, -1, 98], "int32"), longs(0, 3), errors="ignore", **OUT),
    case("UnicodeTranscode", WORDS, input_encoding="UTF-8", output_encoding="UTF-16-BE", replacement_char=63),
    case("UnicodeTranscode", words(b"caf\xe9"), input_encoding="ISO-8859-1", **OUT),
    # nodes that move strings
    case("Pack", [WORDS, WORDS], axis=1),
    case("ConcatV2", [GRID, GRID], scalar(1)),
    case("StridedSlice", GRID, static(0, 1), static(0, 3), static(1, 1), begin_mask=1, end_mask=1),
    case("Slice", GRID, static(0, 1), static(2, 2)),
    case("Tile", GRID, static(1, 2)),
    case("Reshape", GRID, static(3, 2)),
    case("ExpandDims", GRID, scalar(0)),
    case("Squeeze", GRID[None]),
    case("GatherV2", GRID, static(1, 0), scalar(1)),
    case("Gather", WORDS, static(1, 0)),
    case("GatherNd", GRID, static([[0, 1], [1, 2]])),
    case("Shape", GRID),
    case("Size", GRID),
    case("Rank", GRID),
    case("Equal", GRID, words("a", "", "f")),
    case("NotEqual", GRID, text("")),
    case("Select", np.array([True, False]), words("a", "b"), words("c", "d")),
    case("SelectV2", np.array([[True], [False]]), GRID, text("no")),
    case("Fill", static(2, 2), text("x")),
    case("Unique", words("b", "a", "b")),
    case("Transpose", GRID, static(1, 0)),
    case("Unpack", GRID, num=2),
    case("Split", scalar(1), GRID, num_split=3),
    case("PadV2", GRID, static([[0, 1], [1, 0]]), text("?")),
    case("ZerosLike", GRID),
    case("BroadcastTo", words("a", "b"), static(2, 2)),
    case("ReverseV2", GRID, static(1)),
    case("Identity", GRID),
    # ragged and sparse tensors
    case("RaggedTensorToTensor", longs(-1, -1), RAGGED[1], text("-"), [RAGGED[0]], row_partition_types=["ROW_SPLITS"]),
    case("RaggedTensorToTensor", longs(4, 2), RAGGED[1], text("-"), [RAGGED[0]], row_partition_types=["ROW_SPLITS"]),
    case(
        "RaggedTensorToTensor",
        scalar(-1, "int64"),
        np.arange(4.0).reshape(4, 1),
        np.float64(9),
        [scalar(3, "int64"), longs(0, 2, 2, 2)],
        row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"],
    ),
    case(
        "RaggedTensorToTensor",
        scalar(-1, "int64"),
        longs(1, 2, 3),
        np.int64(0),
        [longs(0, 2, 3), longs(0, 1, 1, 3)],
        row_partition_types=["ROW_SPLITS", "ROW_SPLITS"],
    ),
    case("RaggedTensorToSparse", [RAGGED[0]], RAGGED[1]),
    case("RaggedTensorToSparse", [longs(0, 2, 3), longs(0, 1, 1, 3)], longs(4, 5, 6)),
    case("RaggedGather", [RAGGED[0]], RAGGED[1], longs(2, 0, 2), OUTPUT_RAGGED_RANK=1),
    case("RaggedGather", [longs(0, 2, 3), longs(0, 1, 1, 3)], longs(4, 5, 6), longs(1, 0), OUTPUT_RAGGED_RANK=2),
    case("RaggedGather", [RAGGED[0]], RAGGED[1], static([[2, 0]], dtype="int64"), OUTPUT_RAGGED_RANK=2),
    case("RaggedRange", longs(0, 5), np.int64(8), np.int64(2)),
    case("RaggedRange", np.float32(1), np.float32([2, 0]), np.float32(0.5), Tsplits="int32"),
    case("SparseToDense", longs(0, 3), static(5, dtype="int64"), words("a", "b"), text("?")),
    case("SparseToDense", static([[0, 1], [1, 0]], dtype="int64"), longs(2, 2), np.float32(7), np.float32(0)),
    case(
        "SparseFillEmptyRows",
        static([[0, 1], [2, 0], [2, 1]], dtype="int64"),
        words("a", "b", "c"),
        longs(4, 2),
        text("-"),
    ),
    case("SparseReshape", static([[0, 1], [1, 2]], dtype="int64"), longs(2, 3), longs(3, -1)),
    # records
    case(
        "ParseExample",
        RECORDS,
        words(),
        [text("name")],
        [text("age"), text("size")],
        [longs(7)[0], np.float32([])],
        sparse_types=["string"],
        **DENSE,
    ),
    case(
        "ParseExampleV2",
        RECORDS,
        words(),
        words("name"),
        words("age", "size"),
        words("tags"),
        [longs(7)[0], np.float32([])],
        **V2,
        **DENSE,
    ),
    case(
        "ParseExampleV2",
        RECORDS,
        words(),
        words("none"),
        words("name"),
        words("tags"),
        [text("-")],
        **V2,
        dense_shapes=[[None]],
    ),
    case(
        "ParseSingleExample",
        RECORDS[0],
        [longs(7)[0], np.float32([])],
        num_sparse=1,
        sparse_keys=["name"],
        dense_keys=["age", "size"],
        sparse_types=["string"],
        **DENSE,
    ),
]
