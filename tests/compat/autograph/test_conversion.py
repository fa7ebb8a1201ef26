"""Which functions AutoGraph converts, and the parts of it that a program asks for."""

from __future__ import annotations

import argparse
import functools
import inspect
import sys
import traceback
from importlib import util
from types import CodeType

import numpy as np
import pytest

import dovetail as dt
from dovetail.compat import tensorflow as tf
from dovetail.compat.autograph.conversion import code_of, converted
from dovetail.compat.autograph.features import Options
from tests import keras_backends
from tests.libraries import checks_of, require

CHECKS = "tests.compat.autograph.keras_checks"
v1 = tf.compat.v1
FEATURE = tf.autograph.experimental.Feature


def branching(x, factor=2.0, *, shift=0.0):
    """Multiply a positive number."""
    if x > 0.0:
        x = x * factor
    return x + shift


def calling(x):
    return branching(x)


def unconverted(f, x=1.0):
    with pytest.raises(TypeError, match=r"Python's `if`.* need a value"):
        f(tf.constant(x))


def test_a_function_can_stay_as_it_is():
    unconverted(tf.function(branching, autograph=False))
    unconverted(tf.function(calling, autograph=False))
    unconverted(tf.function(lambda x: tf.autograph.experimental.do_not_convert(branching)(x)))
    unconverted(tf.function(tf.autograph.experimental.do_not_convert(calling)))


def test_dovetails_own_function_converts_nothing():
    unconverted(dt.function(branching))
    assert float(dt.function(tf.autograph.to_graph(branching))(tf.constant(3.0))) == 6.0


def test_a_function_without_source_stays_as_it_is():
    names: dict = {}
    exec("def f(x):\n    return x if x > 0.0 else -x", names)
    unconverted(tf.function(names["f"]))
    assert names["f"] is converted(names["f"])


def test_the_code_of_libraries_stays_as_it_is(tmp_path):
    for folder, is_converted in (("site-packages", False), ("program", True)):
        path = tmp_path / folder / "module.py"
        path.parent.mkdir()
        path.write_text("def f(x):\n    return x if x > 0.0 else -x\n")
        spec = util.spec_from_file_location(folder.replace("-", "_"), path)
        module = util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert (converted(module.f) is not module.f) is is_converted
    assert converted(functools.wraps) is functools.wraps
    assert converted(np.mean) is np.mean and converted(dt.ops.map_fn) is dt.ops.map_fn


def generator(x):
    yield x if x > 0.0 else -x


def loop_with_else(x):
    for _ in range(2):
        x = x + 1.0
    else:
        x = x if x > 0.0 else -x
    return x


@pytest.mark.parametrize("f", [generator, loop_with_else])
def test_statements_that_tensorflow_does_not_convert_stay(f):
    assert converted(f) is f
    with pytest.raises(ValueError, match=r"tf.autograph.to_code.* is not converted"):
        tf.autograph.to_code(f)


def test_a_converted_function_keeps_what_a_function_has():
    made = converted(branching)
    assert made is not branching
    assert (made.__name__, made.__doc__, made.__module__) == ("branching", branching.__doc__, __name__)
    assert (made.__defaults__, made.__kwdefaults__) == ((2.0,), {"shift": 0.0})
    assert inspect.signature(made) == inspect.signature(branching)
    code = made.__code__
    assert (code.co_filename, code.co_firstlineno) == (__file__, branching.__code__.co_firstlineno)
    assert (made(-1.0), made(2.0, 3.0, shift=1.0)) == (-1.0, 7.0)
    assert "ag__.if_(x > 0.0" in tf.autograph.to_code(branching)


@pytest.mark.parametrize("module", [argparse, inspect, traceback, dt.ops.control.flow, dt.edit.patterns])
def test_all_that_a_function_may_have_is_converted(module):
    code = compile(inspect.getsource(module), module.__file__, "exec")
    count = 0
    for inner in (waiting := [code]):  # it grows
        waiting += [part for part in inner.co_consts if isinstance(part, CodeType)]
        made = code_of(inner, Options({"ALL"})) if inner is not code else None
        count += made is not None
        assert made is None or {*made.co_freevars} <= {*inner.co_freevars, "ag__", "__class__"}
    assert count > 10


def annotated(x):
    if x > 0.0:
        y: float = x * 2.0
    else:
        y = x
    return y


def test_a_name_with_an_annotation_is_a_name():
    assert float(tf.function(annotated)(tf.constant(2.0))) == 4.0


