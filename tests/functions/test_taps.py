"""Taps: what they see at points agrees with NumPy on every engine, and the program computes as without them."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from tests.frames import frames

X = np.array([0.5, -1.0, 2.0], "float32")


def near(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def hidden(x):
    h = dt.tap(ops.tanh(x), "hidden")
    return ops.sum(ops.exp(h) * 2.0)


def with_gradient(x):
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = hidden(x)
    return y, tape.gradient(y, x)


def test_points_of_a_program(engine):
    f = dt.function(hidden)
    seen = f.taps()
    near(seen(X), f(X))
    found = seen["hidden"]
    assert (found.shape, found.dtype, found.value, found.gradient) == ((3,), "float32", None, None)
    h, said = np.tanh(X), found.statistics
    near([said.least, said.most, said.mean, said.norm], [h.min(), h.max(), h.mean(), np.linalg.norm(h)])
    assert (said.kind, said.size, said.nans, said.zeros, said.steps) == ("float32[3]", 3, 0, 0, 1)


def test_patterns(engine):
    f = dt.function(hidden)
    seen = f.taps({"Exp|Tanh": ["value"], "Su.": "shape"})
    near(seen(X), f(X))
    assert sorted(seen) == ["Exp", "Sum", "Tanh", "hidden"]
    near(seen["Exp"].value, np.exp(np.tanh(X)))
    assert (seen["Sum"].shape, seen["Sum"].statistics) == ((), None)


@pytest.mark.parametrize("way", ["inside", "outside", "eager"])
def test_gradients(engine, way):
    wanted = {"hidden": ["value", "gradient"]}
    x, slope = ops.convert(X), 2.0 * np.exp(np.tanh(X))
    with dt.taps({**wanted, "Exp": ["value", "gradient"]}) as seen:
        if way == "outside":
            with dt.GradientTape() as tape:
                tape.watch(x)
                y = dt.function(hidden)(x)
            gradient = tape.gradient(y, x)
        else:
            _, gradient = (dt.function(with_gradient) if way == "inside" else with_gradient)(x)
    near(gradient, slope * (1 - np.tanh(X) ** 2))
    near(seen["hidden"].gradient.value, slope)
    near(seen["Exp"].gradient.value, [2.0] * 3)
    near(seen["hidden"].gradient.statistics.norm, np.linalg.norm(slope))


def test_branches_and_loops(engine):
    def program(x):
        y = ops.cond(ops.sum(x) > 0, lambda: dt.tap(x * 2.0, "then"), lambda: dt.tap(x - 1.0, "else"))
        _, z = ops.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, dt.tap(z * 2.0, "while")), (0, y))
        total, _ = ops.scan(lambda c, row: (dt.tap(c + row, "scan"), c), 0.0, z)
        return total

    names = ("then", "else", "while", "scan")
    f = dt.function(program)
    seen = f.taps(dict.fromkeys(names, "value"))
    near(seen(X), f(X))
    said = {name: seen[name].statistics for name in names}
    assert [said[name].steps for name in names] == [1, 0, 3, 3]
    near(seen["then"].value, X * 2)
    near(seen["while"].value, X * 16)
    near(seen["scan"].value, np.cumsum(X * 16))
    near([said["while"].least, said["while"].most, said["while"].size], [-16.0, 32.0, 9])
    assert "not computed" in str(seen["else"])
    bad = np.array([1.0, 3e38, 1.0], "float32")
    seen(bad)
    assert (seen["while"].statistics.first_bad_step, seen["scan"].statistics.first_bad_step) == (0, 1)
    assert len(seen.history("scan")) == 2


def test_gradients_in_loops(engine):
    def program(x):
        with dt.GradientTape() as tape:
            tape.watch(x)
            total, _ = ops.scan(lambda c, row: (dt.tap(c * row, "step"), None), 1.0, x)
        return tape.gradient(total, x)

    f = dt.function(program)
    seen = f.taps({"step": ["value", "gradient"]})
    near(seen(X), f(X))
    near(seen["step"].value, np.cumprod(X))
    near(seen["step"].gradient.value, [-2.0, 2.0, 1.0])  # the product of the later rows


def test_unknown_dimensions(engine):
    f = dt.function(lambda x: ops.sum(dt.tap(x * 2.0, "rows"), axis=0), input_signature=[dt.spec((None, 3))])
    seen = f.taps({"rows": "shape"})
    for rows in (2, 0):
        near(seen(np.ones((rows, 3), "float32")), [2.0 * rows] * 3)
        assert seen["rows"].shape == (rows, 3)


def test_a_graph_from_outside(engine):
    graph = dt.function(lambda x: ops.sum(ops.tanh(x) * 2.0)).graph(dt.spec((3,)))
    assert graph.tap("Tanh", "M.*") == ["Tanh", "Mul"]
    f = dt.function(graph)
    near(f(X), np.sum(np.tanh(X) * 2))
    with dt.taps({"Mul": "value"}) as seen:
        near(f(X), np.sum(np.tanh(X) * 2))
    near(seen["Mul"].value, np.tanh(X) * 2)
    near(seen["Tanh"].statistics.most, np.tanh(2.0))
    before = str(graph)
    with pytest.raises(ValueError, match=r"no operation of .* fits 'Cos'"):
        graph.tap("Sum", "Cos")
    assert str(graph) == before


def test_sessions(engine):
    graph = dt.Graph()
    x = graph.placeholder(dt.spec((3,)), "x")
    with graph.as_default():
        y = ops.exp(dt.tap(x * 2.0, "double"))
    with dt.taps({"double": "value"}) as seen:
        dt.Session(graph, engine=engine).run(y, {x: X})
    near(seen["double"].value, X * 2)


def test_checks_and_taps_together(engine):
    f = dt.function(lambda x: ops.log(dt.tap(x - 1.0, "less")))
    with dt.taps() as seen, dt.check_numerics():
        with pytest.raises(dt.NumericsError):
            f(X)
        f(X + 3.0)
    assert seen["less"].statistics.least == 1.0


def test_the_choice_is_that_of_the_program_without_taps():
    f = dt.function(hidden, engine="auto")
    for _ in range(3):
        f(X)
    (plain,) = f.plans
    seen = f.taps()
    near(seen(X), f(X))
    probed = next(plan for plan in f.plans if plan is not plain)
    assert probed.choice.strategy == plain.choice.strategy
    assert len(probed.parts) == 1


def test_a_program_is_the_same_without_taps(engine):
    f, g = dt.function(hidden), dt.function(lambda x: ops.sum(ops.exp(ops.tanh(x)) * 2.0))
    assert [op.type for op in f.optimized_graph(X)] == [op.type for op in g.optimized_graph(X)]
    x = ops.convert(X)
    for _ in range(3):
        f(x), g(x)
    assert frames(lambda: f(x), "/src/dovetail/") == frames(lambda: g(x), "/src/dovetail/")


def test_patterns_alone_give_statistics(engine):
    f = dt.function(lambda x: ops.exp(ops.tanh(x) * 2.0))
    with dt.taps("Ta.*", "Mul", {"Exp": "value"}) as seen, dt.taps({"Ta.*": "statistics"}) as same:
        f(ops.constant([0.0, 1.0]))
    assert {*seen} == {"Tanh", "Mul", "Exp"} and {*same} == {"Tanh"}
    assert seen["Tanh"].statistics == same["Tanh"].statistics and seen["Tanh"].value is None
    with pytest.raises(TypeError, match=r"3 is no pattern"):
        dt.taps(3)


def test_wrong_points():
    with pytest.raises(ValueError, match="'x' asks for 'norm'; it may ask for shape, statistics, value, gradient"):
        dt.taps({"x": "norm"})
    with pytest.raises(ValueError, match=r"'\(' is no regular expression"):
        dt.taps({"(": "value"})
    with pytest.raises(TypeError, match="the name of a point is a str, not 3"):
        dt.tap(X, 3)
    with pytest.raises(ValueError, match="is no name of a point"):
        dt.tap(X, "")
    with dt.taps() as seen:
        dt.tap(X, "loss")
    with pytest.raises(KeyError, match="Did you mean 'loss'"):
        seen["los"]
    with pytest.raises(TypeError, match="belong to no function"):
        seen(X)
