"""Segments: the data from which an engine compiles."""

import numpy as np
import pytest

import dovetail as dt
from dovetail import ops
from dovetail.core.engine_registry import current_engine, get_engine
from dovetail.plan.optimize import optimized_copy
from dovetail.plan.placement import Place
from dovetail.plan.segment import Segment


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
