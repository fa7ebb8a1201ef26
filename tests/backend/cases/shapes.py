"""Cases of shapes: the known dimensions, and tensors in other shapes."""

import numpy as np

from dovetail.ops.samples import array, bools, ints
from tests.backend.parity import call, program

EAGER = ("eager",)
NOT_NAMED = {"differs": "tf.keras has no name for it"}


def known(name):
    """A program that returns the known shape of a tensor, and of one computed from it."""
    return lambda K, x: [np.array(getattr(K, name)(x)), np.array(getattr(K, name)(K.transpose(x)))]


CASES = [
    *(call("shape", array(*shape)) for shape in ((2, 3), (4,), (0, 3), ())),
    call("shape", ints(2, 1, 3)),
    call("shape", [[1, 2, 3]], ways=("eager", "compiled")),
    program("shape one dimension", lambda K, x: K.shape(x)[0] * 2, array(3, 2)),
    *(
        program(f"{name} {shape}", known(name), array(*shape), ways=EAGER)
        for name in ("int_shape", "ndim")
        for shape in ((2, 3), (0, 1), ())
    ),
    *(
        program(f"{name} of a variable", lambda K, f=name: np.array(getattr(K, f)(K.zeros((2, 3)))), ways=EAGER)
        for name in ("int_shape", "ndim", "dtype", "count_params")
    ),
    *(
        program(f"dtype {x.dtype}", known("dtype"), x, ways=EAGER)
        for x in (array(2), ints(2), bools(2), array(2, dtype="float16"), ints(1, dtype="uint8"))
    ),
    *(
        program(f"count_params {shape}", known("count_params"), array(*shape), ways=EAGER)
        for shape in ((2, 3), (0, 3), (4,))
    ),
    program(
        "count_params of a scalar",
        known("count_params"),
        array(),
        ways=EAGER,
        differs="1 is an int, not 1.0",
        expected=lambda x: [1, 1],
    ),
    *(call("size", array(*shape), **NOT_NAMED, expected=lambda x: np.int32(x.size)) for shape in ((2, 3), (0, 3), ())),
    # other shapes
    call("reshape", array(2, 6), (3, 4)),
    call("reshape", array(2, 6), [3, -1]),
    call("reshape", array(2, 6), (-1,)),
    call("reshape", np.zeros((0, 3), "float32"), (0, -1)),
    call("reshape", np.zeros((0, 3), "float32"), (-1, 0)),
    call("reshape", ints(2, 3, 2), (2, 1, -1, 2)),
    call("reshape", array(1), ()),
    call("reshape", array(), (1, 1)),
    call("reshape", array(0, 3), (-1, 3)),
    call("reshape", array(0, 3), (3, 0)),
    call("reshape", array(2, 3), np.array([3, 2]), ways=EAGER),
    call("reshape", [[1, 2], [3, 4]], (4,)),
    call("reshape", array(2, 6), (5, -1), raises=True),
    call("reshape", array(2, 6), (5, 2), raises=True),
    call("reshape", array(2, 6), (-1, -1), raises=True),
    call("reshape", array(2, 6), (-2, 6), raises=True),
    call("reshape", array(2, 6), (None, 6), raises=True),
    program("reshape to another's shape", lambda K, x, y: K.reshape(x, K.shape(y)), array(2, 6), array(3, 4)),
    program("reshape with a dimension of another", lambda K, x: K.reshape(x, (K.shape(x)[0], 2, 3)), array(2, 6)),
    program("reshape with a dimension and -1", lambda K, x: K.reshape(x, [-1, K.shape(x)[1] // 2]), array(2, 6)),
    program(
        "reshape to a computed shape", lambda K, x: K.reshape(x, K.concatenate([K.shape(x)[:1], [2, 3]])), array(2, 6)
    ),
    *(call("flatten", array(*shape)) for shape in ((2, 3), (4,), (), (0, 3), (2, 1, 2))),
    call("flatten", [[1, 2], [3, 4]]),
    *(call("batch_flatten", array(*shape)) for shape in ((2, 3, 4), (2, 3), (4,), (0, 3, 2), (2, 1, 2, 2))),
    call("batch_flatten", ints(2, 3, 1)),
    call(
        "batch_flatten",
        array(2, 0, 3),
        differs="there are as many samples as before",
        expected=lambda x: x.reshape(2, 0),
    ),
    call("batch_flatten", array()),
    *(call("expand_dims", array(2, 3), axis=axis) for axis in (0, 1, 2, -1, -2, -3)),
    call("expand_dims", array(2, 3)),
    call("expand_dims", array()),
    call("expand_dims", array(0, 2), 1),
    call("expand_dims", [1, 2], 0),
    call("expand_dims", array(2, 3), 3, raises=True),
    call("expand_dims", array(2, 3), -4, raises=True),
    *(call("squeeze", array(1, 3, 1), axis) for axis in (0, 2, -1, -3)),
    call("squeeze", array(1), 0),
    call("squeeze", array(0, 1), 1),
    call("squeeze", [[1, 2]], 0),
    call("squeeze", array(2, 3), 0, raises=True),
    call("squeeze", array(1, 3), 2, raises=True),
    *(call("pattern_broadcast", array(2, 1), (False, True), **NOT_NAMED, expected=lambda x: x) for _ in "."),
    # other orders
    *(call("permute_dimensions", array(2, 3, 4), pattern) for pattern in ((0, 2, 1), [2, 0, 1], (0, 1, 2))),
    call("permute_dimensions", array(2, 3), (1, 0)),
    program("permute_dimensions by an array", lambda K, x: K.permute_dimensions(x, np.array([1, 0])), array(2, 3)),
    call("permute_dimensions", array(4), (0,)),
    call("permute_dimensions", array(0, 3), (1, 0)),
    call("permute_dimensions", ints(2, 3, 1), (2, 1, 0)),
    call("permute_dimensions", array(2, 3, 4), (0, 2, -2)),
    call("permute_dimensions", array(2, 3, 4), (0, 1), raises=True),
    call("permute_dimensions", array(2, 3, 4), (0, 1, 1), raises=True),
    call("permute_dimensions", array(2, 3, 4), (0, 1, 3), raises=True),
    *(call("transpose", array(*shape)) for shape in ((2, 3), (2, 3, 4), (4,), (), (0, 2))),
    call("transpose", [[1, 2, 3]]),
    *(call("reverse", array(2, 3, 4), axes) for axes in (0, 1, -1, [0, 2], (1, -1), [])),
    call("reverse", ints(4), 0),
    call("reverse", bools(2, 3), 1),
    call("reverse", array(0, 3), 0),
    call("reverse", [[1, 2], [3, 4]], 1),
    call("reverse", array(2, 3), 2, raises=True),
    call("reverse", array(2, 3), [1, 1], raises=True),
    call("reverse", array(2, 3), [1, -1], raises=True),
]
