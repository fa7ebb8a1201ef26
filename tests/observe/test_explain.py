"""Explanations: from each call to the routine of a library, on each engine."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

import dovetail as dt
from dovetail import backend as K
from dovetail import ops
from dovetail.choose.candidate import Candidate
from dovetail.core.engines.engine_registry import get_engine
from dovetail.core.engines.routines import NOT_REPORTED
from dovetail.execute.choice import Strategy
from dovetail.observe.engine_routines import reported, segments_of
from tests.conftest import ENGINES
from tests.libraries import require
from tests.packages import OUTSIDE

for library in ("torch", "jax", "tensorflow"):
    require(library, "explanations of four engines are compared")

BLAS = r"(openblas|mkl|blis|accelerate) \S+ \(.+\)"
ROUTINES = {  # the last two lines of an operation: the library's function, and the routine
    ("numpy", "Conv2D"): (r"numpy\.matmul", BLAS),
    ("numpy", "MatMul"): (r"numpy\.matmul", BLAS),
    ("torch", "Conv2D"): (r"aten\.convolution\.default", r"(.+; )?oneDNN convolution \S+:\S+"),
    ("torch", "MatMul"): (r"aten\.mm\.default", r"MKL SGEMM|oneDNN matmul \S+"),
    ("jax", "Conv2D"): (r"(convolution|custom-call) %\S+", r"(XLA convolution|fusion %|custom call ).*"),
    ("jax", "MatMul"): (r"(dot|custom-call) %\S+", r"(XLA dot|fusion %|custom call ).*"),
    ("tensorflow", "Conv2D"): (r"(_Mkl\w*)?Conv2D", r"kernel \w*Conv2D \(CPU, T=float32.*\)"),
    ("tensorflow", "MatMul"): (r"(_Mkl)?MatMul", r"kernel \w*MatMul \(CPU, T=float32.*\)"),
}
MAY_BE_SILENT = {("torch", "MatMul")}  # without MKL, as on ARM, torch's library of products says nothing
X, W, M = dt.spec((2, 8, 8, 3)), dt.spec((3, 3, 3, 4)), dt.spec((6 * 6 * 4, 5))


def model(x, w, m):
    y = K.conv2d(x, w, data_format="channels_last")
    return K.softmax(K.dot(K.reshape(y, (2, -1)), m))


@pytest.fixture(scope="module")
def explained():
    """Engine → the explanation of `model`, made once."""
    found = {}
    return lambda engine: found.get(engine) or found.setdefault(engine, dt.explain(model, X, W, M, engine=engine))


def only(explanation, kind):
    (found,) = explanation.of(kind)
    return found


@pytest.mark.parametrize(("engine", "kind"), [pair for pair in ROUTINES if pair[0] in ENGINES])
def test_the_routine_of_convolutions_and_products(engine, kind, explained):
    found = only(explained(engine), kind)
    call, routine = found.lines[-2:]
    expected = ROUTINES[engine, kind]
    assert re.fullmatch(expected[0], call.text), found
    silent = (engine, kind) in MAY_BE_SILENT and routine.text == NOT_REPORTED
    assert silent or re.fullmatch(expected[1], routine.text), found


def test_the_chain_begins_with_the_call_of_k(engine, explained):
    found = only(explained(engine), "Conv2D")
    assert [line.kind for line in found.lines] == ["call", "op", "runs as", "rule", "library", "routine"]
    call, op, runs_as, rule, *_ = found.lines
    assert call.text == "K.conv2d" and call.where.startswith("dovetail/backend/convolution.py:")
    assert (op.text, op.where.partition(":")[0]) == ("Conv2D", "dovetail/ops/nn/conv.py")
    assert runs_as.text == f"Conv2D on {engine} ({get_engine(engine).devices()[0]})"
    assert rule.where.startswith("dovetail/engines/")
    assert (found.result, found.where.partition(":")[0]) == ("float32[2,6,6,4]", "test_explain.py")


def test_an_inlined_body(explained):
    found = only(explained("numpy"), "Softmax")
    assert found.of("body") and found.of("pass") == ["inline_composites: Softmax → Max, Sub, Exp, Sum, RealDiv"]
    assert [text.partition(" ")[0] for text in found.of("runs as")] == ["Max", "Sub", "Exp", "Sum", "RealDiv"]
    assert "numpy.exp" in found.of("library") and any("loop ff" in text for text in found.of("routine"))


def test_operations_that_a_pass_fuses():
    def layer(x, w, b):
        return K.relu(K.bias_add(K.conv2d(x, w, data_format="channels_last"), b))

    found = dt.explain(layer, X, W, dt.spec((4,)), engine="torch")
    for kind in ("Conv2D", "BiasAdd", "Relu"):
        own = only(found, kind)
        assert own.of("runs as") == ["FusedConv on torch (cpu:0)"]
        assert own.of("pass")[-1].startswith("fuse_convolutions: ")
    assert only(found, "Conv2D").of("pass") == ["fuse_convolutions: Conv2D → FusedConv of Relu 'Relu'"]


def test_operations_that_a_library_fuses():
    def layer(x, w, b):
        return K.relu(K.bias_add(K.conv2d(x, w, data_format="channels_last"), b))

    found = dt.explain(layer, X, W, dt.spec((4,)), engine="tensorflow")
    assert {op.of("routine")[-1] for op in found.operations} == {only(found, "Relu").of("routine")[-1]}
    assert "FusedConv2D" in only(found, "Conv2D").of("library")[-1]


def test_operations_of_gradients():
    def loss_and_gradient(x, w):
        with dt.GradientTape() as tape:
            tape.watch(w)
            loss = ops.sum(ops.conv(x, w, data_format="channels_last") ** 2)
        return loss, tape.gradient(loss, w)

    found = dt.explain(loss_and_gradient, X, W, engine="torch")
    assert only(found, "Conv2D").of("library") == ["aten.convolution.default"]
    gradient = only(found, "Conv2DBackpropFilter")
    assert gradient.of("runs as") == ["Conv2DBackpropFilter on torch (cpu:0)"]
    assert "aten.convolution_backward.default" in gradient.of("library")


def test_equal_and_unused_operations():
    def program(x):
        a, b = ops.exp(x), ops.exp(x)
        ops.tanh(x)
        return a + b

    first, second = dt.explain(program, dt.spec((3,)), engine="numpy").of("Exp")
    assert second.of("pass") == ["merge_common: Exp → Exp of Exp 'Exp'"]
    assert first.of("runs as") == second.of("runs as") == ["Exp on numpy (cpu:0)"]
    tanh = only(dt.explain(program, dt.spec((3,)), engine="numpy"), "Tanh")
    assert tanh.of("runs as") == ["nothing, since nothing needs it"]


def test_an_operation_that_is_its_input():
    (identity,) = dt.explain(ops.stop_gradient, X, engine="numpy").operations
    assert identity.of("runs as") == ["nothing, since it is the value of Placeholder 'arg0'"]


def test_operations_that_need_an_inverse():
    found = dt.explain(ops.cholesky, dt.spec((3, 3)), engine="numpy")
    assert only(found, "Cholesky").of("library") == ["numpy.linalg.cholesky"]
    assert re.fullmatch(BLAS, only(found, "Cholesky").of("routine")[0])


def test_operations_in_loops(engine):
    def program(x):
        return ops.scan(lambda state, row: (ops.tanh(state + row), state), x[0], x)

    found = dt.explain(program, dt.spec((4, 3)), engine=engine)
    tanh = only(found, "Tanh")
    assert tanh.within.startswith("Scan ") and tanh.of("runs as")
    assert any("tanh" in call.lower() for call in tanh.of("library"))


def test_calls_of_k_in_loops():
    found = dt.explain(lambda x: K.map_fn(lambda row: K.tanh(row), x), dt.spec((4, 3)), engine="numpy")
    assert only(found, "Tanh").of("call") == ["K.tanh"]


def test_segments_on_two_engines():
    graph = dt.function(lambda x: ops.tanh(ops.exp(x))).graph(dt.spec((3,)))
    graph.get_operation("Tanh").engine = "torch"
    found = dt.explain(graph, dt.spec((3,)), engine="numpy")
    assert only(found, "Exp").of("runs as") == ["Exp on numpy (cpu:0), segment 1"]
    assert only(found, "Tanh").of("runs as") == ["Tanh on torch (cpu:0), segment 2"]
    assert only(found, "Tanh").of("library") == ["aten.tanh.default"]


NOT_RUN = {
    "a loop may run without end": lambda x: ops.while_loop(lambda y: ops.sum(y) < 9.0, lambda y: y + 1.0, [x])[0],
    "it would call Python": lambda x: ops.control.host_calls.py_func([x], lambda y: 1 / 0, ["float32"], [(3,)])[0],
}


@pytest.mark.parametrize("reason", NOT_RUN)
def test_segments_that_are_not_run(reason):
    def program(x):
        return ops.tanh(NOT_RUN[reason](x))

    tanh = only(dt.explain(program, dt.spec((3,)), engine="numpy"), "Tanh")
    assert tanh.of("library") == [] and tanh.of("routine")[0].startswith(f"{NOT_REPORTED}: {reason}")


def test_unknown_shapes_are_those_of_the_arguments():
    told = dt.function(ops.tanh, input_signature=[dt.spec((None, 3))], engine="numpy")
    known = only(dt.explain(told, ops.ones((2, 3))), "Tanh")
    assert known.of("library") == ["numpy.tanh"]
    unknown = only(dt.explain(told, dt.spec((None, 3))), "Tanh")
    assert unknown.of("routine") == [f"{NOT_REPORTED}: shapes are unknown, so give arrays or specs with known shapes"]


def test_variables_are_as_before():
    count = dt.Variable(np.zeros(3, "float32"))
    made = []

    @dt.function
    def step(x):
        if not made:
            made.append(dt.Variable(np.ones(3, "float32")))
        count.assign_add(x)
        return ops.exp(count.read()) * made[0]

    found = dt.explain(step, ops.ones(3))
    assert only(found, "Exp").of("library") == ["numpy.exp"]
    assert (len(made), count.numpy().tolist()) == (1, [0.0, 0.0, 0.0])
    assert step(ops.ones(3)).shape == (3,) and count.numpy().tolist() == [1.0, 1.0, 1.0]
    assert only(dt.explain(step, ops.ones(3), engine="torch"), "Exp").of("library") == ["aten.exp.default"]


def test_a_choice_of_engines():
    f = dt.function(lambda x: ops.tanh(x @ x), engine="auto")
    for _ in range(3):
        f(ops.ones((8, 8)))
    found = dt.explain(f, ops.ones((8, 8)))
    assert found.choice.startswith("now: ") and {row.strategy.engine for row in found.candidates} >= {"numpy"}
    assert any(row.measured for row in found.candidates)
    assert str(found).splitlines()[1] == found.choice
    (predicted,) = only(found, "MatMul").of("predicted")
    assert {text.split()[0] for text in predicted.split(", ")} == {row.strategy.engine for row in found.candidates}
    assert only(found, "MatMul").of("runs as")[0].partition(" on ")[2].startswith(found.plan.split(" on ")[1][:4])


def test_the_algorithms_of_a_convolution():
    def program(x, w):
        return ops.tanh(ops.conv(x, w, data_format="channels_last"))

    engines = [name for name in ("numpy", "torch") if name in dt.list_engines()]
    found = dt.explain(program, X, W, engine="numpy", algorithms=True).algorithms
    ways = {(way.engine, way.name): way for way in found}
    assert {(engine, layout) for engine in engines for layout in ("channels_last", "channels_first")} <= {*ways}
    assert ("torch", "channels_last, without oneDNN") in ways and ("jax", "channels_last, patches") in ways
    times = [way.seconds for way in found if way.seconds is not None]
    assert times == sorted(times) and min(times) > 0 and len(times) >= len(ways) - 2
    on_torch = [ways["torch", name].routines for name in ("channels_last", "channels_last, without oneDNN")]
    assert "oneDNN convolution" in str(on_torch[0]) and "oneDNN" not in str(on_torch[1])


def test_programs_of_tensorflow_that_xla_compiles():
    graph = dt.function(lambda x: ops.tanh(x @ x)).graph(dt.spec((8, 8)))
    plan = Candidate(Strategy("tensorflow", "xla"), graph, get_engine("tensorflow"), [(8, 8)]).plan
    ((segment,), calls) = segments_of(plan.schedule), {}
    for operation, routines in reported(segment)[0].items():
        calls[operation.type] = routines
    assert any(call.call.startswith(("dot %", "custom-call %")) for call in calls["MatMul"])
    assert any("tanh" in call.call for call in calls["Tanh"])


def test_an_engine_of_another_package_reports_nothing(monkeypatch):
    monkeypatch.syspath_prepend(OUTSIDE)
    if "boxed" not in dt.list_engines():
        pytest.skip("the tests' engine is not installed")
    tanh = only(dt.explain(ops.tanh, X, engine="boxed"), "Tanh")
    assert tanh.of("runs as") == ["Tanh on boxed (cpu:0)"] and tanh.of("routine") == [NOT_REPORTED]


def test_it_reads_as_a_text(explained):
    text = str(explained("numpy"))
    assert text.startswith(
        "plan of 'model' on numpy: 1 segment\n\nConv2D 'Conv2D': float32[2,6,6,4], at test_explain.py:"
    )
    assert "\n  call      K.conv2d (dovetail/backend/convolution.py:" in text
    assert explained("numpy")._repr_html_().startswith("<pre>plan of &#x27;model&#x27;")


def test_nothing_of_it_is_imported_with_dovetail():
    code = "import sys, dovetail; print([m for m in sys.modules if 'explain' in m or 'routines' in m])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_errors():
    with pytest.raises(TypeError, match=r"^explain at .*: needs a function"):
        dt.explain(3.0)
    with pytest.raises(dt.errors.UnknownEngine, match="torhc"):
        dt.explain(ops.tanh, X, engine="torhc")
