"""Cases of joining, repeating and picking."""

import numpy as np

from dovetail.ops.samples import array, bools, ints
from tests.backend.parity import call, program

NAN = float("nan")
NOT_NAMED = {"differs": "tf.keras has no name for it"}
EAGER = ("eager",)

CASES = [
    call("concatenate", [array(2, 3), array(2, 1)]),
    call("concatenate", [array(2, 3), array(1, 3), array(0, 3)], axis=0),
    *(call("concatenate", [array(2, 3, 2), array(2, 3, 2)], axis=axis) for axis in (0, 1, 2, -1, -2, -3)),
    call("concatenate", [array(3)]),
    call("concatenate", [ints(2, 2), ints(2, 2)]),
    call("concatenate", [bools(2), bools(3)]),
    call("concatenate", [array(2, dtype="float16"), array(3, dtype="float16")]),
    program("concatenate of a tuple", lambda K, x, y: K.concatenate((x, y), 0), array(2, 3), array(1, 3)),
    program("concatenate with a variable", lambda K, x: K.concatenate([x, K.ones((2, 1))]), array(2, 3)),
    program("concatenate of dimensions", lambda K, x: K.concatenate([K.shape(x)[:1], [7]], axis=0), array(2, 3)),
    call("concatenate", [array(2, 3), array(3, 3)], axis=1, raises=True),
    call("concatenate", [array(2, 3), array(2)], raises=True),
    call("concatenate", [array(2, 3), array(2, 3)], axis=2, raises=True),
    call("concatenate", [array(), array()], raises=True),
    program(
        "concatenate of two dtypes",
        lambda K, x, y: K.concatenate([x, y]),
        array(2),
        ints(2),
        differs="two dtypes are promoted",
        expected=lambda x, y: np.concatenate([x, y.astype("float32")]),
    ),
    *(call("stack", [array(2, 3), array(2, 3)], axis=axis) for axis in (0, 1, 2, -1, -3)),
    call("stack", [array(), array(), array()]),
    call("stack", [ints(2)]),
    call("stack", [[1, 2], [3, 4]], ways=("eager", "compiled")),
    call("stack", [array(0, 2), array(0, 2)], axis=1),
    call("stack", array(2, 3), ways=("eager", "compiled")),
    program("stack of numbers and dimensions", lambda K, x: K.stack([1, K.shape(x)[0], -1]), array(2, 3)),
    call("stack", [array(2), array(3)], raises=True),
    call("stack", [array(2), array(2)], axis=2, raises=True),
    program(
        "stack of two dtypes",
        lambda K, x, y: K.stack([x, y]),
        array(2),
        ints(2),
        differs="two dtypes are promoted",
        expected=lambda x, y: np.stack([x, y.astype("float32")]),
    ),
    # repeating
    *(call("repeat_elements", array(2, 3), 2, axis=axis) for axis in (0, 1, -1)),
    call("repeat_elements", array(3), 3, 0),
    call("repeat_elements", ints(2, 2, 2), 1, 1),
    call("repeat_elements", bools(2), rep=2, axis=0),
    call("repeat_elements", array(2, 3), np.int64(2), axis=1, ways=("eager", "compiled")),
    call("repeat_elements", array(2, 3), 2.5, 0, raises=True),
    call("repeat", array(2, 3), 4),
    call("repeat", ints(2, 1), 2),
    call("repeat", array(0, 3), 2),
    call("repeat", array(2, 3), 0),
    call("repeat", array(2, 0), n=1),
    program("repeat as often as another is long", lambda K, x, y: K.repeat(x, K.shape(y)[1]), array(2, 3), array(2, 4)),
    call("tile", array(2, 3), [2, 1]),
    call("tile", array(2, 3), (1, 3)),
    call("tile", array(3), 2),
    call("tile", array(3), [0]),
    call("tile", ints(2, 1, 2), [1, 3, 2]),
    call("tile", array(0, 2), [3, 2]),
    call("tile", array(2, 3), np.array([2, 2]), ways=EAGER),
    call("tile", [1, 2], 2),
    program("tile as often as another is long", lambda K, x, y: K.tile(x, [1, K.shape(y)[0]]), array(2, 3), array(4)),
    program("tile by a tensor", lambda K, x, y: K.tile(x, K.shape(y)), array(2, 3), array(2, 2)),
    call("tile", array(2, 3), 2, raises=True),
    call("tile", array(2, 3), [2], raises=True),
    call("tile", array(2, 3), [1, 1, 2], raises=True),
    call("tile", array(3), [-1], raises=True),
    # picking
    call("gather", array(4, 3), ints(2, high=4)),
    call("gather", array(4, 3), ints(2, 2, high=4, dtype="int64")),
    call("gather", array(4), ints(high=4)),
    call("gather", ints(4, 2, 2), ints(3, high=4)),
    call("gather", array(4, 3), [0, 3, 0]),
    call("gather", array(4, 3), 2),
    call("gather", array(4, 3), ints(0, high=4)),
    call("gather", bools(3), [2, 0]),
    program("gather from a variable", lambda K, i: K.gather(K.variable([[1, 2], [3, 4]]), i), ints(3, high=2)),
    call("gather", array(4, 3), [4], ways=EAGER, raises=True),
    call("gather", array(), [0], raises=True),
    call(
        "gather",
        array(4, 3),
        [-1],
        differs="negative positions count from the end",
        expected=lambda x: x[[-1]],
    ),
    *(call("one_hot", ints(*shape, high=4), 4) for shape in ((3,), (2, 3), (), (0,))),
    call("one_hot", ints(3, high=4, dtype="int64"), 3),
    call("one_hot", ints(3, high=4, dtype="uint8"), 3),
    call("one_hot", np.array([-1, 5, 2], "int32"), 4),
    call("one_hot", [0, 2], num_classes=3),
    call("one_hot", ints(3), 0),
    program(
        "one_hot with the classes of another", lambda K, x, y: K.one_hot(x, K.shape(y)[1]), ints(3, high=4), array(2, 4)
    ),
    call("one_hot", ints(3), -1, raises=True),
    # blocks
    *(
        call(
            "slice",
            x,
            start,
            size,
            **NOT_NAMED,
            expected=lambda x, a=start, n=size: x[
                tuple(slice(i, None if m == -1 else i + m) for i, m in zip(a, n, strict=True))
            ],
        )
        for x, start, size in (
            (array(4, 5), (1, 2), (2, 3)),
            (array(4, 5), [0, 1], [-1, 2]),
            (array(4), [4], [0]),
            (ints(2, 3, 4), (0, 0, 1), (2, -1, -1)),
            (array(0, 3), [0, 1], [-1, 1]),
        )
    ),
    program(
        "slice by a tensor",
        lambda K, x, i: K.slice(x, i, [2, 2]),
        array(4, 5),
        ints(2, high=3),
        ways=EAGER,
        **NOT_NAMED,
        expected=lambda x, i: x[i[0] : i[0] + 2, i[1] : i[1] + 2],
    ),
    program(
        "slice as long as another",
        lambda K, x, y: K.slice(x, [1, 0], [K.shape(y)[0], -1]),
        array(4, 5),
        array(2),
        **NOT_NAMED,
        expected=lambda x, y: x[1:3],
    ),
]
