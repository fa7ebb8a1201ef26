"""Static shapes with TensorFlow 1's dimensions, and operations whose sizes are tensors."""

from __future__ import annotations

from typing import Any

from tests.compat.tensorflow.legacy import array


def _said(tf: Any, found: list[Any]) -> Any:
    """Numbers as one tensor; None is -1."""
    return tf.constant([-1 if x is None else int(x) for x in found])


def dimensions(tf: Any, fed: Any) -> Any:
    x, unknown = fed(array(4, 3)), tf.placeholder("float32").get_shape()
    rows, columns = x.get_shape()
    other = [rows * 2, 2 * rows, rows + columns, rows // 2, rows % 2, rows - 1, columns // 2 * 4, unknown[0], rows]
    shapes = [x.get_shape(), unknown, tf.TensorShape([None, 2]), tf.TensorShape(None), tf.TensorShape(5)]
    shapes += [unknown.with_rank(2), unknown.merge_with([None, 2]), x.get_shape().concatenate([7]), unknown[1:]]
    kept = [rows.merge_with(3), columns.merge_with(None), columns.merge_with(rows), shapes[2][0], shapes[2][1]]
    questions = [rows is None, rows == columns, columns == 3, columns.is_compatible_with(4), x.get_shape() == [4, 3]]
    ranks = [shape.ndims for shape in shapes] + [shape.is_fully_defined() for shape in shapes]
    assert [str(shape) for shape in shapes] == [
        "(?, 3)", "<unknown>", "(?, 2)", "<unknown>", "(5,)", "(?, ?)", "(?, 2)", "(?, 3, 7)", "<unknown>",
    ]  # fmt: skip
    return _said(tf, [dim.value for dim in other + kept] + questions + ranks)


def _refused(ask: Any) -> Any:
    return lambda tf, fed: ask(fed(array(4, 3)).get_shape(), tf.placeholder("float32").get_shape())


def spaces(tf: Any, fed: Any) -> Any:
    x = fed(array(4, 3))
    counts = [tf.constant(4), tf.shape(x)[0], x.get_shape()[1], tf.shape(x)[1] - 2]
    return [tf.linspace(0.5, 2.0, count) for count in counts] + [tf.lin_space(x[0, 0], x[1, 2], counts[1])]


CASES = {
    "dimensions": dimensions,
    "spaces": spaces,
    "other_dimension": _refused(lambda shape, unknown: shape[1].merge_with(4)),
    "other_dimension_asserted": _refused(lambda shape, unknown: shape[1].assert_is_compatible_with(4)),
    "fewer_axes": _refused(lambda shape, unknown: (unknown.with_rank_at_least(3), shape.with_rank_at_least(3))),
    "not_all_known": _refused(lambda shape, unknown: shape.assert_is_fully_defined()),
    "no_list": _refused(lambda shape, unknown: unknown.as_list()),
    "no_length": _refused(lambda shape, unknown: len(unknown)),
}