def test_a_closure_shares_its_variables():
    count = 0

    def step(x):
        nonlocal count
        count += 1
        if x > 0.0:
            x = x * 2.0
        return x

    assert float(tf.function(step)(tf.constant(3.0))) == 6.0
    assert count == 1


def test_lambdas_of_one_line_are_told_apart():
    both = (lambda x: x if x > 0.0 else -x), (lambda x: x * 2.0 if x > 0.0 else x * 3.0)
    found = [float(tf.function(each)(tf.constant(-2.0))) for each in both]
    assert found == [2.0, -6.0]


def test_values_of_python_stay_values_of_python():
    seen = []

    @tf.function
    def f(x, n, names):
        for i, name in enumerate(names):
            if n > 1 and name:
                seen.append((i, name))
            while n < 3:
                n += 1
        return x * n

    assert float(f(tf.constant(2.0), 2, ["a", "", "b"])) == 6.0
    assert seen == [(0, "a"), (2, "b")]


def test_a_traceback_shows_the_lines_of_the_program():
    @tf.function
    def f(x):
        while x > 0.0:
            if x > 1.0:
                raise KeyError("the program's own")
            x = x - 1.0
        return x

    with pytest.raises(KeyError, match="the program's own") as caught:
        f(tf.constant(2.0))
    frames = [frame for frame in traceback.extract_tb(caught.tb) if frame.filename == __file__]
    assert {frame.name for frame in frames[-3:]} == {"f"}
    lines = [frame.line for frame in frames[-3:]]
    assert lines == ["while x > 0.0:", "if x > 1.0:", 'raise KeyError("the program\'s own")']


def test_a_loop_is_one_operation_of_the_graph():
    @tf.function
    def f(x):
        for i in tf.range(1000):
            x = x + tf.cast(i, tf.float32)
        for item in tf.data.Dataset.range(1000):
            x = x + tf.cast(item, tf.float32)
        return x

    graph = f.get_concrete_function(tf.TensorSpec([], tf.float32)).graph
    assert [op.type for op in graph.get_operations()].count("While") == 2 and len(graph) < 30
    assert float(f(tf.constant(0.0))) == float(f(tf.constant(0.0))) == 999000.0


def test_branches_and_loops_assign_variables(engine):
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        if x > 0.0:
            v.assign_add(x)
        while x > 0.0:
            v.assign_add(1.0)
            x -= 1.0
        for i in tf.range(3):
            if i > 1:
                v.assign_add(10.0)
        return v + 0.0

    assert (float(f(tf.constant(2.0))), float(v)) == (15.0, 15.0)
    assert (float(f(tf.constant(-2.0))), float(v)) == (25.0, 25.0)


def test_a_data_set_trains_in_a_loop(engine):
    w = tf.Variable(2.0)
    data = tf.data.Dataset.from_tensor_slices((np.ones([6, 2], "float32"), np.zeros(6, "float32"))).batch(2)

    @tf.function
    def epoch():
        for x, y in data:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.reduce_sum(x, 1) * w - y) ** 2)
            w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    losses = [float(epoch()) for _ in range(2)]
    np.testing.assert_allclose(losses, [16 * 0.2**4, 16 * 0.2**10], rtol=1e-4)
    np.testing.assert_allclose(float(w), 2 * 0.2**6, rtol=1e-4)


def test_effects_of_branches_and_loops_happen(capsys):
    @tf.function
    def f(x):
        if x > 0.0:
            tf.print("positive", output_stream=sys.stdout)
        for i in tf.range(2):
            tf.print(i, output_stream=sys.stdout)
        return x

    f(tf.constant(1.0))
    f(tf.constant(-1.0))
    assert capsys.readouterr().out.split() == ["positive", "0", "1", "0", "1"]


def prints(x):
    if x > 0.0:
        print("here", x)
    return x


def test_print_is_recorded_if_a_program_asks_for_it(capsys):
    f = tf.function(prints, experimental_autograph_options=FEATURE.BUILTIN_FUNCTIONS)
    for x in (2.0, -2.0, 3.0):
        f(tf.constant(x))
    assert capsys.readouterr().out == "here 2.0\nhere 3.0\n"
    g = tf.function(prints)
    for _ in range(2):
        g(tf.constant(2.0))
    assert capsys.readouterr().out.count("here <graph tensor") == 1


def asserts(x):
    assert x > 0.0, "too small"
    return x


