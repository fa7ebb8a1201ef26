"""Settings and printing of programs: modes, seeds, settings, devices, logging."""

from __future__ import annotations

import logging
import threading

import numpy as np
import pytest

import dovetail as dt
from dovetail.compat import tensorflow as tf
from dovetail.compat.tensorflow import graph_mode
from tests.libraries import require

v1 = tf.compat.v1


def test_graph_mode_is_opened_and_closed():
    assert tf.executing_eagerly()
    v1.disable_eager_execution()
    assert not tf.executing_eagerly()
    a = tf.constant(2.0, name="a")
    assert (a.name, (a * 3.0).eval()) == ("a:0", 6.0)
    first = v1.get_default_graph()
    v1.reset_default_graph()
    assert v1.get_default_graph() is not first and len(v1.get_default_graph()) == 0
    v1.enable_eager_execution()
    assert tf.constant(2.0).numpy() == 2.0


@pytest.mark.parametrize(
    "open_it",
    [
        lambda: v1.placeholder(tf.float32),
        lambda: v1.Session(),
        lambda: (graph_mode.IS_EAGER.set(False), v1.get_variable("v", [1])),
        lambda: v1.get_default_graph(),
        lambda: v1.disable_v2_behavior(),
    ],
)
def test_the_first_name_that_needs_a_graph_opens_it(open_it):
    open_it()
    assert not tf.executing_eagerly()
    assert hasattr(tf.zeros([2]), "op")
    v1.enable_v2_behavior()
    assert tf.zeros([2]).numpy().tolist() == [0.0, 0.0]


def test_a_thread_has_a_mode_of_its_own():
    v1.disable_eager_execution()
    found = []
    thread = threading.Thread(target=lambda: found.append(tf.executing_eagerly()))
    thread.start()
    thread.join()
    assert found == [True]


def test_an_interactive_session_is_the_default_until_it_is_closed():
    with v1.Graph().as_default():
        session = v1.InteractiveSession()
        assert v1.get_default_session() is session
        assert tf.constant(3.0).eval() == 3.0
        session.close()
        assert v1.get_default_session() is None


def test_variables_have_values_once_an_initializer_ran(engine):
    with v1.Graph().as_default(), v1.Session() as session:
        one, other = v1.Variable(1.0, name="one"), v1.Variable(2.0, name="other")
        sum, is_there, names = one + other, v1.is_variable_initialized(other), v1.report_uninitialized_variables()
        check, more, names_of_one = v1.assert_variables_initialized(), one.assign_add(1.0), [one, names]
        assert session.run(names).tolist() == [b"one", b"other"] and not session.run(is_there)
        for tensor in (sum, more, check, names_of_one):
            with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value o"):
                session.run(tensor)
        assert repr(one).endswith("without a value>")
        session.run(other.assign(5.0))
        assert session.run([is_there, names])[0] and names.eval().tolist() == [b"one"]
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value one"):
            one.eval()
        session.run(one.initializer)
        assert (session.run([sum, check]), session.run(names_of_one)[1].tolist()) == ([6.0, None], [])
        with v1.Session() as another, pytest.raises(tf.errors.FailedPreconditionError):
            another.run(sum)


def test_a_first_value_may_read_a_variable_that_gets_its_own_in_the_same_run(engine):
    with v1.Graph().as_default(), v1.Session() as session:
        one = v1.Variable(3.0)
        twice = v1.Variable(one * 2.0)
        session.run(v1.global_variables_initializer())
        assert session.run([one, twice]) == [3.0, 6.0]


def test_initializers_draw_anew():
    with v1.Graph().as_default(), v1.Session() as session:
        before = v1.get_variable("drawn", [50])
        session.run(v1.global_variables_initializer())
        values = before.numpy()
        session.run(v1.global_variables_initializer())
        assert (before.numpy() != values).any()


def test_a_seed_makes_programs_repeat(engine):
    def drawn():
        tf.random.set_seed(5)
        return [tf.random.normal([3]).numpy(), tf.random.uniform([3]).numpy(), tf.random.normal([3], seed=1).numpy()]

    def drawn_in_graph():
        with v1.Graph().as_default(), v1.Session() as session:
            v1.set_random_seed(5)
            x = v1.random_normal([3])
            return [session.run(x), session.run(x)]

    np.testing.assert_array_equal(drawn(), drawn())
    assert (drawn()[0] != drawn()[2]).any()
    first, second = drawn_in_graph(), drawn_in_graph()
    np.testing.assert_array_equal(first, second)
    assert (first[0] != first[1]).any()


