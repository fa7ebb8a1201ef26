"""What engines claim of their rules: `fresh` ones return new memory, `out=` ones fill the array they are given."""

import numpy as np
import pytest

from dovetail.engines import current_engine
from dovetail.ops import arguments
from dovetail.tensor import Tensor
from tests.ops.table import CASES, IDS, draw

cases = pytest.mark.parametrize(("op", "number"), CASES, ids=IDS)


def native_arguments(op, number, rng):
    args, kwargs = draw(op.samples[number], rng)
    return arguments.natives(arguments.to_tensors(op, op.bind(args, kwargs), current_engine()))


def arrays_in(values):
    for value in values:
        yield from value if isinstance(value, list) else [value] if hasattr(value, "shape") else []


@cases
def test_fresh_results_share_no_memory(engine, op, number, rng):
    found = current_engine()
    if found.compiles_programs or op.name not in found.fresh | set(found.out_rules):
        pytest.skip("not claimed")
    arguments = native_arguments(op, number, rng)
    results = found.eager_rules[op.name](*arguments)
    for result in results if op.returns_tuple else [results]:
        for array in arrays_in(arguments):
            assert not np.may_share_memory(found.to_numpy(result), found.to_numpy(array))


@cases
def test_out_rules_fill_their_array(engine, op, number, rng):
    found = current_engine()
    if op.name not in found.out_rules:
        pytest.skip("no out rule")
    arguments = native_arguments(op, number, rng)
    expected = found.eager_rules[op.name](*arguments)
    out = found.empty(found.shape(expected), Tensor(expected, found).dtype)
    with np.errstate(all="ignore"):
        found.out_rules[op.name](*arguments, out=out)
    np.testing.assert_array_equal(found.to_numpy(out), found.to_numpy(expected))


def test_every_rule_is_of_an_op(engine):
    from dovetail.ops.op import OPS

    found = current_engine()
    assert sorted(name for name in {*found.rules, *found.out_rules, *found.fresh} if name not in OPS) == []
