"""Segments: the data from which an engine compiles."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engines.engine_registry import current_engine, get_engine
from dovetail.execute.optimize import optimized_copy
from dovetail.execute.placement import Place
from dovetail.execute.plan import Plan
from dovetail.execute.segment import Segment


def segment_of(function, *specs, engine="numpy", **options):
    graph = dt.function(function).graph(*specs)
    return Segment(optimized_copy(graph, get_engine(engine)), Place(get_engine(engine)), **options)


def test_what_an_engine_is_given():
    """Check that an engine gets all that the protocol promises, and that nothing is lowered before it asks."""
    segment = segment_of(lambda x, y: (x + y, x * y), dt.spec((2,)), dt.spec((2,)), states=1, donated=[1])
    assert [t.op.type for t in segment.inputs] == ["Placeholder", "Placeholder"]
    assert [t.op.type for t in segment.outputs] == ["AddV2", "Mul"]
    assert segment.donated == (1,) and segment.buffers.owned == [True] and "lowered" not in vars(segment)
    x = np.full(2, 3, "float32")
    assert [v.tolist() for v in segment.function(x, x)] == [[6, 6], [9, 9]]
    assert [v.tolist() for v in segment.run([x, x])] == [[6, 6], [9, 9]]


def test_shapes_that_depend_on_values(engine):
    def positive(x):
        return ops.sum(x[x > 0])

    if current_engine().static_shapes:
        with pytest.raises(ValueError, match=rf"depends on the values of tensors, but {engine} compiles only"):
            segment_of(positive, dt.spec((4,)), engine=engine)
    else:
        assert len(segment_of(positive, dt.spec((4,)), engine=engine).outputs) == 1


SOURCES = {  # engine → the beginning of a program's text, and two parts of it
    "numpy": ("def program(a0, a1):", "(a0, a1", "return (v"),
    "torch": ("def program(a0, a1):", "(a0, a1", "return (v"),
    "jax": ("HloModule", "f32[2,3]", "tanh"),
    "tensorflow": ("node {", 'op: "MatMul"', 'op: "Tanh"'),
}


def test_the_source_is_the_text_of_the_program(engine):
    plan = dt.function(lambda x, y: ops.tanh(x @ y), engine=engine).plan(dt.spec((2, 4)), dt.spec((4, 3)))
    start, *parts = SOURCES[engine]
    source = plan.segments[0].source
    assert source.startswith(start) and all(part in source for part in parts)
    x, y = np.ones((2, 4), "float32"), np.ones((4, 3), "float32")
    holder = plan.holder
    arrays = [holder.asarray(array, dt.dtypes.as_dtype("float32")) for array in (x, y)]
    np.testing.assert_allclose(holder.to_numpy(plan(arrays)[0]), np.tanh(x @ y), rtol=1e-6)
    assert plan.segments[0].source == source


def test_the_source_of_a_program_of_xla():
    pytest.importorskip("tensorflow")
    engine = get_engine("tensorflow")
    graph = dt.function(lambda x: ops.tanh(x) * 2.0).graph(dt.spec((3,)))
    plan = Plan(graph, engine, variants=engine.strategies["xla"])
    assert plan.segments[0].source.startswith("HloModule") and "tanh" in plan.segments[0].source


def test_the_source_of_an_engine_that_gives_none(monkeypatch):
    segment = segment_of(lambda x: ops.tanh(x), dt.spec((3,)))
    monkeypatch.setattr(segment.engine, "eager", "numpy", raising=False)
    assert segment.source == str(segment.graph) and "Tanh" in segment.source


def test_the_source_of_a_loop_that_python_runs(engine):
    pytest.importorskip("torch")

    def f(x):
        return ops.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, placed(v)), (0, x))[1]

    def placed(v):
        with dt.place(engine="torch" if engine == "numpy" else "numpy"):
            return ops.tanh(v)

    plan = dt.function(f, engine=engine).plan(dt.spec((3,)))
    divided = next(segment for segment in plan.segments if segment.bodies is not None)
    assert divided.source.startswith("def program(")
