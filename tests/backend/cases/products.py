"""Cases of products."""

import numpy as np

from dovetail.ops.samples import array, ints
from tests.backend.parity import WAYS, call, program

SHAPES = [  # the shapes of x and y
    ((2, 3), (3, 4)),
    ((2, 5, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((2, 5, 3), (5, 3, 4)),
    ((1, 2, 2, 3), (3, 2)),
    ((3,), (2, 3, 4)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 2)),
    ((2, 2, 0), (0, 2)),
    ((1, 1), (1, 1)),
]
PAIRS = [  # the shapes of x and y, and the axes
    ((2, 3), (2, 3), None),
    ((2, 3), (2, 3), 1),
    ((2, 3, 4), (2, 4, 5), None),
    ((2, 3, 4), (2, 4), None),
    ((2, 4), (2, 4, 5), None),
    ((2, 3), (2, 4, 3), (1, 2)),
    ((2, 3, 4), (2, 5, 4), 2),
    ((2, 3, 4), (2, 5, 4), -1),
    ((2, 3, 4), (2, 5, 4), [2, 2]),
    ((2, 4, 3), (2, 4, 5), 1),
    ((2, 3, 4), (2, 3), (1, 1)),
    ((2, 3), (2, 3, 2), None),
    ((2, 3, 4, 5), (2, 5, 6), None),
    ((2, 3, 4, 5), (2, 6, 5, 3), None),
    ((2, 3, 4, 5), (2, 3, 5, 2), (1, 1)),
    ((2, 3), (2, 4, 3, 5), (1, 2)),
    ((2, 3, 4, 2), (2, 4), (2, 1)),
    ((0, 3), (0, 3), None),
    ((2, 0), (2, 0), None),
    ((1, 3, 0), (1, 0, 2), None),
    ((0, 3, 4), (0, 4, 2), None),
]
REFUSED = [
    ((3,), (3,), None),
    ((2, 3), (2,), None),
    ((2, 3), (2, 4), None),
    ((2, 3), (3, 3), None),
    ((2, 1, 3), (1, 3, 2), None),
    ((2, 3, 4), (2, 5, 4), (1, 2)),
    ((2, 3, 4), (2, 5, 4), 0),
    ((2, 3, 4), (2, 5, 4), (-3, 2)),
    ((2, 3, 4), (2, 5, 4), ((1,), 2)),
    ((2, 3, 4), (2, 5, 4), (2, 2, 2)),
    ((2, 3, 4), (2, 5, 4), (5, 2)),
    ((2, 3, 4), (2, 5, 4), (2, -9)),
    ((2, 3, 4), (2, 5, 4), 2.0),
]
MATMULS = [  # for the mode "matmul": x, y, axes, and the NumPy expression
    ((2, 3, 4, 5), (2, 3, 5, 2), None, "bcij,bcjk->bcik"),
    ((2, 3, 5, 4), (2, 3, 5, 2), 2, "bcji,bcjk->bcik"),
    ((2, 3, 4, 5), (2, 3, 6, 5), 3, "bcij,bckj->bcik"),
    ((2, 3, 4, 5), (2, 1, 5, 2), None, "bcij,bxjk->bcik"),
    ((2, 3, 5), (2, 3, 6, 5), [2, 3], "bcj,bckj->bck"),
    ((2, 3, 4), (2, 3, 4, 5), [2, 2], "bcj,bcjk->bck"),
    ((2, 3, 4, 5), (2, 3, 5), [3, 2], "bcij,bdj->bcid"),  # which Keras 2.2.4 refuses; this is Keras 2.3's
    ((2, 3, 4, 5), (2, 6, 5, 2), None, "bcij,bdjk->bcidk"),
    ((2, 3, 4, 5), (2, 3, 5, 6), [1, 1], "bcij,bckl->bijkl"),
]


def old(axes):
    """The result of batch_dot in Keras before 2.2.5."""

    def run(K, x, y):
        K.set_batch_dot_mode("matmul")
        try:
            return K.batch_dot(x, y, axes)
        finally:
            K.set_batch_dot_mode("batch")

    return run


CASES = [
    *(call("dot", array(*x), array(*y)) for x, y in SHAPES),
    call("dot", array(2, 3, dtype="float64"), array(3, 2, dtype="float64")),
    call("dot", array(2, 3, dtype="float16"), array(3, 2, dtype="float16"), tolerance=2),
    call("dot", ints(2, 3, low=-9), ints(3, 2, low=-9)),
    call("dot", ints(2, 2, 3), ints(3, 2)),
    call("dot", np.array([[1, np.nan], [np.inf, 1]], "float32"), array(2, 2)),
    program("dot with a variable", lambda K, x: K.dot(x, K.variable(np.arange(6).reshape(3, 2))), array(4, 2, 3)),
    *(
        call("dot", array(*x), array(*y), raises=True)
        for x, y in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((), (2, 2)), ((2, 3), (2, 3)), ((2, 4, 3), (2, 5)))
    ),
    call(
        "dot", array(2, 3), ints(3, 2), differs="two dtypes are promoted", expected=lambda x, y: x @ y.astype("float32")
    ),
    *(call("batch_dot", array(*x), array(*y), axes=axes) for x, y, axes in PAIRS),
    call("batch_dot", array(2, 3), array(2, 3)),
    call("batch_dot", ints(2, 3), ints(2, 3)),
    call("batch_dot", array(2, 3, 4, dtype="float64"), array(2, 4, 2, dtype="float64")),
    call("batch_dot", array(2, 3, 4, dtype="float16"), array(2, 4, 2, dtype="float16"), tolerance=2),
    *(
        call("batch_dot", array(*x), array(*y), axes=axes, raises=True, ways=("eager", "compiled"))
        for x, y, axes in REFUSED
    ),
    *(
        call(
            "batch_dot",
            array(*x),
            array(*y),
            axes=axes,
            raises=True,
            ways=("symbolic",),
        )
        for x, y, axes in (((2, 3, 5), (2, 5, 4), 0), ((2, 3, 5), (2, 5, 4), (7, 2)), ((3,), (3, 2), None))
    ),
    call(
        "batch_dot",
        array(2, 3),
        ints(2, 3),
        differs="two dtypes are promoted",
        expected=lambda x, y: np.sum(x * y, 1, keepdims=True, dtype="float32"),
    ),
    *(
        program(
            f"set_batch_dot_mode batch_dot {equation}",
            old(axes),
            array(*x),
            array(*y),
            differs="the mode of Keras before 2.2.5",
            expected=lambda x, y, e=equation: np.einsum(e, x, y),
            ways=WAYS[:2] if (x[1], y[1]) == (3, 6) else WAYS,  # without sizes a graph multiplies matrices
        )
        for x, y, axes, equation in MATMULS
    ),
    program(
        "set_batch_dot_mode batch_dot of three axes",
        old(None),
        array(2, 3, 4),
        array(2, 4, 5),
        differs="the mode of Keras before 2.2.5",
        expected=np.matmul,
    ),
    program(
        "dot batch_dot of attention",
        lambda K, q, k: K.batch_dot(K.dot(q, K.eye(4)), k, axes=[2, 2]),
        array(2, 3, 4),
        array(2, 5, 4),
    ),
]
