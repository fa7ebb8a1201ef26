"""Cases of tensors themselves: operators and subscripts, on placeholders with unknown dimensions, too."""

import numpy as np

from dovetail.ops.samples import array, bools, ints
from tests.backend.parity import program

AB = array(3, 4), array(3, 4)
NAN = float("nan")


def mutated(K, x, y):
    """Results of augmented assignments: the name gets another tensor; the original tensor is unchanged."""
    z = x
    z /= K.sum(z, axis=-1, keepdims=True)
    z += 1
    z *= y
    z -= x
    return [z, x]


def mean_over_steps(K, x):
    """A mean over an unknown number of steps, as attention layers compute it."""
    steps = K.cast(K.shape(x)[1], K.floatx())
    return K.sum(x, axis=1) / steps


def split_heads(K, x):
    """The input of multi-head attention, split into heads."""
    batch, steps, _ = K.shape(x)[0], K.shape(x)[1], K.shape(x)[2]
    x = K.reshape(x, [batch, steps, 2, 2])
    x = K.permute_dimensions(x, (0, 2, 1, 3))
    return K.reshape(x, (-1, steps, 2))


def pixel_grid(K, x):
    """The grid of a detector's anchors; the numbers of rows and columns are only known at run time."""
    rows, columns = K.shape(x)[1], K.shape(x)[2]
    down = K.tile(K.reshape(K.arange(0, stop=rows), [-1, 1, 1, 1]), [1, columns, 1, 1])
    across = K.tile(K.reshape(K.arange(0, stop=columns), [1, -1, 1, 1]), [rows, 1, 1, 1])
    return K.cast(K.concatenate([across, down]), K.dtype(x)) / K.cast(K.stack([columns, rows]), K.dtype(x))


def masked_mean(K, x, mask):
    """A mean over the unmasked steps."""
    mask = K.cast(mask, "float32")
    return K.sum(x * mask[:, :, None], axis=1) / K.maximum(K.sum(mask, axis=1, keepdims=True), K.epsilon())


def windows(K, x):
    """Neighbouring frames side by side."""
    padded = K.temporal_padding(x, (1, 1))
    return K.concatenate([padded[:, :-2], padded[:, 1:-1], padded[:, 2:]], axis=-1)


SUBSCRIPTS = {
    "[0]": lambda x: x[0],
    "[-1]": lambda x: x[-1],
    "[1:]": lambda x: x[1:],
    "[:-1]": lambda x: x[:-1],
    "[:, 1:3]": lambda x: x[:, 1:3],
    "[..., 0]": lambda x: x[..., 0],
    "[..., -1:]": lambda x: x[..., -1:],
    "[:, ::-1]": lambda x: x[:, ::-1],
    "[::-1]": lambda x: x[::-1],
    "[::2, ::-2]": lambda x: x[::2, ::-2],
    "[3:0:-1]": lambda x: x[3:0:-1],
    "[-2:, 1:-1]": lambda x: x[-2:, 1:-1],
    "[:, None]": lambda x: x[:, None],
    "[None, ..., None]": lambda x: x[None, ..., None],
    "[...]": lambda x: x[...],
    "[5:]": lambda x: x[5:],
    "[1:9]": lambda x: x[1:9],
    "[0, ..., 1]": lambda x: x[0, ..., 1],
}
BOUNDS = {
    "[:n]": lambda x, n: x[:n],
    "[n:]": lambda x, n: x[n:],
    "[-n:]": lambda x, n: x[-n:],
    "[:, n:n + 2]": lambda x, n: x[:, n : n + 2],
    "[::n]": lambda x, n: x[::n],
    "[n]": lambda x, n: x[n],
    "[:, n]": lambda x, n: x[:, n],
    "[..., :n]": lambda x, n: x[..., :n],
}
OPERATORS = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    "**": lambda x, y: (x * x + 1) ** y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}
INTEGER_OPERATORS = {name: OPERATORS[name] for name in ("+", "-", "*", "//", "%", "<", ">=")} | {"/": OPERATORS["/"]}

