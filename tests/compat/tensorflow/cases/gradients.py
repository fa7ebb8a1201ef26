"""Cases of gradients in graphs: by inputs or outputs, as feeds of one of them show, and zeros or None."""

import numpy as np

from dovetail.ops.samples import array
from tests.compat.tensorflow.cases.graph import in_graph


def fed(f):
    """The gradients of a function, without feeds, and with another value fed for its result or an argument."""

    def build(v1, session, *arrays):
        given = [v1.placeholder(v1.float32, a.shape) for a in arrays]
        xs = [v1.multiply(p, 1.0) for p in given]
        y = f(v1, *xs)
        gradients = v1.gradients(y, xs)
        feeds = dict(zip(given, arrays, strict=True))
        result = np.asarray(session.run(y, feeds))
        others = [
            (y, (result * 1.125 + 0.0625).astype(result.dtype)),
            *zip(xs, [a * 0.75 + 0.125 for a in arrays], strict=True),
        ]
        there = [g for g in gradients if g is not None]
        runs = [session.run(there, {**feeds, **dict(more)}) for more in ([], *([pair] for pair in others))]
        return [[g is None for g in gradients], runs]

    return build


def named(name):
    """The function of a dotted name."""

    def call(v1, *xs):
        found = v1
        for part in name.split("."):
            found = getattr(found, part)
        return found(*xs)

    return call


UNARY = (
    "abs negative reciprocal square sqrt rsqrt exp log log1p expm1 sin cos tan asin acos atan sinh cosh tanh asinh "
    "atanh sigmoid sign floor round rint erf erfc lgamma digamma nn.relu nn.relu6 nn.elu nn.selu nn.softplus "
    "nn.softsign nn.softmax nn.log_softmax nn.leaky_relu identity stop_gradient zeros_like ones_like cumsum cumprod "
    "reduce_sum reduce_mean reduce_max reduce_min reduce_prod reduce_logsumexp norm transpose argmax shape "
    "nn.l2_loss nn.l2_normalize math.log_sigmoid math.reduce_std"
)
BINARY = (
    "add subtract multiply divide floordiv mod maximum minimum pow squared_difference atan2 div_no_nan "
    "math.divide_no_nan"
)
PROGRAMS = {
    "acosh": (lambda v1, x: v1.acosh(x + 1.5), array(2, 3)),
    "abs (complex)": (lambda v1, x: v1.abs(v1.complex(x, 2.0 * x)), array(2, 3, low=0.2)),
    "clip_by_norm": (lambda v1, x: v1.clip_by_norm(x, 0.5), array(2, 3)),
    "clip_by_value": (lambda v1, x: v1.clip_by_value(x, -0.5, 0.7), array(2, 3)),
    "cast (to integers and back)": (lambda v1, x: v1.cast(v1.cast(x, v1.int32), v1.float32), array(2, 3)),
    "equal": (lambda v1, x, y: v1.cast(v1.equal(x, y), v1.float32), array(2, 3), array(2, 3)),
    "matmul": (lambda v1, x, y: v1.matmul(x, y), array(2, 3), array(3, 2)),
    "reduce_max (axis)": (lambda v1, x: v1.reduce_max(x, 1), array(2, 3)),
    "reduce_logsumexp (axis)": (lambda v1, x: v1.reduce_logsumexp(x, 1, keepdims=True), array(2, 3)),
    "nn.top_k": (lambda v1, x: v1.nn.top_k(x, 2)[0], array(2, 3)),
    "linalg.inv": (lambda v1, x: v1.linalg.inv(x + 3.0 * np.eye(3, dtype="float32")), array(3, 3)),
    "linalg.det": (lambda v1, x: v1.linalg.det(x + 3.0 * np.eye(3, dtype="float32")), array(3, 3)),
    "linalg.solve": (
        lambda v1, x, y: v1.linalg.solve(x + 3.0 * np.eye(3, dtype="float32"), y), array(3, 3), array(3, 2)
    ),
    "nn.max_pool": (
        lambda v1, x: v1.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"), array(1, 4, 4, 2, gap=0.1)
    ),
    "sign (of second order)": (lambda v1, x: v1.gradients(v1.abs(x), x)[0], array(2, 3)),
    "where": (lambda v1, x, y: v1.where(x > y, x * y, x), array(2, 3), array(2, 3)),
}  # fmt: skip


CASES = [
    *(in_graph(f"gradients ({name})", fed(named(name)), array(2, 3, low=0.2, high=0.8)) for name in UNARY.split()),
    *(
        in_graph(f"gradients ({name})", fed(named(name)), array(2, 3, low=0.2), array(2, 3, low=0.2))
        for name in BINARY.split()
    ),
    *(in_graph(f"gradients ({name}, in a program)", fed(f), *arrays) for name, (f, *arrays) in PROGRAMS.items()),
    in_graph(
        "gradients (by integers, of integers)",
        lambda v1, s: [g is None for x in [v1.constant(2)] for g in v1.gradients(v1.cast(x, v1.float32), [x])],
    ),
]
