"""`function`: signatures, structures, state, nesting, retracing, and errors of tracing."""

import gc
import re
import threading
import warnings
import weakref

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K
from dovetail import ops
from dovetail.core.base.errors import RetracingWarning
from dovetail.core.dtypes import as_dtype

TWO = [name for name in ("numpy", "torch") if name in dt.list_engines()]


def test_traces_once_per_signature(engine):
    calls = []

    @dt.function
    def f(x, scale):
        calls.append(1)
        return x * scale

    for x in (np.ones(2, "float32"), ops.convert(np.ones(2, "float32"))):
        assert f(x, 2).numpy().tolist() == [2, 2]
    assert len(calls) == 1
    f(np.ones(2, "float32"), 3)  # another static value
    f(np.ones(3, "float32"), 2)  # another shape
    f(np.ones(2, "float64"), 2)  # another dtype
    assert len(calls) == 4
    dt.config.set_floatx("float64")
    f(np.ones(2, "float32"), 2)  # other settings
    assert len(calls) == 5


def test_arrays_may_change_after_the_call(engine):
    """Check this also for an aligned array, which engines share, while a long program still runs."""
    room = np.zeros(600 * 600 + 16, "float32")
    start = -room.ctypes.data % 64 // 4
    x = room[start : start + 600 * 600].reshape(600, 600)
    x[:] = 1.0

    @dt.function
    def f(x):
        product = x
        for _ in range(20):
            product = ops.matmul(product, x) / 600.0
        return product[0, 0], x

    result, same = f(x)
    x[:] = 7.0
    assert float(result) == pytest.approx(1.0)
    assert same.numpy().max() == 1.0 and same.engine == engine


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "int64", "uint8", "bool", "bfloat16", "complex64"])
def test_arrays_keep_their_dtype(engine, dtype, pinned):
    graph = dt.function(lambda x: (x, ops.reshape(x, (3, 1)))).graph(dt.spec((3,), dtype))
    graph.get_operation("Reshape").engine = "numpy" if pinned else None
    x = np.array([0, 1, 1]).astype(as_dtype(dtype).numpy)
    same, column = dt.function(graph)(x)
    assert (same.dtype, column.dtype, same.engine, column.engine) == (dtype, dtype, engine, engine)
    assert column.numpy().tolist() == [[v] for v in x.tolist()]


def test_structures(engine):
    @dt.function
    def f(batch, *, extra):
        return {"sum": batch["x"] + batch["y"][0], "none": None, "word": "w", "pair": (extra, 1.5)}

    found = f({"x": np.float32(1), "y": [ops.constant(2.0)]}, extra=np.arange(2))
    assert float(found["sum"]) == 3 and found["none"] is None and found["word"] == "w"
    assert found["pair"][0].numpy().tolist() == [0, 1] and float(found["pair"][1]) == 1.5


def test_static_arguments_that_cannot_be_hashed():
    """Check that each object has its own trace, also at the address of an earlier object."""
    scale = dt.function(lambda x, options: x * max(options))
    assert [float(scale(ops.constant(1.0), {value})) for value in range(5)] == [0, 1, 2, 3, 4]


def test_unknown_dimensions(engine):
    traced = []

    @dt.function(input_signature=[dt.spec((None, 3))])
    def f(x):
        traced.append(x.shape)
        return ops.mean(x, axis=0) * ops.cast(ops.shape(x)[0], "float32")

    for rows in (1, 4, 7):
        np.testing.assert_allclose(f(np.ones((rows, 3), "float32")).numpy(), [rows] * 3)
    assert traced == [(None, 3)]
    with pytest.raises(ValueError, match="does not fit the input signature"):
        f(np.ones((2, 4), "float32"))
    with pytest.raises(TypeError, match=r"it takes 1 argument \(x\), 2 were given"):
        f(np.ones((2, 3), "float32"), 1)


def test_state(engine):
    count = dt.Variable(0, name="count")
    total = dt.Variable(0.0, name="total")

    @dt.function
    def f(x):
        count.assign_add(1)
        total.assign_add(x)
        total.assign_add(x)  # it reads the value assigned just before
        return total / ops.cast(count, "float32")

    assert [float(f(np.float32(3))) for _ in range(3)] == [6, 6, 6]
    assert int(count) == 3 and float(total) == 18


