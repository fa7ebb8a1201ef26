"""Maps over ragged tensors against TensorFlow: those of numbers are in the graph, those of strings on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.formats.tensorflow.calling import tf
from tests.formats.tensorflow.host.cases import longs, words
from tests.formats.tensorflow.host.test_graphs import read
from tests.formats.tensorflow.host.test_nodes import check
from tests.libraries import require

require("tensorflow", "maps over ragged tensors are compared with it")


def row(x: Any, rank: int = 0, *inner: int) -> Any:
    """The spec of a ragged row of a result."""
    return tf.RaggedTensorSpec([None] * (rank + 1) + [*inner], x.dtype, rank, x.row_splits.dtype)


def twice(x: Any) -> Any:
    return tf.strings.join([x, x]) if x.dtype == tf.string else x * 2


def sizes(x: Any) -> Any:
    return tf.map_fn(tf.size, x, fn_output_signature=tf.int32)


def turned(x: Any) -> Any:
    return tf.map_fn(lambda row: row[::-1], x)


def doubled(x: Any) -> Any:
    return tf.map_fn(twice, x, fn_output_signature=row(x))


def filled(x: Any) -> Any:
    """Rows of several lengths, for each element of a tensor that is not ragged."""
    counts = tf.range(tf.size(x.flat_values)) % 3
    return tf.map_fn(lambda pair: tf.fill([pair[0]], pair[1]), (counts, x.flat_values), fn_output_signature=row(x))


def pairs(x: Any) -> Any:
    return tf.map_fn(lambda pair: (twice(pair[0]), tf.size(pair[1])), (x, x), fn_output_signature=(row(x), tf.int32))


def chosen(x: Any) -> Any:
    return tf.map_fn(lambda row: tf.cond(tf.size(row) > 1, lambda: row[:1], lambda: twice(row)), x)


def of_two_axes(x: Any) -> Any:
    x = tf.RaggedTensor.from_row_splits(x, tf.constant([0, 2, 2, 4], x.row_splits.dtype))
    return tf.map_fn(lambda rows: tf.ragged.map_flat_values(twice, rows), x, fn_output_signature=row(x, 1))


def in_each_other(x: Any) -> Any:
    x = tf.RaggedTensor.from_row_splits(x, tf.constant([0, 2, 2, 4], x.row_splits.dtype))
    spec = tf.RaggedTensorSpec([None], tf.int32, 0, x.row_splits.dtype)
    return tf.map_fn(sizes, x, fn_output_signature=spec)


def of_matrices(x: Any) -> Any:
    x = tf.RaggedTensor.from_row_splits(tf.stack([x.flat_values, twice(x.flat_values)], 1), x.row_splits)
    return tf.map_fn(lambda rows: rows[:, ::-1], x, fn_output_signature=row(x, 0, 2))


MAPS = [sizes, turned, doubled, filled, pairs, chosen, of_two_axes, in_each_other, of_matrices]
VALUES = {"float32": np.float32([1, 2, 3, 4]), "int64": longs(5, 6, 7, 8), "string": words("a", "bc", "", "d")}
Make = Callable[[Any], Any]


def flat(found: Any) -> list[Any]:
    """The results of a map, with the values and the splits of ragged ones."""
    parts = [[one.flat_values, *one.nested_row_splits] if isinstance(one, tf.RaggedTensor) else [one]
             for one in tf.nest.flatten(found)]  # fmt: skip
    return [part for each in parts for part in each]


def compare(make: Make, values: np.ndarray, splits: np.ndarray, has_rank: bool = True) -> None:
    """A graph with a map, read from its definition."""
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph, v1.Session() as session:
        shape = (None,) if has_rank else None
        given = [v1.placeholder(tf.as_dtype(values.dtype), shape), v1.placeholder(tf.as_dtype(splits.dtype), (None,))]
        outputs = flat(make(tf.RaggedTensor.from_row_splits(*given, validate=False)))
        expected = session.run(outputs, dict(zip(given, (values, splits), strict=True)))
    found = read(graph, [output.name for output in outputs])(values, splits)
    check(list(found.values()), expected)


@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("make", MAPS)
def test_a_map_over_ragged_rows(make: Make, dtype: str):
    compare(make, VALUES[dtype], longs(0, 2, 2, 3, 4))


@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("make", [pairs, of_two_axes])
def test_a_map_over_ragged_rows_on_each_engine(make: Make, dtype: str, engine: str):
    compare(make, VALUES[dtype], longs(0, 2, 2, 3, 4))


@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("make", [sizes, turned, doubled, filled])
@pytest.mark.parametrize("rows", [0, 2])
def test_a_map_over_no_elements(make: Make, dtype: str, rows: int):
    compare(make, VALUES[dtype][:0], np.zeros(rows + 1, "int64"))


@pytest.mark.parametrize("make", [doubled, of_two_axes])
def test_splits_of_int32(make: Make):
    compare(make, VALUES["string"], np.int32([0, 2, 2, 3, 4]))


@pytest.mark.parametrize("dtype", VALUES)
def test_values_of_unknown_rank(dtype: str):
    compare(doubled, VALUES[dtype], longs(0, 2, 2, 3, 4), has_rank=False)


@pytest.mark.parametrize("make", [sizes, doubled, of_two_axes])
@pytest.mark.parametrize("dtype", VALUES)
def test_a_map_with_the_loops_of_tensorflow_1(make: Make, dtype: str):
    tf.compat.v1.disable_control_flow_v2()
    try:
        compare(make, VALUES[dtype], longs(0, 2, 2, 3, 4))
    finally:
        tf.compat.v1.enable_control_flow_v2()


def encoded(*splits: Any, batched: bool, shape: Any = None) -> Make:
    """Results of a variant of the values of a ragged tensor with these splits, or of variants in a shape."""

    def make(x: Any) -> list[Any]:
        raw, values = tf.raw_ops, x.flat_values[:, None]
        given = {"rt_nested_splits": [longs(*one) for one in splits], "rt_dense_values": values}
        variants = raw.RaggedTensorToVariant(**given, batched_input=batched)
        variants = variants if shape is None else tf.reshape(variants, shape)
        depth = len(splits) if splits or not batched else 1
        settings = {"Tvalues": values.dtype, "Tsplits": tf.int64, "output_ragged_rank": depth + len(shape or [0]) - 1}
        rank = depth - 1 if batched else depth
        found = raw.RaggedTensorFromVariant(encoded_ragged=variants, input_ragged_rank=rank, **settings)
        return [tf.shape(variants), *found.output_nested_splits, found.output_dense_values]

    return make


ENCODED = {
    "one": encoded((0, 1, 1, 4), batched=False),
    "one with rows of rows": encoded((0, 2, 2), (0, 3, 4), batched=False),
    "values alone": encoded(batched=False),
    "rows": encoded((0, 1, 1, 4), batched=True),
    "rows of rows": encoded((0, 2, 2), (0, 3, 4), batched=True),
    "elements": encoded(batched=True),
    "a matrix of rows": encoded((0, 1, 1, 3, 4), batched=True, shape=(2, 2)),
    "a matrix of no rows": encoded((0,), batched=True, shape=(2, 0)),
}


@pytest.mark.parametrize("name", ENCODED)
@pytest.mark.parametrize("dtype", VALUES)
def test_variants(name: str, dtype: str):
    empty = name == "a matrix of no rows"
    compare(ENCODED[name], VALUES[dtype][: 0 if empty else 4], longs(0, 4))


def unset(dtype: Any) -> Any:
    none: Any = tf.constant([], tf.int32)
    rows = tf.raw_ops.TensorListReserve(element_shape=none, num_elements=2, element_dtype=tf.variant)
    return tf.raw_ops.TensorListStack(input_handle=rows, element_shape=none, element_dtype=tf.variant)


def of_another_rank(dtype: Any) -> Any:
    values = tf.zeros([3], dtype)
    return tf.raw_ops.RaggedTensorToVariant(rt_nested_splits=[], rt_dense_values=values, batched_input=False)


REFUSED = {
    unset: (NotImplementedError, "'TensorListStack': no element of a list of ragged tensors, .* is set"),
    of_another_rank: (ValueError, "RaggedTensorFromVariant .*its variant 0 is no ragged tensor of rank 1"),
}


@pytest.mark.parametrize("dtype", ["int64", "string"])
@pytest.mark.parametrize("make", REFUSED)
def test_variants_of_nothing_and_of_another_rank_are_refused(make: Any, dtype: str):
    with tf.Graph().as_default() as graph:
        settings = {"Tvalues": dtype, "Tsplits": tf.int64, "input_ragged_rank": -1, "output_ragged_rank": 1}
        found = tf.raw_ops.RaggedTensorFromVariant(encoded_ragged=make(tf.as_dtype(dtype)), **settings)
    error, text = REFUSED[make]
    with pytest.raises(error, match=text):
        read(graph, [found.output_dense_values.name])()
