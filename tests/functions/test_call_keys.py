"""Quick calls: a call that is like an earlier one finds its plan by a key, and gives the same results."""

import threading

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from tests.frames import frames

A, B = np.arange(6, dtype="float32").reshape(2, 3), np.full((2, 3), 2, "float32")


def summed(*args):
    """The sum of the tensors and arrays among nested arguments, each times its place."""
    leaves, count = list(args), 0
    total = ops.zeros((2, 3))
    while leaves:
        leaf = leaves.pop(0)
        if isinstance(leaf, (list, tuple)):
            leaves[:0] = leaf
        elif isinstance(leaf, dict):
            leaves[:0] = [leaf[name] for name in sorted(leaf)]
        elif leaf is not None and not isinstance(leaf, (str, bool, int)):
            count += 1
            total = total + ops.cast(leaf, "float32") * float(count)
        elif leaf is True:
            total = total + 100.0
    return total


ARGUMENTS = {
    "tensor": lambda: (ops.constant(A),),
    "array": lambda: (A,),
    "both": lambda: (A, ops.constant(B)),
    "tensor first": lambda: (ops.constant(B), A),
    "none": lambda: (A, None, B),
    "pair": lambda: ((A, B),),
    "list": lambda: ([A, B],),
    "list of none": lambda: ([A, None, B], None),
    "dict": lambda: ({"b": A, "a": ops.constant(B)},),
    "deep": lambda: ({"x": [(A, {"y": B}), None]}, ops.constant(A)),
    "static": lambda: (A, 3, True, "word"),
    "wide": lambda: (A.astype("float64"), A.astype("int64")),
    "bools": lambda: (A > 2,),
    "views": lambda: (np.arange(12, dtype="float32").reshape(2, 6)[:, ::2], A.T.copy().T),
    "half": lambda: (A.astype("float16"),),
}
FEW = 5  # frames by which calls on nested arguments are longer


@pytest.mark.parametrize("name", ARGUMENTS)
def test_calls_with_a_key(engine, name):
    made = ARGUMENTS[name]
    f = dt.function(summed)
    expected = summed(*made()).numpy()
    for _ in range(3):
        np.testing.assert_allclose(f(*made()).numpy(), expected)
    args = made()
    assert frames(lambda: f(*args), "/functions/") <= 2 + FEW  # no flattening, no classification
    assert len(f.traces) == 1


class Own(np.ndarray):
    """A subclass, whose methods Dovetail does not know."""


LONG = {
    "subclass": lambda: A.view(Own),
    "other byte order": lambda: A.astype(">f4"),
    "number": lambda: 2.5,
    "scalar": lambda: np.float32(3),
    "nested too deep": lambda: [[[[[[[[[[A]]]]]]]]]],
}


@pytest.mark.parametrize("name", LONG)
def test_calls_without_a_key_are_right_too(engine, name):
    value = LONG[name]()
    inner = value
    f = dt.function(summed)
    for _ in range(3):
        while isinstance(inner, list):
            (inner,) = inner
        np.testing.assert_allclose(f(value).numpy(), np.zeros((2, 3)) + np.asarray(inner))


def test_arrays_of_objects_are_refused_each_time():
    f = dt.function(lambda x: ops.constant(1.0) + x)
    for _ in range(3):
        with pytest.raises((TypeError, ValueError)):
            f(np.array([object()]))


