"""Claims of engines about rules: `fresh` ones return new memory, `out=` ones fill the given array."""

import numpy as np
import pytest

from dovetail.core.calls import dispatch
from dovetail.core.engines.engine_registry import current_engine, get_engine
from dovetail.core.rules import OUT
from dovetail.core.tensor import Tensor
from dovetail.core.values import arguments
from tests.conftest import RULE_BY_RULE
from tests.ops.table import CASES, draw


@pytest.fixture(params=RULE_BY_RULE)
def found(request):
    """Each engine whose programs run rule by rule."""
    return get_engine(request.param)


def native_arguments(found, op, number, rng):
    args, kwargs = draw(op.samples[number], rng)
    return arguments.natives(dispatch.resolve(op, op.bind(args, kwargs), found)[1])


def arrays_in(values):
    for value in values:
        yield from value if isinstance(value, list) else [value] if hasattr(value, "shape") else []


def test_fresh_results_share_no_memory(found, rng):
    claimed = {*found.fresh, *found.out_rules}
    for op, number in (case for case in CASES if case[0].name in claimed):
        given = native_arguments(found, op, number, rng)
        results = found.eager_rules[op.name](*given)
        for result in results if op.returns_tuple else [results]:
            for array in arrays_in(given):
                assert not np.may_share_memory(found.to_numpy(result), found.to_numpy(array)), (op, number)


def test_out_rules_fill_their_array(found, rng):
    for op, number in (case for case in CASES if case[0].name in found.out_rules):
        given = native_arguments(found, op, number, rng)
        expected = found.eager_rules[op.name](*given)
        results = expected if op.returns_tuple else (expected,)
        out = tuple(found.allocate(found.shape(result), Tensor(result, found).dtype) for result in results)
        with np.errstate(all="ignore"):
            written = found.rules.layer(OUT)[op.name](*given, out=out if op.returns_tuple else out[0])
        # A rule ignores unsuitable arrays of several; its results are right, and in new memory.
        for array, result in zip(written if op.returns_tuple else out, results, strict=True):
            np.testing.assert_array_equal(found.to_numpy(array), found.to_numpy(result), str((op, number)))
            for other in arrays_in(given):
                assert not np.may_share_memory(found.to_numpy(array), found.to_numpy(other)), (op, number)


def test_every_rule_is_of_an_op(engine):
    from dovetail.core.base.table import OPS

    found = current_engine()
    assert sorted(name for name in {*found.rules, *found.out_rules, *found.fresh} if name not in OPS) == []
