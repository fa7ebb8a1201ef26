"""Cases of CTC."""

import numpy as np

from dovetail.ops.samples import ints
from tests.backend.parity import call, program

EAGER, LATER = ("eager",), ("compiled", "symbolic")
COST, DECODE, SPARSE = "ctc_batch_cost", "ctc_decode", "ctc_label_dense_to_sparse"


def predictions(*shape, seed=0, sharp=2.0):
    scores = np.exp(np.random.default_rng(seed).normal(size=shape) * sharp)
    return (scores / scores.sum(-1, keepdims=True)).astype("float32")


def column(*numbers):
    return np.array(numbers, "int32")[:, None]


P = predictions(3, 6, 4)
SURE = np.eye(4, dtype="float32")[[[0, 3, 1, 3, 1, 3], [2, 3, 3, 3, 3, 3], [0, 0, 1, 1, 2, 2]]]
Y = np.array([[0, 1, 1], [2, 0, 0], [1, 2, 0]], "int32")
TIMES, COUNT = column(6, 4, 5), column(3, 1, 2)
UNCHECKED = "values that are not known before a program runs are not checked: fewer times than labels cost infinity."

MISSING = (
    "Where lengths are not known before a program runs, decodings that are missing are empty, with a score of"
    " -infinity."
)


def cost(y=Y, p=P, times=TIMES, count=COUNT, **options):
    return call(COST, y, p, times, count, **options)


def decode(p=P, times=(6, 4, 5), **options):
    return call(DECODE, p, np.array(times, "int32"), **options)


def beams(p, times=(6, 4, 5), **options):
    return decode(p, times, greedy=False, **options)


def sparse(labels, lengths, **options):
    """The case of a sparse tensor's parts. Their sizes depend on values, so jax cannot compile them."""

    def parts(K, labels, lengths):
        s = K.ctc_label_dense_to_sparse(labels, lengths)
        return [s.indices, s.values, s.dense_shape]

    return program(SPARSE, parts, labels, lengths, ways=EAGER, **options)


ALL_PATHS = np.full((1, 2, 3), 1 / 3, "float32")