def test_a_concrete_function_has_the_graph_of_its_arguments(engine):
    require("tensorflow", "it is compared")
    import tensorflow as theirs

    found = []
    for lib in (tf, theirs):
        v = lib.Variable(2.0)

        @lib.function
        def f(x):
            v.assign_add(1.0)  # noqa: B023  # it is called in this turn
            return {"y": lib.matmul(x, x, transpose_b=True) * v, "x": (x,)}  # noqa: B023

        concrete = f.get_concrete_function(lib.TensorSpec([None, 3], lib.float32))
        types = {op.type for op in concrete.graph.get_operations()} & {"MatMul", "Mul", "Placeholder"}
        shapes = {str(t.shape) for t in concrete.outputs}
        for rows in (1, 2):
            y = concrete(lib.ones([rows, 3]))["y"]
        found.append((types, shapes, np.asarray(y).tolist(), float(v.numpy())))
    assert found[0] == found[1]
    with pytest.raises(TypeError, match=r"made for .*\[\?,3\].* get_concrete_function makes one for other arguments"):
        tf.function(lambda x: x).get_concrete_function(tf.TensorSpec([None, 3], tf.float32))(tf.ones([3]))


def _asked_of_a_shape(lib, x):
    """What a program asks of a shape, and the answers."""
    asked = {
        "ndims": lambda s: s.ndims,
        "rank": lambda s: s.rank,
        "full": lambda s: s.is_fully_defined(),
        "fits": lambda s: s.is_compatible_with([1, 2]),
        "merged": lambda s: s.merge_with([None, 3]).as_list(),
        "same": lambda s: s == lib.TensorShape(None),
        "list": lambda s: s.as_list(),
        "length": lambda s: len(s),
        "text": str,
    }
    answers = []
    for shape in (x.shape, x.get_shape(), (x + 1.0).shape):
        for name, ask in asked.items():
            try:
                answers.append((name, ask(shape)))
            except ValueError:
                answers.append((name, ValueError))
    return answers


def test_a_shape_of_unknown_rank_is_a_tensor_shape(engine):
    """Check claim 0.13: a tensor of unknown rank has TensorFlow's shape in graphs, functions and loops, not None."""
    require("tensorflow", "it is compared")
    import tensorflow as theirs

    found = []
    for lib in (tf, theirs):
        seen = []

        @lib.function(input_signature=[lib.TensorSpec(None)])
        def f(x):
            seen.extend(_asked_of_a_shape(lib, x))  # noqa: B023  # it is called in this turn
            return x

        with lib.compat.v1.Graph().as_default():
            x = lib.compat.v1.placeholder("float32")
            seen.extend(_asked_of_a_shape(lib, x))
            x.set_shape([None, 3])
            seen.append(x.shape.as_list())
        seen.append(f(lib.ones([2])).shape.as_list())
        found.append(seen)
    assert found[0] == found[1]
    x = dt.Graph().placeholder(dt.spec(None))
    assert x.shape is None


def test_a_concrete_function_of_an_input_signature(engine):
    @tf.function(
        input_signature=(tf.TensorSpec([None, 2], tf.float32, name="image"), [tf.TensorSpec([]), tf.TensorSpec([])])
    )
    def f(x, pair):
        return x * pair[0] + pair[1]

    concrete = f.get_concrete_function()
    assert [t.name for t in concrete.inputs] == ["image:0", "pair:0", "pair_1:0"]
    x = tf.ones([1, 2])
    assert f(x, pair=[2.0, 1.0]).numpy().tolist() == concrete(x, [tf.constant(2.0), tf.constant(1.0)]).numpy().tolist()
    with pytest.raises(TypeError, match=r"f at .*: it takes 2 arguments \(x, pair\), 0 were given"):
        f()


def test_a_concrete_function_tells_what_that_of_tensorflow_tells(engine):
    require("tensorflow", "it is compared")
    import tensorflow as theirs

    def told(lib):
        v, c = lib.Variable(2.0, name="v"), lib.constant([1.0, 2.0])
        f = lib.function(lambda x, n, *, more=1.0: {"a": x * v + c, "b": (n, x + more)})
        spec = lib.TensorSpec([None, 2], lib.float32, name="given")
        concrete = f.get_concrete_function(spec, lib.TensorSpec([], lib.int32), more=lib.TensorSpec([], lib.float32))
        yield [t.name for t in concrete.inputs[:3]]
        yield str(lib.TensorShape(concrete.output_shapes["a"]))
        yield [lib.as_dtype(x).name for x in (concrete.output_dtypes["a"], *concrete.output_dtypes["b"])]
        result = concrete(given=lib.ones([1, 2]), n=lib.constant(3), more=lib.constant(1.0))
        yield [np.asarray(x).tolist() for x in (result["a"], *result["b"])]
        yield [v.name for v in concrete.variables]
        yield len(concrete.captured_inputs), concrete.name.startswith(b"__inference_")

    assert list(told(tf)) == list(told(theirs))


