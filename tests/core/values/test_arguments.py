"""Unusual kinds of arguments, values that are no tensors, numbers that do not fit a dtype."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.base.table import OPS
from dovetail.ops.samples import Array


def _drawn(value, rng):
    if isinstance(value, Array):
        return value.draw(rng)
    return type(value)(_drawn(v, rng) for v in value) if isinstance(value, (list, tuple)) else value


def _settings():
    """(op, position) of every setting that is a float in a sample, with the arguments of the sample."""
    for op in OPS.values():
        found = set()
        for sample in op.samples if op.differentiable else ():
            values = op.bind(list(sample.args), dict(sample.kwargs))
            for index, _ in op.static:
                if type(values[index]) is float and index not in found:
                    found.add(index)
                    yield pytest.param(op, index, values, id=f"{op.name}.{op.params[index].name}")


@pytest.mark.parametrize(("op", "index", "values"), list(_settings()))
def test_a_setting_that_is_a_tensor_has_its_gradient_or_is_refused_a2(rng, op, index, values):
    values = [_drawn(v, rng) for v in values]
    with dt.engine("numpy"):
        values = [ops.convert(v, "float64") if getattr(v, "dtype", None) == "float32" else v for v in values]
        # Some settings are bounds, and huge ones. A tensor of at most 1e3 gives the same results.
        setting, step = ops.constant(min(max(values[index], -1e3), 1e3), "float64"), 1e-5

        def f(setting):
            result = op(*values[:index], setting, *values[index + 1 :])
            return ops.sum(result[0] if op.returns_tuple else result)

        try:
            high, low = (float(f(setting + h)) for h in (step, -step))
        except TypeError as error:
            assert op.body is None and "must be known when the op is called" in str(error)
            return
        compiled = dt.function(f)
        with dt.GradientTape(persistent=True) as tape:
            tape.watch(setting)
            eager, traced = f(setting), None
            try:
                traced = compiled(setting)
            except TypeError as error:  # the body needs the value for a decision
                assert op.name in str(error) and "need a value" in str(error)
        for y in [eager] if traced is None else [eager, traced]:
            found = tape.gradient(y, setting, unconnected_gradients="zero")
            np.testing.assert_allclose(found, (high - low) / (2 * step), rtol=1e-4, atol=1e-6)


def test_pads_with_a_tensor_a2(engine):
    def f(x):
        return ops.sum(ops.pad(x, 1, constant_values=x[0, 0]))

    x, expected = ops.constant([[2.0, 1.0], [1.0, 1.0]]), [[13, 1], [1, 1]]
    compiled = dt.function(f)
    with dt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        eager, traced = f(x), compiled(x)
    assert float(eager) == float(traced) == 5 + 12 * 2
    assert tape.gradient(eager, x).numpy().tolist() == tape.gradient(traced, x).numpy().tolist() == expected
    graph = dt.Graph()
    p = graph.placeholder(dt.spec((2, 2)))
    graph.outputs = dt.gradients(f(p), p)
    assert dt.function(graph)(x).numpy().tolist() == expected
    assert ops.pad([1, 2], 1, constant_values=ops.constant(7)).numpy().tolist() == [7, 1, 2, 7]
    with pytest.raises(ValueError, match="one number"):
        ops.pad(x, 1, constant_values=ops.constant([1.0, 2.0]))


def test_a_composite_with_a_tensor_as_a_setting_a2(engine):
    x, slope = ops.constant([-2.0, 1.0]), ops.constant(0.5)
    compiled = dt.function(ops.leaky_relu)
    with dt.GradientTape(persistent=True) as tape:
        tape.watch([x, slope])
        results = [ops.leaky_relu(x, slope), compiled(x, slope)]
    for y in results:
        assert y.numpy().tolist() == [-1, 1]
        assert [g.numpy().tolist() for g in tape.gradient(y, [x, slope])] == [[0.5, 1], -2]
    native = ops.leaky_relu(x.value, slope.value)
    assert not isinstance(native, dt.Tensor) or engine == "numpy"


def test_a_primitive_with_a_tensor_as_a_setting_a2(engine):
    x = ops.constant([[1.0, 2.0]])
    for call in (lambda x: ops.sum(x, ops.constant(0)), dt.function(lambda x: ops.sum(x, x[0, 0]))):
        with pytest.raises(TypeError, match=r"Sum at test_arguments.py:\d+: axis must be known when the op is called"):
            call(x)


MASK = np.array([True, False, True])
NUMBERS = {
    "full": (OverflowError, "300 does not fit into uint8", lambda: ops.full((2,), 300, "uint8")),
    "full_like": (OverflowError, "300 does not fit into int8", lambda: ops.full_like([1], 300, "int8")),
    "cast": (OverflowError, "300 does not fit into uint8", lambda: ops.cast(300, "uint8")),
    "cast, negative": (OverflowError, "-1 does not fit into uint8", lambda: ops.cast([1, -1], "uint8")),
    "cast, NaN": (OverflowError, "nan does not fit into int32", lambda: ops.cast(float("nan"), "int32")),
    "constant": (OverflowError, "300 does not fit into uint8", lambda: ops.constant([1, 300], "uint8")),
    "arange": (OverflowError, "2147483648 does not fit into int32", lambda: ops.arange(2**31 - 2, 2**31 + 1)),
    "pad": (TypeError, "0.5 is no int32", lambda: ops.pad([1, 2], 1, constant_values=0.5)),
    "pad, too large": (OverflowError, "300 does not fit", lambda: ops.pad(np.zeros(2, "uint8"), 1, "constant", 300)),
    "gather by a mask": (TypeError, "use boolean_mask", lambda: ops.gather([1.0, 2.0, 3.0], MASK)),
    "take by a mask": (TypeError, "use boolean_mask", lambda: ops.take([1.0, 2.0, 3.0], ops.constant(MASK))),
    "masked array": (
        TypeError,
        "its mask would be lost",
        lambda: ops.mean(np.ma.masked_array([1.0, 2.0], [True, False])),
    ),
    "masked variable": (TypeError, "its mask would be lost", lambda: dt.Variable(np.ma.masked_array([1.0], [True]))),
    "dates": (TypeError, 'x.astype\\("int64"\\)', lambda: ops.sum(np.array(["2020-01-01"], "M8[D]"))),
    "fields": (TypeError, "one of its fields", lambda: ops.sum(np.zeros(2, [("a", "f4")]))),
    "quantile, negative": (ValueError, r"q must be in \[0, 1\], not -0.4", lambda: ops.quantile([1.0, 2.0], -0.4)),
    "quantile, one of several": (ValueError, "not 1.5", lambda: ops.quantile([1.0, 2.0], np.array([0.5, 1.5]))),
    "tolerance": (ValueError, "rtol must be 0 or more, not -1", lambda: ops.isclose(1.0, 1.0, rtol=-1)),
    "number of classes": (ValueError, "num_classes must be 0 or more", lambda: ops.one_hot([1], -2)),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_arguments_out_of_their_domain_a6(engine, case):
    kind, problem, call = NUMBERS[case]
    with pytest.raises(kind, match=rf" at test_arguments.py:\d+: .*{problem}"):
        call()


@pytest.mark.parametrize("case", NUMBERS)
def test_arguments_out_of_their_domain_in_a_graph_a6(engine, case):
    kind, problem, call = NUMBERS[case]
    with pytest.raises(kind, match=rf" at test_arguments.py:\d+: .*{problem}"):
        dt.function(lambda x: (x, call()))(1.0)


def test_the_ends_of_the_domain_a6(engine):
    assert ops.full((1,), 255, "uint8").tolist() == [255]
    assert ops.cast(-128, "int8").item() == -128
    assert ops.arange(2**31 - 2, 2**31).tolist() == [2**31 - 2, 2**31 - 1]
    assert ops.arange(2**31, 2**31 + 2, dtype="int64").tolist() == [2**31, 2**31 + 1]
    assert ops.cast([2**40, -1], "int64").tolist() == [2**40, -1]
    assert ops.full((1,), 2**40, "int64").tolist() == [2**40]
    assert ops.pad([1], 1, constant_values=2.0).tolist() == [2, 1, 2]
    assert ops.quantile([1.0, 2.0], [0, 1]).tolist() == [1, 2]
    assert ops.cast(np.array([300]), "uint8").tolist() == [44]  # an array's numbers wrap around, as in NumPy
    assert ops.sum(np.matrix([[1.0, 2.0]])).item() == 3


def test_what_fails_to_fit_is_not_recorded_a6():
    graph = dt.Graph("g")
    x = graph.placeholder(dt.spec((2,), "uint8"))
    before = len(graph)
    with pytest.raises(OverflowError, match="300 does not fit"):
        x + 300
    assert len(graph) == before