CASES = [
    *(program(f"tensor x {name} y", lambda K, x, y, f=f: f(x, y), *AB) for name, f in OPERATORS.items()),
    *(program(f"tensor x {name} 2", lambda K, x, f=f: f(x, 2.0), array(3, 4)) for name, f in OPERATORS.items()),
    *(
        program(f"tensor 2 {name} x", lambda K, x, f=f: f(2.0, x), array(3, 4))
        for name, f in OPERATORS.items()
        if name != "**"
    ),
    *(
        program(f"tensor i {name} j", lambda K, x, y, f=f: f(x, y), ints(6, low=-9, high=9), ints(6, low=1, high=4))
        for name, f in INTEGER_OPERATORS.items()
        if name != "/"
    ),
    *(
        program(f"tensor i {name} 3", lambda K, x, f=f: f(x, 3), ints(6, low=-9, high=9))
        for name, f in INTEGER_OPERATORS.items()
        if name != "/"
    ),
    program("tensor -x abs(x)", lambda K, x: [-x, abs(x)], array(3, 4)),
    program("tensor & | ^ ~", lambda K, x, y: [x & y, x | y, x ^ y, ~x], bools(5), bools(5)),
    program("tensor @", lambda K, x, y: x @ y, array(2, 3), array(3, 2)),
    program("tensor broadcasting", lambda K, x, y: x[:, :, None] * y[None, None, :] - x[0], array(3, 1), array(4)),
    program("tensor with arrays", lambda K, x: np.float32([1, 2, 3]) * x + np.ones((2, 1), "float32"), array(2, 3)),
    program("tensor with lists", lambda K, x: x * [1.0, 2.0, 3.0], array(2, 3)),
    program(
        "tensor with variables",
        lambda K, x: [K.variable([1.0, 2.0, 3.0]) * x, x - K.variable(1), K.ones((2, 3)) / x],
        array(2, 3),
    ),
    program(
        "tensor special values",
        lambda K, x: [x / 0.0, x * 0.0, -x, x > 0.0],
        np.array([NAN, 1, -1, 0, np.inf], "float32"),
    ),
    *(program(f"tensor x{name}", lambda K, x, f=f: f(x), array(4, 5)) for name, f in SUBSCRIPTS.items()),
    *(program(f"tensor x{name}", lambda K, x, f=f: f(x, K.shape(x)[0] - 2), array(4, 5)) for name, f in BOUNDS.items()),
    program("tensor x[i, j, k]", lambda K, x: x[1, 0, 2], array(2, 3, 4)),
    program("tensor augmented assignments", mutated, *AB),
    program("tensor sum cast shape", mean_over_steps, array(2, 3, 4)),
    program("tensor reshape permute_dimensions", split_heads, array(2, 3, 4)),
    program("tensor tile arange concatenate stack", pixel_grid, array(1, 3, 2, 1)),
    program("tensor mask", masked_mean, array(2, 3, 4), bools(2, 3)),
    program("tensor temporal_padding concatenate", windows, array(2, 4, 3)),
    program("tensor ones of its shape", lambda K, x: K.ones_like(x[:, :1]) * K.sum(K.zeros_like(x)), array(2, 3)),
    program(
        "tensor gather reverse cumsum",
        lambda K, x, i: K.cumsum(K.reverse(K.gather(x, i), 1), axis=1),
        array(4, 3),
        ints(2, high=4),
    ),
    program("tensor one_hot argmax", lambda K, x: K.one_hot(K.argmax(x), K.shape(x)[-1]) * x, array(3, 4)),
    program(
        "tensor int_shape and shape",
        lambda K, x: K.reshape(x, [K.shape(x)[0]] + [n or -1 for n in K.int_shape(x)[1:]]),
        array(2, 3),
    ),
]