def test_a_concrete_function_takes_lists_and_numbers(engine):
    require("tensorflow", "it is compared")
    import tensorflow as theirs

    found = []
    for lib in (tf, theirs):
        f = lib.function(lambda x, y, n=1: x * y + n)
        concrete = f.get_concrete_function(lib.TensorSpec([None], lib.float32), lib.TensorSpec([], lib.float32), 2)
        found.append([np.asarray(concrete(*some, 2)).tolist() for some in (([1.0, 2.0], 3.0), ([4], 5))])
        for other in (([1.0], [2.0], 2), (["text"], 1.0, 2), ([[1.0]], 1.0, 2), ([1.0], 2.0, 3)):
            with pytest.raises((TypeError, ValueError)):
                concrete(*other)
        whole = lib.function(lambda n: n * 2).get_concrete_function(lib.TensorSpec([], lib.int32))
        found[-1].append(int(whole(3)))
        with pytest.raises(TypeError):
            whole(3.5)
    assert found[0] == found[1] == [[5.0, 8.0], [22.0], 6]


def test_a_concrete_function_sees_edits_of_its_graph(engine):
    f = tf.function(lambda x: {"y": tf.nn.relu(x) * 2.0})
    x = tf.constant([-1.0, 2.0])
    concrete = f.get_concrete_function(tf.TensorSpec([2], tf.float32))

    def value_and_slope(call):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = call(x)["y"]
        return y.numpy().tolist(), tape.gradient(y, x).numpy().tolist()

    assert value_and_slope(concrete) == ([0.0, 4.0], [0.0, 2.0])
    assert concrete.graph.override_gradients({"Relu": "Identity"}) == 1
    assert value_and_slope(concrete) == ([0.0, 4.0], [2.0, 2.0])
    concrete.graph.insert_after(concrete.inputs[0], lambda t: t + 2.0)
    assert value_and_slope(concrete) == ([2.0, 8.0], [2.0, 2.0])
    concrete.graph.outputs = concrete.graph.find("Relu")[0].outputs
    assert (concrete(x)["y"].numpy().tolist(), concrete.outputs[0].op.type) == ([1.0, 4.0], "Relu")
    assert value_and_slope(f) == ([0.0, 4.0], [0.0, 2.0])
    concrete.graph.outputs.append(concrete.inputs[0])
    with pytest.raises(ValueError, match="gives 1 tensors, and its graph has 2 outputs after edits"):
        concrete(x)


def test_functions_run_eagerly_for_a_debugger():
    calls = []

    @tf.function
    def f(x):
        calls.append(tf.executing_eagerly())
        return x + 1.0

    assert float(f(tf.constant(1.0))) == 2.0
    tf.config.run_functions_eagerly(True)
    try:
        assert tf.config.functions_run_eagerly()
        assert float(f(tf.constant(1.0))) == 2.0
    finally:
        tf.config.run_functions_eagerly(False)
    assert calls == [False, True]


def test_printing(capfd):
    tf.print("x:", tf.constant([1.0, 2.0]), 3)
    assert capfd.readouterr().err == "x: [1 2] 3\n"
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [2])
        y = v1.Print(x * 2.0, [x], message="given: ")
        assert session.run(y, {x: [1.0, 2.0]}).tolist() == [2.0, 4.0]
    printed = capfd.readouterr()
    assert "given: " in printed.out + printed.err


def test_messages_go_to_stderr(capsys, monkeypatch):
    log = tf.compat.v1.logging
    level = log.get_verbosity()
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    try:
        log.set_verbosity(log.INFO)
        log.info("step %d of %s", 3, "five")
        log.set_verbosity(log.WARN)
        log.info("unseen")
        log.warning("slow")
    finally:
        log.set_verbosity(level)
    assert capsys.readouterr().err == "INFO:tensorflow:step 3 of five\nWARNING:tensorflow:slow\n"


def test_devices_and_logging(caplog, engine):
    devices = tf.config.list_physical_devices("CPU")
    assert [device.device_type for device in devices] == ["CPU"]
    assert tf.config.list_logical_devices()[0].name.endswith("CPU:0")
    tf.config.experimental.set_memory_growth(devices[0], True)
    v1.logging.set_verbosity(v1.logging.INFO)
    with caplog.at_level(logging.INFO, "dovetail.compat.tensorflow"):
        v1.logging.info("step %d", 3)
        v1.logging.warning("slow")
    assert caplog.messages == ["step 3", "slow"]


