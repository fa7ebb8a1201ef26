"""Cases of placeholders whose rank is not known: the shapes that TensorFlow infers, and values once they are fed."""

import numpy as np

from dovetail.compat.tensorflow.entries import V1
from dovetail.ops.samples import array, ints
from tests.compat.tensorflow.cases.graph import in_graph

N = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)
V = np.float32([0.5, -1, 2])
KERNEL = np.linspace(-1, 1, 54, dtype="float32").reshape(3, 3, 3, 2)
IMAGES, MATRIX, SQUARE = array(2, 4, 4, 3), array(2, 3), array(3, 3)


def text(shape):
    return "unknown" if shape.rank is None else str(shape.as_list())


def fed(f, shapes=True):
    """The static shapes of results, and their values; only the values if Dovetail's inferred shapes differ."""

    def build(v1, session, *arrays):
        given = [v1.placeholder(a.dtype) for a in arrays]
        found = f(v1, *given)
        found = list(found) if isinstance(found, list | tuple) else [found]
        session.run(v1.global_variables_initializer())
        values = session.run(found, dict(zip(given, arrays, strict=True)))
        return [[text(t.get_shape()) for t in found] if shapes else [], values]

    return build


def assigned(v1, x):
    return v1.assign(v1.get_variable("v", [2, 3]), x)


def added(v1, x):
    v = v1.get_variable("v", [2, 3], initializer=v1.ones_initializer())
    return v1.assign_sub(v, 2 * v1.assign_add(v, x))


def stepped(optimizer):
    def build(v1, g):
        v = v1.get_variable("v", [2, 3], initializer=v1.ones_initializer())
        step = optimizer(v1).apply_gradients([(g, v)])
        with v1.control_dependencies([step]):
            return v.read_value()

    return build


def minimized(v1, x):
    w = v1.get_variable("w", [3, 1], initializer=v1.ones_initializer())
    step = v1.train.GradientDescentOptimizer(0.1).minimize(v1.reduce_mean(v1.square(v1.matmul(x, w))))
    with v1.control_dependencies([step]):
        return w.read_value()


def diagonals(v1, k, bounds):
    wide, rows = (v1.linalg.diag_part(N, k=one, padding_value=9.0) for one in (k, bounds))
    again = v1.linalg.diag(rows, k=bounds, num_rows=3, num_cols=k + 3)
    return [wide, rows, again, v1.linalg.set_diag(N, rows, k=bounds), v1.linalg.band_part(N, k, k)]


def repeated(v1, x):
    return v1.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * 2.0), [0, x])[1]


def kept(v1, k):
    return v1.matmul(v1.nn.dropout(v1.constant(N), k), v1.ones([4, 2]))


def as_said(shape, f):
    """A function of a tensor whose shape `set_shape` gives."""

    def build(v1, x):
        y = x * 2.0 + 1.0
        y.set_shape(shape)
        return f(v1, y)

    return build


