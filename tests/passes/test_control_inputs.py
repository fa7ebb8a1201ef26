"""Control inputs as data, so that no pass loses the operations that others wait for."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import get_engine
from dovetail.execute.optimize import optimized_copy
from dovetail.passes.control_inputs import control_inputs_to_data

# functions of x that wait for a print, and that passes change
WAITING = {
    "plain": ops.tanh,
    "composite": ops.log_softmax,
    "nested composites": lambda x: ops.softmax(ops.gelu(x)),
    "nothing is left of it": lambda x: x * 1.0,
    "of one that stays": lambda x: ops.negative(-x),
    "the same as before": ops.exp,
    "a constant": lambda x: ops.tanh(ops.zeros((1, 2)) + 1.0) * x,
    "fused": lambda x: x @ np.eye(2, dtype="float32") + np.ones(2, "float32"),
    "broadcast": lambda x: ops.broadcast_to(x, (1, 2)) + 1.0,
    "transposed": lambda x: ops.transpose(ops.transpose(x)),
    "cast": lambda x: ops.cast(ops.cast(x, "float64"), "float32"),
    "a shape": lambda x: ops.reshape(x, ops.stack([ops.shape(x)[1], ops.shape(x)[0]])),
    "a loop": lambda x: ops.scan(lambda s, row: (s + row, row), x[0], x)[0],
    "a branch": lambda x: ops.cond(ops.sum(x) > 0, lambda: x, lambda: -x),
}


@pytest.mark.parametrize("case", WAITING)
def test_what_is_waited_for_is_done_a13(engine, capsys, case):
    def function(x):
        kept = ops.exp(x)
        shown = ops.print_tensor(x, "shown")
        with x.graph.control_dependencies([shown.op]):
            return WAITING[case](x), kept

    x = np.array([[1.0, 2.0]], "float32")
    (found, _), shown = dt.function(function)(x), capsys.readouterr().out
    assert shown == "shown [[1 2]]\n"
    np.testing.assert_allclose(found.numpy(), WAITING[case](ops.constant(x)).numpy(), rtol=1e-5)


def test_it_leaves_no_control_inputs():
    graph = dt.Graph()
    x = graph.placeholder(dt.spec((2,)), "x")
    with graph.as_default():
        v = dt.Variable([1.0, 2.0])
        shown = ops.print_tensor(x)
        read = v.read()
        read.op.add_control_input(shown.op)
        with graph.control_dependencies([shown.op, read.op]):
            y = ops.tanh(x) + read
        used = ops.exp(read)
    graph.outputs = [y, read, used]
    assert control_inputs_to_data(graph) == 3
    graph.validate()
    assert not any(op.control_inputs for op in graph.operations)
    waited = graph.outputs[1]
    assert waited.op.type == "XlaOptimizationBarrier"
    assert used.op.inputs == [waited]
    tanh = graph.get_operation("Tanh")
    assert [t.op.type for t in tanh.inputs] == ["XlaOptimizationBarrier"]
    assert "Print" in [op.type for op in optimized_copy(graph, get_engine("numpy")).operations]
    assert control_inputs_to_data(graph) == 0