@pytest.mark.parametrize("sender", dt.list_engines())
def test_variables_that_lie_column_by_column_move_to_other_engines(engine, sender):
    v = dt.Variable(np.zeros((2, 3), "float32"))
    columns = np.arange(6, dtype="float32").reshape(3, 2)

    @dt.function
    def step(x):
        v.assign_add(x)
        return v * 2.0

    with dt.engine(sender):
        v.assign(ops.transpose(ops.convert(columns)))
    with dt.engine(engine):
        read = dt.function(lambda x: x * v)
        assert read(ops.ones((2, 3))).numpy().tolist() == columns.T.tolist()
        for count in (1, 2):
            assert step(ops.ones((2, 3))).numpy().tolist() == (2 * (columns.T + count)).tolist()


def test_nested_functions_become_one_graph(engine):
    inner = dt.function(lambda x: ops.tanh(x))
    outer = dt.function(lambda x: inner(x) + inner(x * 2))
    x = np.float32(0.5)
    np.testing.assert_allclose(float(outer(x)), np.tanh(0.5) + np.tanh(1.0), rtol=1e-6)
    assert sum(op.type == "Tanh" for op in outer.graph(x).operations) == 2


def test_methods():
    class Model:
        def __init__(self):
            self.w = dt.Variable(2.0)

        @dt.function
        def __call__(self, x):
            return self.w * x

    a, b = Model(), Model()
    b.w.assign(5.0)
    assert float(a(ops.constant(3.0))) == 6 and float(b(ops.constant(3.0))) == 15
    assert type(a).__call__ is not a.__call__ and len(type(a).__call__._methods) == 2
    gone = weakref.ref(a)
    del a
    gc.collect()
    assert gone() is None and len(type(b).__call__._methods) == 1


def test_gradient_through(engine):
    w = dt.Variable(3.0)
    f = dt.function(lambda x: w * x * x)
    x = ops.constant(2.0)
    with dt.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with dt.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = f(x)
        slope = tape.gradient(y, x)
    assert float(slope) == 12 and float(tape.gradient(y, w)) == 4
    assert float(outer.gradient(slope, x)) == 6 and float(outer.gradient(slope, w)) == 4


def test_gradient_through_assignment(engine):
    state = dt.Variable(1.0, trainable=False)

    @dt.function
    def f(x):
        state.assign(state * x)
        return state * x

    x = ops.constant(3.0)
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert float(y) == 9 and float(state) == 3 and float(tape.gradient(y, x)) == 3  # state stops gradients


def test_graph_is_shown(engine):
    w = dt.Variable(np.ones((3, 2), "float32"), name="w")
    f = dt.function(lambda x: ops.tanh(ops.matmul(x, w)))
    text = str(f.graph(dt.spec((5, 3))))
    for part in ("MatMul", "Tanh", "w", "float32[5,2]", "test_function.py"):
        assert part in text


def test_retracing_warns_with_the_reason():
    f = dt.function(lambda x, n: x * n)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(10):
            f(ops.constant(1.0), n)
    texts = [str(w.message) for w in caught if w.category is RetracingWarning]
    assert texts and "7 became the static value 8" in texts[0]


def _under_a_setting(f, n):
    dt.config.set_epsilon(10.0**-n)
    f(ops.constant(1.0))


# the argument that differs between calls → the warning's text at the ninth trace
RETRACES = {
    "a shape": (lambda f, n: f(np.ones(n, "float32")), r"float32\[7\] became float32\[8\]\. Pass"),
    "a static value": (lambda f, n: f(np.ones(2), n), r"the static value 7 became the static value 8\. Pass"),
    "both": (lambda f, n: f(np.ones(n), n), r"float64\[7\] became float64\[8\]; the static value 7 became"),
    "an object": (lambda f, n: f({n}), r"the static value \{7\} became the static value \{8\}"),
    "the structure": (lambda f, n: f([1.0] * n), "the structure of the arguments differs"),
    "a setting": (_under_a_setting, r"the settings, the gradient overrides or the learning phase differ\. Pass"),
}


