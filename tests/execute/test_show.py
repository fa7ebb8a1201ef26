"""Pictures of plans: segments, transfers, variables, and graphs inside of operations."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dt
from dovetail.execute.show import MOVE, plan_picture
from dovetail.formats.pictures.picture import OUTPUT
from tests.libraries import require


def nodes_of(plan, data=None):
    picture = plan_picture(plan.parts[-1], data)
    for number, node in enumerate(picture.nodes):
        assert all(source < number for source, _ in node.inputs)
        assert all(output < len(picture.nodes[source].outputs) for source, output in node.inputs)
    return picture.nodes


def test_segments_and_transfers():
    require("torch", "a segment is on another engine")
    graph = dt.function(lambda x: dt.ops.tanh(dt.ops.exp(x)) * 2.0).graph(dt.spec((3,)))
    graph.get_operation("Tanh").engine = "torch"
    nodes = nodes_of(dt.function(graph, engine="numpy").plan(dt.spec((3,))), {"Exp": {"time": 4.0}})
    assert [(node.title, node.facts.get("engine"), node.facts.get("segment")) for node in nodes if node.inputs] == [
        ("Exp", "numpy", "1 numpy"),
        (MOVE, None, None),
        ("Tanh", "torch", "2 torch"),
        (MOVE, None, None),
        ("Mul", "numpy", "3 numpy"),
        (OUTPUT, None, None),
    ]
    assert [node.facts["bytes"] for node in nodes if node.type == MOVE] == [12, 12]
    assert next(node for node in nodes if node.type == "Exp").facts["time"] == 4.0
    assert next(node for node in nodes if node.type == "Tanh").facts["device"] == "cpu:0"


def test_variables_and_loops():
    w = dt.Variable(np.ones(3, "float32"), name="w")

    @dt.function(engine="numpy")
    def step(x):
        _, y = dt.ops.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + w), (0, x))
        w.assign(w * y)
        return y

    nodes = nodes_of(step.plan(dt.spec((3,))))
    assert {"w", "arg0"} <= {node.title for node in nodes if not node.inputs}
    assert [node.title for node in nodes][-2:] == [OUTPUT, "w :="]
    loop = next(node for node in nodes if node.inner)
    assert [key for key, _ in loop.inner] == ["condition", "body"]
    inner = [node for _, picture in loop.inner for node in picture.nodes if node.type != OUTPUT]
    assert {node.facts["segment"] for node in inner} == {"1 numpy"}


@pytest.mark.parametrize("engine", ["numpy", "auto"])
def test_files(engine, tmp_path):
    f = dt.function(lambda x: dt.ops.tanh(x) * 2.0, engine=engine)
    x = dt.ops.ones(3)
    f(x)
    plan = f.plan(x)
    plan.show(tmp_path / "plan.html")
    assert '"segment"' in (tmp_path / "plan.html").read_text() and "<svg" in plan._repr_html_()
    with pytest.raises(ValueError, match="does not say a format"):
        plan.show(tmp_path / "plan.png")