def test_errors_are_pythons_own():
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.reshape([1.0, 2.0, 3.0], [2, 2])
    with pytest.raises(tf.errors.NotFoundError):
        tf.train.list_variables("nowhere")
    with pytest.raises(tf.errors.FailedPreconditionError), v1.Graph().as_default():
        session = v1.Session()
        session.close()
        session.run(tf.constant(1.0))


def test_a_loss_that_was_computed_has_no_gradients():
    x = tf.Variable(2.0)
    with pytest.raises(RuntimeError, match=r"GradientDescentOptimizer.*computed already: give a function"):
        v1.train.GradientDescentOptimizer(0.1).minimize(tf.square(x))


def test_ops_without_gradients():
    tf.no_gradient("ForgottenForCompat")
    with v1.Graph().as_default() as graph:
        x = tf.constant(1.0)
        with graph.gradient_override_map({"Tanh": "ForgottenForCompat"}):
            y = tf.tanh(x)
        assert v1.gradients(y, x) == [None]


def test_rows_of_a_tensor_are_one(engine):
    rows = tf.IndexedSlices(tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), [2, 0, 2], [3, 2])
    assert tf.convert_to_tensor(rows).numpy().tolist() == [[3.0, 4.0], [0.0, 0.0], [6.0, 8.0]]
    assert rows.dtype == tf.float32 and not isinstance(tf.zeros([2]), tf.IndexedSlices)
    with pytest.raises(ValueError, match="dense_shape"):
        tf.convert_to_tensor(tf.IndexedSlices(rows.values, rows.indices))


def test_assignments_are_recorded_once_a_graph_is_open(engine):
    """Check that assignments are recorded, as TensorFlow's variables then always do.

    For Dovetail's own variables this depends on the assigned value.
    """
    early, own = tf.Variable([1.0, 2.0]), dt.Variable([1.0, 2.0])
    early.assign([3.0, 4.0])
    assert early.numpy().tolist() == [3.0, 4.0]
    x = v1.placeholder(tf.float32, [2])
    v = v1.get_variable("v", [2], initializer=v1.zeros_initializer())
    with v1.Session() as session:
        session.run(v.initializer)
        for variable in (early, v, own):
            before = variable.numpy().tolist()
            steps = [
                variable.assign(x), variable.assign_add(x), v1.assign(variable, [7.0, 7.0]),
                v1.assign_sub(variable, [1.0, 2.0]),
            ]  # fmt: skip
            assert variable.numpy().tolist() == before
            found = [session.run(step, {x: [5.0, 6.0]}).tolist() for step in steps]
            assert found == [[5.0, 6.0], [10.0, 12.0], [7.0, 7.0], [6.0, 5.0]]
            assert variable.numpy().tolist() == [6.0, 5.0]
        session.run(v.assign([9.0, 9.0]).op)
        assert session.run(v).tolist() == [9.0, 9.0]
        with v1.control_dependencies([v.assign_add([1.0, 1.0])]):
            after = v.read_value()
        assert session.run(after).tolist() == [10.0, 10.0]


def test_sparse_tensors_are_fed_and_fetched(engine):
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.sparse_placeholder(tf.float32, [None, 3], name="x")
        y = v1.sparse_tensor_dense_matmul(x, tf.ones([3, 2]))
        given = v1.SparseTensorValue(np.int64([[0, 1], [1, 2]]), np.float32([2.0, 5.0]), [2, 3])
        found, whole, again = session.run([y, tf.sparse.to_dense(x), {"x": x}], {x: given})
        assert found.tolist() == [[2.0, 2.0], [5.0, 5.0]]
        assert whole.tolist() == [[0.0, 2.0, 0.0], [0.0, 0.0, 5.0]]
        assert type(again["x"]) is v1.SparseTensorValue and again["x"].dense_shape.tolist() == [2, 3]
        np.testing.assert_array_equal(again["x"].indices, given.indices)
        assert session.run(y, {x: (given.indices, given.values, (2, 3))}).shape == (2, 2)
        assert session.run(y, {x: tf.SparseTensor(given.indices, given.values, [2, 3])}).shape == (2, 2)
        with pytest.raises(ValueError, match="does not fit"):
            session.run(y, {x: given._replace(dense_shape=[2, 4])})
        with pytest.raises(TypeError, match="is sparse"):
            session.run(y, {x: np.ones((2, 3))})


@pytest.mark.parametrize("name", ["op", "graph", "consumers"])
def test_a_constant_of_no_graph_says_to_open_one(name):
    constant = v1.constant(1.0)
    assert not hasattr(constant, name)
    with pytest.raises(
        AttributeError, match=rf"Tensor.{name} at .*Open a graph first, with tf.disable_eager_execution"
    ):
        getattr(constant, name)
    with v1.Graph().as_default():
        assert v1.constant(1.0).op.node_def.op == "Const"
