"""Checks of groups among four ranks; `test_collective.py` starts them, on an engine each."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.distributed.parts import NUMBERS, Parts

dt.distributed.init(timeout=60)
RANK, SIZE = dt.distributed.rank(), dt.distributed.world_size()
GROUPS = ((0, 1), (2, 3), (0, 1, 2), (0, 1, 2, 3), (1, 3))  # each rank meets its groups in this order
DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
REDUCED = {"sum": np.add, "mean": np.add, "max": np.maximum, "min": np.minimum}
SHAPES = ((), (0,), (12,), (12, 2), (0, 3), (12, 0), (12, 60))  # 12 rows can be divided among two, three and four ranks


def mine():
    """The groups of this rank, and its place in each."""
    return [(group, group.index(RANK)) for group in GROUPS if RANK in group]


def drawn(rank, shape, dtype="float64"):
    """The tensor of a rank as an array; small whole numbers, so that sums are exact in all dtypes."""
    rng = np.random.default_rng([rank, *shape])
    return rng.integers(0, 5, shape).astype(dt.dtypes.as_dtype(dtype).numpy)


def expected(name, parts, place, options):
    """The value of a collective by NumPy, from the tensors of the group."""
    if name in ("all_reduce", "reduce_scatter"):
        whole = REDUCED[options[0]].reduce(parts) / (len(parts) if options[0] == "mean" else 1)
        whole = whole.astype(parts[0].dtype)
        return whole if name == "all_reduce" else np.split(whole, len(parts))[place]
    return {
        "all_gather": lambda: np.concatenate(parts),
        "broadcast_from": lambda: parts[-1],
        "all_to_all": lambda: np.concatenate([np.split(part, len(parts))[place] for part in parts]),
        "barrier": lambda: parts[place],
    }[name]()


def cases(dtype, shape):
    """(name, its options without the group) of the collectives of a dtype and a shape; a root is filled in later."""
    kind = dt.dtypes.as_dtype(dtype)
    reductions = [
        *(["sum"] if dtype != "bool" else []),
        *(["mean"] if kind.is_differentiable else []),
        *(["max", "min"] if not kind.is_complex else []),
    ]
    moved = [("all_gather", ()), ("all_to_all", ()), *(("reduce_scatter", (way,)) for way in reductions)]
    return [
        *(("all_reduce", (way,)) for way in reductions),
        ("broadcast_from", ()),
        ("barrier", ()),
        *(moved * (shape != ())),
    ]


def call(name, options, group):
    """A collective of a group as a function of a tensor."""
    given = (max(group),) if name == "broadcast_from" else options
    return lambda x: getattr(ops, name)(x, *given, group)


def every_dtype() -> None:
    """Check each collective for each dtype: scalars, empty tensors, and tensors with rows."""
    for group, place in mine():
        for dtype, shape in itertools.chain(
            itertools.product(DTYPES, SHAPES[-1:]), itertools.product(("float32", "bool"), SHAPES[:-1])
        ):
            parts = [drawn(rank, shape, dtype) for rank in group]
            for name, options in cases(dtype, shape):
                found = call(name, options, group)(ops.convert(parts[place]))
                words = f"{name} {options} of {dtype}{shape} in {group}"
                wanted = expected(name, parts, place, options)
                assert (found.dtype, found.shape) == (dtype, wanted.shape), words
                both = [np.asarray(value, "complex128") for value in (found.numpy(), wanted)]
                np.testing.assert_allclose(*both, rtol=1e-2 if "16" in dtype else 1e-6, err_msg=words)


def parts() -> None:
    """Check that the bits of a large sum do not depend on the number of parts, which is chosen by time."""
    for group, place in mine():
        for dtype in ("float32", "float64", "int8", "float16", "bfloat16"):
            normal = [np.random.default_rng(rank).normal(0, 9, size=(100_003, 3)) for rank in group]
            given = [array.astype(dt.dtypes.as_dtype(dtype).numpy) for array in normal]
            for number in NUMBERS:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(Parts, "next", lambda self, size, number=number: number)
                    found = ops.all_reduce(given[place], ranks=group).numpy()
                np.testing.assert_array_equal(found, functools.reduce(np.add, given), f"{dtype}, {number}, {group}")


def unknown_dimensions() -> None:
    """Check that functions and sessions compute tensors whose number of rows is not known before they run."""
    for group, place in mine():
        for name, options in cases("float32", (12, 2)):
            graph = dt.SessionGraph()
            collective = call(name, options, group)
            with graph.as_default():
                x = graph.placeholder(dt.spec((None, 2)), "x")
                fetched = collective(x + 1.0) * 2.0
            function = dt.function(lambda x, f=collective: f(x + 1.0) * 2.0, input_signature=[dt.spec((None, 2))])
            with dt.Session(graph) as session:
                for rows in (12, 24, 0):
                    parts = [drawn(rank, (rows, 2), "float32") for rank in group]
                    wanted = 2 * expected(name, [part + 1 for part in parts], place, options)
                    for found in (function(parts[place]), session.run(fetched, {x: parts[place]})):
                        np.testing.assert_allclose(found, wanted, rtol=1e-5, err_msg=f"{name} {options} in {group}")


def nested() -> None:
    """Check groups in functions that call functions, in loops, and in branches of some ranks only."""

    @dt.function
    def pair(x):
        return ops.all_reduce(x, "sum", (0, 1)) if RANK < 2 else ops.all_reduce(x, "max", (2, 3))

    @dt.function
    def f(x):
        def step(i, v):
            return i + 1, ops.all_reduce(pair(v), "mean", (0, 1, 2, 3)) + 1.0

        _, y = ops.while_loop(lambda i, v: i < 3, step, (ops.convert(0), x))
        z = ops.cond(ops.max(y) > 1e6, lambda: y, lambda: ops.all_gather(y, (0, 2) if RANK in (0, 2) else (1, 3)))
        return y, z, ops.scan(lambda c, row: (c + ops.all_reduce(row, ranks=(0, 1, 2, 3)), c), ops.zeros(2), z)[0]

    x = [drawn(rank, (12, 2), "float32") for rank in range(SIZE)]
    for _ in range(3):
        x = [x[0] + x[1], x[0] + x[1], np.maximum(x[2], x[3]), np.maximum(x[2], x[3])]
        x = [np.mean(x, 0) + 1] * SIZE
    y, z, total = f(drawn(RANK, (12, 2), "float32"))
    np.testing.assert_allclose(y, x[0], rtol=1e-5)
    np.testing.assert_allclose(z, np.concatenate(x[:2]), rtol=1e-5)
    np.testing.assert_allclose(total, 2 * SIZE * np.sum(x[0], 0), rtol=1e-5)


def gradients() -> None:
    """Check gradients against finite differences of the sum of the losses of all ranks."""
    step = 1e-6
    for group in GROUPS:  # all ranks add the losses, so those of no group take part
        for name, options in cases("float64", (12, 2)):
            if name == "reduce_scatter" and options[0] in ("max", "min"):
                continue
            rng = np.random.default_rng([RANK, len(group)])
            x, direction, weights = rng.normal(size=(12, 2)), rng.normal(size=(12, 2)), rng.normal(size=(48, 2))

            def loss(value, group=group, name=name, options=options, weights=weights):
                y = call(name, options, group)(value) if RANK in group else value
                return ops.sum(ops.square(y) * weights[: y.shape[0]])

            def differentiated(value, loss=loss):
                with dt.GradientTape() as tape:
                    tape.watch(value)
                    total = loss(value)
                return tape.gradient(total, value)

            slopes = [
                ops.sum(gradient * direction)
                for gradient in (differentiated(ops.convert(x)), dt.function(differentiated)(ops.convert(x)))
            ]
            for rank in range(SIZE):
                move = step * direction * (rank == RANK)
                totals = [float(ops.all_reduce(loss(ops.convert(x + sign * move)))) for sign in (1, -1)]
                difference = (totals[0] - totals[1]) / (2 * step)
                for found in slopes if rank == RANK else ():
                    np.testing.assert_allclose(found, difference, 1e-5, 1e-5, err_msg=f"{name} {options} in {group}")


def outsiders() -> None:
    """Check that a rank outside of a group is refused, and that the group goes on."""
    if RANK == 3:
        with pytest.raises(ValueError, match=r"this process has rank 3, so it is not in the group \(0, 1, 2\)"):
            ops.all_reduce(1.0, ranks=(2, 1, 0))
    else:
        assert float(ops.all_reduce(1.0, ranks=(2, 1, 0))) == 3


if __name__ == "__main__":
    for check in (every_dtype, parts, unknown_dimensions, nested, gradients, outsiders):
        check()
        print("checked", check.__name__, flush=True)