@pytest.mark.parametrize("case", RETRACES)
def test_retracing_warns_of_what_differs(case):
    call, words = RETRACES[case]
    f = dt.function(lambda *args: ops.constant(1.0), name="step")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(8):
            call(f, n)
    with pytest.warns(RetracingWarning, match=rf"step is traced for the 9th time: {words}") as caught:
        call(f, 8)
    assert len(caught) == 1 and caught[0].filename == __file__


def test_tensors_of_several_engines():
    """Check that the first tensor's engine runs the call."""
    f = dt.function(lambda n, x, y: x * n + y)
    for name in TWO:
        with dt.engine(name):
            x = ops.constant([1.0, 2.0])
        found = f(2, x, ops.constant([1.0, 1.0]))
        assert found.engine == name and found.numpy().tolist() == [3, 5]
        with dt.engine(name):
            assert f(2, np.float32(1), np.float32(2)).engine == name


def test_one_plan_serves_open_dimensions():
    f = dt.function(lambda x: ops.sum(x), input_signature=[dt.spec((None,))])
    with dt.engine("numpy"):
        assert [float(f(np.ones(n, "float32"))) for n in range(4)] == [0, 1, 2, 3]
    assert len(f.concrete(dt.spec((None,)))._plans) == 1


def test_a_signature_takes_numbers_and_lists():
    f = dt.function(lambda pair, x: pair[0] * x + pair[1], input_signature=[[dt.spec(()), dt.spec(())], dt.spec((2,))])
    assert f([2, 1.0], np.array([1, 2])).numpy().tolist() == [3, 5]
    with pytest.raises(ValueError, match="does not fit the input signature"):
        f([2, np.ones(1)], np.array([1, 2]))
    with pytest.raises(ValueError, match=r"step at .* does not fit the input signature"):
        dt.function(lambda x: x, input_signature=[dt.spec((2,))], name="step")(np.ones(3))


SIGNATURE = ([dt.spec((), name="scale"), dt.spec(())], dt.spec((None,), name="image"))
WRONG_CALLS = {
    "it takes 2 arguments (pair, x), 0 were given": ((), {}),
    "it takes 2 arguments (pair, x), 1 was given": (([1.0, 2.0],), {}),
    "it takes 2 arguments (pair, x), 3 were given": (([1.0, 2.0], [1.0], 3.0), {}),
    "it takes 2 arguments (pair, x), not 'y'": (([1.0, 2.0],), {"y": 1.0}),
    "it takes 2 arguments (pair, x), pair is given twice": (([1.0, 2.0],), {"pair": 1.0}),
    "pair must have the structure of the input signature, [float32[], float32[]], not 1.0": ((1.0, np.ones(1)), {}),
}


def test_a_signature_names_its_inputs_and_takes_keywords(engine):
    @dt.function(input_signature=SIGNATURE)
    def f(pair, x, power=2):
        return (pair[0] * x) ** power + pair[1]

    x = np.array([1.0, 2.0], "float32")
    for args, kwargs in ((([3.0, 1.0], x), {}), (([3.0, 1.0],), {"x": x}), ((), {"x": x, "pair": [3.0, 1.0]})):
        assert f(*args, **kwargs).numpy().tolist() == [10.0, 37.0]
    assert [t.op.name for t in f.graph().inputs] == ["scale", "arg1", "image"] and len(f.traces) == 1
    assert len(f.optimized_graph().inputs) == len(f.trace().leaves) == 3 and f.plan().engine.name == engine


@pytest.mark.parametrize("problem", WRONG_CALLS)
def test_wrong_arguments_of_a_signature_are_named(problem):
    args, kwargs = WRONG_CALLS[problem]
    with pytest.raises(TypeError, match=re.escape(problem)):
        dt.function(lambda pair, x: pair[0] * x, input_signature=SIGNATURE)(*args, **kwargs)


def test_names_of_inputs():
    f = dt.function(lambda x, y: x + y)
    graph = f.graph(dt.spec((2,), name="x"), dt.spec((2,), name="x"))
    assert [t.op.name for t in graph.inputs] == ["x", "x_1"]
    assert [t.op.name for t in f.graph(dt.spec((3,), name="a b:0"), dt.spec((3,))).inputs] == ["arg0", "arg1"]
    with pytest.raises(TypeError, match=r"it takes 2 arguments \(x, x_1\), 1 was given"):
        dt.function(graph)(1.0)
    assert len(dt.function(graph).plan().segments) == 1 and dt.spec((2,), name="x") == dt.spec((2,))