CASES = [
    # ctc_batch_cost
    cost(),
    cost(y=Y.astype("float32")),
    cost(y=Y.astype("int64"), times=TIMES.astype("int64"), count=COUNT.astype("int64")),
    cost(times=TIMES.astype("float32"), count=COUNT.astype("float32")),
    cost(p=P.astype("float64")),
    cost(p=P.astype("float16"), tolerance=3),
    cost(p=P * 3),
    cost(p=SURE),
    cost(p=np.full_like(P, 0.25)),
    cost(p=P * np.float32(np.nan)),
    cost(y=np.array([[0, 1, 1], [2, -1, -1], [1, 2, 99]], "int32")),
    cost(y=np.array([[0, 1, 3], [2, 0, 0], [1, 9, 0]], "int32")),
    cost(times=column(3, 4, 5)),
    cost(count=column(9, 1, 2)),
    cost(Y[:1], predictions(1, 6, 4, seed=1), TIMES[:1], COUNT[:1]),
    cost(np.array([[0]]), predictions(1, 1, 2, seed=2), column(1), column(1)),
    cost(ints(4, 5, high=29), predictions(4, 30, 30, seed=3), column(30, 29, 12, 11), column(5, 1, 3, 5)),
    cost(count=column(3, 0, 2), raises=True, ways=EAGER),
    cost(count=column(3, -1, 2), raises=True, ways=EAGER),
    cost(times=column(2, 4, 5), raises=True, ways=EAGER),
    cost(times=column(6, 0, 5), raises=True, ways=EAGER),
    cost(times=column(7, 4, 5), raises=True, ways=EAGER),
    cost(times=column(6, -1, 5), raises=True, ways=EAGER),
    cost(y=np.array([[0, -1, 1], [2, 0, 0], [1, 2, 0]]), raises=True, ways=EAGER),
    cost(y=np.array([[0, 3, 1], [2, 0, 0], [1, 2, 0]]), raises=True, ways=EAGER),
    cost(times=np.array([6, 4, 5]), raises=True, ways=("eager", "compiled")),
    cost(y=Y[:1], raises=True, ways=("eager", "compiled")),
    cost(times=TIMES[:1], raises=True, ways=("eager", "compiled")),
    cost(count=COUNT[:1], raises=True, ways=("eager", "compiled")),
    cost(p=P[0], raises=True),
    cost(y=Y[0], raises=True),
    cost(Y[:0], P[:0], TIMES[:0], COUNT[:0], raises=True, ways=("eager", "compiled")),
    cost(
        np.array([[0, 1]]),
        ALL_PATHS,
        column(1),
        column(2),
        ways=LATER,
        differs=UNCHECKED,
        expected=lambda *arrays: np.array([[np.inf]], "float32"),
    ),
    cost(
        np.array([[0, 1]]),
        ALL_PATHS,
        column(2),
        column(0),
        ways=LATER,
        differs=UNCHECKED,
        expected=lambda *arrays: np.array([[np.log(9)]], "float32"),
    ),
    # ctc_label_dense_to_sparse
    sparse(Y, np.array([3, 1, 2], "int32")),
    sparse(Y.astype("float32"), np.array([0, 2, 1], "int32")),
    sparse(Y.astype("int64"), np.array([9, -1, 1], "int32")),
    sparse(Y, np.array([0, 0, 0], "int32")),
    sparse(Y, column(3, 1, 2)),
    sparse(Y[:0], np.zeros(0, "int32")),
    sparse(Y, np.array([1], "int32"), raises=True),
    sparse(Y, np.array([1, 1], "int32"), raises=True),
    sparse(Y[0], np.array([1], "int32"), raises=True),
    sparse(
        Y,
        np.array([1, 2, 0]),
        differs="lengths may have any dtype; tf.keras refuses all but int32.",
        expected=lambda y, n: [np.array([[0, 0], [1, 0], [1, 1]]), np.array([0, 2, 0], "int32"), np.array([3, 3])],
    ),
    # ctc_decode
    decode(),
    decode(SURE),
    decode(P.astype("float64")),
    decode(P * 3),
    decode(times=(6, 0, 1)),
    decode(times=(6, -1, 1)),
    decode(predictions(2, 20, 8, seed=4, sharp=1.0), (20, 13)),
    decode(np.full((1, 3, 3), 1 / 3, "float32"), (3,)),
    decode(np.ones((1, 3, 1), "float32"), (3,)),
    decode(P * np.float32(np.nan)),
    decode(top_paths=2),
    decode(times=TIMES, raises=True, ways=("eager", "compiled")),
    decode(P[0], raises=True),
    decode(P[:0], (), raises=True, ways=("eager", "compiled")),
    decode(P[:, :0], (0, 0, 0), raises=True, ways=("eager", "compiled")),
    decode(
        SURE.astype("float16"),
        differs="float16 is decoded, too; tf.keras refuses it.",
        expected=lambda p, n: [
            np.array([[0, 1, 1, -1, -1, -1], [2, *[-1] * 5], [0, 1, 2, -1, -1, -1]]),
            np.zeros((3, 1), "float16"),
        ],
        tolerance=2,
    ),
    # ctc_decode, by beam search
    beams(P, beam_width=20, top_paths=3),
    beams(P, beam_width=1),
    beams(P, beam_width=3, top_paths=3),
    beams(SURE, beam_width=10),
    beams(P.astype("float64"), beam_width=6, top_paths=2),
    beams(P, (6, 0, 1), beam_width=6),
    beams(P, (6, -1, 1), beam_width=6),
    beams(predictions(2, 12, 5, seed=5, sharp=0.5), (12, 9), beam_width=4, top_paths=2),
    beams(np.ones((1, 3, 1), "float32"), (3,), beam_width=3),
    beams(P, beam_width=2, top_paths=3, raises=True),
    beams(P, beam_width=2, top_paths=0, raises=True),
    beams(P, beam_width=0, raises=True),
    beams(P, (1, 1, 1), beam_width=20, top_paths=9, raises=True, ways=EAGER),
    beams(P[:0], (), raises=True, ways=("eager", "compiled")),
    beams(
        np.array([[[0.5, 0.3, 0.2]]], "float32"),
        (1,),
        beam_width=5,
        top_paths=4,
        ways=LATER,
        differs=MISSING,
        expected=lambda p, n: [
            *(np.array([[c]]) for c in (0, 1, -1, -1)),
            np.append(np.log(p[0]), [[-np.inf]], 1).astype("float32"),
        ],
    ),
]