@pytest.mark.parametrize("options", [FEATURE.ASSERT_STATEMENTS, (FEATURE.ALL,), FEATURE.all_but(FEATURE.LISTS)])
def test_assertions_are_recorded_if_a_program_asks_for_it(options):
    f = tf.function(asserts, experimental_autograph_options=options)
    assert float(f(tf.constant(1.0))) == 1.0
    with pytest.raises(ValueError, match="too small"):
        f(tf.constant(-1.0))
    unconverted(tf.function(asserts))
    assert converted(asserts)(1.0) == 1.0


def stores(x):
    x[1] = 3.0
    return x


def test_elements_are_stored_if_a_program_asks_for_it():
    f = tf.function(stores, experimental_autograph_options=FEATURE.LISTS)
    assert f(tf.constant([1.0, 2.0])).numpy().tolist() == [1.0, 3.0]
    with pytest.raises(TypeError, match="item assignment"):
        tf.function(stores)(tf.constant([1.0, 2.0]))


def test_pipelines_of_graphs_have_converted_functions():
    with v1.Graph().as_default(), v1.Session() as session:
        data = tf.data.Dataset.range(4).map(lambda x: x * 10 if x > 1 else x)
        numbers = v1.data.make_one_shot_iterator(data).get_next()
        assert [session.run(numbers) for _ in range(4)] == [0, 1, 20, 30]
    assert [int(x) for x in tf.data.Dataset.range(4).map(lambda x: x * 10 if x > 1 else x)] == [0, 1, 20, 30]


@pytest.mark.parametrize("check", checks_of(CHECKS))
def test_keras(check):
    require("keras", "its layers are converted")
    keras_backends.check(CHECKS, check, "dovetail")


def test_runs_of_a_function_take_the_next_elements(engine):
    outside = iter(tf.data.Dataset.from_tensor_slices(([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])))

    @tf.function
    def product(iterator):
        a, b = next(iterator)
        return a * b

    assert [float(product(outside)) for _ in range(2)] == [4.0, 10.0]
    assert [float(part) for part in next(outside)] == [3.0, 6.0]
    with pytest.raises(IndexError, match="End of sequence"):
        product(outside)

    @tf.function
    def inside(x):
        iterator = iter(tf.data.Dataset.range(10))
        for i in tf.range(3):
            x += tf.cast(next(iterator), tf.float32) * (tf.cast(i, tf.float32) + 1.0)
        for item in iterator:
            if item > 4:
                break
            x += 10.0
        return x, next(iterator)

    for _ in range(2):
        assert [float(part) for part in inside(tf.constant(0.0))] == [28.0, 6.0]


@pytest.mark.parametrize("is_inside", [False, True])
@pytest.mark.parametrize("is_looped", [False, True])
def test_a_gradient_that_would_take_other_elements_is_an_error(engine, is_looped, is_inside):
    """Check loops and branches, whose gradients compute the body again, and the next element beside them."""
    numbers = iter(tf.data.Dataset.range(1, 100).map(lambda v: tf.cast(v, tf.float32)))

    def total(x):
        if is_looped:
            for _ in tf.range(3):
                x = x * next(numbers)
        elif x > 0:
            x = x * next(numbers)
        return x

    @tf.function
    def inside(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = total(x)
        return tape.gradient(y, x)

    outside = tf.function(total)
    x = tf.constant(2.0)
    with pytest.raises(NotImplementedError, match=r"test_conversion\.py:.*next\(iterator\) again"):
        if is_inside:
            inside(x)
        else:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = outside(x)
            tape.gradient(y, x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.function(lambda x: x * next(numbers))(x)
    assert float(tape.gradient(y, x)) * 2 == float(y)


@pytest.mark.parametrize("is_inside", [False, True])
def test_gradients_see_a_shuffled_data_set_in_its_order(engine, is_inside):
    """Check loops over it inside of a loop, whose gradient begins them again, by a derivative along the values."""
    data = tf.data.Dataset.range(1, 6).map(lambda v: tf.cast(v, tf.float32)).shuffle(5)

    def total(x):
        y, slope = x, tf.ones(())
        for _ in tf.range(3):
            share = tf.constant(0.1)
            for value in data:
                slope = slope * (1.0 + x * value * share) + y * value * share
                y = y * (1.0 + x * value * share)
                share = share * 0.5
        return y, slope

    @tf.function
    def inside(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y, slope = total(x)
        return tape.gradient(y, x), slope

    outside, x = tf.function(total), tf.constant(0.5)
    for _ in range(3):
        if is_inside:
            gradient, slope = inside(x)
        else:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y, slope = outside(x)
            gradient = tape.gradient(y, x)
        np.testing.assert_allclose(float(gradient), float(slope), rtol=1e-5)