def test_names():
    def step(x):
        return x * 2.0

    assert dt.function(step).graph(dt.spec(())).name == "step"
    assert dt.function(step, name="other").graph(dt.spec(())).name == "other"
    assert repr(dt.function(step)) == "<function step: 0 traces>"


def test_a_decorator_with_options():
    @dt.function(name="twice", input_signature=[dt.spec((None,))])
    def f(x):
        return x * 2.0

    assert f.graph(dt.spec((None,))).name == "twice" and f.__name__ == "f"
    assert f(np.ones(1)).numpy().tolist() == [2]


def test_methods_have_signatures_and_names():
    class Model:
        @dt.function(input_signature=[dt.spec((None,))], name="call")
        def step(self, x, *, scale=2.0):
            return x * scale

    model = Model()
    assert model.step is model.step and Model.step is not model.step
    assert [model.step(np.ones(n, "float32")).shape for n in (1, 2)] == [(1,), (2,)]
    assert "call: 1 traces" in repr(model.step) and model.step.graph().name == "call"
    assert model.step(x=np.ones(1, "float32")).numpy().tolist() == [2]
    with pytest.raises(TypeError, match=r"it takes 1 argument \(x\), 0 were given"):
        model.step()


@pytest.mark.parametrize("around", [False, True], ids=["not recorded", "recorded"])
def test_assigned_under_a_tape(engine, around):
    """Check that a call assigns its variables also if no tape has to record it."""
    count, w = dt.Variable(0.0, trainable=False), dt.Variable([1.0, 2.0])

    @dt.function
    def f(x):
        count.assign_add(1.0)
        return ops.sum(x * w) * count

    x = ops.constant([3.0, 4.0])
    with dt.GradientTape(persistent=True, watch_accessed_variables=around) as tape:
        for n in (1, 2, 3):
            y = f(x)
            assert float(y) == 11 * n and float(count) == n
    slope = tape.gradient(y, w)
    assert slope.numpy().tolist() == [9, 12] if around else slope is None


def test_a_recorded_call_waits_for_the_variables_that_it_assigns():
    """Check that it has not read them yet while another thread holds their guard."""
    v, found = dt.Variable(1.0), []
    double = dt.function(lambda: v.assign(v * 2.0).value)

    def call():
        with dt.GradientTape():
            found.append(float(double()))

    call()
    v.read()
    thread = threading.Thread(target=call)

    def hold():
        thread.start()
        thread.join(0.3)
        v.assign(10.0)

    v.guard.holding(hold)
    thread.join()
    assert found == [2, 20] and float(v) == 20


def test_a_function_of_several_results_and_none(engine):
    f = dt.function(lambda x, y: (x * y, ops.cast(x, "int32"), y))
    x, y = ops.constant(2.0), ops.constant(3.0)
    with dt.GradientTape(persistent=True) as tape:
        tape.watch([x])
        product, number, same = f(x, y)
    assert float(tape.gradient(product, x)) == 3 and int(number) == 2 and float(same) == 3
    assert dt.function(lambda x: None)(x) is None


def test_closures_that_only_one_tape_follows(engine):
    """Check that each tape goes back to the tensors it watches, whatever the others do."""
    a, b, x = ops.constant(2.0), ops.constant(3.0), ops.constant(5.0)
    f = dt.function(lambda x: a * a * b * x)
    with dt.GradientTape() as outer, dt.GradientTape() as inner:
        outer.watch(a)
        inner.watch(b)
        y = f(x)
    assert float(inner.gradient(y, b)) == 20 and float(outer.gradient(y, a)) == 60


@pytest.mark.parametrize("body", [lambda x: (t for t in [x]), lambda x: {x}], ids=["generator", "set"])
def test_results_that_are_no_structure(body):
    with pytest.raises(TypeError):
        dt.function(body)(ops.constant(1.0))


@pytest.mark.parametrize(
    ("body", "advice"),
    [
        (lambda x: x if x > 0 else -x, "ops.cond"),
        (lambda x: list(ops.reshape(x, (-1,))[: ops.cast(x, "int32")]), "ops.scan"),
        (lambda x: np.sin(x), "dovetail.ops"),
        (lambda x: float(x), "ops on the tensor"),
        (lambda x: x.numpy(), "outside `function`"),
    ],
)
def test_what_needs_a_value_says_what_to_do(body, advice):
    with pytest.raises(TypeError, match=advice) as error:
        dt.function(body)(ops.constant(1.0))
    assert "test_function.py" in str(error.value)