INFERRED = {  # name → a function of placeholders without a shape, and the values to feed
    "matmul": (lambda v1, x: v1.matmul(x, N), MATRIX),
    "matmul (of many)": (lambda v1, x: v1.matmul(x, N), array(2, 1, 3)),
    "matmul (both, transposed)": (lambda v1, x, y: v1.matmul(x, y, transpose_b=True), MATRIX, MATRIX),
    "nn.conv2d": (lambda v1, x: v1.nn.conv2d(x, KERNEL, [1, 1, 1, 1], "SAME"), IMAGES),
    "nn.conv2d (both)": (lambda v1, x, k: v1.nn.conv2d(x, k, [1, 2, 2, 1], "VALID"), IMAGES, array(3, 3, 3, 2)),
    "nn.conv1d": (lambda v1, x: v1.nn.conv1d(x, KERNEL[0], 1, "SAME"), array(2, 5, 3)),
    "nn.depthwise_conv2d": (lambda v1, x: v1.nn.depthwise_conv2d(x, KERNEL, [1, 1, 1, 1], "SAME"), IMAGES),
    "nn.max_pool": (lambda v1, x: v1.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"), IMAGES),
    "nn.avg_pool": (lambda v1, x: v1.nn.avg_pool(x, [1, 2, 2, 1], [1, 1, 1, 1], "SAME"), IMAGES),
    "nn.bias_add": (lambda v1, x: v1.nn.bias_add(x, V), IMAGES),
    "nn.lrn": (lambda v1, x: v1.nn.lrn(x), IMAGES),
    "nn.moments": (lambda v1, x: v1.nn.moments(x, [0]), MATRIX),
    "nn.softmax": (lambda v1, x: v1.nn.softmax(x), MATRIX),
    "nn.top_k": (lambda v1, x: v1.nn.top_k(x, 2), MATRIX),
    "nn.dropout (by a placeholder)": (kept, np.float32(1)),
    "nn.embedding_lookup": (lambda v1, i: v1.nn.embedding_lookup(v1.constant(N), i), ints(1, 2, high=3)),
    "nn.softmax_cross_entropy_with_logits_v2": (
        lambda v1, x, y: v1.nn.softmax_cross_entropy_with_logits_v2(labels=x, logits=y), array(2, 3, low=0), MATRIX
    ),
    "nn.sparse_softmax_cross_entropy_with_logits": (
        lambda v1, i, y: v1.nn.sparse_softmax_cross_entropy_with_logits(labels=i, logits=y), ints(2, high=3), MATRIX
    ),
    "one_hot": (lambda v1, i: v1.one_hot(i, 3), ints(2, high=3)),
    "one_hot (axis)": (lambda v1, i: v1.one_hot(i, 3, axis=0), ints(1, 2, high=3)),
    "where": (lambda v1, x, y: v1.where(x > 0.0, x, y), MATRIX, MATRIX),
    "where (positions)": (lambda v1, x: v1.where(x > 0.0), MATRIX),
    "split": (lambda v1, x: v1.split(x, 2, axis=1), array(2, 4)),
    "split (sizes)": (lambda v1, x: v1.split(x, [1, 3], axis=-1), array(2, 4)),
    "tensordot": (lambda v1, x: v1.tensordot(x, N, 1), MATRIX),
    "tensordot (axes)": (lambda v1, x, y: v1.tensordot(x, y, [[1], [0]]), MATRIX, SQUARE),
    "index": (lambda v1, x: [x[0], x[:, 1:], x[..., 0], x[:, v1.newaxis]], MATRIX),
    "index (a bound)": (lambda v1, i: v1.constant(N)[:, i:], np.int32(1)),
    "gather": (lambda v1, x, i: v1.gather(x, i), MATRIX, ints(2, high=2)),
    "gather_nd": (lambda v1, x, i: v1.gather_nd(x, i), MATRIX, ints(1, 2, high=2)),
    "slice": (lambda v1, x: v1.slice(x, [0, 1], [2, 2]), MATRIX),
    "reshape": (lambda v1, x: v1.reshape(x, [-1]), MATRIX),
    "transpose": (lambda v1, x: [v1.transpose(x), v1.transpose(x, [1, 0])], MATRIX),
    "squeeze": (lambda v1, x: [v1.squeeze(x), v1.squeeze(x, [1]), v1.expand_dims(x, -1)], array(2, 1, 3)),
    "tile": (lambda v1, x: [v1.tile(x, [2, 1]), v1.pad(x, [[1, 1], [0, 2]])], MATRIX),
    "concat": (lambda v1, x, y: [v1.concat([x, N[:, :3]], 0), v1.concat([x, y], 1)], MATRIX, MATRIX),
    "stack": (lambda v1, x, y: [v1.stack([x, y], 1), *v1.unstack(x, 2)], MATRIX, MATRIX),
    "rank": (lambda v1, x: [v1.rank(x), v1.shape(x), v1.size(x), v1.zeros_like(x)], MATRIX),
    "trace": (lambda v1, x: v1.trace(x), SQUARE),
    "matrix_diag_part": (lambda v1, x: [v1.matrix_diag_part(x), v1.matrix_band_part(x, 0, -1)], SQUARE),
    "einsum": (lambda v1, x, y: [v1.einsum("ab,bc->ac", x, N), v1.einsum("ab,cb->ac", x, y)], MATRIX, MATRIX),
    "map_fn": (lambda v1, x: v1.map_fn(lambda row: row * 2.0, x), MATRIX),
    "while_loop": (repeated, MATRIX),
    "cond": (lambda v1, x: v1.cond(v1.reduce_sum(x) > 0.0, lambda: x, lambda: -x), MATRIX),
    "boolean_mask": (lambda v1, x: v1.boolean_mask(x, np.array([True, False])), MATRIX),
    "image.resize_bilinear": (lambda v1, x: v1.image.resize_bilinear(x, [2, 2]), IMAGES),
    "assign": (assigned, MATRIX),
    "assign_add": (added, MATRIX),
    "minimize": (minimized, MATRIX),
    "apply_gradients": (stepped(lambda v1: v1.train.GradientDescentOptimizer(0.1)), MATRIX),
    "apply_gradients (Adam)": (stepped(lambda v1: v1.train.AdamOptimizer(0.1)), MATRIX),
    "apply_gradients (Momentum)": (stepped(lambda v1: v1.train.MomentumOptimizer(0.1, 0.9)), MATRIX),
    "gradients (reduce_mean)": (lambda v1, x: v1.gradients(v1.reduce_mean(x * V), x), MATRIX),
    "gradients (reduce_sum, axis)": (lambda v1, x: v1.gradients(v1.reduce_sum(x, 1) ** 2, x), MATRIX),
    "gradients (reduce_max, axis)": (lambda v1, x: v1.gradients(v1.reduce_max(x, -1), x), array(2, 3, gap=0.1)),
    "gradients (matmul)": (lambda v1, x, y: v1.gradients(v1.matmul(x, y), [x, y]), MATRIX, SQUARE),
    "gradients (broadcast)": (lambda v1, x, y: v1.gradients(x * y, [x, y]), MATRIX, array(3)),
    "gradients (split)": (lambda v1, x: v1.gradients(v1.split(x, 2, 1)[0], x), array(2, 4)),
    "gradients (nn.conv2d)": (
        lambda v1, x: v1.gradients(v1.nn.conv2d(x, KERNEL, [1, 1, 1, 1], "SAME"), x), IMAGES
    ),
    "set_shape": (as_said([2, 3], lambda v1, y: y), MATRIX),
    "set_shape (a variable's product)": (as_said([None, 3], lambda v1, y: v1.matmul(y, N)), MATRIX),
    "set_shape (a size from it)": (as_said([2, 3], lambda v1, y: y + v1.zeros([y.shape[0], 1])), MATRIX),
    "set_shape (a Python loop)": (as_said([2, None], lambda v1, y: v1.unstack(y)), MATRIX),
    "set_shape (a gradient)": (as_said([2, 3], lambda v1, y: v1.gradients(v1.reduce_sum(y**2), y)), MATRIX),
}  # fmt: skip
COMPUTED = {
    "linalg.diag_part (k)": (diagonals, np.int32(1), np.array([-1, 0], "int32")),
    "nn.conv2d_transpose": (
        lambda v1, x: v1.nn.conv2d_transpose(x, KERNEL, [2, 8, 8, 3], [1, 2, 2, 1]), array(2, 4, 4, 2)
    ),
    "norm": (lambda v1, x: v1.norm(x), MATRIX),
    "index (a position)": (lambda v1, i: v1.constant(N)[0, i], np.int32(1)),
    "nn.in_top_k": (lambda v1, x, i: v1.nn.in_top_k(x, i, 1), MATRIX, ints(2, high=3)),
}  # fmt: skip


def titled(name):
    """The offered name of a function, and the case in parentheses; "placeholder" for a method."""
    function, _, variant = name.rstrip(")").partition(" (")
    said = ", ".join(filter(None, ["unknown rank", "" if function in V1 else function, variant]))
    return f"{function if function in V1 else 'placeholder'} ({said})"


CASES = [
    *(in_graph(titled(name), fed(f), *arrays) for name, (f, *arrays) in INFERRED.items()),
    *(in_graph(titled(name), fed(f, shapes=False), *arrays) for name, (f, *arrays) in COMPUTED.items()),
]