CHANGES = {
    "shape": (lambda x: (x,), lambda x: (x[:1],)),
    "dtype": (lambda x: (x,), lambda x: (x.astype("float64"),)),
    "static": (lambda x: (x, 1), lambda x: (x, 2)),
    "true and one": (lambda x: (x, 1), lambda x: (x, True)),
    "none": (lambda x: (x, None), lambda x: (x, x)),
    "kind": (lambda x: ([x, x],), lambda x: ((x, x),)),
    "names": (lambda x: ({"a": x, "b": x},), lambda x: ({"a": x, "c": x},)),
    "nesting": (lambda x: ([x], [x]), lambda x: ([x, [x]],)),
    "tensor": (lambda x: (x,), lambda x: (ops.constant(x),)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_another_call_is_not_taken_for_one_before(engine, name):
    f = dt.function(lambda *args: (len(args), [str(type(v)) for v in args], [v for v in args if hasattr(v, "shape")]))
    given = [made(A) for made in CHANGES[name]]
    for _ in range(3):
        for args in given:
            count, _, tensors = f(*args)
            arrays = [v for v in args if hasattr(v, "shape")]
            assert count == len(args) and len(tensors) == len(arrays)
            for tensor, array in zip(tensors, arrays, strict=True):
                assert (tensor.shape, str(tensor.dtype)) == (array.shape, str(array.dtype))


def test_the_caller_may_change_an_array_after_the_call(engine):
    f = dt.function(lambda x: (x, x + 1.0))
    given, seen = A.copy(), []
    for _ in range(4):
        seen.append(f(given))
        given += 1
    for i, (same, more) in enumerate(seen):
        np.testing.assert_allclose(same.numpy(), A + i)
        np.testing.assert_allclose(more.numpy(), A + i + 1)


def test_the_current_engine_decides_about_calls_on_arrays():
    f = dt.function(lambda x: x + 1.0)
    for _ in range(3):
        for name in dt.list_engines():
            with dt.engine(name):
                assert f(A).engine == ops.constant(A).engine, name


def test_settings_and_scopes_change_the_key(engine):
    f = dt.function(lambda x: x * dt.config.epsilon())
    before = [f(A).numpy() for _ in range(3)]
    epsilon = dt.config.epsilon()
    try:
        dt.config.set_epsilon(0.5)
        np.testing.assert_allclose(f(A).numpy(), A * 0.5)
    finally:
        dt.config.set_epsilon(epsilon)
    np.testing.assert_allclose(f(A).numpy(), before[0])
    with dt.taps("Mul") as seen:
        f(A)
    assert seen["Mul"].shape == (2, 3)


def test_tapes_and_graphs_around_take_the_long_way(engine):
    f = dt.function(lambda x: x * x)
    x = ops.constant(A)
    for _ in range(3):
        f(x)
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), 2 * A)
    assert [op.type for op in dt.function(lambda x: f(x)).graph(dt.spec((2, 3)))][-1] == "Mul"


def test_threads_have_scopes_of_their_own():
    f = dt.function(lambda x: x + dt.config.epsilon())
    found = []
    for name in dt.list_engines():
        with dt.engine(name):
            f(A)
            thread = threading.Thread(target=lambda: found.append(f(A).engine))
            thread.start()
            thread.join()
    assert found == [ops.constant(A).engine] * len(found) and len(found) == len(dt.list_engines())


def test_a_settled_choice_adds_one_frame(monkeypatch):
    with dt.engine("numpy"):
        x = ops.constant(A)
        named, chosen = (dt.function(lambda x: ops.tanh(x) + 1.0, engine=name) for name in ("numpy", "auto"))
        plan = chosen.plan(x)
        plan.pin("numpy")
        for _ in range(100):
            named(x), chosen(x)
        monkeypatch.setattr(plan, "_untimed", 1000)
        assert frames(lambda: chosen(x)) <= frames(lambda: named(x)) + 1


def test_calls_by_a_signature_have_a_key(engine):
    """Check that an array of the signature's dtype is as quick as without one, whatever its size, and is copied."""
    f, g = (dt.function(lambda x: x * 2.0, input_signature=s) for s in ([dt.spec((None, 3))], None))
    rows = [np.full((n, 3), n, "float32") for n in (1, 2, 1)]
    for x in rows:
        result = f(x)
        x += 1.0
        np.testing.assert_array_equal(result.numpy(), 2 * (x - 1.0))
    f(A), g(A)
    assert frames(lambda: f(A)) <= frames(lambda: g(A)) + FEW
    np.testing.assert_array_equal(f(A.astype("float64")).numpy(), 2 * A)