def test_leaked_tensor():
    kept = []
    f = dt.function(lambda x: kept.append(x * 2))
    f(ops.constant(1.0))
    with pytest.raises(ValueError, match=r"was made while .* was traced, and kept"):
        dt.function(lambda x: x + kept[0])(ops.constant(1.0))
    with pytest.raises(TypeError, match="has none while the graph is built"):
        kept[0].numpy()


def test_error_while_tracing_leaves_nothing_behind(engine):
    v = dt.Variable(1.0)

    @dt.function
    def f(x):
        v.assign(5.0)
        return ops.matmul(x, x)

    with pytest.raises(ValueError, match="inner dimensions"):
        f(np.ones((2, 3), "float32"))
    assert float(v) == 1
    assert f(np.ones((2, 2), "float32")).shape == (2, 2) and float(v) == 5
    assert float(ops.add(1.0, 1.0)) == 2  # no graph is being built any more


def test_an_edited_graph_runs(engine):
    count, w = dt.Variable(0, name="count"), dt.Variable([1.0, 2.0], name="w")

    @dt.function
    def f(x):
        count.assign_add(1)
        return ops.sum(ops.relu(x) * w), x

    x = ops.constant([3.0, -1.0])
    graph = f.graph(x)
    (relu,) = (op for op in graph.operations if op.type == "Relu")
    with graph.insert_after(relu):
        graph.replace_all_uses(relu.outputs[0], ops.square(relu.inputs[0]))
    run = dt.function(graph)
    twice = dt.function(lambda x: (run(x)[0] + run(x)[0], count + 0))
    value, same = run(x)
    assert float(value) == 11 and int(count) == 1 and same.numpy().tolist() == [3, -1]
    value, seen = twice(x)  # the second call reads the first assignment
    assert float(value) == 22 and int(count) == 3 and int(seen) == 3

    def gradients(x):
        with dt.GradientTape() as tape:
            tape.watch(x)
            value, _ = run(x)
        return tape.gradient(value, [x, w])

    for compute in (gradients, dt.function(gradients)):
        of_x, of_w = compute(x)
        assert of_x.numpy().tolist() == [6, -4] and of_w.numpy().tolist() == [9, 1]


def test_edits_of_its_graph_do_not_change_a_function(engine):
    v, one = dt.Variable(0.0, name="v"), ops.constant(1.0)
    f = dt.function(lambda x: v.assign_add(ops.exp(x) + one))
    x = ops.constant(0.0)
    graph = f.graph(x)
    exp = graph.get_operation("Exp")
    graph.replace_all_uses(exp.outputs[0], exp.inputs[0])
    with graph.as_default():
        graph.outputs = [v * 1.0]  # after the assignment
    assert float(f(x)) == 2 and float(dt.function(graph)(x)) == 3
    with dt.GradientTape() as tape:
        tape.watch(x)
        y = f(x) * 1.0
    assert float(y) == 5


def test_edits_of_a_graph_count_from_the_next_call_on_a14(engine):
    graph = dt.Graph()
    x = graph.placeholder(dt.spec((2,)), "x")
    y = ops.tanh(x)
    graph.outputs = [y + 1.0]
    run = dt.function(graph)
    value = np.array([1.0, 2.0], "float32")
    assert run(value).shape == (2,)
    y.op.replace_input(0, x * 0.0)
    assert run(value).numpy().tolist() == [1.0, 1.0]
    graph.outputs = [x * 3.0]
    assert run(value).numpy().tolist() == [3.0, 6.0]
    graph.outputs.append(x + 1.0)
    assert [t.numpy().tolist() for t in run(value)] == [[3.0, 6.0], [2.0, 3.0]]
    graph.placeholder(dt.spec(()), "unused")
    assert [t.numpy().tolist() for t in run(value, 0.0)] == [[3.0, 6.0], [2.0, 3.0]]
    first = graph.outputs[0].op
    traced = run.concrete(value, 0.0)
    ops.exp(x)  # an added operation changes none of the others
    assert run.concrete(value, 0.0) is traced
    first.add_control_input(graph.outputs[1].op)
    assert run.concrete(value, 0.0) is not traced


