"""Variables that a function with a custom gradient reads."""

import pytest

import dovetail as dt
from dovetail import backend as K
from dovetail import ops
from tests.autodiff.test_custom import loud, ways


def test_variables(engine):
    v = dt.Variable(5.0, name="v")

    @dt.custom_gradient
    def f(x):
        def gradient(g, variables=None):
            assert variables == [v]
            return g * 100.0, [g * 1000.0]

        return x * v, gradient

    def found(x):
        with dt.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, [x, v])

    x = ops.constant(2.0)
    assert [float(g) for g in found(x)] == [100, 1000]
    assert [float(g) for g in dt.function(found)(x)] == [100, 1000]
    compiled = dt.function(f)
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = compiled(x)
    assert [float(g) for g in tape.gradient(y, [x, v])] == [100, 1000]


def test_a_variable_as_argument(engine):
    v = dt.Variable(5.0)

    def found():
        with dt.GradientTape() as tape:
            y = loud(v, ops.constant(2.0))
        return tape.gradient(y, v)

    assert float(found()) == 10 and float(dt.function(found)()) == 10


def test_variables_that_the_gradient_does_not_take():
    v = dt.Variable(1.0, name="forgotten")
    f = dt.custom_gradient(lambda x: (x * v, lambda g: g))
    with pytest.raises(TypeError, match=r"uses the variables forgotten.*variables="):
        f(ops.constant(1.0))
    frozen = dt.Variable(2.0, trainable=False)
    assert float(dt.custom_gradient(lambda x: (x * frozen, lambda g: g))(ops.constant(1.0))) == 2


def test_variables_of_an_open_default_graph_are_recorded():
    K.placeholder(())
    w, own = K.variable(3.0), dt.Variable(3.0)
    square = dt.custom_gradient(lambda v: (v * v, lambda g: g * 30.0))
    try:
        y = square(w)
        assert K.function([], [y, *K.gradients(y, [w])])([]) == [9, 30]
        assert float(square(own)) == 9  # K did not make this one
    finally:
        K.clear_session()


def test_variables_that_have_no_gradient_need_not_be_taken(engine):
    count, fixed = dt.Variable(3), dt.Variable(2.0, trainable=False)

    @dt.custom_gradient
    def f(x):
        return x * fixed * ops.cast(count, "float32"), lambda g: g * 10.0

    for way in ways(f):
        assert float(way(ops.constant(1.0))[0]) == 10


@pytest.mark.parametrize("kind", ["named", "any keyword"])
def test_how_the_gradient_function_takes_variables(kind):
    w = dt.Variable(2.0)

    def named(g, variables):
        return g * 3.0, [g * 5.0 for _ in variables]

    def any_keyword(g, **given):
        return named(g, **given)

    f = dt.custom_gradient(lambda x: (x * w, named if kind == "named" else any_keyword))
    x = ops.constant(1.0)
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert [float(g) for g in tape.gradient(y, [x, w])] == [3, 5]


def test_a_gradient_function_in_a_graph_assigns_nothing():
    v = dt.Variable(1.0, trainable=False, name="seen")

    @dt.custom_gradient
    def f(x):
        def gradient(g):
            v.assign(2.0)
            return g

        return x * 2.0, gradient

    with pytest.raises(ValueError, match=r"its gradient function assigns seen, which it cannot in a graph"):
        dt.function(f)(ops.constant(1.0))
    assert float(v) == 1