def test_a_graph_that_is_given_something_else():
    graph = dt.Graph()
    graph.outputs = [graph.placeholder(dt.spec((2,)), "x") * 2.0]
    run = dt.function(graph)
    with pytest.raises(ValueError, match="does not fit the input signature"):
        run(np.ones(3, "float32"))
    with pytest.raises(ValueError, match="does not fit the input "):
        dt.function(run)(np.ones(3, "float32"))
    with pytest.raises(TypeError, match=r"it takes 1 argument \(x\), 2 were given"):
        dt.function(lambda x: run(x, x))(np.ones(2, "float32"))
    with pytest.raises(TypeError, match="engine's own values"):
        dt.edit.replay.replay(graph, np.ones(2, "float32"))


def test_a_graph_keeps_its_history_of_tensors_outside(engine):
    scale = ops.constant(3.0)
    run = dt.function(dt.function(lambda x: x * scale).graph(dt.spec(())))
    with dt.GradientTape() as tape:
        tape.watch(scale)
        y = run(2.0)
    assert float(tape.gradient(y, scale)) == 2


def test_endless_recursion_b():
    @dt.function
    def f(x):
        return ops.cond(x > 0, lambda: f(x - 1), lambda: x)

    with pytest.raises(RecursionError, match=r"f at test_function.py:\d+: its trace does not end.*ops.while_loop"):
        f(np.float32(3))
    g = dt.function(lambda x, n: x if n == 0 else g(x * 2, n - 1))
    assert float(g(np.float32(1), 5)) == 32


@pytest.mark.parametrize("decorator", [dt.function, dt.custom_gradient, dt.recompute_grad])
@pytest.mark.parametrize("given", [3, "f", [abs], np.ones(2)])
def test_what_cannot_be_called_c(decorator, given):
    with pytest.raises(TypeError, match=rf"{decorator.__name__} at test_function.py:\d+: needs a function"):
        decorator(given)


def test_what_a_trace_depends_on_beside_its_arguments_a15():
    """Check the settings and K's learning phase, with a signature, too."""
    K.clear_session()
    kinds = [{}, {"input_signature": [dt.spec(())]}]
    phases = [dt.function(lambda x: K.in_train_phase(x + 1, x), **options) for options in kinds]
    settings = [dt.function(lambda x: ops.cast(x + dt.config.epsilon(), float), **options) for options in kinds]
    for f in phases:
        found = []
        for phase in (0, 1, 0):
            K.set_learning_phase(phase)
            found.append(float(f(np.float32(0))))
        assert found == [0, 1, 0]
        with K.learning_phase_scope(1):
            assert float(f(np.float32(0))) == 1
    K.clear_session()
    for f in settings:
        assert float(f(np.float32(0))) == np.float32(1e-7)
        dt.config.set_epsilon(0.5)
        dt.config.set_floatx("float64")
        assert float(f(np.float32(0))) == 0.5 and f(np.float32(0)).dtype == "float64"
        dt.config.set_epsilon(1e-7)
        dt.config.set_floatx("float32")


def test_a_callable_with_attributes_of_its_own():
    class Model:
        def __init__(self):
            self._called = self._calls = self._traces = True

        def __call__(self, x):
            return x * 2.0

    assert float(dt.function(Model())(ops.constant(3.0))) == 6


def test_without_arguments_it_runs_on_the_current_engine(engine):
    numbers = dt.function(lambda: ops.exp(ops.ones(2)))
    for _ in range(2):
        for name in ("numpy", engine):
            with dt.engine(name):
                assert numbers().engine == name


def test_keywords_and_a_dict_of_the_same_names_are_other_arguments():
    @dt.function
    def f(*args, **given):
        return args[0][0] * 10 + args[1]["x"] if len(args) > 1 else args[0] + given["x"]

    one, two = dt.ops.constant(1.0), dt.ops.constant(2.0)
    calls = [lambda: f((one,), {"x": two}), lambda: f(one, x=two)]
    assert [float(call()) for call in (*calls, *calls)] == [12, 3, 12, 3]
    assert len(f.traces) == 2
